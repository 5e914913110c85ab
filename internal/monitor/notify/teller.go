// Package notify reports to people and programs outside what was found: that an incident, or a
// finding, has begun, has changed and is over. It detects nothing, and sends nothing itself: what
// goes over the network, into files and to programs does so in a process of its own, with the
// sinks of package messenger.
//
//	fold                  Teller: events of flood.Incident and findings become Notes; a thread is
//	  |                   all Notes of one incident
//	  |  Queue            bounded, never blocks; what has no room is counted
//	  v
//	Messenger             a goroutine that writes Notes to the pipe of the other process
//	  |
//	  |  pipe             one JSON object a line
//	  v
//	messenger.Serve       a Queue and a worker for each sink
//
// The process that decodes hostile packets so needs no right to connect, to run programs or to
// read URLs, which are secrets; and that which has them never sees a packet.
package notify

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/display"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
	"qsniff/internal/track"
	"qsniff/internal/track/stats"
)

// Options choose what becomes Notes.
type Options struct {
	Ours *hostset.Set // servers whose findings become Notes; nil: all
	// Least is the mildest severity of findings that become Notes. Without HasFindings none do.
	Least       finding.Severity
	HasFindings bool
	Run         time.Time // when the run began: threads have it in their names, as numbers begin anew
	Put         func(*Note)
}

// Teller makes Notes of what the fold learns: of warnings and alerts, and of findings. Its methods
// are for the fold's goroutine and do not block. It is a track.Watcher, which learns the time of
// each packet before the detector does, and a track.Listener.
type Teller struct {
	opt      Options
	run      string
	now      int64            // packet time
	totals   func() tally.Run // counters so far; nil before Start
	observe  func(*flood.Incident, flood.Event)
	json     *jsonl.Renderer
	names    *lru.Table[endKey, track.ShortText]
	findings map[findingKey]*findingThread
	over     []stats.Repeats // the last ones that ended, at most maxOver
	begun    int             // finding threads so far
	crowded  uint64          // findings of further threads than maxThreads
	checked  int64           // when Tick last ended those that are over
}

// New returns a Teller. It calls o.Put with each Note.
func New(o Options) *Teller {
	t := &Teller{opt: o, run: o.Run.UTC().Format("20060102T150405Z"), json: jsonl.New(jsonl.Options{}),
		names: lru.New[endKey, track.ShortText](namedServers), findings: map[findingKey]*findingThread{}}
	t.observe = flood.WarningsOnly(t.tellIncident)
	return t
}

// Crowded returns how many findings became no Notes because too many others went on.
func (t *Teller) Crowded() uint64 { return t.crowded }

// Start takes over a function for the counters of the run so far, before the first packet.
func (t *Teller) Start(totals func() tally.Run) { t.totals = totals }

// Sight notes the time of a packet.
func (t *Teller) Sight(s *track.Sighting) { t.now = s.Nanos }

// Lost does nothing.
func (t *Teller) Lost(uint64) {}

// Tick ends the findings that have not repeated for long.
func (t *Teller) Tick(_, nanos int64) {
	t.now = nanos
	if nanos-t.checked >= int64(quiet/10) || nanos < t.checked {
		t.checked = nanos
		t.endFindings(int64(quiet))
	}
}

// End ends all findings.
func (t *Teller) End(_, nanos int64) {
	t.now = nanos
	t.endFindings(0)
}

// AddProfile records the name of a server. An attacker who forges the server's address
// chooses it.
func (t *Teller) AddProfile(s *track.Sighting, p *track.Profile) {
	if len(p.Name.Bytes()) > 0 {
		name, _ := t.names.Put(endKey{s.Src, s.SrcPort})
		*name = p.Name
	}
}

// Observe is an observer of a flood.Detector, for incidents at the servers that Notes are about.
func (t *Teller) Observe(in *flood.Incident, e flood.Event) { t.observe(in, e) }

