package text

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
)

// briefIncidents is how many attacks and warnings have a block on the page in brief. Chosen: three fit on a
// screen; the others are in the table.
const briefIncidents = 3

// writeBrief writes what somebody under attack needs: what comes, at whom, since when, what to do, what that
// stops and costs. -v has the evidence, and what else was tried.
func (p *floodsPage) writeBrief() {
	worst := p.worst()
	isMany := len(worst) > 1
	if isMany {
		p.writeCommands(worst)
	}
	for _, in := range worst[:min(len(worst), briefIncidents)] {
		p.writeBlock(in)
		if !isMany {
			p.writeCommands(worst)
		}
		p.writeEffect(in)
		p.writeReasons(in)
	}
	if len(worst) > briefIncidents {
		p.writeTableOfIncidents()
	}
	p.writeNotes()
	p.dst = append(p.dst, '\n')
	at := len(p.dst)
	p.writeCaveats()
	if len(p.dst) > at {
		p.dst = append(p.dst, '\n')
	}
	if len(worst) > 0 {
		p.writeLine(0, "MORE   -v evidence and what was tried, --explain the rule, -o json everything")
	} else {
		p.dst = p.dst[:len(p.dst)-1]
	}
	if p.f.IsLive {
		p.writeScript()
	}
}

// worst returns the attacks and the warnings, the attacks first; of these those that go on, and what comes fastest.
func (p *floodsPage) worst() (list []*flood.Incident) {
	for i := range p.f.Incidents {
		if in := &p.f.Incidents[i]; in.Level >= flood.Warn {
			list = append(list, in)
		}
	}
	isOver := func(in *flood.Incident) int {
		if in.End != 0 {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b *flood.Incident) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), isOver(a)-isOver(b), cmp.Compare(b.Peak, a.Peak))
	})
	return list
}

// writeBlock writes what an attack is, at whom, since when and how much.
func (p *floodsPage) writeBlock(in *flood.Incident) {
	word := "WARNING"
	if in.Level == flood.Alert {
		word = "ATTACK"
	}
	if in.Class != nil {
		word += " (" + in.Class.Says + ", no queries)"
	}
	s := p.levelStyle(in.Level)
	at := len(p.dst)
	success := ""
	if in.Succeeded {
		success = ", WITH SUCCESS"
	}
	p.writeLine(0, "%s on %s, %s%s", word, in.Target, p.since(in), success)
	p.dst = slices.Concat(p.dst[:at:at], []byte("\n"+s.on), p.dst[at:len(p.dst)-1], []byte(s.off+"\n"))
	p.writeInside(in)
	p.writeLine(tableIndent, "%s", p.briefAmounts(in))
	if in.Servers > 0 {
		p.writeServers(in)
	}
}

// writeReasons writes what an incident is taken for, how sure that is, and why.
func (p *floodsPage) writeReasons(in *flood.Incident) {
	text := fmt.Sprintf("%s, %s", flood.ConfidenceWord(in.Confidence()), in.Kind)
	if why := firstEvidence(in, p.f.Run.Last); why != "" {
		text += ": " + why
	}
	p.writeFigure("sure", text)
}

// since returns since when an incident is, and whether it goes on.
func (p *floodsPage) since(in *flood.Incident) string {
	start := p.formatTime(in.Start, !p.sameDay())
	switch {
	case in.End == in.Start:
		return "at " + start
	case in.End != 0:
		return fmt.Sprintf("over since %s after %s", p.formatTime(in.End, !p.sameDay()), p.length(in))
	case in.Paused != 0:
		return fmt.Sprintf("PAUSED since %s, after %s; it is over if nothing comes again", p.formatTime(in.Paused, !p.sameDay()), strings.TrimSuffix(p.length(in), "+"))
	case p.f.IsLive:
		return fmt.Sprintf("GOING ON since %s, for %s", start, strings.TrimSuffix(p.length(in), "+"))
	}
	return fmt.Sprintf("since %s; it goes on where the capture ends, after %s", start, strings.TrimSuffix(p.length(in), "+"))
}

