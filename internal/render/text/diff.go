package text

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/render"
	"qsniff/internal/track/diff"
)

// Diff renders what became of datagrams between two points.
type Diff struct {
	Options
	Registry *dissect.Registry
	Shows    [diff.NumClasses]bool // the classes of which differences are listed
	Top      int                   // how many are
}

// ipHeaders are the bytes before a payload in a packet of IPv4: to compare sizes with an MTU.
const ipHeaders = 28

// diffPage is the page in the making.
type diffPage struct {
	statsPage
	x *Diff
	r *diff.Result
}

// Append appends the page: what was found, what to do, then figures by kind, then frames.
func (x *Diff) Append(dst []byte, r *diff.Result) []byte {
	p := &diffPage{statsPage{dst: dst, opt: x.Options.withDefaults(), s: &render.Stats{}}, x, r}
	p.writeAnswer()
	p.writeAdvice()
	p.writeKinds()
	p.writeBasis()
	p.writeList()
	return p.dst
}

var diffSides = [...]string{"EDGE", "HOST"}

// writeAnswer writes what became of datagrams on each way.
func (p *diffPage) writeAnswer() {
	if p.r.IsInterrupted {
		p.writeLine(0, "Interrupted after %s of EDGE and %s of HOST, of %s and %s: what follows is about these.", digits.Counted(p.r.Compared[0], "packet"),
			digits.Counted(p.r.Compared[1], "packet"), grouped(p.r.Captures[0].Packets), grouped(p.r.Captures[1].Packets))
	}
	for s, name := range diffSides {
		switch n := &p.r.Captures[s]; {
		case n.Packets == 0:
			p.writeLine(0, "%s has no packets: nothing can be compared. If that capture ran all the time, nothing came there.", name)
			return
		case n.Datagrams+n.Segments == 0:
			p.writeLine(0, "%s has neither UDP datagrams nor consoles over TCP, which are what is compared.", name)
			return
		}
	}
	if p.r.Clock.IsDoubtful {
		p.writeLine(0, "Too little in common: some contents are in both captures, but they are the same everywhere, or their addresses and times differ. Do: give two captures of the same time, or longer ones.")
		return
	}
	if p.r.Matched() == 0 && p.r.Unwanted[0]+p.r.Unwanted[1] > 0 {
		p.writeLine(0, "No datagram that matches the filter is in both captures; %s.", digits.Counted(p.r.Unwanted[0]+p.r.Unwanted[1], "other does not match", "others do not match"))
	} else if p.r.Matched() == 0 {
		p.writeLine(0, "No datagram of one capture is in the other: they may be of different times or hosts, or nothing passed between the points.")
	}
	isCalm := true
	for _, way := range [...]diff.Way{diff.ToServer, diff.ToClient} {
		t := p.r.Total(way)
		if t.Sent == 0 {
			continue
		}
		if t.Missing() > 0 {
			isCalm = false
			p.writeLine(0, "%s: %s of %s did not arrive (%s).", wayWords[way], grouped(t.Missing()), p.counted(t.Sent), percent(t.Missing(), t.Sent))
		}
	}
	if isCalm && p.r.Matched() > 0 {
		p.writeLine(0, "Nothing was lost: all that both captures cover arrived, %s.", p.counted(p.r.Matched()+p.r.Reframed))
	}
	p.writeConnections()
	p.writeUnjudged()
	p.writeMore()
}

// counted returns a number of what is compared.
func (p *diffPage) counted(n uint64) string {
	if p.r.Captures[diff.Edge].Segments+p.r.Captures[diff.Host].Segments == 0 {
		return digits.Counted(n, "datagram")
	}
	return digits.Counted(n, "datagram or TCP segment", "datagrams and TCP segments")
}

// writeMore writes what else became of datagrams.
func (p *diffPage) writeMore() {
	var more []string
	for _, c := range [...]struct {
		n     uint64
		words string
	}{
		{p.r.Count(diff.Retransmitted), "sent again"}, {p.r.Count(diff.Late), "late"}, {p.r.Count(diff.Reordered), "out of order"}, {p.r.Count(diff.Changed), "changed on the way"},
		{p.r.Reframed, "in other datagrams than they were sent in"},
		{p.r.Count(diff.Duplicated), "copies"}, {p.r.Count(diff.Injected), "TCP resets from between the points"}, {p.r.Total(diff.ToClient).Answered, "answered between the points"},
	} {
		if c.n > 0 {
			more = append(more, grouped(c.n)+" "+c.words)
		}
	}
	if len(more) > 0 {
		p.writeLine(0, "Also: %s.", strings.Join(more, ", "))
	}
}

