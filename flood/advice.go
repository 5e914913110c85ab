package flood

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"qsniff/internal/digits"
)

// Advice is what to do about an incident. Its parts are separate so that each output takes
// those that it has a place for: package advice makes them. Of packets they have addresses,
// ports and numbers only.
type Advice struct {
	Words    []string // paragraphs without line breaks: what to do, limits, settings of servers
	Rules    Rules    // nil where no filter helps
	Measured string   // sentences: what Rules would have done to the capture; empty without Rules
}

// Rules are the rules against one incident.
type Rules interface {
	// NFTables returns a file for nft -f. Loaded, it matches nothing any more after an hour.
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
}

// RuleLine is one kind of lines in rules, without the words of any tool.
type RuleLine struct {
	What  string         // "a cap for queries that bring no challenge back"
	Named []netip.Prefix // the other ends that it is about; empty: all
	// Lengths are those of payloads in bytes that it is about; empty: any. In packets
	// of these lengths, the rules look at the first bytes as well.
	Lengths []LengthRange
	Packets int           // how many pass in Per; 0: none
	Per     time.Duration // a second or a minute
	Burst   int           // how many pass at once
	Each    bool          // the limit is for each other end, in IPv6 for each /64; else for all together
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

// LengthsText returns the lengths of payloads in words: "9, 25 or more"; empty if there are
// none.
func (x *RuleLine) LengthsText() string {
	var list []string
	for _, n := range x.Lengths {
		switch {
		case n.Max == 0:
			list = append(list, fmt.Sprintf("%d or more", n.Min))
		case n.Max == n.Min:
			list = append(list, fmt.Sprint(n.Min))
		default:
			list = append(list, fmt.Sprintf("%d to %d", n.Min, n.Max))
		}
	}
	return strings.Join(list, ", ")
}

// String returns the scope in words: "UDP to 198.51.100.17, port 27015".
func (x RuleScope) String() string {
	protocol, way, host := "UDP", "to", x.Net.String()
	if x.TCP {
		protocol = "new TCP connections"
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

// LengthRange are lengths in bytes, both included; a Max of 0 is no bound.
type LengthRange struct{ Min, Max int }

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
