package track

import (
	"flag"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// FuzzHosts: whatever clients and servers send, a finding has frames that were seen, the oldest first, and the
// time of the last one; its severity is that of its code or one less; and no table outgrows its size.
func FuzzHosts(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		seed := make([]byte, 600)
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		for i := 0; i < len(seed); i += 3 { // mostly soon, and few challenges, so that some are right
			seed[i], seed[i+2] = seed[i]&0x8f, seed[i+2]&1
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		w := newHostWorld(t)
		for len(in) >= 3 {
			w.step(in[0], in[1], in[2])
			in = in[3:]
		}
		w.exchanges.Tick(w.at + int64(answerWait) + 1)
	})
}

// hostWorld plays messages to exchanges, and what they make of them to hosts.
type hostWorld struct {
	t         *testing.T
	exchanges *Exchanges
	hosts     *Hosts
	at        int64
	nanos     map[uint64]int64 // by frame
	frame     uint64
	raised    map[string]int // findings, and what became of messages
	sum       hash.Hash64    // of all of these
}

func newHostWorld(t *testing.T) *hostWorld {
	const size = 1.0 / 64
	w := &hostWorld{t: t, exchanges: NewExchanges(16, NewFlows(100)), hosts: NewHosts(size), nanos: map[uint64]int64{}, raised: map[string]int{}, sum: fnv.New64a()}
	w.hosts.Raise = w.check
	w.exchanges.ReportSilence = func(f *Fact) { w.add(f) }
	return w
}

// add adds a fact, and checks the sizes of all tables.
func (w *hostWorld) add(f *Fact) {
	w.raised[f.Step.String()]++
	fmt.Fprintf(w.sum, "%d %d %d %d %d %d %d %t\n", f.Frame, f.Step, f.ID, f.Request, f.Took, f.Trip, f.Gap, f.IsThird)
	w.hosts.AddFact(f)
	h := w.hosts
	for i, x := range h.tables {
		if n := x.entries.Len(); n > x.entries.Cap() {
			w.t.Fatalf("table %d has %d entries, and room for %d", i, n, x.entries.Cap())
		}
	}
}

func (w *hostWorld) check(x *Raised) {
	id := x.Expert.Code.ID
	w.raised[id]++
	fmt.Fprintf(w.sum, "%s %v %v %v %d %d %v\n", id, x.Frames, x.Server, x.Client, x.Expert.A, x.Expert.B, x.Expert.Severity)
	if len(x.Frames) == 0 {
		w.t.Fatalf("%s has no frames", id)
	}
	before := uint64(0)
	for _, n := range x.Frames {
		if _, ok := w.nanos[n]; !ok || n <= before {
			w.t.Fatalf("%s has the frames %v, of %d", id, x.Frames, w.frame)
		}
		before = n
	}
	if got, want := x.Nanos, w.nanos[before]; got != want {
		w.t.Fatalf("%s at frame %d\ngot  %d\nwant %d", id, before, got, want)
	}
	if s := x.Expert.Code.Severity; x.Expert.Severity > s || s > finding.Chat && x.Expert.Severity < s-1 {
		w.t.Fatalf("%s is %s\nwant %s, or one less", id, x.Expert.Severity, s)
	}
}

// step plays three bytes: how much later, what between whom, and a challenge.
func (w *hostWorld) step(later, what, key byte) {
	const letters = "TUVTUVWRAIDEAIDEXlMPCc"
	w.at += int64(later&0x7f) * 50 * ms
	w.exchanges.Tick(w.at)
	w.frame++
	client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 64, 0, key >> 4 & 3}), 40000+uint16(key>>6&1))
	end := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, 1 + later>>7}), 27015)
	n := int(what) % (len(letters) + 2)
	if n == len(letters) {
		w.exchanges.RecordGap(w.at)
		w.hosts.RecordGap(w.at)
		return
	}
	m := Message{Src: client, Dst: end, Proto: &testProto, Frame: w.frame, Nanos: w.at, Age: w.at, Bytes: 25}
	w.nanos[w.frame] = w.at
	if n > len(letters) {
		m.Src, m.Dst, m.Reply = end, client, true
		if asks := w.exchanges.RecordPart(&m); asks != 0 {
			w.hosts.AddBegun(&Fact{Frame: w.frame, Nanos: w.at, Age: w.at, Server: end, Client: client}, asks)
		}
		return
	}
	if m.Type = hostKinds[letters[n:n+1]]; m.Type == nil {
		m.Type = testKinds[letters[n]]
	}
	if m.Reply = m.Type.Reply; m.Reply {
		m.Src, m.Dst = end, client
	}
	if m.Type.GivesToken() || m.Type.Asks&dissect.AskRconChallenge != 0 || key&1 != 0 {
		m.Key = 1<<32 | uint64(7+key&1)
	}
	part := w.exchanges.Place(&m)
	for i := range m.Expert {
		w.raised[m.Expert[i].Code.ID]++
		fmt.Fprintf(w.sum, "%s %d %d %v\n", m.Expert[i].Code.ID, m.Expert[i].A, m.Expert[i].B, m.Expert[i].Severity)
	}
	f := Fact{Frame: w.frame, Nanos: w.at, Age: w.at, Server: end, Client: client, Proto: &testProto, Type: m.Type, Reply: m.Reply, Key: m.Key,
		Bytes: 25, Part: part, TTL: 52 + key&8, Said: &Said{Form: int32(key >> 1 & 1), Print: uint64(key) + 1, Map: 1}}
	f.Refused = letters[n] == 'l' && key&2 != 0
	w.add(&f)
}

var update = flag.Bool("update", false, "rewrite the files of testdata")

// TestHostsAgainstMany plays many messages, so that the invariants are of findings that were raised. What becomes of them is
// in testdata/many.txt: times are multiples of 50 ms, so that each limit is met exactly and missed by little. -update writes it.
func TestHostsAgainstMany(t *testing.T) {
	var got strings.Builder
	for _, tc := range []struct {
		seed   uint64
		n      int
		soon   uint32 // most pauses are shorter, in 50 ms
		senior uint32 // of how many one is long
	}{
		{4, 30_000, 8, 20},
		{5, 8000, 70, 8},
		{6, 8000, 2, 200},
	} {
		w := newHostWorld(t)
		rng := rand.New(rand.NewPCG(3, tc.seed))
		for range tc.n {
			later := byte(rng.Uint32N(tc.soon))
			if rng.Uint32N(tc.senior) == 0 {
				later = byte(40 + rng.Uint32N(60))
			}
			w.step(later|byte(rng.Uint32N(2))<<7, byte(rng.Uint32()), byte(rng.Uint32()))
		}
		if len(w.raised) < 6 {
			t.Errorf("only %v were raised", w.raised)
		}
		fmt.Fprintf(&got, "seed %d:", tc.seed)
		for _, name := range slices.Sorted(maps.Keys(w.raised)) {
			fmt.Fprintf(&got, " %s %d", name, w.raised[name])
		}
		fmt.Fprintf(&got, " #%x\n", w.sum.Sum64())
	}
	if *update {
		if err := os.WriteFile("testdata/many.txt", []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/many.txt")
	if diff := cmp.Diff(string(want), got.String()); diff != "" || err != nil {
		t.Errorf("want -, got +; %v\n%s", err, diff)
	}
}
