package split_test

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// truth is a message as its server sent it.
type truth struct {
	src      netip.AddrPort
	form     wire.Engine
	id       uint32
	msg      []byte
	parts    [][]byte
	packed   bool
	twin     bool  // has the ends and the id of the message before
	lost     []int // numbers that the capture does not have
	seen     int   // complete deliveries
	sentSets int
}

// sent is one datagram on its way.
type sent struct {
	of *truth
	n  int
}

var modelForms = []wire.Engine{wire.GoldSource, wire.Source, wire.SourceOld}

// invent makes the messages of one round. Twins have another form and the same
// ends and id.
func invent(t *testing.T, r *rand.Rand, round int) []*truth {
	var all []*truth
	for i := range 12 {
		m := &truth{
			src: addrPort([4]byte{198, 18, 0, byte(r.IntN(3))}, 27015),
			id:  uint32(round*100 + i), form: modelForms[r.IntN(3)],
		}
		twin := i > 0 && all[i-1].form != m.form && !all[i-1].packed && !all[i-1].twin && r.IntN(3) == 0
		m.twin = twin
		if twin {
			m.src, m.id = all[i-1].src, all[i-1].id
		}
		m.fill(t, r, twin)
		all = append(all, m)
	}
	for i, m := range all { // a twin must be whole: what a gap is filled with is a guess
		alone := (i == 0 || all[i-1].id != m.id) && (i == len(all)-1 || all[i+1].id != m.id)
		if alone && len(m.parts) > 1 && r.IntN(4) == 0 {
			for n := 1 + r.IntN(2); n < len(m.parts); n += 1 + r.IntN(4) {
				m.lost = append(m.lost, n)
			}
		}
	}
	return all
}

func (m *truth) fill(t *testing.T, r *rand.Rand, twin bool) {
	size := 256 + r.IntN(1200) // below that the forms of Source cannot be told apart by a part's size field
	parts := 2 + r.IntN(14)
	if !twin && m.form != wire.GoldSource && r.IntN(4) == 0 {
		m.packed = true
		m.msg = message(20 + r.IntN(4000))
		m.msg[5] = byte(r.Uint32())
		body := append(prefixOf(m.msg), pack(t, m.msg, 1+r.IntN(9))...)
		m.parts = cut(m.form, m.id|wire.Compressed, body, size)
		return
	}
	m.msg = message((parts-1)*size + 1 + r.IntN(size))
	for i := 5; i < len(m.msg); i++ {
		m.msg[i] = 'a' + byte(r.IntN(26))
	}
	m.parts = cut(m.form, m.id, m.msg, size)
}

// schedule shuffles the parts of all messages, some of them twice.
func schedule(r *rand.Rand, all []*truth) []sent {
	var order []sent
	for _, m := range all {
		m.sentSets = 2
		again := r.IntN(6) == 0 // every part comes twice
		for n := range m.parts {
			if slices.Contains(m.lost, n) {
				continue
			}
			order = append(order, sent{m, n})
			if again || r.IntN(10) == 0 {
				order = append(order, sent{m, n})
			} else {
				m.sentSets = 1
			}
		}
	}
	r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

func find(t *testing.T, all []*truth, s *split.Set) *truth {
	t.Helper()
	for _, m := range all {
		if m.src == s.Src && m.id == s.ID && m.form.String() == s.Engine.String() &&
			(m.packed || m.form == s.Engine) && len(m.parts) == s.Total {
			return m
		}
	}
	t.Fatalf("a set that nobody sent\n got %+v", s)
	return nil
}

// gapped is what can be joined without the lost parts, and how much of it
// precedes the first of them.
func (m *truth) gapped() (joined []byte, run int) {
	run = -1
	for n, p := range m.parts {
		if slices.Contains(m.lost, n) {
			if run < 0 {
				run = len(joined)
			}
			continue
		}
		joined = append(joined, p[m.form.HeaderLen():]...)
	}
	return joined, run
}

// TestModel sends random messages, shuffled, interleaved, doubled and with
// losses, and compares with what was sent.
func TestModel(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 2))
		b := newBench(split.Limits{Bytes: 1 << 20, FlowSets: 64, Parts: 4096, Sets: 256})
		for round := range 4 {
			b.got = b.got[:0]
			all := invent(t, r, round)
			for _, p := range schedule(r, all) {
				data := p.of.parts[p.n]
				b.frame++
				b.now += second / 1000
				b.Add(&split.Datagram{Src: p.of.src, Dst: client, Data: data, Wire: len(data), Frame: b.frame, Nanos: b.now})
			}
			b.now += 2 * wait
			b.Tick(b.now)
			compare(t, seed, all, b.got)
			if b.Buffered() != 0 {
				t.Fatalf("seed %d, round %d: bytes kept\n got %d\nwant 0", seed, round, b.Buffered())
			}
		}
	}
}

