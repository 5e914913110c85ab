package text

import (
	"fmt"
	"strconv"

	"qsniff/internal/app/diff"
	"qsniff/internal/base/digits"
)

// writeList lists differences with their frames.
func (p *diffPage) writeList() {
	var total, shown int
	t := &table{columns: []column{{head: "EDGE frame"}, {head: "HOST frame"}, {head: "time", isText: true, rank: 2}, {head: "what", isText: true},
		{head: "server", isText: true, rank: 1}, {head: "client", isText: true, rank: 1}, {head: "kind", isText: true}, {head: "bytes"}}}
	for i := range p.r.Differences {
		d := &p.r.Differences[i]
		if !p.x.Shows[d.Class] {
			continue
		}
		if total++; shown >= p.x.Top {
			continue
		}
		shown++
		server, client := p.r.Ends(d)
		frame := func(n uint64) string {
			if n == 0 {
				return "-"
			}
			return strconv.FormatUint(n, 10)
		}
		size := max(d.Sizes[0], d.Sizes[1])
		what, note := p.describe(d)
		t.rows = append(t.rows, tableRow{cells: []string{frame(d.Frames[0]), frame(d.Frames[1]), string(p.opt.appendTime(nil, d.Nanos, false)), what,
			server.String(), client.String(), p.kind(d.Kind), grouped(uint64(size))}, note: note})
	}
	if total == 0 {
		return
	}
	about := "all"
	if uint64(total)+p.r.Unlisted > uint64(shown) {
		about = "the first " + grouped(uint64(shown)) + " of " + grouped(uint64(total)+p.r.Unlisted) + "; -c lists more"
	}
	p.writeTitle("Differences", about)
	p.writeTable(t)
}

// describe returns what became of a datagram, and more about it.
func (p *diffPage) describe(d *diff.Difference) (what, note string) {
	side := diff.Edge
	if d.Frames[diff.Edge] == 0 {
		side = diff.Host
	}
	sender, isKnown := p.r.Sender(d.Way)
	switch d.Class {
	case diff.Retransmitted:
		return "sent again", ""
	case diff.Injected:
		return "reset from between", ""
	case diff.Late:
		return "late", "took " + string(digits.AppendElapsed(nil, d.Delay, " "))
	case diff.Reordered:
		return "out of order", ""
	case diff.Changed:
		return "changed", p.describeParts(d)
	case diff.Reframed:
		return "other parts", p.describeFraming(d)
	case diff.Duplicated:
		return "copy", ""
	case diff.AnsweredBetween:
		if d.Way == diff.ToServer {
			return "kept between", ""
		}
		return "answer from between", p.describeAnswer(d)
	}
	switch {
	case !isKnown:
		return "at " + diffSides[side] + " only", ""
	case side != sender:
		return "appeared between", ""
	case d.Way == diff.ToServer:
		return "lost there", ""
	}
	return "lost back", ""
}

func (p *diffPage) describeFraming(d *diff.Difference) string {
	sender, _ := p.r.Sender(d.Way)
	return fmt.Sprintf("the same bytes: sent in %s, arrived in %s", digits.Counted(uint64(d.Count[sender]), "datagram"), digits.Counted(uint64(d.Count[1-sender]), "datagram"))
}

func (p *diffPage) describeAnswer(d *diff.Difference) string {
	near := p.r.Clients()
	s := "answers frame " + strconv.FormatUint(d.Request, 10)
	if d.SameAs > 0 {
		s += fmt.Sprintf("; the same bytes as %s frame %d, %s older", diffSides[1-near], d.SameAs, digits.AppendElapsed(nil, d.Age, " "))
	}
	if ttl := d.TTL[near]; d.UsualTTL > 0 && ttl != d.UsualTTL {
		s += fmt.Sprintf("; TTL %d, the server's own replies have %d", ttl, d.UsualTTL)
	}
	return s
}

func (p *diffPage) describeParts(d *diff.Difference) string {
	parts, more := p.r.Parts(p.x.Registry, d)
	var b []byte
	for i := range parts {
		if i > 0 {
			b = append(b, "; "...)
		}
		x := &parts[i]
		b = append(append(b, x.Name...), ' ')
		for j := range x.Values {
			if j > 0 {
				b = append(b, " became "...)
			}
			switch v := &x.Values[j]; {
			case v.Field != nil:
				b = appendValue(b, &p.opt, v.Msg, v.Field)
			case x.Def != nil:
				b = append(b, "nothing"...)
			default:
				b = append(b, digits.Counted(uint64(len(v.Bytes)), "byte")...)
			}
		}
	}
	if more > 0 {
		b = append(append(b, "; "...), digits.Counted(uint64(more), "more field", "more fields")...)
	}
	return string(b)
}
