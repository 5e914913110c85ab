package flood

import (
	"fmt"
	"strings"
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
	// NFTables returns a file for nft -f.
	NFTables() string
	// IPTables returns a file for iptables-restore -n, or ip6tables-restore -n where the
	// target has an IPv6 address, with the name of the tool without "-restore".
	IPTables() (file, tool string)
	// ExpiryGap returns what of the rules stays, other than with nftables, until somebody
	// removes it; empty if there is no difference.
	ExpiryGap() string
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
	fmt.Fprintf(&b, "\nThe same for %s%s:\n\n%s\n", tool, a.Rules.ExpiryGap(), file)
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
