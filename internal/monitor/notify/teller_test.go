package notify

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/lrutest"
	"qsniff/internal/track"
	"qsniff/internal/track/stats"
)

const second = int64(time.Second)

// start is when all runs of these tests began.
var start = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

var server = netip.MustParseAddrPort("198.18.0.1:27015")

// newTeller returns a Teller and what it puts.
func newTeller(o Options) (*Teller, *[]*Note) {
	var got []*Note
	o.Run, o.Put = start, func(n *Note) { got = append(got, n) }
	return New(o), &got
}

func incident(id uint64) *flood.Incident {
	return &flood.Incident{ID: id, Kind: flood.FloodSuspect, Level: flood.Warn, Target: flood.Target{End: server}, Start: start.UnixNano(), Detected: start.UnixNano() + 5*second,
		Frame: 9, Peak: 1234, Requests: 9876, Sources: 77, Completion: -1, Answered: 0.25, Served: 0.97, Weight: flood.Weight{Value: 0.9},
		Evidence: []flood.Sentence{{Text: "nobody brings challenges back"}}, Advice: flood.Advice{Words: []string{"Do this.", "Then that."}}}
}

// summaries returns notes in short.
func summaries(notes []*Note) (all []string) {
	for _, n := range notes {
		all = append(all, fmt.Sprint(n.Thread, " ", n.Event, " ", n.Level, " ", n.Kind))
	}
	return all
}

func checkNotes(t *testing.T, what string, got []*Note, want ...string) {
	t.Helper()
	if fmt.Sprint(summaries(got)) != fmt.Sprint(want) {
		t.Errorf("%s\ngot  %q\nwant %q", what, summaries(got), want)
	}
}

// TestIncident: a note is told from the first warning on, has the line of floods -o json, and is
// one thread to its end.
func TestIncident(t *testing.T) {
	x, got := newTeller(Options{})
	in := incident(3)
	in.Level = flood.Info
	x.Observe(in, flood.Begins)
	checkNotes(t, "a note", *got)
	in.Level = flood.Warn
	x.Sight(&track.Sighting{Nanos: start.UnixNano() + 65*second})
	x.Observe(in, flood.Changes)
	in.Kind, in.Level = flood.FloodSpoofed, flood.Alert
	x.Observe(in, flood.Changes)
	in.End = start.UnixNano() + 70*second
	x.Observe(in, flood.Ends)
	checkNotes(t, "a warning that becomes an alert", *got, "20261123T030000Z-3 open warn flood_suspect", "20261123T030000Z-3 update alert flood_spoofed", "20261123T030000Z-3 close alert flood_spoofed")
	first := (*got)[0]
	if first.Target != "udp/198.18.0.1:27015" || first.Advice != "Do this." || !strings.Contains(first.Text, "flood_suspect at udp/198.18.0.1:27015, from frame 9 on: nobody brings") {
		t.Errorf("%+v", first)
	}
	if facts := fmt.Sprint(first.Facts); facts != "[{peak 1,234/s} {count 9,876 requests} {lasted 1m5s} {sources 77} {any reply 25 %} {proven clients served 97 %} {confidence high}]" {
		t.Errorf("facts %s", facts)
	}
	e := render.IncidentEvent{Nanos: start.UnixNano() + 65*second, Event: flood.Ends, Thread: first.Thread, Incident: in}
	if want := string(jsonl.New(jsonl.Options{}).AppendIncident(nil, &e)); string((*got)[2].Line)+"\n" != want {
		t.Errorf("line\ngot  %s\nwant %s", (*got)[2].Line, want)
	}
	in.Advice = flood.Advice{}
	if adviceFor(in) == "" {
		t.Error("no advice for an incident that has none of its own")
	}
}

