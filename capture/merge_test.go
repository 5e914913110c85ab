package capture

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/race"
)

// seen is a packet or gap that a merge delivered.
type seen struct {
	Nanos    int64
	File     uint16
	Text     string
	Comments string
	Gap      bool
}

// all reads src to its end.
func all(t testing.TB, src Source) (out []seen, err error) {
	t.Helper()
	var b Batch
	count := uint64(0)
	for err == nil {
		err = src.Read(&b)
		if err == nil && len(b.Packets)+len(b.Gaps) == 0 {
			t.Fatal("got  neither packets nor gaps nor an error")
		}
		if len(b.Packets) > MaxPackets {
			t.Fatalf("got  %d packets\nwant at most %d", len(b.Packets), MaxPackets)
		}
		gaps, comments := b.Gaps, b.Comments
		for i := range len(b.Packets) + 1 {
			for len(gaps) > 0 && gaps[0].At == i {
				out = append(out, seen{Text: fmt.Sprint(gaps[0].File, gaps[0].Offset), Gap: true})
				gaps = gaps[1:]
			}
			if i == len(b.Packets) {
				break
			}
			p := b.Packets[i]
			s := seen{Nanos: p.Nanos, File: p.File, Text: string(p.Data)}
			for len(comments) > 0 && comments[0].At == i {
				s.Comments += string(comments[0].Text)
				comments = comments[1:]
			}
			count++
			if p.No != count || p.Iface != 3 {
				t.Fatalf("got  packet %d of interface %d\nwant %d of 3", p.No, p.Iface, count)
			}
			out = append(out, s)
		}
		if len(gaps)+len(comments) > 0 {
			t.Fatalf("got  gaps %v and comments %v out of place", gaps, comments)
		}
	}
	if src.Stats().Received != count {
		t.Errorf("got  %d packets received\nwant %d", src.Stats().Received, count)
	}
	return out, err
}

// model merges as Merge is documented to.
func model(fakes []*fake) (out []seen) {
	next := make([]int, len(fakes))
	for {
		best := -1
		for i, f := range fakes {
			if next[i] < len(f.times) && (best < 0 || f.times[next[i]] < fakes[best].times[next[best]]) {
				best = i
			}
		}
		if best < 0 {
			return out
		}
		f := fakes[best]
		text := fmt.Sprint(f.name, next[best])
		s := seen{Nanos: f.times[next[best]], File: uint16(best), Text: text}
		if next[best]%3 == 0 {
			s.Comments = text
		}
		out = append(out, s)
		next[best]++
	}
}

// Whatever the times, the sizes of batches and the number of sources, packets
// come as the model says, and each gap comes after the packet that precedes it
// in its source and before the one that follows.
func TestMergeModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var fakes []*fake
		var sources []Source
		shape := rng.IntN(3)
		for i := range rng.IntN(6) {
			f := &fake{t: t, name: string(rune('a' + i)), most: 1 + rng.IntN(8), gaps: map[int]bool{}}
			now := int64(0)
			if shape == 0 {
				now = int64(i) * 100 // files of a ring
			}
			for j := range rng.IntN(40) {
				switch shape {
				case 2:
					now = rng.Int64N(10) // no order
				default:
					now += rng.Int64N(4)
				}
				f.times = append(f.times, now)
				if rng.IntN(10) == 0 {
					f.gaps[j] = true
				}
			}
			f.gaps[len(f.times)] = rng.IntN(10) == 0
			if !f.gaps[len(f.times)] {
				delete(f.gaps, len(f.times))
			}
			fakes = append(fakes, f)
			if rng.IntN(2) == 0 || len(f.times) == 0 {
				sources = append(sources, f)
			} else {
				sources = append(sources, Delayed(f.times[0], 20, func() (Source, error) { return f, nil }))
			}
		}
		got, err := all(t, Merge(sources...))
		if err != io.EOF {
			t.Fatalf("got  %v\nwant EOF", err)
		}
		checkGaps(t, fakes, got)
		var packets []seen
		for _, s := range got {
			if !s.Gap {
				packets = append(packets, s)
			}
		}
		if diff := cmp.Diff(model(fakes), packets); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		for _, f := range fakes {
			if !f.closed {
				t.Fatalf("%s has ended and is open", f.name)
			}
		}
	}
}

