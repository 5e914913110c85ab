package flood

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// seed keys the hashes of sightings.
const seed = 1

// world is a small network that a detector watches: servers that answer as theirs do,
// and people, tools and attackers that ask them. What happens is drawn from a seed,
// and seen packet by packet as a capture beside the servers would.
type world struct {
	r     *rand.Rand
	d     *Detector
	now   time.Duration // since the capture began
	queue schedule
	count int // of what was scheduled
	frame uint64

	// How the capture sees it.
	blind bool // nothing that servers here send is captured
	six   bool // IPv6
	steps []step
	oneOf uint64 // of so many packets the capture has one; 0: it has all
	told  bool   // and says so

	incidents []*record // by ID
	absurd    []string  // figures of theirs that contradict each other
}

// step is a clock that is set.
type step struct{ at, by time.Duration }

// record is what was said of an incident.
type record struct {
	Incident // as it was last
	events   []Event
	level    Level // the highest
}

// dawn is when captures begin.
var dawn = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newWorld(draw uint64) *world {
	w := &world{r: rand.New(rand.NewPCG(draw, 1)), d: New(Defaults(), 1, nil)}
	w.d.AddObserver(w.found)
	return w
}

func (w *world) found(in *Incident, e Event) {
	if e == Begins {
		w.incidents = append(w.incidents, &record{})
	}
	if in.Requests > 0 && in.Sources > float64(in.Requests) {
		w.absurd = append(w.absurd, fmt.Sprintf("%s: %.0f sources sent %d requests", in.Name(), in.Sources, in.Requests))
	}
	if in.Requests+in.Replies == 0 {
		w.absurd = append(w.absurd, in.Name()+" has no packets")
	}
	if e == Ends {
		w.checkFigures(in)
	}
	x := w.incidents[in.ID-1]
	x.Incident = *in
	x.Top, x.Prefixes, x.History = slices.Clone(in.Top), slices.Clone(in.Prefixes), slices.Clone(in.History)
	x.Evidence, x.SourceSketch = slices.Clone(in.Evidence), nil
	x.Shape, x.Features = slices.Clone(in.Shape), slices.Clone(in.Features)
	x.events = append(x.events, e)
	x.level = max(x.level, in.Level)
}

// checkFigures notes figures that a reader would compare and that do not agree: the mean rate
// times the length is the number of packets, the peak is no less than the mean, and no stretch
// of time ends before it begins.
func (w *world) checkFigures(in *Incident) {
	absurd := func(format string, args ...any) {
		w.absurd = append(w.absurd, in.Name()+": "+fmt.Sprintf(format, args...))
	}
	n, end := float64(max(in.Requests, 1)), in.End
	if in.Requests == 0 {
		n = float64(in.Replies)
	}
	if end == 0 {
		end = w.nanos()
	}
	length := max(float64(end-in.Start)/1e9, 1)
	if in.Kind != OpenAmplifier && len(w.steps) == 0 && math.Abs(in.Mean*length-n) > max(2, 0.02*n) {
		absurd("mean %.2f/s over %.2f s is %.0f packets, but there were %.0f", in.Mean, length, in.Mean*length, n)
	}
	if in.Mean > in.Peak {
		absurd("mean %.2f/s, peak %.2f/s", in.Mean, in.Peak)
	}
	for _, s := range in.Evidence {
		if s.From > s.To || len(w.steps) == 0 && s.To > w.nanos() {
			absurd("%q is of %d ns, and ends %v before the capture does", s.Text, s.To-s.From, time.Duration(w.nanos()-s.To))
		}
	}
	for _, s := range in.Top {
		if s.Low > s.High || in.TopOf > 0 && s.Low > in.TopOf {
			absurd("%v sent %d to %d of %d", s.Addr, s.Low, s.High, in.TopOf)
		}
	}
}

// scheduled is something that happens.
type scheduled struct {
	at    time.Duration
	order int
	do    func()
}

type schedule []scheduled

func (s schedule) Len() int { return len(s) }
func (s schedule) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(s[i].at, s[j].at), cmp.Compare(s[i].order, s[j].order)) < 0
}
func (s schedule) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *schedule) Push(x any)   { *s = append(*s, x.(scheduled)) }
func (s *schedule) Pop() any {
	last := len(*s) - 1
	x := (*s)[last]
	*s = (*s)[:last]
	return x
}

// at has something happen at a time.
func (w *world) at(t time.Duration, do func()) {
	w.count++
	heap.Push(&w.queue, scheduled{max(t, w.now), w.count, do})
}

