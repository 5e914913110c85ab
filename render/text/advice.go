package text

import (
	"qsniff/flood"
	"qsniff/flood/advice"
	"qsniff/render"
)

// writeAdvice writes what can be done: the words, what rules do, and what these would have
// done. The rules themselves are another output: at the end of the page is the command that
// loads those of all incidents.
func (p *floodsPage) writeAdvice(in *flood.Incident) {
	a := &in.Advice
	if len(a.Words) == 0 && a.Rules == nil {
		return
	}
	p.writeLine(tableIndent, "What to do:")
	for i, s := range a.Words {
		if i > 0 {
			p.dst = append(p.dst, '\n')
		}
		p.writeLine(belowIndent, "%s", s)
	}
	if a.Rules == nil {
		return
	}
	p.dst = append(p.dst, '\n')
	p.writeLine(belowIndent, "The rules, for %s:", a.Rules.Scope())
	lines := a.Rules.Lines()
	for i := range lines {
		x := &lines[i]
		text := x.Text()
		if sizes := x.LengthsText(); sizes != "" && len(x.Lengths) <= shownLengths {
			text += "; matches payloads of " + sizes + " bytes by what they begin with"
		}
		at := len(p.dst)
		p.writeLine(belowIndent+2, "%s", text)
		p.dst[at+belowIndent] = '-'
	}
	if a.Measured != "" {
		p.writeLine(belowIndent, "%s", a.Measured)
	}
}

// shownLengths is how many ranges of lengths a line of rules has at most. Chosen: more are
// read by nobody, and a list of them is in the rules.
const shownLengths = 6

// writeLoading writes the commands that load the rules of all incidents, and remove them.
// They are never wrapped, so that they can be copied.
func (p *floodsPage) writeLoading() {
	if advice.NewRuleset("", p.f.Incidents, p.f.Expiry).IsEmpty() {
		return
	}
	asked := &p.f.Asked
	p.writeTitle("Rules", "for all of these together; qsniff itself loads none")
	until := "they match until they are removed"
	if p.f.Expiry > 0 {
		until = "they match for " + render.FormatExpiry(p.f.Expiry) + " from then on"
	}
	p.writeLine(tableIndent, "Load; %s, and loading again does no harm:", until)
	p.writeCommand(asked.Floods("nft") + " | sudo nft -f -")
	p.writeLine(tableIndent, "Undo:")
	p.writeCommand("sudo nft delete table inet qsniff")
	p.writeLine(tableIndent, "With iptables instead, and undo:")
	p.writeCommand(asked.Floods("iptables") + " | sudo sh")
	p.writeCommand(asked.Floods("iptables") + " | sudo sh -s undo")
	p.writeLine(tableIndent, "Without what follows the bar, each command prints what it would load. --proven lets clients "+
		"that proved their address pass first (nft). -o xdp-filter, ovh and path are what those can do of it.")
}

// writeCommand writes a command that is to be copied.
func (p *floodsPage) writeCommand(s string) {
	p.dst = append(append(appendSpaces(p.dst, belowIndent), s...), '\n')
}
