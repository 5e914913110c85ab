package flood

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/track"
)

// Advice is what to do about an incident. Its parts are separate so that each output takes
// those that it has a place for: package advice makes them. Of packets they have addresses,
// ports and numbers only.
type Advice struct {
	Words    []string // paragraphs without line breaks: what to do, limits, settings of servers
	Rules    Rules    // nil where no filter helps
	Measured string   // sentences: what Rules would have done to the capture; empty without Rules
	Veto     string   // sentences of Words: why the rules hardly help, or cost much; empty where they are good
	// Tried is how many packets of the flood followed its detection in the capture, and Dropped how many of
	// these the lines for nftables would have dropped; 0 where they could not be tried.
	Tried, Dropped uint64
	TooFew         string // a sentence after that, with a blank before it, where Tried are too few to show what a limit does
	// ProvenFirst is set where Rules would have touched fewer clients that had proved their address if those who did
	// so before pass first.
	ProvenFirst bool
	// Cost is what Rules would have cost players and visitors; nil where that is unknown. Losses has it for
	// each client, until a run has listed too many.
	Cost   *Cost
	Losses ClientLosses
}

// CostTogether returns what the rules against incidents cost that are loaded together, and against how
// many incidents these are: no fewer than two, or none.
func CostTogether(incidents []Incident) (c Cost, of int) {
	var all []ClientLosses
	for i := range incidents {
		if a := &incidents[i].Advice; a.Rules != nil && len(a.Losses.All) > 0 {
			all = append(all, a.Losses)
		}
	}
	if len(all) < 2 {
		return Cost{}, 0
	}
	return CostOf(all...), len(all)
}

// Rules are the rules against one incident.
type Rules interface {
	// NFTables returns a file for nft -f. Loaded, it matches nothing any more when its time is over.
	NFTables() string
	// IPTables returns a file for iptables-restore -n, or ip6tables-restore -n where the
	// target has an IPv6 address, with the name of the tool without "-restore".
	IPTables() (file, tool string)
	// Scope returns which packets the rules look at.
	Scope() RuleScope
	// Lines returns what is done with them, in the order of the rules.
	Lines() []RuleLine
}

// RuleScope is the end at which rules look at packets.
type RuleScope struct {
	Net      netip.Prefix // of the target
	Port     uint16       // 0: all of them
	TCP      bool         // the requests to connect, else all UDP
	Outgoing bool         // packets from the target, else to it
	Class    string       // what the rules look at in place of UDP and requests to connect; empty: these
}

// RuleLine is one kind of lines in rules, without the words of any tool.
type RuleLine struct {
	What  string         // "a cap for queries that bring no challenge back"
	Named []netip.Prefix // the other ends that it is about; empty: all
	// Patterns are those of the payloads that it is about, but for those that have one of
	// Exempt; none: any payload.
	Patterns, Exempt []dissect.Pattern
	Packets          int           // how many pass in Per; 0: none
	Per              time.Duration // a second or a minute
	Burst            int           // how many pass at once
	// NeedsPeers is set where it is about those only whom the target sent nothing lately: a
	// filter that does not remember them must not have it.
	NeedsPeers bool
	Each       bool // the limit is for each other end, in IPv6 for each /64; else for all together
}

// Text returns the line in words, without a full stop.
func (x *RuleLine) Text() string {
	var b strings.Builder
	b.WriteString(x.What)
	if len(x.Named) > 0 {
		names := make([]string, len(x.Named))
		for i, n := range x.Named {
			names[i] = n.String()
			if n.IsSingleIP() {
				names[i] = n.Addr().String()
			}
		}
		b.WriteString(" (" + strings.Join(names, ", ") + ")")
	}
	if x.Packets == 0 {
		b.WriteString(": dropped")
		return b.String()
	}
	unit, whom := "second", "all together"
	if x.Per == time.Minute {
		unit = "minute"
	}
	if x.Each {
		whom = "each"
	}
	fmt.Fprintf(&b, ": %s a %s for %s, %s at once", digits.Grouped(int64(x.Packets)), unit, whom, digits.Grouped(int64(x.Burst)))
	return b.String()
}