// tellIncident makes a Note of an event of a warning or an alert.
func (t *Teller) tellIncident(in *flood.Incident, e flood.Event) {
	x := render.IncidentEvent{Nanos: max(t.now, in.Detected), Event: e, Incident: in, Thread: fmt.Sprintf("%s-%d", t.run, in.ID)}
	if t.totals != nil {
		run := t.totals()
		x.Run = &run
	}
	t.opt.Put(&Note{
		Thread: x.Thread, Event: Event(e.String()), Record: "incident", Kind: in.Kind.String(), Level: in.Level.String(),
		Target: in.Target.String(), Name: t.nameOf(in.Target.End), Nanos: x.Nanos,
		Text: text.IncidentWords(&x), Advice: adviceFor(in), Facts: incidentFacts(&x),
		Line: trimLine(t.json.AppendIncident(nil, &x)),
	})
}

// adviceFor returns the first paragraph of the advice, or what helps against any incident of
// this kind.
func adviceFor(in *flood.Incident) string {
	if len(in.Advice.Words) > 0 {
		return Cut(in.Advice.Words[0], shortAdvice)
	}
	return Cut(in.Kind.Doc().Do, shortAdvice)
}

// incidentFacts returns the numbers of a Note.
func incidentFacts(x *render.IncidentEvent) []Fact {
	in := x.Incident
	until := x.Nanos
	if in.End != 0 {
		until = in.End
	}
	facts := []Fact{
		{"peak", digits.Short(in.Peak) + "/s"},
		{"count", in.Count()},
		{"lasted", digits.Span(time.Duration(max(0, until-in.Start)).Round(time.Second))},
	}
	if in.Sources >= 1 {
		facts = append(facts, Fact{"sources", digits.Grouped(int64(in.Sources + 0.5))})
	}
	if in.Answered >= 0 {
		facts = append(facts, Fact{"any reply", fmt.Sprintf("%.0f %%", 100*in.Answered)})
	}
	if in.Served >= 0 {
		facts = append(facts, Fact{"proven clients served", fmt.Sprintf("%.0f %%", 100*in.Served)})
	}
	if x.Run != nil {
		for _, inner := range x.Run.InnerOf(in.Target.End) {
			facts = append(facts, Fact{"inside", inner.String()})
		}
	}
	return append(facts, Fact{"confidence", flood.ConfidenceWord(in.Confidence())})
}

// trimLine returns a line without its end.
func trimLine(line []byte) []byte { return line[:len(line)-1] }

// Cut returns text with at most n bytes, with an ellipsis where it was longer.
func Cut(s string, n int) string {
	const more = "..."
	if len(s) <= n {
		return s
	}
	n = max(0, n-len(more))
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimRight(s[:n], " ") + more
}

// endKey is a server.
type endKey struct {
	addr [16]byte
	port uint16
}

// Hash mixes the key.
func (k endKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(seed, k.addr[:]), uint64(k.port))
}

func keyOf(end netip.AddrPort) endKey { return endKey{end.Addr().As16(), end.Port()} }

// nameOf returns what a server called itself last, empty if that is unknown.
func (t *Teller) nameOf(server netip.AddrPort) string {
	if name := t.names.Peek(keyOf(server)); name != nil {
		return string(display.AppendVisible(nil, name.Whole()))
	}
	return ""
}

// AddFact adds the findings of a message.
func (t *Teller) AddFact(f *track.Fact, found []track.Found, _ *track.ServerInfo) {
	for i := range found {
		t.AddFinding(f.Frame, f.Nanos, f.Server, f.Client, found[i])
	}
}

// findingKey is what repeats of a finding have in common. Clients are not part of it, so that an
// attacker who forges addresses does not make a thread of each.
type findingKey struct {
	code   *finding.Code
	server netip.AddrPort
}

// findingThread is a finding that repeats.
type findingThread struct {
	stats.Repeats
	no   int    // from 1, in the order of beginning
	name string // of the thread
	next uint64 // how many repeats are its next change
}

