package edge

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/flood/other"
	"qsniff/internal/flood/rules"
)

// ovhRules is how many rules OVH's edge firewall has for an address, with priorities from 0.
// Source: the provider's guide "Enabling and configuring the Edge Network Firewall".
const ovhRules = 20

// AppendOVH appends the rules to enter into OVH's Edge Network Firewall.
func AppendOVH(dst []byte, f *rules.Input) []byte {
	p := &provider{f: f}
	p.begin("OVH's Edge Network Firewall",
		"Enter them in the control panel under Network, Public IP Addresses, the menu of the address, Edge Network Firewall configuration.",
		"What it has: 20 rules for an IPv4 address, by priority from 0; protocol, source network, ports, TCP state, fragments. "+
			"It has no limits, no packet lengths and no bytes; no IPv6; it does not see what comes from inside OVH's network; "+
			"and its rules stay until you remove them.",
		"Rules that permit come after these: take priorities that are free and lower than theirs.")
	var done []netip.Prefix
	for _, t := range p.targets {
		if !slices.Contains(done, t.scope.Net) {
			done = append(done, t.scope.Net)
			p.writeOVH(t.scope.Net)
		}
	}
	p.writeClasses("deny")
	p.writeMissing()
	p.writeList(p.helpless)
	if len(p.missing) > 0 {
		p.buf.WriteByte('\n')
		p.writeText("", "For game servers OVH has a second filter, Game DDoS Protection (\"GAME firewall\"), which knows the queries of many games: "+
			"add the port there with the profile of its game, if the product has it.")
	}
	return append(dst, p.buf.String()...)
}

// AppendPath appends the rules to enter into the firewall of a provider such as Path.net: rules
// that block, and what to ask for where packets have to be limited.
func AppendPath(dst []byte, f *rules.Input) []byte {
	p := &provider{f: f, takesIPv6: true}
	p.begin("an edge firewall such as Path.net's",
		"Enter them under Firewall Rules, with the action block, or send them to the provider's support.",
		"What such a firewall has: protocol, source and destination network, one port each, block or permit; filters for the "+
			"protocols of games; changes take minutes. Its limits count all packets of a port and cannot tell queries from the game: "+
			"a limit low enough for this flood would cut players off. So do not enter the numbers below as a limit on the port: "+
			"ask for a filter on length and first bytes, or choose the filter made for this game.",
		"Its rules stay until you remove them.")
	for _, t := range p.targets {
		p.writeBlocks(t)
	}
	p.writeClasses("block")
	p.writeRequests()
	p.writeList(p.helpless)
	return append(dst, p.buf.String()...)
}

// provider is a page for a provider's firewall.
type provider struct {
	buf       strings.Builder
	f         *rules.Input
	takesIPv6 bool
	targets   []*target
	classes   []classRule
	missing   []string // what needs limits or bytes
	helpless  []string // incidents without rules
}

// target is an address with the networks that are to be blocked there, and with what is to be
// limited.
type target struct {
	scope    flood.RuleScope
	blocked  []string
	requests []flood.RuleLine
}

// classRule is a rule against a flood of packets of one class.
type classRule struct {
	in   *flood.Incident
	rule other.EdgeRule
}

// protocol returns the rule's protocol, as a table has it.
func (c *classRule) protocol() string {
	if c.rule.Fragments {
		return c.rule.Protocol + " fragments"
	}
	return c.rule.Protocol
}

// port returns the port of the target that the rule is about.
func (c *classRule) port() string {
	if !c.rule.AtPort {
		return "any"
	}
	return port(c.in.Target.End.Port())
}

