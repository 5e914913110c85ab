package text

import (
	"bytes"

	"slices"
	"strings"

	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
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
		at := len(p.dst)
		p.writeLine(belowIndent+2, "%s", lines[i].Text()+describeMatch(&lines[i]))
		p.dst[at+belowIndent] = '-'
	}
	if a.Measured != "" {
		p.writeLine(belowIndent, "%s", a.Measured)
	}
}

// describeMatch returns the lengths of the payloads whose first bytes a line of rules matches, in
// words; empty if there are none, or more than shownLengths.
func describeMatch(x *flood.RuleLine) string {
	var sizes []string
	for i := range x.Patterns {
		if n := flood.LengthText(&x.Patterns[i], 0); !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	if len(sizes) == 0 || len(sizes) > shownLengths {
		return ""
	}
	return "; matches the first bytes of payloads of " + strings.Join(sizes, ", ") + " bytes"
}

// shownLengths is how many lengths a line of rules has at most. Chosen: more are read by
// nobody.
const shownLengths = 4

// writeLoading writes the commands that load the rules of all incidents, and remove them.
// They are never wrapped, so that they can be copied.
func (p *floodsPage) writeLoading() {
	if !slices.ContainsFunc(p.f.Incidents, func(in flood.Incident) bool { return in.Advice.Rules != nil }) {
		return
	}
	if p.f.IsLive {
		p.writeScript()
		return
	}
	asked := &p.f.Asked
	p.writeTitle("Rules", "for all of these together; qsniff itself loads none")
	until := "they match until they are removed"
	if p.f.Expiry > 0 {
		until = "they match for " + advice.FormatExpiry(p.f.Expiry) + " from then on"
	}
	load, form := "Load", "nft"
	if slices.ContainsFunc(p.f.Incidents, func(in flood.Incident) bool { return in.Advice.ProvenFirst }) {
		load, form = "Load, with the clients that proved their address, who pass first", "nft --proven"
	}
	p.writeLine(tableIndent, "%s; %s, and loading again does no harm:", load, until)
	p.writeCommand(asked.Floods(form) + " | sudo nft -f -")
	p.writeLine(tableIndent, "Undo:")
	p.writeCommand("sudo nft delete table inet qsniff")
	needs := ""
	if slices.ContainsFunc(p.f.Incidents, needsPeers) {
		needs = ", which needs " + advice.IPSetPackage + " for these"
	}
	p.writeLine(tableIndent, "With iptables instead%s, and undo:", needs)
	p.writeCommand(asked.Floods("iptables") + " | sudo sh")
	p.writeCommand(asked.Floods("iptables") + " | sudo sh -s undo")
	p.writeLine(tableIndent, "Without what follows the bar, each command prints what it would load. --proven lets clients "+
		"that proved their address pass first (nft); without it, loading removes sets that qsniff proven -o nft made. -o xdp-filter, ovh and path are what those can do of it.")
}

// needsPeers reports whether rules against an incident look at whom the server sent something.
func needsPeers(in flood.Incident) bool {
	return in.Advice.Rules != nil && slices.ContainsFunc(in.Advice.Rules.Lines(), func(x flood.RuleLine) bool { return x.NeedsPeers })
}

// writeScript writes the rules for nft as a command that can be pasted, if there are any.
func (p *floodsPage) writeScript() {
	if len(p.f.Script) == 0 {
		return
	}
	p.writeTitle("Rules", "for all of these together; paste them into a shell, qsniff itself loads none")
	p.dst = append(p.dst, "sudo nft -f - <<'END'\n"...)
	p.dst = append(append(p.dst, bytes.TrimSpace(p.f.Script)...), "\nEND\n"...)
	p.writeLine(0, "Undo:")
	p.writeCommand("sudo nft delete table inet qsniff")
}

// writeCommand writes a command that is to be copied.
func (p *floodsPage) writeCommand(s string) {
	p.dst = append(append(appendSpaces(p.dst, belowIndent), s...), '\n')
}
