package text

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/track/stats"
)

// writeServers writes the busiest servers, with name, map and players from their replies.
func (p *statsPage) writeServers() {
	t := table{columns: []column{{"SERVER", true, 0}, {"REQUESTS", false, 0}, {"REPLIES", false, 5}, {"ANSWERED", false, 1},
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
	about := "gain is bytes out for each byte in, of payloads"
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
	answered := percent(s.Answered, s.Answered+s.Unanswered)
	if p.s.OneWay() != "" || p.s.Run.Samples > 0 { // a request and its answer are hardly both among samples
		answered = "-"
	}
	gain := "-"
	if s.BytesIn > 0 && s.BytesOut > 0 {
		gain = digits.Short(float64(s.BytesOut)/float64(s.BytesIn)) + "x"
	}
	cells := []string{s.Addr.String(), grouped(s.Requests), grouped(s.Replies), answered, gain}
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