func checkGaps(t *testing.T, fakes []*fake, got []seen) {
	t.Helper()
	position := map[string]int{}
	count := 0
	for i, s := range got {
		if s.Gap {
			position["gap "+s.Text] = i
			count++
		} else {
			position[s.Text] = i
		}
	}
	for _, f := range fakes {
		for at := range f.gaps {
			count--
			where, ok := position[fmt.Sprint("gap ", f.name, at)]
			if !ok {
				t.Fatalf("gap before %s%d is missing", f.name, at)
			}
			if before, ok := position[fmt.Sprint(f.name, at-1)]; ok && before > where {
				t.Fatalf("gap before %s%d comes before the packet that precedes it", f.name, at)
			}
			if after, ok := position[fmt.Sprint(f.name, at)]; ok && after < where {
				t.Fatalf("gap before %s%d comes after it", f.name, at)
			}
		}
	}
	if count != 0 {
		t.Fatalf("got  %d gaps too many", count)
	}
}

func times(from, n int64) (out []int64) {
	for i := range n {
		out = append(out, from+i)
	}
	return out
}

// One source that fails does not stop the others, and its error comes last.
func TestMergeErrors(t *testing.T) {
	bad, worse := errors.New("a: damaged"), errors.New("c: damaged")
	m := Merge(
		&fake{t: t, name: "a", times: times(0, 3), most: 2, end: bad},
		&fake{t: t, name: "b", times: times(0, 30), most: 7},
		&fake{t: t, name: "c", times: times(5, 3), most: 9, end: worse})
	got, err := all(t, m)
	if len(got) != 36 || !errors.Is(err, bad) || !errors.Is(err, worse) {
		t.Errorf("got  %d packets, %v\nwant 36 and both errors", len(got), err)
	}
	var b Batch
	if again := m.Read(&b); again != err || len(b.Packets) > 0 {
		t.Errorf("after the end: got  %v\nwant %v", again, err)
	}
	_, err = all(t, Merge(&fake{t: t, name: "a", times: times(0, 3), most: 2, end: bad}))
	if err != bad {
		t.Errorf("got  %v\nwant the error as it is", err)
	}
}

// The files of a ring are opened one after the other, and their batches are
// passed on without copying.
func TestMergeRing(t *testing.T) {
	open, most := 0, 0
	var sources []Source
	for i := range int64(20) {
		f := &fake{t: t, name: fmt.Sprint(i, "-"), times: times(i*1000, 100), most: 10}
		sources = append(sources, Delayed(i*1000, 20, func() (Source, error) {
			open++
			most = max(most, open)
			return &counted{f, &open}, nil
		}))
	}
	m := Merge(sources...)
	if got, want := m.Stats().Size, int64(400); got != want {
		t.Errorf("got  size %d\nwant %d", got, want)
	}
	got, err := all(t, m)
	if len(got) != 2000 || err != io.EOF || most > 1 {
		t.Errorf("got  %d packets, %v, %d open at a time\nwant 2000, EOF, 1", len(got), err, most)
	}
	if ifaces := m.(Describer).Interfaces(); len(ifaces) != 20 || ifaces[7].File != 7 || !strings.HasPrefix(ifaces[7].Name, "7") {
		t.Errorf("got  %v\nwant an interface of each file", ifaces)
	}
}

// counted counts open sources.
type counted struct {
	*fake
	open *int
}

func (c *counted) Close() error { *c.open--; return c.fake.Close() }

func TestDelayedErrors(t *testing.T) {
	missing := errors.New("no such file")
	d := Delayed(0, 7, func() (Source, error) { return nil, missing })
	var b Batch
	for range 2 {
		if err := d.Read(&b); err != missing {
			t.Errorf("got  %v\nwant %v", err, missing)
		}
	}
	if err := d.Close(); err != nil || d.Stats().Size != 7 {
		t.Errorf("got  %v, size %d\nwant no error, size 7", err, d.Stats().Size)
	}
	never := Delayed(0, 0, func() (Source, error) { t.Error("opened"); return nil, nil })
	never.Close()
	if err := never.Read(&b); err == nil {
		t.Error("got  no error from a closed source")
	}
}

