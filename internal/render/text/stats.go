package text

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/render"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
	"qsniff/internal/track/fingerprint"
	"qsniff/internal/track/stats"
)

// AppendStats appends the results of a run for people to read: a section for each subject
// that has any content. Of the options, width, colours and the zone of times are used.
func AppendStats(dst []byte, s *render.Stats, opt Options) []byte {
	p := statsPage{dst: dst, opt: opt.withDefaults(), s: s}
	p.writeInterrupted()
	p.writeOverview()
	if s.Run.Messages > 0 {
		p.writeRate()
		p.writeMessages()
		p.writeServers()
		p.writeTimes()
		p.writeAmplification()
		p.writeClients()
		p.writePrograms()
		p.writeFindings()
		p.writeCounters("Joined", "", counters.Reassembly)
	}
	p.writeCounters("Damaged", "", counters.Input)
	p.writeCounters("Evicted", "tables were full, --memory gives them more", counters.Tables)
	p.writeLeftOut()
	return p.dst
}

// statsPage is a page of results. The pages of other commands than stats are made with its
// methods, too; s then has nothing but Run.
type statsPage struct {
	dst []byte
	opt Options
	s   *render.Stats
}

// writeLine writes a line, or more than one if the terminal is narrow.
func (p *statsPage) writeLine(indent int, format string, args ...any) {
	p.dst = appendWrapped(p.dst, fmt.Appendf(nil, format, args...), indent, p.opt.Width)
	p.dst = append(p.dst, '\n')
}

// writeTitle begins a section. about follows the name in the same line.
func (p *statsPage) writeTitle(name, about string) {
	c := &p.opt.Palette
	p.dst = append(append(append(append(p.dst, '\n'), c.head.on...), name...), c.head.off...)
	if about != "" {
		rest := appendWrapped(nil, []byte(name+": "+about), 0, p.opt.Width)
		p.dst = append(p.dst, rest[len(name):]...)
	}
	p.dst = append(p.dst, '\n')
}

func (p *statsPage) writeTable(t *table) { p.dst = t.append(p.dst, &p.opt.Palette, p.opt.Width) }

// writeOverview writes what was read, from when to when, and what is missing from it.
func (p *statsPage) writeOverview() {
	run := &p.s.Run
	if run.Packets == 0 {
		p.writeLine(0, "The capture has no packets.")
		return
	}
	span := time.Duration(run.Last - run.First)
	p.writeLine(0, "%s to %s, %s", p.opt.appendTime(nil, run.First, true), p.opt.appendTime(nil, run.Last, !p.sameDay()), digits.Span(span))
	p.writeLine(0, "%s, %s captured; %s: %s, %s", digits.Counted(run.Packets, "packet"), size(run.Bytes),
		digits.Counted(run.Messages, "message"), digits.Counted(p.s.Requests, "request"), digits.Counted(p.s.Replies, "reply", "replies"))
	switch p.s.OneWay() {
	case "requests":
		p.writeLine(0, "Only requests were captured: the capture does not show whether they were answered.")
	case "replies":
		p.writeLine(0, "Only replies were captured: who asked, and how long the answers took, is not in the capture.")
	}
	if n := run.Unmatched; n > 0 {
		p.writeLine(0, "Another %s not match the filter, and nothing below counts them.", digits.Counted(n, "message does", "messages do"))
	}
	switch {
	case run.Messages == 0 && run.Unmatched > 0:
	case run.Messages == 0:
		p.writeLine(0, "No query traffic was found. qsniff looks for it on all ports; -d udp.port==N,PROTOCOL names one to try harder on.")
	case p.s.Requests+p.s.Replies == 0 && p.s.Others > 0:
		p.writeLine(0, "None of the messages is of the servers that --servers names.")
	}
	for _, s := range run.Sentences() {
		p.writeLine(0, "%s.", s)
	}
	if run.Dropped > 0 {
		p.writeLine(0, "The capturing program lost %s: what looks unanswered may not have been.", digits.Counted(run.Dropped, "packet"))
	}
	if run.Backwards > 0 {
		p.writeLine(0, "Time went backwards in the capture: %s older than one before.", digits.Counted(run.Backwards, "packet was", "packets were"))
	}
}