// begin writes the heading and sorts the lines of all rules.
func (p *provider) begin(name string, notes ...string) {
	if p.f.Cut != "" {
		p.buf.Write(rules.AppendInterrupted(nil, p.f))
	}
	p.writeText("", "Rules of qsniff for %s, made from %s", name, p.f.Asked.Files())
	each(p.f, func(in *flood.Incident, scope flood.RuleScope, x *flood.RuleLine) {
		t := p.findTarget(scope)
		if isDropped(scope, x) && (p.takesIPv6 || scope.Net.Addr().Is4()) {
			for _, n := range x.Named {
				if s := n.String(); !slices.Contains(t.blocked, s) {
					t.blocked = append(t.blocked, s)
				}
			}
			return
		}
		if x.NeedsPeers {
			p.helpless = append(p.helpless, fmt.Sprintf("%s at %s: no edge firewall remembers whom the server sent something, and without that this would drop clients: %s",
				in.Kind, in.Target, x.Text()))
			return
		}
		t.requests = append(t.requests, *x)
		p.missing = append(p.missing, fmt.Sprintf("%s at %s: %s", in.Kind, in.Target, x.Text()))
	})
	p.findClasses()
	if len(p.targets) == 0 && len(p.classes) == 0 && len(p.helpless) == 0 {
		p.buf.WriteByte('\n')
		p.writeText("", "There are none: no warning and no alert in this capture has rules.")
		return
	}
	for _, n := range notes {
		p.buf.WriteByte('\n')
		p.writeText("", "%s", n)
	}
}

// findClasses finds the rules against floods of other packets, and the incidents that nothing
// is known against.
func (p *provider) findClasses() {
	for i := range p.f.Incidents {
		in := &p.f.Incidents[i]
		if in.Level < flood.Warn || in.Advice.Rules != nil && in.Class == nil {
			continue
		}
		var rule other.EdgeRule
		ok := false
		if in.Class != nil {
			rule, ok = in.Class.Edge()
		}
		c := classRule{in, rule}
		isSame := func(x classRule) bool { return x.rule == rule && x.in.Target == in.Target }
		switch host := in.Target.End.Addr(); {
		case !ok || !host.IsValid() || !p.takesIPv6 && host.Is6():
			p.helpless = append(p.helpless, fmt.Sprintf("%s at %s: no rule; qsniff floods says what to do", in.Kind, in.Target))
		case !slices.ContainsFunc(p.classes, isSame):
			p.classes = append(p.classes, c)
		}
	}
}

// writeClasses writes the rules against floods of other packets.
func (p *provider) writeClasses(action string) {
	if len(p.classes) == 0 {
		return
	}
	p.buf.WriteByte('\n')
	p.writeText("", "Against floods of other packets, before all rules that permit but those named below:")
	rows := [][]string{{"ACTION", "PROTOCOL", "SOURCE", "SOURCE PORT", "DESTINATION", "PORT"}}
	for i := range p.classes {
		c := &p.classes[i]
		rows = append(rows, []string{action, c.protocol(), "any", port(c.rule.SourcePort), c.in.Target.End.Addr().String(), c.port()})
	}
	p.writeTable(rows)
	for i := range p.classes {
		c := &p.classes[i]
		p.buf.Write(rules.AppendComment(nil, "  ", "  ", fmt.Sprintf("%s: only %s.", c.in.Class.Says, c.rule.Only)))
	}
}

func (p *provider) findTarget(scope flood.RuleScope) *target {
	at := slices.IndexFunc(p.targets, func(t *target) bool { return t.scope == scope })
	if at < 0 {
		p.targets = append(p.targets, &target{scope: scope})
		at = len(p.targets) - 1
	}
	return p.targets[at]
}

func protocol(scope flood.RuleScope) string {
	if scope.TCP {
		return "TCP"
	}
	return "UDP"
}

func port(n uint16) string {
	if n == 0 {
		return "any"
	}
	return fmt.Sprint(n)
}

// writeOVH writes the rules for one address, or for each of a network.
func (p *provider) writeOVH(host netip.Prefix) {
	rows := [][]string{{"PRIORITY", "ACTION", "PROTOCOL", "SOURCE", "SOURCE PORT", "DESTINATION PORT"}}
	more := 0
	for _, t := range p.targets {
		if t.scope.Net != host {
			continue
		}
		for _, n := range t.blocked {
			if k := len(rows) - 1; k < ovhRules {
				rows = append(rows, []string{fmt.Sprint(k), "deny", protocol(t.scope), n, "any", port(t.scope.Port)})
			} else {
				more++
			}
		}
	}
	if len(rows) == 1 {
		return
	}
	which := "the address " + host.Addr().String()
	if !host.IsSingleIP() {
		which = "each address of yours in " + host.String()
	}
	p.buf.WriteByte('\n')
	p.writeText("", "For %s:", which)
	p.writeTable(rows)
	if more > 0 {
		p.missing = append(p.missing, fmt.Sprintf("%s: %d more sources to block", host, more))
	}
}