// TestInside: a note says where the capturing host translates the target to, as far as the run knows then.
func TestInside(t *testing.T) {
	x, got := newTeller(Options{})
	var run tally.Run
	x.Start(func() tally.Run { return run })
	in := incident(3)
	x.Observe(in, flood.Begins)
	inner := netip.MustParseAddrPort("172.17.0.2:27016")
	run.Translations = []tally.Translation{{Inner: inner, Outer: in.Target.End}, {Inner: inner, Outer: netip.MustParseAddrPort("198.18.0.9:27015")}}
	in.Level = flood.Alert
	x.Observe(in, flood.Changes)
	for i, want := range []int{0, 1} {
		n := (*got)[i]
		if strings.Count(fmt.Sprint(n.Facts), "{inside 172.17.0.2:27016}") != want || strings.Count(string(n.Line), `"inside":["172.17.0.2:27016"]`) != want {
			t.Errorf("note %d: %v, %s", i, n.Facts, n.Line)
		}
	}
}

// TestOurs: of other servers nothing is told.
func TestOurs(t *testing.T) {
	ours, err := hostset.Parse("192.0.2.0/24")
	if err != nil {
		t.Fatal(err)
	}
	x, got := newTeller(Options{Ours: ours, HasFindings: true})
	x.AddFact(&track.Fact{Server: server}, []track.Found{found(finding.Error, "")}, nil)
	checkNotes(t, "elsewhere", *got)
	x.AddFinding(1, 1, netip.AddrPort{}, netip.AddrPort{}, found(finding.Error, "")) // about no server
	checkNotes(t, "about the capture", *got, "20261123T030000Z-f1 open error X-S01")
}

var code = &finding.Code{ID: "X-S01", Severity: finding.Error, Fault: finding.Server, Seen: "seen", Owner: "mend it", Client: "wait",
	Text: func(dst []byte, e *finding.Expert) []byte { return append(dst, "it is broken"...) }}

func found(s finding.Severity, detail string) track.Found {
	return track.Found{Expert: finding.Expert{Code: code, Severity: s, Field: -1}, Detail: []byte(detail)}
}

// TestFinding: repeats are folded, whoever they are of; the 10th and the 100th are changes; a
// finding that has not repeated for long is over, and begins anew as another thread.
func TestFinding(t *testing.T) {
	x, got := newTeller(Options{HasFindings: true, Least: finding.Warn})
	p := track.NoProfile()
	p.Name.Set([]byte("a\x1b[31m\u202eb"))
	reply := &track.Sighting{Src: track.HostOf(server), SrcPort: server.Port()}
	x.AddProfile(reply, &p)
	at := start.UnixNano()
	for i := range 250 {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), 4000)
		at += second
		x.AddFact(&track.Fact{Frame: uint64(i + 1), Nanos: at, Server: server, Client: client}, []track.Found{found(finding.Error, ": \x1b[2J"), found(finding.Note, "")}, nil)
	}
	x.Tick(0, at+int64(quiet)-1)
	checkNotes(t, "while it goes on", *got, "20261123T030000Z-f1 open error X-S01", "20261123T030000Z-f1 update error X-S01", "20261123T030000Z-f1 update error X-S01")
	x.Tick(0, at+2*int64(quiet))
	if len(*got) != 4 {
		t.Fatalf("got %q", summaries(*got))
	}
	last := (*got)[3]
	if last.Event != Ends || last.Target != server.String() || last.Advice != "Owner: mend it. Client: wait." || last.Text != `it is broken: \x1b[2J` || last.Name != `a\x1b[31m\u202eb` || fmt.Sprint(last.Facts) != "[{times 250}]" {
		t.Errorf("%+v", last)
	}
	var line struct {
		Record, Event, Thread, ID, Client string
		Count                             int
	}
	if err := json.Unmarshal(last.Line, &line); err != nil || line.Record != "finding" || line.Event != "close" || line.Thread != last.Thread || line.ID != "X-S01" || line.Count != 250 || line.Client != "" {
		t.Errorf("%v in %s", err, last.Line)
	}
	x.AddFinding(999, at, server, server, found(finding.Error, ""))
	if all := x.Findings(at); len(all) != 2 || all[0].Count != 250 || all[1].Count != 1 {
		t.Errorf("one that is over and one that goes on: %+v", all)
	}
	x.End(0, at)
	if all := x.Findings(at + 1); len(all) != 0 {
		t.Errorf("after the time: %+v", all)
	}
	checkNotes(t, "anew", (*got)[4:], "20261123T030000Z-f2 open error X-S01", "20261123T030000Z-f2 close error X-S01")
}