// writeUnjudged writes how much is too near to the ends of a capture to be judged, if it is more than two
// datagrams in a hundred.
func (p *diffPage) writeUnjudged() {
	if n, all := p.r.Count(diff.Outside), p.r.Captures[0].Datagrams+p.r.Captures[1].Datagrams; 50*n > all {
		p.writeLine(0, "%s judged: near the ends of a capture, nobody knows whether they arrived later. Longer captures judge more, and so does a shorter --wait than %s.",
			digits.Counted(n, "datagram is not", "datagrams are not"), digits.Span(p.r.Wait))
	}
}

var wayWords = [...]string{diff.UnknownWay: "Between unknown ends", diff.ToServer: "To the servers", diff.ToClient: "Back to clients"}

// writeAdvice writes what the losses have in common, and what to do.
func (p *diffPage) writeAdvice() {
	for _, way := range [...]diff.Way{diff.ToServer, diff.ToClient} {
		if l, ok := p.r.Sizes[way].Limit(); ok {
			p.writeLine(0, "%s, loss is by size: of payloads from %s bytes on (IPv4 packets from %s) %s of %s are lost, of those up to %s bytes %s of %s. Do: look for an MTU or a filter of fragments between the points, and have the server send smaller parts.",
				wayWords[way], grouped(l.Lost), grouped(l.Lost+ipHeaders), grouped(l.LostAbove), grouped(l.Above), grouped(l.Through), grouped(l.LostBelow), grouped(l.Below))
		}
	}
	const most = 4 // chosen: the summary stays on one screen
	n := 0
	for i := range p.r.Rows {
		row := &p.r.Rows[i]
		if _, isBySize := p.r.Sizes[row.Way].Limit(); !isBySize && p.r.IsFiltered(row) {
			if n++; n <= most {
				p.writeLine(0, "%s of %s: none of %s arrived, while other messages do. Do: look for a filter of this kind between the points.",
					p.kind(row.Kind), row.Server, grouped(row.Sent))
			}
		}
	}
	if n == 0 && !p.isLossBySize() && p.r.Total(diff.ToServer).Missing()+p.r.Total(diff.ToClient).Missing() > 0 {
		p.writeLine(0, "The loss is neither of one kind of messages nor by size. Do: look whether a line or a machine between the points is overloaded at the times below; -w keeps the lost packets, and -c lists more.")
	}
	if n > most {
		p.writeLine(0, "%s, see below.", digits.Counted(uint64(n-most), "more kind is filtered", "more kinds are filtered"))
	}
	if p.r.Total(diff.ToClient).Answered > 0 {
		p.writeLine(0, "Something between the points answers in place of the servers, such as a cache or a proxy: those answers are not at the servers' point.")
	}
	if p.r.Reframed > 0 && p.isReframedByOthers() {
		p.writeLine(0, "Something between the points joins replies, or cuts them into parts that the servers do not make, such as a proxy or a filter. Do: show its owner frames of both captures; clients may not read its parts.")
	}
	if p.r.Count(diff.Injected) > 0 {
		p.writeLine(0, "Something between the points ends connections with resets that neither end sent, such as a firewall or a filter. Do: show its owner the frames below.")
	}
	if p.r.Clock.IsReversed {
		p.writeLine(0, "What clients send came to HOST first: give the capture that is nearer to the clients first. Ways are counted as they are.")
	}
	for s, name := range diffSides {
		if n := p.r.Uncaptured(diff.Side(s)); n > 0 {
			p.writeLine(0, "The capture at %s lacks %s that passed there, as replies, or requests of the same clients, show: they count as arrived. Do: give its program a larger buffer.", name, digits.Counted(n, "datagram"))
		}
		if n := p.r.Captures[s].Dropped; n > 0 {
			p.writeLine(0, "The program that captured at %s lost %s: what is missing there may have arrived.", name, digits.Counted(n, "packet"))
		}
	}
}

// isLossBySize reports whether what is lost on either way is lost by its size.
func (p *diffPage) isLossBySize() bool {
	_, there := p.r.Sizes[diff.ToServer].Limit()
	_, back := p.r.Sizes[diff.ToClient].Limit()
	return there || back
}

func (p *diffPage) kind(kind uint16) string {
	protocol, message := p.r.Name(kind)
	return strings.TrimSpace(protocol + " " + message)
}

