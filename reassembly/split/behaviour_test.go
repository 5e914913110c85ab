package split_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/hextest"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// summary is what the tests of behaviour compare.
type summary struct {
	Outcome         string
	Total, Received int
	Data            string // hex is too long: the message by name
	Run, Len        int
	Frames          []uint64
	Findings        []string
}

// three is a message in three parts of 20, 20 and 10 bytes, other one that
// differs in every part.
var (
	three = message(50)
	other = func() []byte {
		b := message(50)
		for i := 5; i < len(b); i++ {
			b[i] ^= 0x20
		}
		return b
	}()
	lacks1 = slices.Concat(three[:20], three[40:])
)

func name(b []byte) string {
	for _, k := range []struct {
		name string
		b    []byte
	}{{"three", three}, {"other", other}, {"three without part 1", lacks1}, {"small", message(12)}, {"", nil},
		{"part 0 of three", three[:20]}, {"part 0 of other", other[:20]}, {"part 1 of three", three[20:40]}} {
		if bytes.Equal(k.b, b) {
			return k.name
		}
	}
	return "something else"
}

func (b *bench) summaries() []summary {
	var out []summary
	for i := range b.got {
		s := &b.got[i]
		out = append(out, summary{s.Outcome.String(), s.Total, s.Received, name(s.Data), s.Run, len(s.Data), s.Frames, s.Findings})
	}
	return out
}

const wait = 5 * second