// every has something happen n times a second, evenly, from one time to another.
func (w *world) every(n float64, from, to time.Duration, do func(i int)) {
	gap := time.Duration(float64(time.Second) / n)
	i := 0
	var next func()
	next = func() {
		do(i)
		i++
		if t := from + time.Duration(i)*gap; t < to {
			w.at(t, next)
		}
	}
	w.at(from, next)
}

// poisson has something happen n times a second on average, at times that do not
// know of each other.
func (w *world) poisson(n float64, from, to time.Duration, do func()) {
	wait := func() time.Duration { return time.Duration(w.r.ExpFloat64() / n * 1e9) }
	var next func()
	next = func() {
		do()
		if t := w.now + wait(); t < to {
			w.at(t, next)
		}
	}
	if t := from + wait(); t < to {
		w.at(t, next)
	}
}

// run lets things happen up to a time, and ends the capture.
func (w *world) run(until time.Duration) {
	for len(w.queue) > 0 && w.queue[0].at < until {
		x := heap.Pop(&w.queue).(scheduled)
		w.now = x.at
		x.do()
	}
	w.now = until
	w.d.End(w.age(), w.nanos())
}

// age is what a capture's clock makes of the time stamps: steps forward are believed,
// steps back are not.
func (w *world) age() int64 {
	t := w.now
	for _, s := range w.steps {
		if s.at <= w.now && s.by > 0 {
			t += s.by
		}
	}
	return dawn.UnixNano() + int64(t)
}

func (w *world) nanos() int64 {
	t := w.now
	for _, s := range w.steps {
		if s.at <= w.now {
			t += s.by
		}
	}
	return dawn.UnixNano() + int64(t)
}

// see shows the detector a packet.
func (w *world) see(s track.Sighting) {
	if w.frame++; w.oneOf > 1 && lru.Mix(seed, w.frame)%w.oneOf != 0 {
		return
	}
	if w.told {
		s.Weight = uint32(w.oneOf)
	}
	s.Frame, s.Age, s.Nanos = w.frame, w.age(), w.nanos()
	s.FillHashes(seed)
	w.d.Sight(&s)
}

// ip is the host of an IPv4 address, or of the IPv6 address that stands for it:
// a /16 becomes a /32 and a /24 a /64.
func (w *world) ip(n uint32) track.Host {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], n)
	if !w.six {
		return netip.AddrFrom4(b).As16()
	}
	return track.Host{0: 0x2a, 2: b[0], 3: b[1], 7: b[2], 15: b[3]}
}

// parse is ip of an address as it is written.
func (w *world) parse(a string) track.Host {
	b := netip.MustParseAddr(a).As4()
	return w.ip(binary.BigEndian.Uint32(b[:]))
}

// anywhere is an address that was invented.
func (w *world) anywhere() track.Host {
	if !w.six {
		return w.ip(w.r.Uint32())
	}
	h := track.Host{0: 0x2a}
	binary.BigEndian.PutUint64(h[2:], w.r.Uint64())
	binary.BigEndian.PutUint64(h[8:], w.r.Uint64())
	return h
}

// client is somebody who asks.
type client struct {
	host track.Host
	ttl  uint8
	trip time.Duration
}

// client is the n-th of the people: they live in 300 networks, some with many of
// them, and no address is an impossible one.
func (w *world) client(n int) client {
	r := rand.New(rand.NewPCG(uint64(n), 2))
	u := r.Float64()
	net := uint32(300 * u * u)
	a := uint32(20+net%100)<<24 | (net*37%256)<<16 | r.Uint32()&0xffff
	from := []uint8{128, 128, 128, 128, 64}[r.IntN(5)]
	hops := min(max(14+4*r.NormFloat64(), 4), 28)
	trip := min(60*math.Exp(0.6*r.NormFloat64()), 400)
	return client{w.ip(a), from - uint8(hops), time.Duration(trip * 1e6)}
}

func (w *world) someone() client { return w.client(w.r.IntN(20_000)) }

// port is one as clients bind them.
func (w *world) port() uint16 {
	switch u := w.r.Float64(); {
	case u < 0.1:
		return 27005
	case u < 0.6:
		return uint16(1024 + w.r.IntN(64512))
	}
	return uint16(49152 + w.r.IntN(16384))
}

var (
	a2s  = &dissect.Proto{Name: "a2s"}
	ase  = &dissect.Proto{Name: "ase"}
	rcon = &dissect.Proto{Name: "source-rcon"}
)