// writeKinds writes a row for each kind of each server in which something differs, and then how much is the same.
func (p *diffPage) writeKinds() {
	t := &table{columns: []column{{head: "server", isText: true}, {head: "kind", isText: true}, {head: "way", isText: true},
		{head: "sent"}, {head: "lost"}, {head: "again", rank: 3}, {head: "late", rank: 2}, {head: "order", rank: 3}, {head: "changed", rank: 2}, {head: "copies", rank: 3},
		{head: "parts", rank: 3}, {head: "between", rank: 1}, {head: "slowest", rank: 4}}}
	const most = 20 // chosen: with the rest, one screen
	calm, hidden := 0, 0
	rows := slices.Clone(p.r.Rows)
	slices.SortStableFunc(rows, func(a, b diff.Row) int { return cmp.Compare(b.Missing(), a.Missing()) })
	for i := range rows {
		row := &rows[i]
		isCalm := row.Missing()+row.Retransmitted+row.Late+row.Reordered+row.Changed+row.Duplicated+row.Reframed+row.Appeared+row.Kept+row.Uncaptured == 0
		switch {
		case isCalm:
			calm++
			continue
		case len(t.rows) == most:
			hidden++
			continue
		}
		server := "others"
		if row.Server.IsValid() {
			server = row.Server.String()
		}
		n := func(v uint64) string {
			if v == 0 {
				return ""
			}
			return grouped(v)
		}
		slowest := ""
		if row.Arrived > 0 {
			slowest = string(digits.AppendElapsed(nil, max(0, row.Slowest), " "))
		}
		way := [...]string{"?", "there", "back"}[row.Way]
		t.rows = append(t.rows, tableRow{cells: []string{server, p.kind(row.Kind), way, grouped(row.Sent), n(row.Missing()), n(row.Retransmitted), n(row.Late), n(row.Reordered),
			n(row.Changed), n(row.Duplicated), n(row.Reframed), n(row.Kept + row.Appeared), slowest}})
	}
	if len(t.rows) == 0 {
		return
	}
	p.writeTitle("By server and kind", "")
	t.dropEmpty()
	p.writeTable(t)
	if calm > 0 {
		p.writeLine(tableIndent, "%s without a difference", digits.Counted(uint64(calm), "other kind is", "other kinds are"))
	}
	if hidden > 0 {
		p.writeLine(tableIndent, "%s: -o json has all", digits.Counted(uint64(hidden), "more kind", "more kinds"))
	}
}

// writeBasis writes what the comparison rests on: clocks, translation, what was not compared or counted.
func (p *diffPage) writeBasis() {
	p.writeTitle("Basis", "")
	c := &p.r.Clock
	p.writeCaptures()
	if n := p.r.Unwanted[0] + p.r.Unwanted[1]; n > 0 {
		p.writeLine(tableIndent, "%s the filter: no figure but the first of each capture counts them.", digits.Counted(n, "datagram does not match", "datagrams do not match"))
	}
	if n := p.r.Captures[0].Incomplete + p.r.Captures[1].Incomplete; n > 0 {
		p.writeLine(tableIndent, "%s never complete", digits.Counted(n, "set of fragments was", "sets of fragments were"))
	}
	switch {
	case c.Pairs == 0:
		p.writeLine(tableIndent, "The clocks could not be compared, and count as equal.")
	case c.IsOneWay:
		p.writeLine(tableIndent, "HOST's clock is %s ahead of EDGE's, or less, as one way only was seen: delays are relative to the fastest; by %s.", signed(c.Offset), digits.Counted(uint64(c.Pairs), "datagram"))
	default:
		drift := "the drift cannot be determined"
		if c.DriftError > 0 {
			drift = fmt.Sprintf("it runs %.2f ± %.2f ppm faster", c.Drift*1e6, c.DriftError*1e6)
		}
		p.writeLine(tableIndent, "HOST's clock is %s ahead of EDGE's, ± %s; %s; by %s.", signed(c.Offset),
			digits.AppendElapsed(nil, int64(c.Error), " "), drift, digits.Counted(uint64(c.Pairs), "datagram"))
		p.writeLine(tableIndent, "Usual delay: %s to the servers, %s back, if both take equally long.", digits.AppendElapsed(nil, c.Usual(diff.ToServer), " "), digits.AppendElapsed(nil, c.Usual(diff.ToClient), " "))
	}
	p.writeTranslations()
	if p.r.ComparedTo > 0 {
		p.writeLine(tableIndent, "Datagrams were cut when they were captured: payloads are compared by their first %s.", digits.Counted(uint64(p.r.ComparedTo), "byte"))
	}
	if p.r.JudgedEarly > 0 {
		p.writeLine(tableIndent, "%s before the wait was over, for lack of memory: --memory gives more.", digits.Counted(p.r.JudgedEarly, "datagram was judged", "datagrams were judged"))
	}
	p.writeLimits()
}