func compare(t *testing.T, seed uint64, all []*truth, got []result) {
	t.Helper()
	for i := range got {
		s := &got[i].Set
		verify(t, s, split.Limits{SetBytes: split.DefaultSetBytes, Inflated: split.DefaultInflated})
		m := find(t, all, s)
		want, run := m.msg, len(m.msg)
		switch {
		case m.lost != nil && m.packed:
			want, run = nil, 0
		case m.lost != nil:
			want, run = m.gapped()
		}
		outcome := split.Complete
		if m.lost != nil {
			outcome = split.Incomplete
		}
		if s.Outcome != outcome || s.Run != run || want != nil && !bytes.Equal(s.Data, want) {
			t.Fatalf("seed %d: message %d, form %d, lost %v\n got %v, Run %d of %d bytes, %v\nwant %v, Run %d of %d bytes",
				seed, m.id, m.form, m.lost, s.Outcome, s.Run, len(s.Data), got[i].Findings, outcome, run, len(want))
		}
		m.seen++
	}
	for _, m := range all {
		if m.seen < 1 || m.seen > m.sentSets || m.lost != nil && m.seen != 1 {
			t.Fatalf("seed %d: message %d, form %d, lost %v: deliveries\n got %d\nwant 1 to %d", seed, m.id, m.form, m.lost, m.seen, m.sentSets)
		}
	}
}

// TestModelTight runs the same traffic through tables that overflow all the
// time: what is complete must be right, and memory must keep to its limit.
func TestModelTight(t *testing.T) {
	lim := split.Limits{Bytes: 1, SetBytes: 1, Sets: 8, FlowSets: 4, Parts: 1, Pieces: 4}
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 3))
		b := newBench(lim)
		for round := range 4 {
			b.got = b.got[:0]
			all := invent(t, r, round)
			for _, p := range schedule(r, all) {
				data := p.of.parts[p.n]
				b.frame++
				b.Add(&split.Datagram{Src: p.of.src, Dst: client, Data: data, Wire: len(data), Frame: b.frame, Nanos: b.now})
				if b.Buffered() > 256*256 {
					t.Fatalf("seed %d: bytes kept\n got %d\nwant at most %d", seed, b.Buffered(), 256*256)
				}
			}
			b.now += 2 * wait
			b.Tick(b.now)
			for i := range b.got {
				s := &b.got[i].Set
				verify(t, s, split.Limits{SetBytes: 256 * 256, Inflated: split.DefaultInflated})
				if s.Outcome != split.Complete || slices.ContainsFunc(s.Expert, isInferred) {
					continue
				}
				if slices.ContainsFunc(s.Expert, isConflict) {
					continue // parts of a twin whose own set had to go
				}
				if m := find(t, all, s); !bytes.Equal(s.Data, m.msg) {
					t.Fatalf("seed %d: message %d: Data of %d bytes is not the message of %d", seed, m.id, len(s.Data), len(m.msg))
				}
			}
		}
		if b.Counters.Evicted == 0 {
			t.Fatalf("seed %d: nothing was evicted: the tables are not tight", seed)
		}
	}
}
