package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
	"qsniff/internal/test/testpcap"
	"qsniff/track"
)

// asked is a capture of requests to one server, made by request for each of n
// sources in turn, a millisecond apart, over and over. It writes each as often as
// times says, which a mirror does with the same number in the IP header.
type asked struct {
	sources, rounds int
	times           func(source, round int) int
	number          bool // repetitions have numbers of their own, as a sender's have
	v6              bool
	gap             time.Duration // between repetitions
}

func (a asked) write(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	link := testpcap.Link{Type: testpcap.LinkEthernet}
	w, err := testpcap.NewWriter(&out, testpcap.Format{Link: link.Type, SnapLen: 1 << 16, Nano: true})
	if err != nil {
		t.Fatal(err)
	}
	now, id := int64(1e18), uint32(0)
	for round := range a.rounds {
		for i := range a.sources {
			d := testpcap.Datagram{Src: netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 64, 0, byte(i + 1)}), 40001),
				Dst: netip.MustParseAddrPort("198.18.0.1:27015"), TTL: 64, Payload: []byte("\xff\xff\xff\xffTSource Engine Query\x00")}
			if a.v6 {
				d.Src, d.Dst = netip.MustParseAddrPort(fmt.Sprintf("[2001:db8::%d]:40001", i+1)), netip.MustParseAddrPort("[2001:db8:1::1]:27015")
			}
			now += int64(20 * time.Millisecond)
			id++
			for again := range a.times(i, round) {
				if a.number && again > 0 {
					id++
				}
				d.ID = id
				if err := w.WritePacket(now+int64(again)*int64(a.gap), d.Frame(link)); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return out.Bytes()
}

func always(n int) func(int, int) int { return func(int, int) int { return n } }

// TestMirror: a capture that has every packet twice is halved, whatever makes one
// source repeat itself is not.
func TestMirror(t *testing.T) {
	const near = 100 * time.Microsecond
	first := func(n int) func(int, int) int { // only the first source does it
		return func(i, _ int) int {
			if i == 0 {
				return n
			}
			return 1
		}
	}
	few := func(i, _ int) int { // a quarter
		if i < 3 {
			return 2
		}
		return 1
	}
	tests := []struct {
		name string
		in   asked
		want int // packets that watchers see, of
		all  int
		slop int // those that come before it is found out
	}{
		{"single", asked{sources: 12, rounds: 10, times: always(1)}, 120, 120, 0},
		{"double", asked{sources: 12, rounds: 10, times: always(2), gap: near}, 120, 240, 10},
		{"double, IPv6", asked{sources: 12, rounds: 10, times: always(2), gap: near, v6: true}, 120, 240, 10},
		{"double, 4 ms apart", asked{sources: 12, rounds: 10, times: always(2), gap: 4 * time.Millisecond}, 120, 240, 10},
		{"double, 6 ms apart: not of a mirror", asked{sources: 12, rounds: 10, times: always(2), gap: 6 * time.Millisecond}, 240, 240, 0},
		{"one sender repeats itself", asked{sources: 12, rounds: 10, times: first(2), gap: near}, 130, 130, 0},
		{"many times", asked{sources: 12, rounds: 10, times: first(9), gap: near}, 200, 200, 0},
		{"a quarter does", asked{sources: 12, rounds: 10, times: few, gap: near}, 150, 150, 0},
		{"one sender, IPv6", asked{sources: 12, rounds: 10, times: first(2), gap: near, v6: true}, 130, 130, 0},
		{"all repeat themselves, with numbers of their own", asked{sources: 12, rounds: 10, times: always(2), gap: near, number: true}, 240, 240, 0},
		{"too few sources to tell", asked{sources: 3, rounds: 10, times: always(2), gap: near}, 60, 60, 0},
	}
	for _, tt := range tests {
		data := tt.in.write(t)
		var one int
		for _, jobs := range []int{1, 4} {
			l := watchRun(t, data, jobs, nil)
			got := len(l.seen)
			if got < tt.want || got > tt.want+tt.slop {
				t.Errorf("%s, %d jobs: got %d sightings of %d packets, want %d and at most %d more", tt.name, jobs, got, tt.all, tt.want, tt.slop)
			}
			if l.run.Doubled != uint64(tt.all-got) {
				t.Errorf("%s, %d jobs: told that copies were left out\ngot  %d\nwant %d", tt.name, jobs, l.run.Doubled, tt.all-got)
			}
			if jobs == 1 {
				one = got
			} else if got != one {
				t.Errorf("%s: %d sightings with 1 job, %d with %d", tt.name, one, got, jobs)
			}
		}
	}
}