// writeCaptures writes what of each capture is compared.
func (p *diffPage) writeCaptures() {
	for s, name := range diffSides {
		n := &p.r.Captures[s]
		var outside uint64
		for _, k := range p.r.Counts[s][diff.Outside] {
			outside += k
		}
		line := name + ": " + digits.Counted(n.Packets, "packet") + ", of which "
		switch datagrams, segments := digits.Counted(n.Datagrams, "UDP datagram"), digits.Counted(n.Segments, "TCP segment"); {
		case n.Segments == 0:
			line += digits.Counted(n.Datagrams, "UDP datagram is compared", "UDP datagrams are compared")
		case n.Datagrams == 0:
			line += digits.Counted(n.Segments, "TCP segment of a console is compared", "TCP segments of consoles are compared")
		default:
			line += datagrams + " and " + segments + " of consoles are compared"
		}
		if n.TCP > 0 {
			line += "; " + digits.Counted(n.TCP, "other TCP segment is counted only", "other TCP segments are counted only")
		}
		if outside > 0 {
			line += "; " + grouped(outside) + " at a time, or within " + digits.Span(p.r.Wait) + " of the end of one, that the other does not cover"
		}
		p.writeLine(tableIndent, "%s", line)
	}
}

// writeLimits writes what there was no room for.
func (p *diffPage) writeLimits() {
	for _, x := range [...]struct {
		n                  uint64
		one, more, follows string
	}{
		{p.r.Untracked, "name of a translated address", "names of translated addresses", "its datagrams look lost at one point and new at the other"},
		{p.r.NoRow, "datagram", "datagrams", "of kinds without a row of their own: others"},
		{p.r.NoKind, "datagram", "datagrams", "of types without a kind of their own: unnamed"},
		{p.r.NoBytes, "changed datagram", "changed datagrams", "the fields are not named"},
		{p.r.NoSets, "message in parts", "messages in parts", "in other datagrams they look lost, and new"},
		{p.r.NoPieces, "fragment", "fragments", "-w leaves them out"},
		{p.r.ConnsEvicted, "connection over TCP, or a direction of one", "connections over TCP, or directions of these", "they may be counted twice, and what was sent again counts as new"},
		{p.r.ServersEvicted, "server", "servers", "which way their datagrams go may be unknown: --servers names them"},
	} {
		if x.n > 0 {
			p.writeLine(tableIndent, "There was no room for %s: %s.", digits.Counted(x.n, x.one, x.more), x.follows)
		}
	}
	if p.r.RepliesEvicted > 0 && p.r.Total(diff.ToClient).Answered > 0 {
		p.writeLine(tableIndent, "%s for others: the age of some answers from between is not known.", digits.Counted(p.r.RepliesEvicted, "reply was evicted", "replies were evicted"))
	}
}

func signed(d time.Duration) string {
	if d < 0 {
		return "-" + string(digits.AppendElapsed(nil, int64(-d), " "))
	}
	return string(digits.AppendElapsed(nil, int64(d), " "))
}

func (p *diffPage) writeTranslations() {
	const most = 5 // chosen: the summary stays on one screen
	for i := range p.r.Translations {
		if i == most {
			p.writeLine(tableIndent, "%s: -o json has all", digits.Counted(uint64(len(p.r.Translations)-most), "more end is translated", "more ends are translated"))
			return
		}
		t := &p.r.Translations[i]
		of := ""
		if t.IsTCP {
			of = " (TCP)"
		}
		p.writeLine(tableIndent, "%s at EDGE is %s at HOST%s.", t.Edge, t.Host, of)
	}
}

// writeConnections writes which connections over TCP are at one point only.
func (p *diffPage) writeConnections() {
	c := &p.r.Connections
	for s, n := range c.Only {
		if n == 0 {
			continue
		}
		answered := 0
		for i := range c.OneSided {
			if x := &c.OneSided[i]; x.Side == diff.Side(s) && x.IsAnswered {
				answered++
			}
		}
		p.writeLine(0, "Connections over TCP: %s at %s only, %s at both points.", grouped(n), diffSides[s], grouped(c.Both))
		if answered > 0 {
			p.writeLine(0, "%s there all the same: something between the points answers in place of the servers, such as a proxy.", digits.Counted(uint64(answered), "of them is accepted", "of them are accepted"))
		}
		const most = 3 // chosen: the summary stays on one screen
		shown := 0
		for i := range c.OneSided {
			if x := &c.OneSided[i]; x.Side == diff.Side(s) && shown < most {
				shown++
				p.writeLine(tableIndent, "%s to %s, %s frame %s", x.Client, x.Server, diffSides[s], grouped(x.Frame))
			}
		}
	}
}

// isReframedByOthers reports whether messages in datagrams were reframed: hosts and network cards cut and join TCP
// segments themselves.
func (p *diffPage) isReframedByOthers() bool {
	for i := range p.r.Differences {
		if d := &p.r.Differences[i]; d.Class == diff.Reframed && !d.IsTCP() {
			return true
		}
	}
	return false
}

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
	case diff.Uncaptured:
		return "not captured at " + diffSides[1-side], ""
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
