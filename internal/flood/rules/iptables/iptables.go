// Package iptables renders the rules that package internal/flood/advice made for incidents as a script
// for sh, which loads them with iptables-restore and ip6tables-restore. It is a script because
// a file for these tools can neither find out whether the jump to its chains is there already
// nor when it was loaded. Of what came from the network, it writes nothing but addresses and
// ports. It decides on no rule, and loads none.
package iptables

import (
	"fmt"
	"slices"
	"strings"

	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/rules"
)

// places are where rules can be. Loading removes old ones from those that have no new ones.
var places = [...]advice.IPTables{
	{Tool: "iptables", Table: "raw", Hook: "PREROUTING"}, {Tool: "iptables", Table: "mangle", Hook: "POSTROUTING"},
	{Tool: "ip6tables", Table: "raw", Hook: "PREROUTING"}, {Tool: "ip6tables", Table: "mangle", Hook: "POSTROUTING"},
}

// AppendFloods appends the rules against the incidents in f, as one script with a chain for
// each target. Comments say how to load and to remove it, and what the rules are.
func AppendFloods(dst []byte, f *rules.Input) []byte {
	dst = append(dst, "#!/bin/sh\n"...)
	until := ""
	if f.Expiry > 0 {
		until = "$until"
	}
	list := advice.NewRuleset("", f.Incidents, f.Expiry).IPTables(until)
	if len(list) == 0 {
		return rules.AppendNone(dst, f)
	}
	dst = rules.AppendInterrupted(dst, f)
	dst = fmt.Appendf(dst, "# Rules of qsniff for iptables and ip6tables, made from %s\n", f.Asked.Files())
	dst = fmt.Appendf(dst, "# load:   %s\n", f.Asked.RunScript("iptables", ""))
	dst = append(dst, "#         Again does no harm. The rules of a new report replace these.\n"...)
	dst = fmt.Appendf(dst, "# undo:   %s\n", f.Asked.RunScript("iptables", "undo"))
	for _, x := range list {
		dst = fmt.Appendf(dst, "#         or: sudo %s -t %s -D %s -j %s\n", x.Tool, x.Table, x.Hook, advice.IPTablesChain)
	}
	if needsIPSet(list) {
		dst = append(dst, "# needs:  "+advice.IPSetPackage+", as iptables remembers no addresses by itself\n"...)
	}
	dst = fmt.Appendf(dst, "# check:  %s\n", f.Asked.RunScript("iptables", "check"))
	dst = rules.AppendExpiry(dst, f)
	dst = rules.AppendList(dst, f)
	return appendScript(dst, f, list)
}

func needsIPSet(rules []advice.IPTables) bool {
	return slices.ContainsFunc(rules, func(x advice.IPTables) bool { return len(x.Sets) > 0 })
}

// script is the part of the script that does not depend on the rules.
const script = `set -eu
mode=${1:-load}

# prune TOOL TABLE [CHAIN...]: removes all chains of qsniff but those named.
prune() {
  tool=$1 table=$2 old=
  shift 2
  for chain in $($tool-save -t $table | sed -n 's/^:\(@CHAIN@[^ ]*\) .*/\1/p'); do
    case " $* " in
    *" $chain "*) ;;
    *) $tool -t $table -F $chain; old="$old $chain" ;;
    esac
  done
  for chain in $old; do $tool -t $table -X $chain; done
}

# remove TOOL TABLE HOOK: removes the jump and all chains.
remove() {
  command -v $1 >/dev/null || return 0
  while $1 -t $2 -D $3 -j @CHAIN@ 2>/dev/null; do :; done
  prune $1 $2 2>/dev/null
}

# load TOOL TABLE HOOK CHAIN...: loads the file on standard input, which flushes the chains.
load() {
  if [ "$mode" = check ]; then
    $1-restore -n --test
    return
  fi
  $1-restore -n
  $1 -t $2 -C $3 -j @CHAIN@ 2>/dev/null || $1 -t $2 -I $3 -j @CHAIN@
  tool=$1 table=$2
  shift 3
  prune $tool $table "$@"
}

`

// natTest sets nat, which lines start with that ask connection tracking for the address
// before NAT.
const natTest = `# With NAT (Docker), replies of a server have its inner address here, and connection
# tracking has the outer one. Where nothing is tracked and no rule translates,
# such lines are comments, as they would start it; if NAT comes later, load again.
nat='#'
if [ "$(cat /proc/sys/net/netfilter/nf_conntrack_count 2>/dev/null || echo 0)" != 0 ] ||
  { iptables-save; ip6tables-save; nft list ruleset; } 2>/dev/null | grep -qE -- '-j (DNAT|REDIRECT)|dnat .*to|redirect'; then
  nat=
fi
`

// appendScript appends the commands and the files in them.
func appendScript(dst []byte, f *rules.Input, list []advice.IPTables) []byte {
	dst = append(dst, strings.ReplaceAll(script, "@CHAIN@", advice.IPTablesChain)...)
	dst = append(dst, "if [ \"$mode\" = undo ]; then\n"...)
	for _, x := range places {
		dst = fmt.Appendf(dst, "  remove %s %s %s\n", x.Tool, x.Table, x.Hook)
	}
	dst = append(dst, "  for set in $(ipset -n list 2>/dev/null | grep '^qsniff[0-9]'); do ipset destroy $set; done\n"...)
	dst = append(dst, "  exit 0\nfi\n"...)
	if f.Expiry > 0 {
		dst = fmt.Appendf(dst, "until=$(date -u -d \"@$(($(date +%%s) + %d))\" +%%Y-%%m-%%dT%%H:%%M:%%S)\n", int64(f.Expiry.Seconds()))
	}
	if needsIPSet(list) {
		dst = append(dst, "command -v ipset >/dev/null || { echo \"this needs "+advice.IPSetPackage+"\" >&2; exit 1; }\n"...)
	}
	if slices.ContainsFunc(list, func(x advice.IPTables) bool { return x.HasNAT }) {
		dst = append(dst, natTest...)
	}
	for _, x := range places {
		if !hasPlace(list, &x) {
			dst = fmt.Appendf(dst, "[ \"$mode\" = check ] || remove %s %s %s\n", x.Tool, x.Table, x.Hook)
		}
	}
	for _, x := range list {
		for _, set := range x.Sets {
			dst = append(append(dst, set...), '\n')
		}
		dst = fmt.Appendf(dst, "\nload %s %s %s %s <<END\n%sEND\n", x.Tool, x.Table, x.Hook, strings.Join(x.Chains, " "), x.Lines)
	}
	return dst
}

func hasPlace(rules []advice.IPTables, x *advice.IPTables) bool {
	for i := range rules {
		if rules[i].Tool == x.Tool && rules[i].Table == x.Table {
			return true
		}
	}
	return false
}
