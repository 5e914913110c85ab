package recount

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// page is the report for people beside the lines of the same capture: every number that is on
// the page before the advice has to be one of a line, or counted by tshark.
type page struct {
	t   *testing.T
	c   *capture
	x   *incident // that the page is at
	all []*incident
}

// checkPage holds the page against the lines. Where a number on it is none of theirs, or of no
// pattern known, the test fails.
func (p *page) checkPage(text string) {
	p.t.Helper()
	head, rest, _ := strings.Cut(text, "\n\n")
	p.checkHead(head)
	for _, x := range p.all {
		p.x = x
		begin := strings.Index(rest, "\n"+x.Kind+"  "+x.Target)
		if begin < 0 {
			p.t.Fatalf("the page has no %s", x.Kind)
		}
		block, _, _ := strings.Cut(rest[begin+1:], "  What to do:")
		p.checkBlock(block)
		p.checkRow(rest[:begin])
	}
}

// checkHead checks how many packets and queries there were, and when.
func (p *page) checkHead(text string) {
	head := regexp.MustCompile(`in ([\d.hm]+) ?(m?s?) of capture, ` + num + ` packets`).FindStringSubmatch(text)
	if head == nil {
		p.t.Fatalf("no head on the page: %q", text)
	}
	x := &incident{t: p.t, c: p.c, Kind: "head"}
	x.reads("packets", head[3], float64(len(p.c.rows)))
	x.spans(head[1]+head[2], p.c.last-p.c.first)
	layout := func(nanos int64) string { return time.Unix(0, nanos).UTC().Format("15:04:05Z") }
	if want := layout(p.c.first) + " to " + layout(p.c.last); !strings.Contains(text, want) {
		p.t.Errorf("the page has not %s: %q", want, text)
	}
	counts := map[what]float64{}
	for i := range p.c.rows {
		w := p.c.rows[i].what
		switch {
		case w.isRequest():
			w = query
		case w.isReply():
			w = data
		}
		counts[w]++
	}
	for name, w := range map[string]what{`quer(?:y|ies) to`: query, `repl(?:y|ies)`: data, `datagrams that are nothing known`: junk, `logins of RCON`: login} {
		found := regexp.MustCompile(`[ ,]` + num + ` ` + name).FindStringSubmatch(text)
		switch {
		case found != nil:
			x.reads(name, found[1], counts[w])
		case counts[w] > 0:
			p.t.Errorf("the page has no %s, tshark %v", name, counts[w])
		}
	}
}

// spans reports a length of time, as people read it, that is another one.
func (x *incident) spans(text string, nanos int64) {
	x.t.Helper()
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		x.t.Fatal(err)
	}
	if off := d - time.Duration(nanos); off.Abs() > max(time.Duration(nanos)/100, time.Second/2) {
		x.t.Errorf("%s: the page says %s, the times are %s apart", x.Kind, text, time.Duration(nanos))
	}
}

// checkRow checks the incident's row in the table.
func (p *page) checkRow(table string) {
	x := p.x
	want := map[string]float64{"PEAK/S": x.Peak, "SOURCES": float64(x.Sources), "MEAN/S": x.Mean, "USUAL/S": x.Baseline,
		"REQUESTS": float64(x.Requests), "REPLIES": float64(x.Replies)}
	gap := regexp.MustCompile(`  +`)
	var names []string
	for line := range strings.Lines(table) {
		cells := gap.Split(strings.TrimSpace(line), -1)
		switch {
		case cells[0] == "LEVEL":
			names = cells
		case len(cells) == len(names) && cells[1] == x.Kind && cells[2] == x.Target:
			for i, name := range names {
				if v, ok := want[name]; ok && cells[i] != "-" {
					x.reads("in the table, "+name, cells[i], v)
				}
			}
			return
		}
	}
	p.t.Errorf("no row for %s in the table", x.Kind)
}

// amounts are the numbers on the line with amounts, and the values of the line that they are.
var amounts = []struct {
	pattern string
	of      func(x *incident) float64
}{
	{`peak ` + num + `/s`, func(x *incident) float64 { return x.Peak }},
	{`mean ` + num + `/s`, func(x *incident) float64 { return x.Mean }},
	{`usual ` + num + `/s`, func(x *incident) float64 { return x.Baseline }},
	{num + ` (?:requests|datagrams|packets|refused logins) in all`, func(x *incident) float64 { return float64(x.Requests + x.Packets) }},
	{num + ` replies in all`, func(x *incident) float64 { return float64(x.Replies) }},
	{num + ` repl(?:y|ies) of the server`, func(x *incident) float64 { return float64(x.Replies) }},
	{num + ` B in`, func(x *incident) float64 { return float64(x.BytesIn) }},
	{num + ` KiB in`, func(x *incident) float64 { return float64(x.BytesIn) / (1 << 10) }},
	{num + ` MiB in`, func(x *incident) float64 { return float64(x.BytesIn) / (1 << 20) }},
	{num + ` B out`, func(x *incident) float64 { return float64(x.BytesOut) }},
	{num + ` KiB out`, func(x *incident) float64 { return float64(x.BytesOut) / (1 << 10) }},
	{`(?:about )?` + num + ` sources`, func(x *incident) float64 { return float64(x.Sources) }},
	{`\(within ` + num + ` %\)`, func(x *incident) float64 { return 100 * x.SourcesError }},
}