func (p *statsPage) sameDay() bool {
	day := func(nanos int64) string { return time.Unix(0, nanos).In(p.opt.Location).Format(time.DateOnly) }
	return day(p.s.Run.First) == day(p.s.Run.Last)
}

// writeRate draws the time series as sparklines.
func (p *statsPage) writeRate() {
	if len(p.s.Points) < 2 {
		return
	}
	lines := []struct {
		name  string
		of    func(*stats.Point) uint64
		rate  func(float64) string
		count func(uint64) string
	}{
		{"requests", func(q *stats.Point) uint64 { return q.Requests }, digits.Short, grouped},
		{"replies", func(q *stats.Point) uint64 { return q.Replies }, digits.Short, grouped},
		{"bytes in", func(q *stats.Point) uint64 { return q.BytesIn }, digits.Bytes, size},
		{"bytes out", func(q *stats.Point) uint64 { return q.BytesOut }, digits.Bytes, size},
	}
	const label = 9
	columns, each := p.seriesColumns(p.opt.Width - tableIndent - label - gap)
	about := "one column is " + digits.Span(each)
	if p.s.Widened {
		about += "; the capture is too long for the interval asked for, it is now " + digits.Span(p.s.Interval)
	}
	p.writeTitle("Rate", about)
	for _, l := range lines {
		values := make([]uint64, columns)
		var sum, most uint64
		for i := range p.s.Points {
			n := l.of(&p.s.Points[i])
			values[i*columns/len(p.s.Points)] += n
			sum, most = sum+n, max(most, n)
		}
		if sum == 0 {
			continue
		}
		line := fmt.Sprintf("%-*s  %s", label, l.name, sparkline(values))
		about := p.peakAndMean(l.rate, sum, most)
		if p.s.Interval < shortestRate {
			about = l.count(sum) + " in all"
		}
		if tableIndent+label+gap+columns+gap+len(about) > p.opt.Width {
			p.writeLine(tableIndent, "%s", strings.TrimRight(line, " "))
			p.writeLine(tableIndent+label+gap, "%s", about)
		} else {
			p.writeLine(tableIndent, "%s  %s", line, about)
		}
	}
}

// shortestRate is the shortest interval for which rates are printed. Chosen: in an interval
// of 1 ms, a single packet would be a thousand a second.
const shortestRate = 100 * time.Millisecond

// peakAndMean returns the highest and the mean rate of a series with a sum and a highest
// value.
func (p *statsPage) peakAndMean(write func(float64) string, sum, most uint64) string {
	each := p.s.Interval.Seconds()
	return fmt.Sprintf("peak %s/s, mean %s/s", write(float64(most)/each), write(float64(sum)/(each*float64(len(p.s.Points)))))
}

// seriesColumns returns in how many columns, of at most room, the series is drawn, and
// how much time each of them is.
func (p *statsPage) seriesColumns(room int) (n int, each time.Duration) {
	n = len(p.s.Points)
	per := (n + room - 1) / room
	return (n + per - 1) / per, time.Duration(per) * p.s.Interval
}

func (p *statsPage) writeMessages() {
	if len(p.s.Messages) == 0 {
		return
	}
	t := table{columns: []column{{"PROTOCOL", true, 0}, {"MESSAGE", true, 0}, {"DIRECTION", true, 0}, {"COUNT", false, 0}, {"BYTES", false, 1}}}
	for i := range p.s.Messages {
		m := &p.s.Messages[i]
		name, direction := m.Name, "request"
		if name == "" {
			name = "(incomplete)"
		}
		if m.Reply {
			direction = "reply"
		}
		t.rows = append(t.rows, tableRow{cells: []string{m.Protocol, name, direction, grouped(m.Count), size(m.Bytes)}})
	}
	p.writeTitle("Messages", "")
	p.writeTable(&t)
}

// writeTimes writes how long clients wait, and of what that time is made up.
func (p *statsPage) writeTimes() {
	t := table{columns: []column{{"MS", true, 0}, {"COUNT", false, 1}, {"P50", false, 0}, {"P95", false, 0}, {"P99", false, 1}, {"MAX", false, 0}}}
	for _, x := range []struct {
		name  string
		times *stats.Times
	}{
		{"challenge", &p.s.Challenge}, {"engine", &p.s.Response}, {"fragment train", &p.s.Train}, {"in all", &p.s.Total},
	} {
		if d := x.times; d.Count > 0 {
			t.rows = append(t.rows, tableRow{cells: []string{x.name, grouped(d.Count), millis(d.P50), millis(d.P95), millis(d.P99), millis(d.Max)}})
		}
	}
	if len(t.rows) > 0 {
		p.writeTitle("Time", "for the round trip of a challenge; then to the first packet of the answer, network included; from there to its last")
		p.writeTable(&t)
	}
}

