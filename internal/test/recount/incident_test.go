package recount

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// incident is a line of the report, beside the packets that it is about by the test's count.
type incident struct {
	t      *testing.T
	c      *capture
	line   []byte
	before []string // kinds of the lines before, of the last line

	Kind, Target, Class string
	Start, Detected     time.Time
	End                 *time.Time
	Frame               uint64
	Pulses              int
	Peak                float64 `json:"peak_qps"`
	Mean                float64 `json:"mean_qps"`
	Baseline            float64 `json:"baseline_qps"`
	Requests, Replies   int
	Packets             int
	BytesIn             int `json:"bytes_in"`
	BytesOut            int `json:"bytes_out"`
	Sources             int
	SourcesError        float64 `json:"sources_error"`
	Kinds               []struct{ Packets int }
	TopWindow           *struct {
		From, To time.Time
		Packets  int
	} `json:"top_window"`
	Targets []string

	whole span   // of the incident
	list  []*row // the packets that it counts
	in    []*row // all that its server got that is of queries, in the same time
	out   []*row // what it sent meanwhile
}

// newIncident reads a line and picks its packets.
func newIncident(t *testing.T, c *capture, line []byte) *incident {
	t.Helper()
	x := &incident{t: t, c: c, line: line}
	if err := json.Unmarshal(line, x); err != nil {
		t.Fatal(err)
	}
	x.whole = span{x.Start.UnixNano(), c.last + 1}
	if x.End != nil {
		x.whole.to = x.End.UnixNano()
	}
	if x.Kind == "open_amplifier" || x.Kind == "rcon_bruteforce" { // the last packet is the end
		x.whole.to++
	}
	x.list = c.pick(x.whole, x.counts)
	isRequest := func(r *row) bool { return x.isTarget(r.dst) && (r.what.isRequest() || r.what == junk) }
	isReply := func(r *row) bool { return x.isTarget(r.src) && (r.what.isReply() || r.what == part) }
	x.in, x.out = c.pick(x.whole, isRequest), c.pick(x.whole, isReply)
	return x
}

// isTarget reports whether an end is the incident's target: itself, one of its network, or
// the host.
func (x *incident) isTarget(e netip.AddrPort) bool {
	name := x.Target
	if _, end, ok := strings.Cut(name, "dp/"); ok {
		name = end
	} else if _, end, ok := strings.Cut(name, "tcp/"); ok {
		name = end
	}
	if p, port, ok := strings.Cut(name, "/"); ok {
		bits, port, _ := strings.Cut(port, ":")
		n := netip.MustParsePrefix(p + "/" + bits)
		return n.Contains(e.Addr()) && port == fmt.Sprint(e.Port())
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return a == e.Addr()
	}
	return e == netip.MustParseAddrPort(name)
}

// counts reports whether an incident of this kind counts a packet.
func (x *incident) counts(r *row) bool {
	to := x.isTarget(r.dst)
	switch x.Kind {
	case "challenge_bypass":
		return to && r.what == guess
	case "junk_flood":
		return to && r.what == junk
	case "reply_flood_victim":
		return to && r.what.isReply() && r.dst.Port() == 80 // who asks there asks from port 40000
	case "rcon_bruteforce":
		return r.what == refusal && x.isTarget(r.src)
	case "open_amplifier":
		return x.isTarget(r.src) && r.what == data
	case "other_flood":
		return x.isOfClass(r)
	}
	return to && r.what == query
}

// isOfClass reports whether a packet is of the class of an other_flood at its target.
func (x *incident) isOfClass(r *row) bool {
	host, _ := netip.ParseAddrPort(x.Target[strings.Index(x.Target, "/")+1:])
	switch {
	case r.dst.Addr() != host.Addr():
		return false
	case x.Class == "tcp_syn":
		return r.isTCP && r.flags&0x12 == 2
	case x.Class == "amplified_dns": // of the fragments, the first one has the ports
		return r.src.Port() == 53 || r.src.Port() == 0
	case x.Class == "connect_source":
		return strings.HasPrefix(r.payload, "\xff\xff\xff\xffqconnect")
	}
	x.t.Fatalf("no count for class %s", x.Class)
	return false
}

// within returns the incident's packets in a stretch of time, which may reach beyond it.
func (x *incident) within(s span) []*row { return x.c.pick(s, x.counts) }

// length returns how long the incident was in seconds, at least one.
func (x *incident) length() float64 {
	end := x.c.last
	if x.End != nil {
		end = x.End.UnixNano()
	}
	return max(float64(end-x.Start.UnixNano())/1e9, 1)
}

// coarse is how many packets of a server, or a host, are not in its numbers at most: until it gets
// ten in a second or thirty in ten, it is counted without its sources.
const coarse = 10

// after returns how many queries may be counted that came after the end of the incident: the
// second in whose midst it ends is counted whole, and as many as usual come after the flood.
func (x *incident) after() int {
	if x.Class != "" || x.Kind == "rcon_bruteforce" || x.Kind == "challenge_bypass" || x.Kind == "reply_flood_victim" {
		return 0
	}
	return int(math.Ceil(x.Baseline))
}

// bounds returns between which numbers the report's count of the incident's packets may lie.
// All packets in its time are most that there can be. In pulses, what comes between them is no
// part of it; and the first guess of an address may be a challenge from before the capture.
func (x *incident) bounds() (low, high int) {
	high = len(x.list)
	switch {
	case x.Class != "" || x.Kind == "rcon_bruteforce":
		return high, high
	case x.Kind == "challenge_bypass":
		low = high - distinct(x.list, source)
	case x.Pulses > 1:
		for _, n := range x.c.bySecond(x.list, one) {
			if n >= most(x.c.bySecond(x.list, one))/4 {
				low += n
			}
		}
	default:
		low = high
	}
	if len(x.c.pick(span{x.c.first, x.whole.from}, x.counts)) < 30 || x.Kind == "reply_flood_victim" {
		low -= coarse
	}
	return low, high + x.after()
}

// peak returns the most packets in a second.
func (x *incident) peak() int { return most(x.c.bySecond(x.list, one)) }

// pulses counts the stretches between pauses of at least four seconds.
func (x *incident) pulses() (n int) {
	bySecond := x.c.bySecond(x.list, one)
	var loud []int64
	for sec, k := range bySecond {
		if 4*k >= most(bySecond) {
			loud = append(loud, sec)
		}
	}
	slices.Sort(loud)
	for i := range loud {
		if i == 0 || loud[i]-loud[i-1] > 4 {
			n++
		}
	}
	return n
}

// panes returns the whole stretches of ten seconds that the incident touches, with the one
// before the first: what the sketches are of.
func (x *incident) panes() span {
	const pane = 10
	from := (x.c.second(x.whole.from)+1)/pane*pane - 1
	to := (x.c.second(x.whole.to-1)+1)/pane*pane + pane - 1
	return span{x.c.first + (from-pane)*1e9, x.c.first + to*1e9}
}
