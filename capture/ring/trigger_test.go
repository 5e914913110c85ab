package ring

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
	"qsniff/internal/test/race"
)

// sink keeps the numbers i of packets, -1 for each rotation, and checks their
// bytes.
type sink struct {
	t   *testing.T
	got []int
}

func (s *sink) Write(p *capture.Packet) error {
	i := -2
	_, _ = fmt.Sscanf(string(p.Data), "packet %d", &i)
	want := packetAt(i)
	if !bytes.Equal(p.Data, want.Data) || p.No != want.No || p.Wire != want.Wire || p.Link != want.Link {
		s.t.Errorf("packet %+v is not as written", p)
	}
	s.got = append(s.got, i)
	return nil
}

func (s *sink) Tick(int64) error { return nil }

func (s *sink) Rotate() error {
	s.got = append(s.got, -1)
	return nil
}

func newTrigger(t *testing.T, s Sink, around time.Duration, memory int) *Trigger {
	t.Helper()
	tr, err := NewTrigger(s, around, memory)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func between(from, end int) []int { return upTo(end)[from:] }

// TestTrigger: three seconds before the incident is known, itself, and three
// seconds after, then silence; ten packets a second.
func TestTrigger(t *testing.T) {
	s := &sink{t: t}
	tr := newTrigger(t, s, 3*time.Second, MinTrigger)
	write(t, tr, 0, 101)
	if len(s.got) != 0 || tr.Stats().Held != 101 {
		t.Errorf("%v, %+v", s.got, tr.Stats())
	}
	tr.Fire(packetAt(100).Nanos, packetAt(110).Nanos) // as far as is known
	write(t, tr, 101, 106)
	tr.Fire(packetAt(100).Nanos, packetAt(120).Nanos) // it went on
	write(t, tr, 106, 300)
	want := append(between(70, 151), -1)
	if diff := cmp.Diff(want, s.got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if st := tr.Stats(); st.Fired != 1 || st.Written != 81 || st.Cut != 0 || st.Held < 31 || st.HeldBytes != int64(st.Held)*15 {
		t.Errorf("%+v", st)
	}
	// The next one, ended by ticks because nothing arrives.
	s.got = nil
	tr.Fire(packetAt(300).Nanos, packetAt(300).Nanos)
	if err := tr.Tick(packetAt(320).Nanos); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(between(270, 300), s.got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := tr.Tick(packetAt(331).Nanos); err != nil || s.got[len(s.got)-1] != -1 {
		t.Errorf("%v, %v", err, s.got)
	}
}

// TestTriggerLate: what precedes an incident counts from its begin, not from when it was
// noticed; one that was over by then does not write what came long after it.
func TestTriggerLate(t *testing.T) {
	s := &sink{t: t}
	tr := newTrigger(t, s, 3*time.Second, MinTrigger)
	write(t, tr, 0, 101)
	tr.Fire(packetAt(50).Nanos, packetAt(50).Nanos)
	write(t, tr, 101, 110)
	if diff := cmp.Diff(append(between(20, 81), -1), s.got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTriggerCut: what made room counts if the incident wanted it.
func TestTriggerCut(t *testing.T) {
	for _, tc := range []struct {
		from int64
		want uint64
	}{{99, 0}, {70, 1}} {
		tr := newTrigger(t, &counter{}, 3*time.Second, MinTrigger)
		for i := range 100 {
			p := capture.Packet{Nanos: int64(i) * second / 10, Data: make([]byte, 20_000), Link: 1} // the last 52 fit
			if err := tr.Write(&p); err != nil {
				t.Fatal(err)
			}
		}
		if tr.Fire(tc.from*second/10, 10*second); tr.Stats().Cut != tc.want {
			t.Errorf("from packet %d: %+v, want %d cut", tc.from, tr.Stats(), tc.want)
		}
	}
}

// TestTriggerClose writes what the incident needs.
func TestTriggerClose(t *testing.T) {
	s := &sink{t: t}
	tr := newTrigger(t, s, 100*time.Second, MinTrigger)
	write(t, tr, 0, 500)
	tr.Fire(packetAt(500).Nanos, packetAt(500).Nanos)
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(append(upTo(500), -1), s.got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTriggerClock: a clock that is set back while packets are held neither keeps
// them for ever nor makes the incident longer.
func TestTriggerClock(t *testing.T) {
	var s counter
	tr := newTrigger(t, &s, 3*time.Second, MinTrigger)
	for i := range 600 {
		p := packetAt(i)
		if i >= 100 {
			p.Nanos -= 3600 * second
		}
		if err := tr.Write(&p); err != nil {
			t.Fatal(err)
		}
		if i == 300 {
			if n := tr.Stats().Held; n > 332 {
				t.Errorf("%d packets are held", n)
			}
			tr.Fire(p.Nanos, p.Nanos)
		}
		if i == 310 {
			tr.Fire(p.Nanos, p.Nanos)
		}
	}
	if s.packets != 71 || s.rotations != 1 {
		t.Errorf("%+v", s)
	}
}

// TestTriggerEarly: an incident before the first packet does not last for ever.
func TestTriggerEarly(t *testing.T) {
	s := &sink{t: t}
	tr := newTrigger(t, s, time.Second, MinTrigger)
	tr.Fire(packetAt(0).Nanos, packetAt(0).Nanos)
	write(t, tr, 0, 50)
	if diff := cmp.Diff(append(upTo(11), -1), s.got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// counter is a Sink that counts.
type counter struct{ packets, rotations, bytes int }

func (c *counter) Write(p *capture.Packet) error { c.packets++; c.bytes += len(p.Data); return nil }
func (c *counter) Tick(int64) error              { return nil }
func (c *counter) Rotate() error                 { c.rotations++; return nil }

// TestTriggerMemory compares with a list, over packets of all lengths in memory
// that is too small for them: an incident writes the newest, in order, and what is
// missing is counted.
func TestTriggerMemory(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var got [][]byte
	keep := sinkFunc(func(p *capture.Packet) { got = append(got, bytes.Clone(p.Data)) })
	tr := newTrigger(t, keep, time.Hour, MinTrigger+5)
	nanos, held := int64(0), int64(0)
	for round := range 20 {
		var want [][]byte
		got = nil
		for i := range 200 + rng.IntN(1500) {
			data := randomData(rng)
			nanos++
			p := capture.Packet{Nanos: nanos, Data: data, Link: 1}
			if err := tr.Write(&p); err != nil {
				t.Fatal(err)
			}
			want = append(want, data)
			st := tr.Stats()
			held = max(held, st.HeldBytes)
			if st.Held > i+1 || st.HeldBytes > MinTrigger {
				t.Fatalf("round %d, after %d: %+v", round, i, st)
			}
		}
		missing := len(want) - tr.Stats().Held
		tr.Fire(nanos, nanos)
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(want[missing:], got, bytes.Equal) {
			t.Fatalf("round %d: %d packets written, %d of %d expected", round, len(got), len(want)-missing, len(want))
		}
	}
	if held < MinTrigger*9/10 {
		t.Errorf("only %d bytes were held", held)
	}
}

func randomData(rng *rand.Rand) []byte {
	n := rng.IntN(3000)
	if rng.IntN(100) == 0 {
		n = rng.IntN(capture.MaxCaptured + 1)
	}
	data := make([]byte, n)
	for i := 0; i < n; i += 100 {
		data[i] = byte(rng.Uint32())
	}
	return data
}

type sinkFunc func(*capture.Packet)

func (f sinkFunc) Write(p *capture.Packet) error { f(p); return nil }
func (f sinkFunc) Tick(int64) error              { return nil }
func (f sinkFunc) Rotate() error                 { return nil }

// TestTriggerBusy: while an incident lasts, packets that come faster than memory
// lasts are written, not dropped.
func TestTriggerBusy(t *testing.T) {
	var s counter
	tr := newTrigger(t, &s, time.Hour, MinTrigger)
	p := capture.Packet{Nanos: second, Data: make([]byte, 100_000), Link: 1}
	tr.Fire(p.Nanos, p.Nanos)
	for range 100 {
		if err := tr.Write(&p); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	if s.packets != 100 || tr.Stats().Cut != 0 {
		t.Errorf("%+v, %+v", s, tr.Stats())
	}
}

func TestTriggerTooSmall(t *testing.T) {
	if _, err := NewTrigger(&counter{}, time.Second, MinTrigger-1); err == nil {
		t.Error("no error")
	}
}

// TestTriggerRing: two incidents are two files.
func TestTriggerRing(t *testing.T) {
	dir := t.TempDir()
	w := open(t, Options{Path: filepath.Join(dir, "incident.pcapng")})
	tr := newTrigger(t, w, time.Second, MinTrigger)
	write(t, tr, 0, 50)
	tr.Fire(packetAt(50).Nanos, packetAt(50).Nanos)
	write(t, tr, 50, 150)
	tr.Fire(packetAt(150).Nanos, packetAt(150).Nanos)
	write(t, tr, 150, 200)
	if err := tr.Close(); err != nil {
		t.Fatal(err)
	}
	finish(t, w)
	want := []string{"incident_20231114T221324Z_00001.pcapng", "incident_20231114T221334Z_00002.pcapng"}
	if diff := cmp.Diff(want, list(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, _ := all(t, dir)
	if !slices.Equal(got, append(between(40, 61), between(140, 161)...)) {
		t.Errorf("%v", got)
	}
}

func TestTriggerAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, fire := range []bool{false, true} {
		w := open(t, Options{Path: filepath.Join(t.TempDir(), "a.pcapng")})
		tr := newTrigger(t, w, time.Minute, MinTrigger)
		p := packetAt(0)
		p.Data = make([]byte, 777)
		n := testing.AllocsPerRun(100, func() {
			for range 100 {
				p.Nanos += second / 1000
				if fire {
					tr.Fire(p.Nanos, p.Nanos)
				}
				if err := tr.Write(&p); err != nil {
					t.Fatal(err)
				}
			}
		})
		if n != 0 {
			t.Errorf("fired %v: %v allocations in 100 packets", fire, n)
		}
	}
}

func BenchmarkTrigger(b *testing.B) {
	tr, err := NewTrigger(&counter{}, time.Minute, 64<<20)
	if err != nil {
		b.Fatal(err)
	}
	p := packetAt(0)
	p.Data = make([]byte, 150)
	b.ReportAllocs()
	for b.Loop() {
		p.Nanos += 1000
		if err := tr.Write(&p); err != nil {
			b.Fatal(err)
		}
	}
}