// briefAmounts returns how much came, of what and from whom.
func (p *floodsPage) briefAmounts(in *flood.Incident) string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	what := in.Count()
	if of := in.Kind.Doc().Packets; of != "" {
		what += " " + of
	}
	add("%s", what)
	if in.Peak > 0 {
		usual := " (usual: unknown)"
		if in.Baseline > 0 {
			usual = fmt.Sprintf(" (usual: %s)", short(in.Baseline))
		}
		add("%s a second at the peak%s", short(in.Peak), usual)
	}
	if in.Sources >= 1.5 {
		about := ""
		if in.SourcesError > 0 {
			about = "about "
		}
		add("%s%s", about, digits.Counted(uint64(in.Sources+0.5), "source"))
	}
	if in.BytesIn+in.BytesOut > 0 {
		took := p.duration(in)
		add("%s in, %s out", bitRate(in.BytesIn, took), bitRate(in.BytesOut, took))
	}
	if in.Answered >= 0 {
		add("%.0f %% of the queries got any reply", 100*min(in.Answered, 1))
	}
	if in.Served >= 0 {
		add("%.0f %% of those of proven clients", 100*in.Served)
	} else if in.Answers.FirstAsked > 0 {
		add("of proven clients too few asked to say how these fare")
	}
	return strings.Join(parts, ", ")
}

// bitRate returns bytes in a time as bits a second.
func bitRate(bytes uint64, took time.Duration) string {
	bits := 8 * float64(bytes) / took.Seconds()
	switch {
	case bits == 0:
		return "nothing"
	case bits >= 1e9:
		return digits.Short(bits/1e9) + " Gbit/s"
	case bits >= 1e5:
		return digits.Short(bits/1e6) + " Mbit/s"
	}
	return digits.Short(bits/1e3) + " kbit/s"
}

// writeCommands writes how the rules against all incidents are loaded, and undone. The commands are never wrapped, so
// that they can be copied.
func (p *floodsPage) writeCommands(worst []*flood.Incident) {
	hasRules := slices.ContainsFunc(worst, func(in *flood.Incident) bool { return in.Advice.Rules != nil })
	if !hasRules {
		return
	}
	p.dst = append(p.dst, '\n')
	if p.f.IsLive {
		if p.f.Asked.Written != "" {
			p.dst = append(p.dst, "DO     "+p.f.Asked.LoadNFT()+"\nUNDO   sudo nft delete table inet qsniff\n"...)
			p.writeLine(len("UNDO   "), "%s is rewritten as the rules change; qsniff itself loads nothing", p.f.Asked.Written)
			return
		}
		if len(p.f.Script) == 0 {
			p.writeLine(0, "DO     Ctrl-C, which prints the rules against it; --rules FILE writes them at once")
			return
		}
		p.writeLine(0, "DO     paste the lines below")
		p.dst = append(p.dst, "UNDO   sudo nft delete table inet qsniff\n"...)
		return
	}
	form, proven := "nft", ""
	if slices.ContainsFunc(worst, func(in *flood.Incident) bool { return in.Advice.ProvenFirst }) {
		form, proven = "nft --proven", "; the clients that proved their address pass first"
	}
	if p.f.Proven != nil { // the flag is among the others
		form = "nft"
		proven = fmt.Sprintf("; %s that proved their address pass first", digits.Counted(uint64(len(p.f.Proven.Sources)), "client"))
	}
	ends := ""
	if p.f.Expiry > 0 {
		ends = "   (the rules end by themselves after " + advice.FormatExpiry(p.f.Expiry) + ")"
	}
	p.dst = append(p.dst, "DO     "+p.f.Asked.Floods(form)+" | sudo nft -f -\n"...)
	p.dst = append(p.dst, "UNDO   sudo nft delete table inet qsniff"+ends+"\n"...)
	needs := ""
	if slices.ContainsFunc(p.f.Incidents, needsPeers) {
		needs = ", which needs " + advice.IPSetPackage
	}
	p.writeLine(len("UNDO   "), "or -o iptables ... | sudo sh%s; qsniff itself loads nothing%s", needs, proven)
	if c, n := flood.CostTogether(p.f.Incidents); n > 0 {
		p.writeFigure("costs", "against all "+digits.Counted(uint64(n), "of these", "of these")+" together: "+costInBrief(&c))
	}
}