// TestFindingLine: the first line is that of findings -o json, with an event and a thread.
func TestFindingLine(t *testing.T) {
	x, got := newTeller(Options{HasFindings: true})
	x.AddFinding(7, start.UnixNano(), server, server, found(finding.Error, " indeed"))
	want := jsonl.AppendFindings(nil, &render.Findings{FindingSummary: stats.FindingSummary{Repeats: []stats.Repeats{{
		Expert: found(finding.Error, "").Expert, Detail: []byte(" indeed"), Server: server, Client: server, First: start.UnixNano(), Last: start.UnixNano(), Frame: 7, Frames: []uint64{7}, Count: 1}}}})
	line := strings.Replace(string((*got)[0].Line)+"\n", `"event":"open","thread":"20261123T030000Z-f1",`, "", 1)
	if line != string(want) {
		t.Errorf("got  %swant %s", line, want)
	}
}

// TestManyFindings: memory is bounded, however many servers there are, and what is not told is
// counted.
func TestManyFindings(t *testing.T) {
	x, got := newTeller(Options{HasFindings: true})
	for i := range 2 * maxThreads {
		end := netip.AddrPortFrom(server.Addr(), uint16(1+i))
		x.AddFinding(1, start.UnixNano(), end, end, found(finding.Error, ""))
	}
	if len(*got) != maxThreads || x.Crowded() != maxThreads || len(x.findings) != maxThreads {
		t.Errorf("%d notes, %d not told", len(*got), x.Crowded())
	}
	x.End(0, start.UnixNano())
	x.AddFinding(1, start.UnixNano(), server, server, found(finding.Error, ""))
	x.End(0, start.UnixNano())
	*got = (*got)[:2*maxThreads]
	if all := x.Findings(0); len(all) != maxOver {
		t.Errorf("%d findings are remembered", len(all))
	}
	if n := (*got)[len(*got)-1]; len(*got) != 2*maxThreads || n.Thread != fmt.Sprintf("20261123T030000Z-f%d", maxThreads) {
		t.Errorf("%d notes, the last is %s", len(*got), n.Thread)
	}
}

// TestNoAllocation: messages without findings allocate nothing.
func TestNoAllocation(t *testing.T) {
	x, _ := newTeller(Options{HasFindings: true})
	p := track.NoProfile()
	p.Name.Set([]byte("name"))
	f := &track.Fact{Server: server, Client: server}
	x.AddProfile(&track.Sighting{}, &p)
	if n := testing.AllocsPerRun(100, func() {
		x.Sight(&track.Sighting{})
		x.AddProfile(&track.Sighting{}, &p)
		x.AddFact(f, []track.Found{}, nil)
		x.Tick(0, 1)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		in   string
		n    int
		want string
	}{{"short", 5, "short"}, {"longer", 5, "lo..."}, {"a bcd", 4, "a..."}, {"üüü", 5, "ü..."}, {"xyz", 1, "..."}} {
		if got := Cut(tc.in, tc.n); got != tc.want {
			t.Errorf("%q to %d\ngot  %q\nwant %q", tc.in, tc.n, got, tc.want)
		}
	}
}

// TestChosenKeys: nobody can choose keys that collide in the table.
func TestChosenKeys(t *testing.T) { lrutest.Check[endKey](t) }