// writeBlocks writes the rules that block sources of one target.
func (p *provider) writeBlocks(t *target) {
	if len(t.blocked) == 0 {
		return
	}
	p.buf.WriteByte('\n')
	rows := [][]string{{"ACTION", "PROTOCOL", "SOURCE", "SOURCE PORT", "DESTINATION", "PORT"}}
	for _, n := range t.blocked {
		rows = append(rows, []string{"block", protocol(t.scope), n, "any", t.scope.Net.String(), port(t.scope.Port)})
	}
	p.writeTable(rows)
}

// writeRequests writes what is to be limited, as text for a request to the provider.
func (p *provider) writeRequests() {
	for _, t := range p.targets {
		for i := range t.requests {
			p.buf.WriteByte('\n')
			p.writeRequest(t.scope, &t.requests[i])
		}
	}
}

// IP and UDP headers without options, in bytes.
const headers4, headers6 = 28, 48

// writeRequest writes one request: protocol, ports, and the packets by length and first bytes.
func (p *provider) writeRequest(scope flood.RuleScope, x *flood.RuleLine) {
	if scope.Outgoing {
		p.writeText("", "%s (%s): the server itself sends this, and an edge firewall filters what comes in.", scope, x.What)
		return
	}
	p.writeText("", "%s: limit to %s", scope, limit(x))
	if scope.TCP || len(x.Patterns) == 0 {
		return
	}
	headers := headers4
	if !scope.Net.Addr().Is4() {
		headers = headers6
	}
	rows := [][]string{{"PACKET LENGTH", "UDP PAYLOAD", "FIRST BYTES OF THE PAYLOAD"}}
	for i := range x.Patterns {
		m := &x.Patterns[i]
		rows = append(rows, []string{flood.LengthText(m, headers), flood.LengthText(m, 0), flood.BytesText(m)})
	}
	p.writeTable(rows)
	if slices.ContainsFunc(x.Patterns, func(m dissect.Pattern) bool { return strings.Contains(flood.BytesText(&m), "/") }) {
		p.writeText("  ", "49/df is a byte whose bits in the mask df are those of 49: a letter, small or large")
	}
	if n := len(x.Exempt); n > 0 {
		p.writeText("  ", "but not the %d forms of queries, joins and commands that the rules for nftables return for", n)
	}
}

// limit returns the limit of a line in words.
func limit(x *flood.RuleLine) string {
	unit := "second"
	if x.Per == time.Minute {
		unit = "minute"
	}
	if x.Packets == 0 {
		return "none: drop them"
	}
	whom := "for all sources together"
	if x.Each {
		whom = "for each source"
	}
	return fmt.Sprintf("%d packets a %s %s", x.Packets, unit, whom)
}

// writeMissing writes what the firewall cannot do, and what can.
func (p *provider) writeMissing() {
	if len(p.missing) == 0 {
		return
	}
	p.buf.WriteByte('\n')
	p.writeText("", "What it cannot do:")
	p.writeItems(p.missing)
	p.writeText("", "On the server's host this does:")
	fmt.Fprintf(&p.buf, "  %s\n", p.f.Asked.LoadNFT())
}

// writeList writes a list on its own, if it has something.
func (p *provider) writeList(list []string) {
	if len(list) > 0 {
		p.buf.WriteByte('\n')
		p.writeItems(list)
	}
}

func (p *provider) writeItems(list []string) {
	for _, s := range list {
		p.buf.Write(rules.AppendComment(nil, "- ", "  ", s))
	}
}

// writeText writes a paragraph.
func (p *provider) writeText(indent, format string, args ...any) {
	p.buf.Write(rules.AppendComment(nil, indent, indent, fmt.Sprintf(format, args...)))
}

func (p *provider) writeTable(rows [][]string) {
	w := tabwriter.NewWriter(&p.buf, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, "  "+strings.Join(r, "\t"))
	}
	w.Flush() // a strings.Builder takes everything
}