// writeEffect writes what the rules against an incident stop and cost, or what to do where there are none.
func (p *floodsPage) writeEffect(in *flood.Incident) {
	a := &in.Advice
	if a.Rules == nil {
		do := in.Kind.Doc().Do
		n := 1
		if a.Veto != "" { // and what to do in place of loading them
			n = 2
		}
		if len(a.Words) >= n {
			do = strings.Join(a.Words[:n], " ")
		}
		p.writeFigure("DO", do)
		return
	}
	if text := p.f.Loaded.Describe(in.Target, time.Unix(0, p.f.Run.Last)); text != "" && in.End == 0 {
		p.writeFigure("rules", text)
	}
	if in.Class != nil {
		p.writeFigure("DO", a.Words[0])
	}
	switch {
	case a.Tried > 0:
		text := fmt.Sprintf("%s of the flood (%s of %s after its detection)", percentOf(a.Dropped, a.Tried), grouped(a.Dropped), digits.Counted(a.Tried, "packet"))
		if a.TooFew != "" {
			text += "." + a.TooFew
		}
		p.writeFigure("stops", text)
	case in.Kind == flood.Reflection && in.Class != nil:
		p.writeFigure("stops", "not tried: lines against what this server sends to victims are not tried on captures")
		return
	default:
		p.writeFigure("stops", "unknown: nothing of the flood followed its detection, or the capture is sampled")
	}
	costs := "unknown: no client that had proved its address came meanwhile, or the capture does not show it"
	if a.Cost != nil {
		costs = costInBrief(a.Cost)
		if lost := advice.DescribeLost(&in.Answers); lost != "" {
			costs += "; without them " + lost
		}
	}
	p.writeFigure("costs", costs)
	if a.Veto != "" {
		p.writeFigure("but", a.Veto)
	}
	if bits, took := in.BytesIn*8, p.duration(in); !p.f.IsLive && float64(bits) >= fullLine*took.Seconds() {
		p.writeFigure("else", fmt.Sprintf("if the line is full, now %s, only the provider can filter: %s", bitRate(in.BytesIn, took), p.f.Asked.Floods("path")))
	}
}

// fullLine is from how many bits a second a line may be full (chosen: servers have 100 Mbit/s and more).
const fullLine = 1e7

// duration returns how long an incident lasted, or has lasted so far, a second at least.
func (p *floodsPage) duration(in *flood.Incident) time.Duration {
	end := in.End
	if end == 0 {
		end = cmp.Or(in.Paused, p.f.Run.Last)
	}
	return max(time.Duration(end-in.Start), time.Second)
}

// writeFigure writes a word and what belongs to it.
func (p *floodsPage) writeFigure(word, text string) {
	const column = 9
	if len(word)+2 > column-tableIndent {
		text, word = word+": "+text, ""
	}
	at := len(p.dst)
	p.writeLine(column, "%s", text)
	copy(p.dst[at+tableIndent:], word)
}

// costInBrief returns what rules cost in three figures.
func costInBrief(c *flood.Cost) string {
	who := func(n, of int, one, many, lose string) string {
		switch {
		case of == 0:
			return "no " + many + " to see it at"
		case n == 0:
			return fmt.Sprintf("none of %s", digits.Counted(uint64(of), one, many))
		}
		return fmt.Sprintf("%s of %s %s", grouped(uint64(n)), digits.Counted(uint64(of), one, many), lose)
	}
	return strings.Join([]string{
		who(c.PlayersHit, c.Players, "player", "players", "lose packets"),
		who(c.KnownHit, c.Known, "known visitor", "known visitors", "lose an answer"),
		who(c.NewHit, c.New, "new visitor", "new visitors", "have to ask again"),
	}, "; ")
}

// percentOf returns the share that n is of of, rounded down: only none is 0 %, and only all is 100 %.
func percentOf(n, of uint64) string {
	switch share := math.Floor(1000*float64(n)/float64(of)) / 10; {
	case n == 0 || n == of:
		return fmt.Sprintf("%.0f %%", share)
	case share < 0.1:
		return "under 0.1 %"
	default:
		return fmt.Sprintf("%.1f %%", share)
	}
}
