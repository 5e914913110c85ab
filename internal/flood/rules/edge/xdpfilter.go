// Package edge renders what places with simpler filters than the kernel's can do of the rules
// that package internal/flood/advice made for incidents: a script for xdp-filter, and rules to enter
// into the edge firewalls of providers. Comments beside it name what such a filter cannot do.
// Of what came from the network, it writes nothing but addresses, ports and the bytes that
// protocols declare.
package edge

import (
	"fmt"
	"slices"
	"strings"

	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/rules"
)

// each calls do for each line of rules of the incidents that count.
func each(f *rules.Input, do func(in *flood.Incident, scope flood.RuleScope, x *flood.RuleLine)) {
	for i := range f.Incidents {
		in := &f.Incidents[i]
		if in.Advice.Rules == nil || advice.IsReplaced(f.Incidents[i+1:], in) {
			continue
		}
		lines := in.Advice.Rules.Lines()
		for j := range lines {
			do(in, in.Advice.Rules.Scope(), &lines[j])
		}
	}
}

// isDropped reports whether a line drops all that named sources send to the target.
func isDropped(scope flood.RuleScope, x *flood.RuleLine) bool {
	return x.Packets == 0 && len(x.Named) > 0 && !scope.Outgoing
}

// AppendXDPFilter appends a script for sh that gives xdp-filter the addresses that the rules
// drop everything from: single addresses, because that is all that xdp-filter takes.
func AppendXDPFilter(dst []byte, f *rules.Input) []byte {
	var addrs []string
	var missing []string
	each(f, func(in *flood.Incident, scope flood.RuleScope, x *flood.RuleLine) {
		if !isDropped(scope, x) {
			missing = append(missing, fmt.Sprintf("%s at %s: %s", in.Kind, in.Target, x.Text()))
			return
		}
		for _, n := range x.Named {
			if !n.IsSingleIP() {
				missing = append(missing, fmt.Sprintf("%s at %s: %s is a network", in.Kind, in.Target, n))
			} else if a := n.Addr().String(); !slices.Contains(addrs, a) {
				addrs = append(addrs, a)
			}
		}
	})
	dst = append(dst, "#!/bin/sh\n"...)
	if len(addrs) == 0 && len(missing) == 0 {
		return rules.AppendNone(dst, f)
	}
	dst = rules.AppendInterrupted(dst, f)
	dst = fmt.Appendf(dst, "# What xdp-filter can do of the rules of qsniff, made from %s\n", f.Asked.Files())
	if len(addrs) > 0 {
		dst = appendXDPUsage(dst, f)
	}
	dst = appendMissing(dst, f, "xdp-filter has no limits, looks at no bytes and takes no networks, so it cannot do", missing)
	if len(addrs) == 0 {
		return append(dst, "#\n# That is all of them: this script does nothing.\n"...)
	}
	text := strings.ReplaceAll(xdpScript, "@ADDRESSES@", strings.Join(addrs, " "))
	return append(dst, strings.ReplaceAll(text, "@SECONDS@", fmt.Sprint(int64(f.Expiry.Seconds())))...)
}

// appendXDPUsage appends comments on how to load the script and what it does.
func appendXDPUsage(dst []byte, f *rules.Input) []byte {
	command := f.Asked.Floods("xdp-filter")
	dst = fmt.Appendf(dst, "# load:   %s | sudo sh -s eth0\n", command)
	dst = append(dst, "#         eth0 is the interface that the packets come in at. Again does no harm.\n"...)
	dst = append(dst, "#         Before rules of a new report, undo these: the list has no owners.\n"...)
	dst = fmt.Appendf(dst, "# undo:   %s | sudo sh -s eth0 undo\n", command)
	dst = append(dst, "#         or, with the whole list: sudo xdp-filter unload eth0\n"...)
	dst = rules.AppendExpiry(dst, f)
	return rules.AppendComment(dst, "# ", "# ", "It drops all packets of an address, to whatever host and port, before the kernel sees them. "+
		"If an address is forged, its owner is shut out.")
}

// appendMissing appends a comment with what a filter cannot do.
func appendMissing(dst []byte, f *rules.Input, why string, missing []string) []byte {
	if len(missing) == 0 {
		return dst
	}
	dst = rules.AppendComment(append(dst, "#\n"...), "# ", "# ", why+" the following. On the server's host this does:")
	dst = fmt.Appendf(dst, "#   %s\n", f.Asked.LoadNFT())
	for _, s := range missing {
		dst = rules.AppendComment(dst, "#   - ", "#     ", s)
	}
	return dst
}

// xdpScript is the script without its comments. Where xdp-filter runs with the policy deny,
// the addresses on its list are those that are let in.
const xdpScript = `set -eu
iface=${1:?"name the interface that the packets come in at: sh -s eth0"}
mode=${2:-load}
addresses="@ADDRESSES@"
seconds=@SECONDS@

status=$(xdp-filter status 2>/dev/null) || status=
if printf '%s\n' "$status" | grep -q 'xdpfilt_dny'; then
  echo "xdp-filter runs with the policy deny: its list is who may send. Nothing is changed." >&2
  exit 1
fi
if [ "$mode" = undo ]; then
  for a in $addresses; do xdp-filter ip -r -m src "$a"; done
  exit 0
fi
if ! printf '%s\n' "$status" | grep -q "^  $iface "; then
  xdp-filter load -f ipv4,ipv6 "$iface" 2>/dev/null || xdp-filter load -m skb -f ipv4,ipv6 "$iface"
fi
for a in $addresses; do xdp-filter ip -m src "$a"; done
if [ "$seconds" -gt 0 ]; then
  # xdp-filter has no time limits. The time counts from the first load.
  (sleep "$seconds"; for a in $addresses; do
    for try in 1 2 3; do xdp-filter ip -r -m src "$a" && break || sleep 1; done
  done) </dev/null >/dev/null 2>&1 &
fi
`
