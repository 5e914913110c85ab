package track

import (
	"math/rand/v2"
	"net/netip"
	"testing"

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
	raised    map[string]int
}

func newHostWorld(t *testing.T) *hostWorld {
	const size = 1.0 / 64
	w := &hostWorld{t: t, exchanges: NewExchanges(16, NewFlows(100)), hosts: NewHosts(size), nanos: map[uint64]int64{}, raised: map[string]int{}}
	w.hosts.Raise = w.check
	w.exchanges.ReportSilence = func(f *Fact) { w.add(f) }
	return w
}

// add adds a fact, and checks the sizes of all tables.
func (w *hostWorld) add(f *Fact) {
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
	f := Fact{Frame: w.frame, Nanos: w.at, Age: w.at, Server: end, Client: client, Proto: &testProto, Type: m.Type, Reply: m.Reply, Key: m.Key,
		Bytes: 25, Part: w.exchanges.Place(&m), TTL: 52 + key&8, Said: &Said{Form: int32(key >> 1 & 1), Print: uint64(key) + 1, Map: 1}}
	f.Refused = letters[n] == 'l' && key&2 != 0
	w.add(&f)
}

// TestHostsAgainstMany plays many messages, so that the invariants are of findings that were raised.
func TestHostsAgainstMany(t *testing.T) {
	w := newHostWorld(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30_000 {
		later := byte(rng.Uint32N(8))
		if rng.Uint32N(20) == 0 {
			later = byte(40 + rng.Uint32N(60))
		}
		w.step(later|byte(rng.Uint32N(2))<<7, byte(rng.Uint32()), byte(rng.Uint32()))
	}
	if len(w.raised) < 6 {
		t.Errorf("only %v were raised", w.raised)
	}
	t.Log(w.raised)
}