// AddFinding makes a Note of a new finding, or counts a repeat.
func (t *Teller) AddFinding(frame uint64, nanos int64, server, client netip.AddrPort, found track.Found) {
	if !t.opt.HasFindings || found.Severity < t.opt.Least || server.IsValid() && !t.opt.Ours.Has(server) {
		return
	}
	k := findingKey{found.Code, server}
	x := t.findings[k]
	if x == nil {
		if len(t.findings) == maxThreads {
			t.crowded++
			return
		}
		t.begun++
		x = &findingThread{no: t.begun, name: fmt.Sprintf("%s-f%d", t.run, t.begun), next: growth}
		x.Repeats = stats.Repeats{Expert: found.Expert, Detail: append([]byte(nil), found.Detail...), Server: server, Client: client,
			First: nanos, Last: nanos, Frame: frame, Frames: []uint64{frame}, Count: 1}
		t.findings[k] = x
		t.tellFinding(x, Begins, flood.Begins)
		return
	}
	x.Count++
	x.Last = max(x.Last, nanos)
	if x.Client != client {
		x.Client = netip.AddrPort{}
	}
	if x.Count == x.next {
		x.next *= growth
		t.tellFinding(x, Changes, flood.Changes)
	}
}

// endFindings ends the findings that have not repeated for a time, in nanoseconds.
func (t *Teller) endFindings(after int64) {
	var over []*findingThread
	for k, x := range t.findings {
		if t.now-x.Last >= after {
			over = append(over, x)
			delete(t.findings, k)
		}
	}
	slices.SortFunc(over, func(a, b *findingThread) int { return a.no - b.no })
	for _, x := range over {
		t.tellFinding(x, Ends, flood.Ends)
		t.over = append(t.over, x.Repeats)
	}
	t.over = slices.Delete(t.over, 0, max(0, len(t.over)-maxOver))
}

// Findings returns the findings that became Notes and were seen since a time, those that go on and
// those that are over: the worst first, then the most frequent. The result must not be changed.
func (t *Teller) Findings(since int64) []stats.Repeats {
	t.over = slices.DeleteFunc(t.over, func(r stats.Repeats) bool { return r.Last < since })
	all := slices.Clone(t.over)
	for _, x := range t.findings {
		all = append(all, x.Repeats)
	}
	slices.SortFunc(all, func(a, b stats.Repeats) int {
		return cmp.Or(cmp.Compare(b.Expert.Severity, a.Expert.Severity), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Expert.Code.ID, b.Expert.Code.ID), a.Server.Compare(b.Server), cmp.Compare(a.First, b.First))
	})
	return all
}

func (t *Teller) tellFinding(x *findingThread, e Event, event flood.Event) {
	n := &Note{Thread: x.name, Event: e, Record: "finding", Kind: x.Expert.Code.ID, Level: x.Expert.Severity.String(),
		Nanos: max(t.now, x.Last), Text: string(display.AppendVisible(nil, x.AppendText(nil))), Advice: Cut(x.Expert.Code.Do(), shortAdvice),
		Facts: []Fact{{"times", digits.Grouped(int64(x.Count))}},
		Line:  trimLine(jsonl.AppendFindingEvent(nil, x.name, event, &x.Repeats))}
	if x.Server.IsValid() {
		n.Target, n.Name = x.Server.String(), t.nameOf(x.Server)
	}
	t.opt.Put(n)
}

const (
	// limit: maxThreads is how many findings that repeat are followed at the same time. Chosen: there are
	// about a hundred kinds of findings, of which few are errors, and few servers on a host. Those of
	// further servers are counted.
	maxThreads = 256

	// limit: maxOver is how many findings that are over are remembered for those who ask what there was.
	// Chosen: as many as may go on; the oldest are evicted.
	maxOver = maxThreads

	// limit: quiet is for how long a finding must not repeat until it is over. Chosen: monitors ask once
	// a minute, list sites every few minutes.
	quiet = 10 * time.Minute

	// limit: growth is how many times as many repeats a finding has that changes: the 10th, the 100th.
	growth = 10

	// limit: namedServers is how many servers' names are remembered, 0.5 MiB: as many as answer in
	// stats.
	namedServers = 4096

	// limit: shortAdvice is how many bytes of advice a note has at most; the line has all of it. Chosen:
	// a paragraph on the screen of a telephone.
	shortAdvice = 600
)