// TestMirrorStops: where the doubling ends, repetitions count again; three in a row
// are not a copy of a copy.
func TestMirrorStops(t *testing.T) {
	m := &mirror{}
	see := func(at int64, source int, copy bool) bool {
		s := &track.Sighting{Age: at * 1e9, Src: track.Host(netip.AddrFrom4([4]byte{10, 0, byte(source >> 8), byte(source)}).As16())}
		s.FillHashes(1)
		if copy {
			s.Flags = track.Copy
		}
		return m.isCopy(s)
	}
	for i := range 20 {
		see(1, i, false)
		if left := see(1, i, true); left != (i >= mirrorMinSources-1) {
			t.Errorf("source %d: copy left out: %v", i, left)
		}
	}
	if !see(12, 0, true) {
		t.Error("the next stretch has forgotten that packets come twice")
	}
	for i := range 20 { // this one has few copies
		see(13, i, false)
	}
	if see(23, 0, true) {
		t.Error("a copy is left out though packets have come once")
	}
}

// TestMirrorFrame: a copied packet that has several sightings, as one in a tunnel, is one packet.
func TestMirrorFrame(t *testing.T) {
	m := &mirror{isDouble: true}
	for frame := range uint64(3) {
		for range 200 {
			s := &track.Sighting{Frame: frame + 1, What: track.IsCarried, Flags: track.Copy}
			s.FillHashes(1)
			if !m.isCopy(s) {
				t.Fatal("a copy is not left out")
			}
		}
	}
	if m.skipped != 3 {
		t.Errorf("packets left out\ngot  %d\nwant 3", m.skipped)
	}
}

func TestCopies(t *testing.T) {
	for _, tt := range []struct {
		times int
		want  int // copies among them
	}{{1, 0}, {2, 1}, {3, 1}, {4, 2}} {
		n := 0
		for _, s := range watchRun(t, asked{sources: 1, rounds: 1, times: always(tt.times)}.write(t), 1, nil).seen {
			if s.Flags&track.Copy != 0 {
				n++
			}
		}
		if n != tt.want {
			t.Errorf("%d times: %d copies, want %d", tt.times, n, tt.want)
		}
	}
}

func TestMirrorAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w := &watching{watchers: []track.Watcher{&counter{}}, doubt: newDoubt()}
	x := sight{}
	if n := testing.AllocsPerRun(10_000, func() {
		x.Age += 1e8
		x.Src[15]++
		x.Flags ^= track.Copy
		w.tellWatchers(&x)
	}); n != 0 {
		t.Errorf("%v allocations for each sighting", n)
	}
}

// counter is the cheapest watcher.
type counter struct{ n int }

func (c *counter) Sight(*track.Sighting) { c.n++ }
func (c *counter) Tick(age, nanos int64) {}
func (c *counter) Lost(packets uint64)   {}
func (c *counter) End(age, nanos int64)  {}

// hanging is a source that brings no more packets and does not end, with a capturing
// program that lost some.
type hanging struct {
	capture.Source
	lost uint64
	over chan struct{}
}

func (h *hanging) Read(b *capture.Batch) error {
	err := h.Source.Read(b)
	if errors.Is(err, io.EOF) {
		if len(b.Packets) > 0 {
			return nil
		}
		<-h.over
	}
	return err
}

func (h *hanging) Stats() capture.Stats {
	s := h.Source.Stats()
	s.Dropped = h.lost
	return s
}

// impatient interrupts the run at the first packet.
type impatient struct {
	log
	interrupt context.CancelFunc
}

func (x *impatient) Sight(s *track.Sighting) {
	x.log.Sight(s)
	x.interrupt()
}

// TestWatchersWhenInterrupted: a run that is interrupted ends for watchers, too, and
// they know what the capturing program lost.
func TestWatchersWhenInterrupted(t *testing.T) {
	for _, jobs := range []int{1, 2, 4} {
		ctx, interrupt := context.WithCancel(context.Background())
		h := &hanging{Source: open(t, sourced(t, "> "+infoAsked+"\n")), lost: 7, over: make(chan struct{})}
		l := &impatient{interrupt: interrupt}
		_, err := Run(ctx, Config{Source: h, Registry: protos.Registry(t), Out: io.Discard, Jobs: jobs, Watchers: []track.Watcher{l}})
		close(h.over)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d jobs: got  %v\nwant %v", jobs, err, context.Canceled)
		}
		if !l.over || len(l.seen) != 1 || l.lost != 7 {
			t.Errorf("%d jobs: got  over %v, %d sightings, %d lost\nwant over, 1 sighting, 7 lost", jobs, l.over, len(l.seen), l.lost)
		}
	}
}