func TestMergeClose(t *testing.T) {
	a, b := &fake{t: t, name: "a", times: times(0, 9), most: 2}, &fake{t: t, name: "b", times: times(0, 9), most: 2}
	m := Merge(a, b)
	var batch Batch
	if err := m.Read(&batch); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil || !a.closed || !b.closed {
		t.Errorf("got  %v, closed %t and %t\nwant both closed", err, a.closed, b.closed)
	}
	if err := m.Read(&batch); err == nil || err == io.EOF {
		t.Errorf("got  %v\nwant an error", err)
	}
}

// A packet with more data than a batch is made for is delivered all the same.
func TestMergeLongPacket(t *testing.T) {
	long := &fixed{data: make([]byte, mergeBytes+1), times: []int64{1, 3}}
	short := &fixed{data: []byte("x"), times: []int64{0, 2, 4}}
	m := Merge(long, short)
	sum := 0
	var b Batch
	var err error
	for err == nil {
		err = m.Read(&b)
		for _, p := range b.Packets {
			sum += len(p.Data)
		}
	}
	if want := 2*len(long.data) + 3; sum != want || err != io.EOF {
		t.Errorf("got  %d bytes, %v\nwant %d", sum, err, want)
	}
}

func TestMergeAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	var sources []Source
	for i := range int64(5) {
		f := &fixed{data: make([]byte, 71), step: 1000}
		for j := range int64(500) {
			f.times = append(f.times, j*2+i%2)
		}
		sources = append(sources, f)
	}
	m := Merge(sources...)
	var batches [2]Batch
	turn := 0
	read := func() {
		turn++
		if err := m.Read(&batches[turn%2]); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		read()
	}
	if got := testing.AllocsPerRun(200, read); got != 0 {
		t.Errorf("got  %v allocations a batch\nwant 0", got)
	}
}

func TestGapString(t *testing.T) {
	g := Gap{File: "x.pcap", Offset: 4812, Skipped: 1300, Reason: "record header of zeros"}
	if got, want := g.String(), "x.pcap: byte 4,812: record header of zeros; 1,300 bytes skipped"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func BenchmarkMerge(b *testing.B) {
	for _, n := range []int64{1, 2, 16, 256} {
		b.Run(fmt.Sprint(n, " inputs"), func(b *testing.B) {
			var sources []Source
			for i := range n {
				f := &fixed{data: make([]byte, 71), step: 1000 * n}
				for j := range int64(1000) {
					f.times = append(f.times, j*n+i)
				}
				sources = append(sources, f)
			}
			m := Merge(sources...)
			var batch Batch
			b.ReportAllocs()
			for left := b.N; left > 0; left -= len(batch.Packets) {
				if err := m.Read(&batch); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestLook: packets that were looked at are delivered once, in order of their corrected times.
func TestLook(t *testing.T) {
	const n = 3 * alignedBatches
	var a, b []int64
	for i := range int64(n) {
		a, b = append(a, 100+10*i), append(b, 1005+10*i)
	}
	m := Merge(&fake{t: t, name: "a", times: a, most: 2}, &fake{t: t, name: "b", times: b, most: 3})
	looked := [2]int{}
	m.(Aligner).Look(func(p *Packet) { looked[p.File]++ })
	m.(Aligner).Shift(1, EveryInterface, -900)
	if looked[0] != 2*alignedBatches || looked[1] != n {
		t.Errorf("looked at %v", looked)
	}
	var batch Batch
	got, last := 0, int64(0)
	for err := error(nil); err == nil; {
		err = m.Read(&batch)
		for _, p := range batch.Packets {
			if p.Nanos != 100+5*int64(got) || p.Nanos < last || int(p.File) != got%2 {
				t.Fatalf("packet %d: time %d, input %d", got, p.Nanos, p.File)
			}
			got, last = got+1, p.Nanos
		}
	}
	if got != 2*n {
		t.Errorf("%d packets, want %d", got, 2*n)
	}
}