// known are the other parts of a block whose numbers the walk over the lines has checked, or
// which are no counts.
var known = []*regexp.Regexp{
	regexp.MustCompile(`sure: \w+ \(0\.\d\d\)`),
	regexp.MustCompile(`\d{4}-\d\d-\d\d`), regexp.MustCompile(`\d\d:\d\d:\d\dZ`),
	regexp.MustCompile(`known after [\d.]+ m?s`), regexp.MustCompile(`, [\d.]+ m?s(?:[;,\n]|$)`),
	regexp.MustCompile(`(?:In the|Over the whole|In|in the|in) [\d.]+ s`),
	regexp.MustCompile(`it was detected within 30 s of the begin of the capture`),
	regexp.MustCompile(`hosts: those seen, at least`), regexp.MustCompile(`that the same sources ask`),
	regexp.MustCompile(`FF FF FF FF`),
}

// checkBlock takes what it knows off the incident's block and reports digits that are left.
func (p *page) checkBlock(block string) {
	x := p.x
	var line struct {
		Protocol string
		Evidence []struct{ Text string }
		Kinds    []struct {
			Type              string
			Share, MinLength  float64
			Length, MaxLength int
		}
		Top      []map[string]any `json:"top_sources"`
		Prefixes []map[string]any `json:"top_prefixes"`
	}
	if err := json.Unmarshal(x.line, &line); err != nil {
		p.t.Fatal(err)
	}
	drop := func(s string) {
		if !strings.Contains(block, s) {
			p.t.Errorf("%s: the page has not %q", x.Kind, s)
		}
		block = strings.Replace(block, s, "", 1)
	}
	drop(x.Kind + "  " + x.Target)
	block = strings.Replace(block, "  "+line.Protocol+"  ", "", 1)
	for _, e := range line.Evidence {
		drop(e.Text)
	}
	for _, a := range amounts {
		re := regexp.MustCompile(a.pattern)
		if n := re.FindStringSubmatch(block); n != nil {
			x.reads("on the page, "+a.pattern, n[1], a.of(x))
			block = strings.Replace(block, n[0], "", 1)
		}
	}
	if before, kinds, ok := strings.Cut(block, "- what came: "); ok {
		kinds, after, _ := strings.Cut(kinds, "\n")
		if n := regexp.MustCompile(`^\w+ ` + share).FindStringSubmatch(kinds); n != nil {
			x.reads("on the page, share of a type", n[1], 100*line.Kinds[0].Share)
		}
		block = before + after
	}
	for _, s := range line.Top {
		block = p.dropRow(block, s, "address", "count_low", "count_high")
	}
	for _, s := range line.Prefixes {
		block = p.dropRow(block, s, "prefix", "count_low", "count_high", "hosts")
	}
	for _, e := range x.Targets {
		block = strings.Replace(block, strings.TrimSuffix(strings.TrimPrefix(e, "udp/"), ":27015"), "", 1)
	}
	p.checkRest(block)
}

// dropRow takes the row of a source or a network off the block if it is there: its cells are
// the values of the line.
func (p *page) dropRow(block string, of map[string]any, names ...string) string {
	for line := range strings.Lines(block) {
		cells := strings.Fields(line)
		if len(cells) < len(names) || cells[0] != of[names[0]] {
			continue
		}
		for i, name := range names[1:] {
			if got := strings.ReplaceAll(cells[i+1], ",", ""); got != fmt.Sprint(of[name]) {
				p.t.Errorf("%s: on the page %s of %s is %s, in the line %v", p.x.Kind, name, cells[0], got, of[name])
			}
		}
		return strings.Replace(block, line, "", 1)
	}
	return block
}

// checkRest checks the numbers that only the page has, and reports what is left.
func (p *page) checkRest(block string) {
	x := p.x
	for pattern, want := range map[string]int{
		`in ` + num + ` pulses`:                        x.Pulses,
		num + ` servers, the busiest first`:            len(x.Targets),
		`In the capture from frame ` + num + ` on`:     int(x.Frame),
		`select\(\.frame >= ` + num + `\)`:             int(x.Frame),
		`of (?:the last )?` + num + ` \w+(?: logins)?`: x.topOf(),
		`and ` + num + ` more`:                         len(x.Targets) - 8,
	} {
		re := regexp.MustCompile(pattern)
		if n := re.FindStringSubmatch(block); n != nil {
			x.reads("on the page, "+pattern, n[1], float64(want))
			block = strings.Replace(block, n[0], "", 1)
		}
	}
	for _, re := range known {
		block = re.ReplaceAllString(block, "")
	}
	for line := range strings.Lines(block) {
		if strings.ContainsAny(line, "0123456789") && !strings.Contains(line, "qsniff -o json") {
			p.t.Errorf("%s: nothing checks the numbers on the page in %q", x.Kind, line)
		}
	}
}

func (x *incident) topOf() int {
	if x.TopWindow == nil {
		return 0
	}
	return x.TopWindow.Packets
}