// dump is all that was said, in order of the incidents.
func (w *world) dump() string {
	var b []byte
	for _, x := range w.incidents {
		b = fmt.Appendf(b, "%+v %v\n", x.Incident, x.events)
	}
	return string(b)
}

// found is an incident in a line, for failures.
func (x *record) line() string {
	since := func(n int64) string { return time.Duration(n - dawn.UnixNano()).Round(time.Millisecond).String() }
	end := "open"
	if x.End != 0 {
		end = since(x.End)
	}
	return fmt.Sprintf("%s %s campaign %d, %s to %s, detected %s, %d pulses, peak %.0f, %.0f sources, confidence %.2f, history %v, %v\n     %s",
		x.Name(), x.Target, x.Campaign, since(x.Start), end, since(x.Detected), x.Pulses, x.Peak, x.Sources, x.Weight.Value, x.History, x.events, evidenceText(x.Evidence))
}

// figures returns what an incident is but its evidence in words: its figures, and those of its sources, networks and features.
func (x *record) figures() string {
	since := func(n int64) float64 { return float64(n-dawn.UnixNano()) / 1e9 }
	var b strings.Builder
	fmt.Fprintf(&b, "  %s %s, campaign %d, %s, %.3f to %.3f, detected %.3f, frame %d, %d pulses, %v, history", x.Name(), x.Target, x.Campaign, x.level,
		since(x.Start), since(x.End), since(x.Detected), x.Frame, x.Pulses, x.events)
	for _, c := range x.History {
		fmt.Fprintf(&b, " %s %.3f", c.Kind, since(c.Nanos))
	}
	fmt.Fprintf(&b, "\n    peak %.5g, mean %.5g, usual %.5g, %d requests, %d replies, %d packets, %d and %d bytes, %d in a second, viewed %d\n", x.Peak, x.Mean,
		x.Baseline, x.Requests, x.Replies, x.Packets, x.BytesIn, x.BytesOut, x.PeakBytes, x.Viewed)
	fmt.Fprintf(&b, "    %.4g sources, %.3g off, weight %.4g %d, challenged %d %t, completion %.3g, answered %.3g, stands %.4g, answers %v, served %.3g, gated %d\n",
		x.Sources, x.SourcesError, x.Weight.Value, x.Weight.Basis, x.Challenged, x.GivesChallenges, x.Completion, x.Answered, x.Stands, x.Answers, x.Served, x.Gated)
	fmt.Fprintf(&b, "    %d servers %v %t %v, joins %.4g, %t, leak %v, window %.3f to %.3f of %d, %d other forms, top", x.Servers, x.Targets, x.MoreServers,
		x.MorePorts, x.Joins, x.Succeeded, x.Leak, since(x.TopFrom), since(x.TopTo), x.TopOf, x.OtherForms)
	for _, s := range x.Top[:min(len(x.Top), 3)] {
		fmt.Fprintf(&b, " %v", s)
	}
	for _, n := range x.Prefixes[:min(len(x.Prefixes), 2)] {
		fmt.Fprintf(&b, " %v", n)
	}
	for _, f := range x.Shape {
		fmt.Fprintf(&b, " %t %t %d %d %d", f.IsOther, f.HasKey, f.Min, f.Max, f.Packets)
	}
	fmt.Fprintf(&b, "\n    without %v:", x.Missing)
	for _, f := range x.Features {
		fmt.Fprintf(&b, " %s %.4g", f.Name, f.Value)
	}
	return b.String() + "\n"
}

// worlds has the figures of all that was found in the parts of a test, by their names.
type worlds struct{ strings.Builder }

// add adds what a world found. Call it where the part runs with -short, too.
func (x *worlds) add(name string, w *world) {
	fmt.Fprintln(x, name)
	for _, in := range w.incidents {
		x.WriteString(in.figures())
	}
}

// compare compares all with a file, unless only parts of the test ran.
func (x *worlds) compare(t *testing.T, file string) {
	if !strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		golden(t, file, x.String())
	}
}

// evidenceText joins the sentences of evidence, each with its stretch of time.
func evidenceText(all []Sentence) string {
	var texts []string
	for _, s := range all {
		text := s.Text
		if s.To != 0 {
			text += fmt.Sprintf(" [%v to %v]", time.Duration(s.From-dawn.UnixNano()), time.Duration(s.To-dawn.UnixNano()))
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; ")
}

// logIncidents shows what there is, where a test failed.
func (w *world) logIncidents(t testing.TB) {
	t.Helper()
	for _, x := range w.incidents {
		t.Logf("found %s", x.line())
	}
}