// writeAmplification writes how much larger answers are than requests, to clients with and
// without a challenge.
func (p *statsPage) writeAmplification() {
	t := table{columns: []column{{"REQUEST", true, 0}, {"OPEN", false, 1}, {"PAYLOAD", false, 0}, {"WIRE", false, 0},
		{"BEHIND", false, 1}, {"PAYLOAD", false, 0}, {"WIRE", false, 0}}}
	for i := range p.s.Questions {
		k := &p.s.Questions[i]
		cells := append([]string{k.Request}, gainCells(&k.Before)...)
		row := tableRow{cells: append(cells, gainCells(&k.After)...)}
		if k.Before.Wire > 1 {
			row.style = p.opt.Palette.severity[finding.Warn]
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) > 0 {
		p.writeTitle("Amplification", "bytes of all answers to a request for each byte of it; open: to clients without a challenge, as far as the capture shows; behind: to those that had one")
		p.writeTable(&t)
	}
}

func gainCells(g *stats.Gain) []string {
	if g.Answers == 0 {
		return []string{"-", "", ""}
	}
	if g.Payload == 0 { // the requests are not in the capture
		return []string{grouped(g.Answers), "-", "-"}
	}
	return []string{grouped(g.Answers), digits.Short(g.Payload) + "x", digits.Short(g.Wire) + "x"}
}

func (p *statsPage) writeClients() {
	d := &p.s.Distinct
	if d.Estimate == 0 {
		return
	}
	about := digits.Counted(d.Estimate, "address", "addresses")
	if d.Error > 0 {
		about = fmt.Sprintf("about %s (an estimate, within %.1f %%)", about, 100*d.Error)
	}
	t := table{columns: []column{{"ADDRESS", true, 0}, {"PROGRAM", true, 1}, {"REQUESTS", false, 0}, {"SHARE", false, 1}, {"AT MOST TOO HIGH BY", false, 2}}}
	exact := true
	for i := range p.s.Clients {
		c := &p.s.Clients[i]
		exact = exact && c.Error == 0
		t.rows = append(t.rows, tableRow{cells: []string{c.Addr.String(), programCell(c.Signs), grouped(c.Requests), percent(c.Requests, p.s.Requests), grouped(c.Error)}})
	}
	if exact {
		t.columns = t.columns[:len(t.columns)-1]
	}
	p.writeTitle("Clients", about)
	if len(t.rows) == 0 && p.s.Requests > 0 {
		p.writeLine(tableIndent, "None stands out: none made more than %s.", digits.Counted(2*p.s.ClientError, "request"))
	}
	p.writeTable(&t)
}

// programCell returns the name of the program that shows signs, and how sure that is.
func programCell(s fingerprint.Signs) string {
	if s == 0 {
		return "-"
	}
	name, k := s.Name()
	if k != dissect.No {
		name += ", " + k.String()
	}
	return name
}

// writePrograms writes how many clients each program is, if any client showed its own.
func (p *statsPage) writePrograms() {
	t := table{columns: []column{{"PROGRAM", true, 0}, {"CLIENTS", false, 0}, {"REQUESTS", false, 0}}}
	for _, x := range p.s.Programs {
		t.rows = append(t.rows, tableRow{cells: []string{programCell(x.Signs), grouped(x.Clients), grouped(x.Requests)}})
	}
	if len(t.rows) > 0 {
		p.writeTitle("Programs", "of clients that were answered, by how they ask (docs/clients.md); equal unknown ones have one name")
		p.writeTable(&t)
	}
}

func (p *statsPage) writeFindings() {
	t := table{columns: []column{{"SEVERITY", true, 0}, {"ID", true, 0}, {"COUNT", false, 0}, {"FRAME", false, 1}}}
	for i := range p.s.Findings {
		f := &p.s.Findings[i]
		t.rows = append(t.rows, tableRow{cells: []string{f.Severity.String(), f.Code.ID, grouped(f.Count), grouped(f.First)},
			note: f.Code.Seen, style: p.opt.Palette.severity[f.Severity]})
	}
	if len(t.rows) > 0 {
		p.writeTitle("Findings", "qsniff explain ID says what they mean; the frame is that of the first")
		p.writeTable(&t)
	}
}

// writeCounters writes the counters of a group that are not zero as a section.
func (p *statsPage) writeCounters(title, about string, g counters.Group) {
	if labels := p.result().Labels(g); len(labels) > 0 {
		p.writeTitle(title, about)
		p.writeLine(tableIndent, "%s", strings.Join(labels, "; "))
	}
}

func (p *statsPage) result() *counters.Result {
	return &counters.Result{Run: p.s.Run, Stats: p.s.Summary}
}

// AppendCounters appends a section with every counter that is not zero, by the names that
// they have in JSON.
func AppendCounters(dst []byte, s *render.Stats, opt Options) []byte {
	p := statsPage{dst: dst, opt: opt.withDefaults(), s: s}
	t := table{columns: []column{{"COUNT", false, 0}, {"NAME", true, 0}}}
	for i := range counters.All {
		if e := &counters.All[i]; e.IsPrinted() && e.Get(p.result()) > 0 {
			t.rows = append(t.rows, tableRow{cells: []string{grouped(e.Get(p.result())), e.Name}, note: e.Doc})
		}
	}
	if len(t.rows) > 0 {
		p.writeTitle("Counters", "those that are not zero, by their names in JSON")
		p.writeTable(&t)
	}
	return p.dst
}

// leftOutNote returns a reason, with what helps.
func leftOutNote(r *tally.Reason) string {
	if r.Hint == "" {
		return r.Why
	}
	return r.Why + "; " + r.Hint
}

// writeLeftOut writes how many packets are in none of the counts above, by reason.
func (p *statsPage) writeLeftOut() {
	reasons := slices.Clone(p.s.Run.Skipped)
	if p.s.Others > 0 {
		reasons = append(reasons, tally.Reason{Why: stats.WhyOthers, Count: p.s.Others})
	}
	if len(reasons) == 0 {
		return
	}
	t := table{columns: []column{{"", false, 0}}}
	for _, r := range reasons {
		t.rows = append(t.rows, tableRow{cells: []string{grouped(r.Count)}, note: string(display.AppendEscaped(nil, []byte(leftOutNote(&r)), 0))})
	}
	p.writeTitle("Left out", "")
	p.writeTable(&t)
}

// writeInterrupted writes the first line of a page if the user ended the run: nothing below
// it is about the rest of the input.
func (p *statsPage) writeInterrupted() { p.dst = AppendInterrupted(p.dst, &p.s.Run, p.opt) }

// AppendInterrupted appends a line with how far a run came that the user ended. It appends
// nothing after a run that came to its end.
func AppendInterrupted(dst []byte, run *tally.Run, opt Options) []byte {
	if !run.Interrupted {
		return dst
	}
	o := opt.withDefaults()
	s := o.Palette.severity[finding.Warn]
	dst = append(dst, s.on...)
	dst = appendWrapped(dst, []byte("Interrupted after "+digits.Extent(run.Packets, run.Read, run.Size)), 0, o.Width)
	return append(append(dst, s.off...), '\n')
}

// writeServers writes the busiest servers, with name, map and players from their replies.
func (p *statsPage) writeServers() {
	t := table{columns: []column{{"SERVER", true, 0}, {"REQUESTS", false, 0}, {"REPLIES", false, 5}, {"ANY REPLY", false, 1}, {"SERVED", false, 1},
		{"GAIN", false, 3}, {"P50 MS", false, 2}, {"P95 MS", false, 4}, {"P99 MS", false, 7}, {"MAX MS", false, 7},
		{"IN", false, 6}, {"OUT", false, 6}}}
	rough := false
	for i := range p.s.Servers {
		s := &p.s.Servers[i]
		rough = rough || s.Response.Error > 0
		t.rows = append(t.rows, tableRow{cells: p.serverCells(s), note: serverNote(s, p.s.Run.InnerOf(s.Addr))})
	}
	if len(t.rows) == 0 {
		return
	}
	p.writeTitle("Servers", p.aboutServers(rough))
	p.writeTable(&t)
}

// aboutServers returns the title's words on what the numbers are and which servers are not
// in the table.
func (p *statsPage) aboutServers(rough bool) string {
	about := "any reply counts challenges; served are those that brought a challenge back; gain is bytes out for each byte in, of payloads"
	if rough {
		about += "; times of the busiest are rounded, by an eighth at most"
	}
	if p.s.ServersUnlisted > 0 {
		about = fmt.Sprintf("%s more are not listed (--top); %s", grouped(p.s.ServersUnlisted), about)
	}
	if p.s.ServersEvicted > 0 {
		about = fmt.Sprintf("%s evicted, as the table was full; %s", digits.Counted(p.s.ServersEvicted, "was", "were"), about)
	}
	return about
}

func (p *statsPage) serverCells(s *stats.Server) []string {
	replied, served := percent(s.Replied, s.Replied+s.Unanswered), percent(s.Served, s.Proven)
	if p.s.OneWay() != "" || p.s.Run.Samples > 0 { // a request and its answer are hardly both among samples
		replied, served = "-", "-"
	}
	gain := "-"
	if s.BytesIn > 0 && s.BytesOut > 0 {
		gain = digits.Short(float64(s.BytesOut)/float64(s.BytesIn)) + "x"
	}
	cells := []string{s.Addr.String(), grouped(s.Requests), grouped(s.Replies), replied, served, gain}
	for _, d := range []time.Duration{s.Response.P50, s.Response.P95, s.Response.P99, s.Response.Max} {
		if s.Response.Count == 0 {
			cells = append(cells, "-")
		} else {
			cells = append(cells, millis(d))
		}
	}
	return append(cells, size(s.BytesIn), size(s.BytesOut))
}

// serverNote returns name, map and players from a server's replies, and what is noteworthy
// about it: late answers, ICMP errors, and whether it challenges.
func serverNote(s *stats.Server, inner []netip.AddrPort) string {
	var words []string
	for _, addr := range inner {
		words = append(words, addr.String()+" inside")
	}
	if len(s.Name) > 0 {
		words = append(words, `"`+string(display.AppendEscaped(nil, s.Name, '"'))+`"`)
	}
	if len(s.Map) > 0 {
		words = append(words, string(display.AppendEscaped(nil, s.Map, 0)))
	}
	switch {
	case s.Players >= 0 && s.Max >= 0 && s.HasInfo:
		words = append(words, fmt.Sprintf("%d/%d players", s.Players, s.Max))
	case s.Players >= 0 && s.HasInfo:
		words = append(words, fmt.Sprintf("%d players", s.Players))
	}
	if s.HasInfo && s.Bots > 0 {
		words = append(words, digits.Counted(uint64(s.Bots), "bot"))
	}
	if s.HasInfo && s.Queue > 0 {
		words = append(words, grouped(uint64(s.Queue))+" waiting")
	}
	if s.Late > 0 {
		words = append(words, grouped(s.Late)+" late")
	}
	if s.ICMPErrors > 0 {
		words = append(words, digits.Counted(s.ICMPErrors, "ICMP error"))
	}
	if habit := s.Challenges(); habit == "sometimes" {
		words = append(words, "asks for a challenge: "+percent(s.Challenged, s.Challenged+s.Unchallenged)+" of the time")
	} else if habit != "" {
		words = append(words, "asks for a challenge: "+habit)
	}
	return strings.Join(words, "  ")
}

// grouped formats a number with its digits in groups.
func grouped(n uint64) string { return digits.Grouped(int64(min(n, 1<<63-1))) }

// size formats a number of bytes.
func size(n uint64) string { return digits.Bytes(float64(n)) }

// percent formats part as a share of of, or a dash if of is 0. Only 0 is written as 0%, and
// only all as 100%: what is between is at least 0.1% and at most 99.9%.
func percent(part, of uint64) string {
	switch {
	case of == 0:
		return "-"
	case part == 0 || part == of:
		return strconv.FormatUint(100*part/of, 10) + "%"
	}
	share := min(max(100*float64(part)/float64(of), 0.1), 99.9)
	return strconv.FormatFloat(share, 'f', 1, 64) + "%"
}

// millis formats a time in milliseconds, without its unit.
func millis(d time.Duration) string { return digits.Short(float64(d.Microseconds()) / 1e3) }