func TestBehaviour(t *testing.T) {
	p := cut(wire.Source, 7, three, 20)
	q := cut(wire.Source, 7, other, 20)
	next := cut(wire.Source, 8, other, 20)
	gold := cut(wire.GoldSource, 7, other, 20)
	old := cut(wire.SourceOld, 7, other, 20)
	wrongTotal := append(header(wire.Source, 7, 4, 1, 20), three[20:40]...)
	beyond := append(header(wire.Source, 7, 6, 5, 20), three[20:40]...)
	complete := func(data string, frames ...uint64) summary {
		return summary{"complete", 3, 3, data, 50, 50, frames, nil}
	}
	with := func(s summary, findings ...string) summary {
		s.Findings = findings
		return s
	}
	tests := []struct {
		name string
		do   func(b *bench)
		want []summary
	}{
		{"in order", func(b *bench) { b.add(p[0]); b.add(p[1]); b.add(p[2]) },
			[]summary{complete("three", 1, 2, 3)}},
		{"any order", func(b *bench) { b.add(p[2]); b.add(p[0]); b.add(p[1]) },
			[]summary{complete("three", 1, 2, 3)}},
		{"duplicate while waiting", func(b *bench) { b.add(p[0]); b.add(p[1]); b.add(p[1]); b.add(p[2]) },
			[]summary{with(complete("three", 1, 2, 4), "SPL-02 note: 1 part came again with the same bytes")}},
		{"duplicate part 0", func(b *bench) { b.add(p[0]); b.add(p[0]); b.add(p[1]); b.add(p[2]) },
			[]summary{with(complete("three", 1, 3, 4), "SPL-02 note: 1 part came again with the same bytes")}},
		{"duplicate while held", func(b *bench) { b.add(p[2]); b.add(p[2]); b.add(p[1]); b.add(p[0]) },
			[]summary{with(complete("three", 1, 3, 4), "SPL-02 note: 1 part came again with the same bytes")}},
		{"late duplicates open nothing", func(b *bench) {
			b.add(p[0])
			b.add(p[1])
			b.add(p[2])
			b.add(p[1])
			b.add(p[0])
			b.Tick(b.now + 2*wait)
			b.Flush(b.now + 2*wait)
		}, []summary{complete("three", 1, 2, 3)}},
		{"a second copy is delivered", func(b *bench) {
			for _, n := range []int{0, 1, 2, 2, 0, 1} {
				b.add(p[n])
			}
		}, []summary{complete("three", 1, 2, 3), with(complete("three", 4, 5, 6), "SPL-02 note: the whole split message came again")}},
		{"a third copy too", func(b *bench) {
			for range 3 {
				b.add(p[0])
				b.add(p[1])
				b.add(p[2])
			}
		}, []summary{complete("three", 1, 2, 3),
			with(complete("three", 4, 5, 6), "SPL-02 note: the whole split message came again"),
			with(complete("three", 7, 8, 9), "SPL-02 note: the whole split message came again")}},
		{"a new message with the id of a delivered one", func(b *bench) {
			for _, d := range [][]byte{p[0], p[1], p[2], q[1], q[0], q[2]} {
				b.add(d)
			}
		}, []summary{complete("three", 1, 2, 3), complete("other", 4, 5, 6)}},
		{"it is not whole", func(b *bench) {
			for _, d := range [][]byte{p[0], p[1], p[2], q[0]} {
				b.add(d)
			}
			b.Tick(b.now + wait)
		}, []summary{complete("three", 1, 2, 3),
			{"incomplete", 3, 1, "part 0 of other", 20, 20, []uint64{4}, []string{"SPL-01 warn: 2 of 3 parts missing, the first is number 1 (from 0)"}}}},
		{"conflict keeps the first", func(b *bench) { b.add(p[0]); b.add(p[1]); b.add(q[1]); b.add(p[2]) },
			[]summary{with(complete("three", 1, 2, 4), "SPL-03 error: 1 part contradicts an earlier one of the same number")}},
		{"another part 0 takes over the id", func(b *bench) {
			for _, d := range [][]byte{p[0], p[2], q[0], q[1], q[2]} {
				b.add(d)
			}
		}, []summary{
			{"incomplete", 3, 2, "three without part 1", 20, 30, []uint64{1, 2}, []string{"SPL-04 warn: a new message took over id 7 when 2 parts had come"}},
			complete("other", 3, 4, 5)}},
		{"another id while one is open", func(b *bench) {
			for _, d := range [][]byte{p[0], next[0], next[1], p[1], p[2], next[2]} {
				b.add(d)
			}
		}, []summary{complete("three", 1, 4, 5), complete("other", 2, 3, 6)}},
		{"goldsource and source with one id", func(b *bench) {
			for _, d := range [][]byte{gold[1], p[1], p[0], gold[0], p[2], gold[2]} {
				b.add(d)
			}
		}, []summary{complete("three", 2, 3, 5), complete("other", 1, 4, 6)}},
		{"a missing part, at the end of the wait", func(b *bench) {
			b.add(p[0])
			b.add(p[2])
			b.Tick(b.now - second/1000 + wait)
		}, []summary{{"incomplete", 3, 2, "three without part 1", 20, 30, []uint64{1, 2},
			[]string{"SPL-01 warn: 1 of 3 parts missing, the first is number 1 (from 0)"}}}},
		{"not before", func(b *bench) {
			b.add(p[0])
			b.add(p[2])
			b.Tick(b.now - second/1000 + wait - 1)
		}, nil},
		{"the wait counts from the first part, held or not", func(b *bench) {
			b.add(p[2])
			b.now += 4 * second
			b.add(p[0])
			b.Tick(1000*second + second/1000 + wait)
		}, []summary{{"incomplete", 3, 2, "three without part 1", 20, 30, []uint64{1, 2},
			[]string{"SPL-01 warn: 1 of 3 parts missing, the first is number 1 (from 0)"}}}},
		{"a part after the wait begins anew", func(b *bench) {
			b.add(p[0])
			b.add(p[2])
			b.now += wait
			b.add(p[1])
		}, []summary{{"incomplete", 3, 2, "three without part 1", 20, 30, []uint64{1, 2},
			[]string{"SPL-01 warn: 1 of 3 parts missing, the first is number 1 (from 0)"}}}},
		{"the capture ends first", func(b *bench) { b.add(p[0]); b.add(p[2]); b.Flush(b.now + wait/2) },
			[]summary{{"incomplete", 3, 2, "three without part 1", 20, 30, []uint64{1, 2},
				[]string{"SPL-01 note: 1 of 3 parts missing, the first is number 1 (from 0); the capture ended before the wait was over"}}}},
		{"the capture ends after the wait", func(b *bench) { b.add(p[0]); b.add(p[2]); b.Flush(b.now + wait) },
			[]summary{{"incomplete", 3, 2, "three without part 1", 20, 30, []uint64{1, 2},
				[]string{"SPL-01 warn: 1 of 3 parts missing, the first is number 1 (from 0)"}}}},
		{"the first total stands", func(b *bench) { b.add(p[0]); b.add(wrongTotal); b.add(p[2]) },
			[]summary{with(complete("three", 1, 2, 3), "SPL-03 error: 1 part disagrees about the number of parts, at byte 8")}},
		{"the first total stands, wrong one first", func(b *bench) { b.add(wrongTotal); b.add(p[0]); b.add(p[2]) },
			[]summary{with(complete("three", 1, 2, 3), "SPL-03 error: 1 part disagrees about the number of parts, at byte 8")}},
		{"a number beyond the total is refused", func(b *bench) { b.add(p[0]); b.add(p[1]); b.add(beyond); b.add(p[2]) },
			[]summary{with(complete("three", 1, 2, 4), "SPL-03 error: 1 part disagrees about the number of parts, at byte 8")}},
		{"one part that was not compressed", func(b *bench) {
			b.add(append(header(wire.Source, 7, 1, 0, 1248), message(12)...))
		}, []summary{{"complete", 1, 1, "small", 12, 12, []uint64{1}, nil}}},
		{"marked as compressed, and plain", func(b *bench) {
			b.add(append(header(wire.Source, 7|wire.Compressed, 1, 0, 1248), message(12)...))
		}, []summary{{"complete", 1, 1, "small", 12, 12, []uint64{1}, []string{"SPL-06 warn: marked as compressed, but it is plain"}}}},
		{"goldsource payload that looks like part 0 of source", func(b *bench) {
			b.add(append(header(wire.GoldSource, 7, 2, 0, 0), three[:20]...))
			b.add(append(header(wire.GoldSource, 7, 2, 1, 0), "\x00\xff\xff\xff\xff"...))
		}, []summary{{"complete", 2, 2, "something else", 25, 25, []uint64{1, 2}, nil}}},
		{"the two source forms with one id", func(b *bench) {
			sized := cut(wire.Source, 7, message(2500), 1248)
			b.add(old[1])
			b.add(sized[0])
			b.add(sized[2])
			b.add(old[0])
			b.add(sized[1])
			b.add(old[2])
		}, []summary{
			{"complete", 3, 3, "something else", 2500, 2500, []uint64{2, 3, 5}, nil},
			complete("other", 1, 4, 6)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(split.Limits{})
			tt.do(b)
			for i := range b.got {
				verify(t, &b.got[i].Set, defaults)
			}
			if diff := cmp.Diff(tt.want, b.summaries()); diff != "" {
				t.Errorf("sets (-want +got)\n%s", diff)
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	tests := []struct {
		name, in string
		wire     int // 0: all of it was captured
		outcome  split.Outcome
		id       uint32
		want     string
	}{
		{"no parts", "feffffff 07000000 00 00 e004 ffffffff 45", 0, split.Malformed, 7, "0000e004ffffffff45"},
		{"number beyond total in every form", "feffffff 07000000 21 33 e004 41", 0, split.Malformed, 7, "2133e00441"},
		{"ends in the id", "feffffff 0700", 0, split.Malformed, 0, "0700"},
		{"ends after the id", "feffffff 07000000", 0, split.Malformed, 7, ""},
		{"cut in the id", "feffffff 0700", 1260, split.Truncated, 0, "0700"},
		{"cut after the id", "feffffff 07000000", 1260, split.Truncated, 7, ""},
		{"malformed and cut", "feffffff 07000000 00 00 e004 ffffffff 45", 1260, split.Malformed, 7, "0000e004ffffffff45"},
		{"not split", "ffffffff 45", 0, split.Malformed, 0, "ffffffff45"},
		{"nothing", "", 0, split.Malformed, 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(split.Limits{})
			in := hextest.Bytes(t, tt.in)
			b.Add(&split.Datagram{Src: server, Dst: client, Data: in, Wire: max(tt.wire, len(in)), Frame: 3, Nanos: b.now})
			if len(b.got) != 1 {
				t.Fatalf("sets\n got %d\nwant 1", len(b.got))
			}
			s := &b.got[0].Set
			verify(t, s, defaults)
			if s.Outcome != tt.outcome || s.ID != tt.id || !bytes.Equal(s.Data, hextest.Bytes(t, tt.want)) {
				t.Errorf("set\n got %v, id %d, %x\nwant %v, id %d, %s", s.Outcome, s.ID, s.Data, tt.outcome, tt.id, tt.want)
			}
		})
	}
}

// TestCut joins parts that the capture cut.
func TestCut(t *testing.T) {
	tests := []struct {
		name    string
		keep    [3]int // captured bytes of each part; the parts are 32, 32 and 22 long
		outcome split.Outcome
		run     int
		data    int
		wire    int
	}{
		{"last part", [3]int{32, 32, 15}, split.Truncated, 43, 43, 50},
		{"middle part", [3]int{32, 20, 22}, split.Truncated, 28, 38, 50},
		{"all of the middle part's payload", [3]int{32, 12, 22}, split.Truncated, 20, 30, 50},
		{"part 0", [3]int{20, 32, 22}, split.Truncated, 8, 38, 50},
		{"nothing", [3]int{32, 32, 22}, split.Complete, 50, 50, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(split.Limits{})
			for n, p := range cut(wire.Source, 7, three, 20) {
				b.Add(&split.Datagram{Src: server, Dst: client, Data: p[:tt.keep[n]], Wire: len(p), Frame: uint64(n), Nanos: b.now})
			}
			if len(b.got) != 1 {
				t.Fatalf("sets\n got %d\nwant 1", len(b.got))
			}
			s := &b.got[0].Set
			verify(t, s, defaults)
			if s.Outcome != tt.outcome || s.Run != tt.run || len(s.Data) != tt.data || s.Wire != tt.wire {
				t.Errorf("set\n got %v, Run %d, %d bytes of %d\nwant %v, Run %d, %d bytes of %d",
					s.Outcome, s.Run, len(s.Data), s.Wire, tt.outcome, tt.run, tt.data, tt.wire)
			}
			if !bytes.Equal(s.Data[:s.Run], three[:s.Run]) {
				t.Errorf("leading run\n got %x\nwant %x", s.Data[:s.Run], three[:s.Run])
			}
		})
	}
}

// TestCutDuplicate sees the same part twice, once cut.
func TestCutDuplicate(t *testing.T) {
	b := newBench(split.Limits{})
	p := cut(wire.Source, 7, three, 20)
	b.add(p[0])
	b.Add(&split.Datagram{Src: server, Dst: client, Data: p[0][:25], Wire: len(p[0]), Frame: 2, Nanos: b.now})
	if b.Counters.Duplicates != 1 || b.Counters.Conflicts != 0 {
		t.Errorf("duplicates, conflicts\n got %d, %d\nwant 1, 0", b.Counters.Duplicates, b.Counters.Conflicts)
	}
}

// TestEnds keeps apart what other ends send under the same id.
func TestEnds(t *testing.T) {
	b := newBench(split.Limits{})
	p, q := cut(wire.Source, 7, three, 20), cut(wire.Source, 7, other, 20)
	for n := range p {
		b.add(p[n])
		b.Add(&split.Datagram{Src: client, Dst: server, Data: q[n], Wire: len(q[n]), Frame: 1, Nanos: b.now})
	}
	if len(b.got) != 2 || name(b.got[0].Data) != "three" || name(b.got[1].Data) != "other" ||
		b.got[1].Src != client || b.got[1].Dst != server {
		t.Errorf("sets\n got %+v\nwant three to the client and other to the server", b.summaries())
	}
}

// TestTimeBackwards lets the clock of the capture jump back.
func TestTimeBackwards(t *testing.T) {
	b := newBench(split.Limits{})
	p := cut(wire.Source, 7, three, 20)
	b.add(p[0])
	b.now -= 100 * second
	b.add(p[1])
	b.now += 100 * second
	b.add(p[2])
	if len(b.got) != 1 || b.got[0].First > b.got[0].Last || b.Counters.BackwardsTime != 1 {
		t.Errorf("sets, steps back\n got %d, %d\nwant 1, 1", len(b.got), b.Counters.BackwardsTime)
	}
}

// TestRepeatedPartOfTwoForms: a part that came before, and that is read as one of an open message or as one of a
// message of another form that was delivered, belongs to the open message.
func TestRepeatedPartOfTwoForms(t *testing.T) {
	const id = 5
	b := newBench(split.Limits{})
	open := cut(wire.GoldSource, id, message(300), 100)
	open[1][9] = 7 // read as Source's old form: part 7 of 19
	other := cut(wire.SourceOld, id, message(1900), 100)
	b.add(open[0])
	b.add(open[1])
	for _, p := range other {
		b.add(p)
	}
	if len(b.got) != 1 || b.got[0].Outcome != split.Complete || b.got[0].Engine != wire.SourceOld {
		t.Fatalf("got  %d messages\nwant the one in Source's old form", len(b.got))
	}
	b.add(open[1])
	b.add(open[2])
	b.Flush(b.now)
	if len(b.got) != 2 {
		t.Fatalf("got  %d messages\nwant 2", len(b.got))
	}
	if s := b.got[1]; s.Outcome != split.Complete || s.Engine != wire.GoldSource || b.Counters.Duplicates != 1 {
		t.Errorf("got  %v in the form of %v, %d duplicates\nwant complete in that of GoldSource, 1", s.Outcome, s.Engine, b.Counters.Duplicates)
	}
}