// LengthText returns the lengths of payloads with a pattern in words, with so many bytes of
// headers added: "33", "13 or more".
func LengthText(p *dissect.Pattern, headers int) string {
	lo, hi := max(p.MinLen, p.Offset+len(p.Value))+headers, p.MaxLen+headers
	switch {
	case p.MaxLen == 0:
		return fmt.Sprintf("%d or more", lo)
	case lo == hi:
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}

// BytesText returns the bytes that payloads with a pattern have, in hexadecimal: ".." is any
// byte, and "c0/df" a byte whose bits in the mask df are those of c0.
func BytesText(p *dissect.Pattern) string {
	var b strings.Builder
	for i := range p.Offset + len(p.Value) {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch value, mask := p.BitsAt(i); mask {
		case 0:
			b.WriteString("..")
		case 0xff:
			fmt.Fprintf(&b, "%02x", value)
		default:
			fmt.Fprintf(&b, "%02x/%02x", value, mask)
		}
	}
	return b.String()
}

// String returns the scope in words: "UDP to 198.51.100.17, port 27015".
func (x RuleScope) String() string {
	protocol, way, host := "UDP", "to", x.Net.String()
	if x.TCP {
		protocol = "new TCP connections"
	}
	if x.Class != "" {
		protocol = x.Class
	}
	if x.Outgoing {
		way = "from"
	}
	if x.Net.IsSingleIP() {
		host = x.Net.Addr().String()
	}
	if x.Port == 0 {
		return fmt.Sprintf("%s %s %s", protocol, way, host)
	}
	return fmt.Sprintf("%s %s %s, port %d", protocol, way, host, x.Port)
}

// adviceWidth is the width in columns of the paragraphs in Text.
const adviceWidth = 78

// Text returns all parts as one text: the words, the rules for either tool, and what was
// measured. Lines of rules are as wide as they are.
func (a *Advice) Text() string {
	var b strings.Builder
	for i, s := range a.Words {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeWrapped(&b, s)
	}
	if a.Rules == nil {
		return b.String()
	}
	b.WriteString("\nFor nftables:\n\n")
	b.WriteString(a.Rules.NFTables())
	file, tool := a.Rules.IPTables()
	fmt.Fprintf(&b, "\nThe same for %s, where it stays until it is removed:\n\n%s\n", tool, file)
	writeWrapped(&b, a.Measured)
	return b.String()
}

// writeWrapped writes a paragraph in lines of at most adviceWidth columns.
func writeWrapped(b *strings.Builder, s string) {
	col := 0
	for w := range strings.FieldsSeq(s) {
		switch {
		case col == 0:
		case col+1+len(w) > adviceWidth:
			b.WriteByte('\n')
			col = 0
		default:
			b.WriteByte(' ')
			col++
		}
		b.WriteString(w)
		col += len(w)
	}
	b.WriteByte('\n')
}

// Advisor writes what to do about an incident. The detector depends on no filter and on no
// protocol's bytes: package advice implements Advisor.
type Advisor interface {
	// Advise sets the Advice of an incident as it is now.
	Advise(in *Incident)
	// Try does the same and returns a trial of the rules on the packets that follow, or
	// nil where nothing is tried.
	Try(in *Incident) Trial
}

// Trial tries the rules for one incident on packets of the capture.
type Trial interface {
	// Restart begins anew with the rules for the incident as it is now, after its kind
	// changed.
	Restart(in *Incident)
	// Refit does the same if the limits of the rules for the incident as it is now are others, and reports whether
	// they are.
	Refit(in *Incident) bool
	// Apply applies the rules to a packet to or from the target. proven reports whether
	// its source (of a reflection: its receiver) proved its address; of replies at a
	// victim, whether the victim had asked this server; of attempts to log in, whether
	// the source is no guesser.
	Apply(s *track.Sighting, proven bool)
	// Answers returns what clients got of what they asked for since the incident was detected.
	Answers() Answers
	// Measure sets what the Advice says of packets and clients to what the trial measured so far. Its rules and words
	// stay. blind is as for Conclude.
	Measure(in *Incident, blind bool)
	// Conclude sets Advice with what was measured, and ends the trial. blind is
	// set where no source could prove its address.
	Conclude(in *Incident, blind bool)
}

// noAdvice is the Advisor of a detector that was given none: it leaves incidents without
// advice.
type noAdvice struct{}

func (noAdvice) Advise(*Incident)    {}
func (noAdvice) Try(*Incident) Trial { return nil }
