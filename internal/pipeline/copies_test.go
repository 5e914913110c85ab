package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/forms"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
)

// twice writes a request twice, apart by gap, in the second packet with another
// number in the IP header, another payload or another link header if so told.
func twice(t *testing.T, link uint16, gap time.Duration, id uint32, change func(second *testpcap.Datagram, frame []byte) []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := testpcap.NewWriter(&out, testpcap.Format{Link: link, SnapLen: 1 << 16, Nano: true})
	if err != nil {
		t.Fatal(err)
	}
	d := testpcap.Datagram{Src: netip.MustParseAddrPort("10.64.0.1:40001"), Dst: netip.MustParseAddrPort("198.18.0.1:27015"), TTL: 64, ID: id, Payload: []byte("\xff\xff\xff\xffTSource Engine Query\x00")}
	second := d
	frame := change(&second, nil)
	if frame == nil {
		frame = second.Frame(testpcap.Link{Type: link})
	}
	if err := w.WritePacket(1e18, d.Frame(testpcap.Link{Type: link})); err != nil {
		t.Fatal(err)
	}
	if err := w.WritePacket(1e18+int64(gap), frame); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestDedup(t *testing.T) {
	nothing := func(*testpcap.Datagram, []byte) []byte { return nil }
	outgoing := func(d *testpcap.Datagram, _ []byte) []byte {
		b := d.Frame(testpcap.Link{Type: testpcap.LinkSLL})
		b[1] = 4 // sent by us
		return b
	}
	for _, tc := range []struct {
		name   string
		link   uint16
		mode   Dedup
		gap    time.Duration
		id     uint32
		change func(*testpcap.Datagram, []byte) []byte
		want   int
	}{
		{"mirror port, as told", testpcap.LinkEthernet, DedupOn, time.Millisecond, 7, nothing, 1},
		{"mirror port, not told: one interface", testpcap.LinkEthernet, DedupAuto, time.Millisecond, 7, nothing, 2},
		{"too late", testpcap.LinkEthernet, DedupOn, 6 * time.Millisecond, 7, nothing, 2},
		{"another hop", testpcap.LinkEthernet, DedupOn, 0, 7, func(d *testpcap.Datagram, _ []byte) []byte { d.TTL--; return nil }, 1},
		{"another number", testpcap.LinkEthernet, DedupOn, 0, 7, func(d *testpcap.Datagram, _ []byte) []byte { d.ID++; return nil }, 2},
		{"another payload", testpcap.LinkEthernet, DedupOn, 0, 7, func(d *testpcap.Datagram, _ []byte) []byte {
			d.Payload = append(bytes.Clone(d.Payload), 1, 2, 3, 4)
			return nil
		}, 2},
		{"without a number: an eager client", testpcap.LinkEthernet, DedupOn, time.Millisecond, 0, nothing, 2},
		{"any device, same place: packet generators send one number", testpcap.LinkSLL, DedupAuto, time.Millisecond, 7, nothing, 2},
		{"any device, other direction", testpcap.LinkSLL, DedupAuto, time.Millisecond, 7, outgoing, 1},
		{"any device, told not to", testpcap.LinkSLL, DedupOff, time.Millisecond, 7, outgoing, 2},
		{"any device, too late", testpcap.LinkSLL, DedupAuto, 6 * time.Millisecond, 7, outgoing, 2},
		{"any device, time went back", testpcap.LinkSLL, DedupAuto, -time.Hour, 7, outgoing, 2},
		{"any device, without a number, other direction", testpcap.LinkSLL, DedupAuto, time.Millisecond, 0, outgoing, 1},
	} {
		data := twice(t, tc.link, tc.gap, tc.id, tc.change)
		if got := messageLines(t, data, Config{Jobs: 1, Dedup: tc.mode}); len(got) != tc.want {
			t.Errorf("%s\ngot  %d messages\nwant %d\n%s", tc.name, len(got), tc.want, strings.Join(got, "\n"))
		}
	}
}

// form is traffic as it was captured, in one file or several, and how many packets of it are copies.
type form struct {
	name   string
	files  [][]byte
	copies int
}

// formsOf returns forms of traffic on the interfaces of one host.
func formsOf(all []forms.Packet) []form {
	file := func(frames []forms.Frame, link, interfaces int) [][]byte {
		return [][]byte{forms.Pcapng(frames, link, interfaces)}
	}
	const ethernet, sll2 = testpcap.LinkEthernet, testpcap.LinkSLL2
	one := forms.Capture(all, ethernet, forms.Times(1, 0), forms.Times(1, 0), forms.Inside)
	device := forms.Capture(all, sll2, forms.OneInterface[0], forms.OneInterface[1], forms.Inside)
	list := []form{
		{"one interface", file(one, ethernet, 1), 0},
		{"any device", file(device, sll2, 1), 0},
	}
	for n := 2; n <= 5; n++ {
		hops := forms.Times(n, 3000)
		list = append(list, form{fmt.Sprintf("%d times at one interface", n), file(forms.Capture(all, ethernet, hops, hops, forms.Inside), ethernet, 1), (n - 1) * len(all)})
		for i := range hops {
			hops[i].Iface = uint32(i)
		}
		list = append(list, form{fmt.Sprintf("%d interfaces", n), file(forms.Capture(all, ethernet, hops, hops, forms.Inside), ethernet, n), (n - 1) * len(all)})
		for i := range hops { // copies of several packets come after all of these
			hops[i].Delay *= 300
		}
		list = append(list, form{fmt.Sprintf("%d interfaces, a millisecond later", n), file(forms.Capture(all, ethernet, hops, hops, forms.Inside), ethernet, n), (n - 1) * len(all)})
	}
	bridge := [2][]forms.Hop{{{Iface: 2}, {Delay: 9000, Iface: 5, IsSent: true}}, {{Iface: 5}, {Delay: 9000, Iface: 2, IsSent: true}}}
	list = append(list, form{"any device, bridge", file(forms.Capture(all, sll2, bridge[0], bridge[1], forms.Inside), sll2, 1), len(all)})
	var ring, pair [][]byte
	for _, part := range forms.Cut(one, 7) {
		ring = append(ring, forms.Pcapng(part, ethernet, 1))
	}
	for _, delay := range []int64{0, 40_000} {
		hops := []forms.Hop{{Delay: delay}}
		pair = append(pair, forms.Pcapng(forms.Capture(all, ethernet, hops, hops, forms.Inside), ethernet, 1))
	}
	return append(list, form{"ring of files", ring, 0}, form{"two files", pair, len(all)})
}

// runForm reads a form.
func runForm(t *testing.T, f *form, cfg Config) tally.Run {
	t.Helper()
	var sources []capture.Source
	for _, data := range f.files {
		sources = append(sources, open(t, data))
	}
	cfg.Source = capture.Align(sized{sources[0].(*file.Reader)})
	if len(sources) > 1 {
		cfg.Source = capture.Merge(sources...)
	}
	cfg.Registry, cfg.Jobs = protos.Registry(t), 1
	run, err := Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(f.name, err)
	}
	return run
}

// TestForms: however often a host captures its packets, each counts once, with and without a flood of
// equal packets, whatever the identifications in the IP headers are.
func TestForms(t *testing.T) {
	for _, tt := range []struct {
		name string
		id   func(int) uint32
	}{
		{"different numbers", func(i int) uint32 { return uint32(i)*7 + 1 }},
		{"one number", func(int) uint32 { return 54321 }},
		{"no number", func(int) uint32 { return 0 }},
	} {
		for _, flood := range []int{0, 3000} {
			if testing.Short() && flood > 0 && tt.name == "one number" { // as "no number"
				continue
			}
			all := forms.WithID(forms.Base(60, flood), tt.id)
			for _, f := range formsOf(all) {
				wantCopies := f.copies
				if strings.Contains(f.name, "times at one") && tt.name != "different numbers" {
					wantCopies = 0 // cannot be told from a sender that repeats itself
				}
				l := &log{}
				run := runForm(t, &f, Config{Watchers: []track.Watcher{l}, CountsMessages: true})
				want := uint64(len(all) + f.copies - wantCopies)
				if run.Messages != want || run.Copies != uint64(wantCopies) || len(l.seen) != int(want) {
					t.Errorf("%s, flood of %d, %s\ngot  %d messages, %d sightings, %d copies\nwant %d, %d copies",
						f.name, flood, tt.name, run.Messages, len(l.seen), run.Copies, want, wantCopies)
				}
			}
		}
	}
}

// TestCopiesAreNamed: the run has the places of copies in words, most copies first.
func TestCopiesAreNamed(t *testing.T) {
	all := forms.Base(10, 0)
	hops := []forms.Hop{{Iface: 2}, {Delay: 9000, Iface: 5, IsSent: true}}
	f := form{files: [][]byte{forms.Pcapng(forms.Capture(all, testpcap.LinkSLL2, hops, hops, forms.Inside), testpcap.LinkSLL2, 1)}}
	run := runForm(t, &f, Config{})
	const want = "40 of 80 packets (50 %) are copies of packets captured before, and not counted: 40 at interface 5 (sent)"
	if got := run.CopiesSentence(); got != want {
		t.Errorf("copies\ngot  %s\nwant %s", got, want)
	}
	if run.Copies = 0; run.CopiesSentence() != "" {
		t.Error("no copies have a sentence")
	}
}

func TestCopiesAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	all := forms.Base(1, 0)
	frames := forms.Capture(all, testpcap.LinkSLL2, forms.Container[0], forms.Container[1], forms.Inside)
	var c copies
	var it item
	raw := capture.Batch{Packets: make([]capture.Packet, 1)}
	p := &raw.Packets[0]
	i := 0
	if n := testing.AllocsPerRun(20_000, func() {
		f := &frames[i%len(frames)]
		i++
		*p = capture.Packet{Nanos: f.Nanos + int64(i), Data: f.Data, Link: testpcap.LinkSLL2, Wire: uint32(len(f.Data))}
		c.begin(&raw, false)
		it.Decode(p.Link, p.Data, int(p.Wire))
		it.nanos = p.Nanos
		if c.isActive {
			c.isCopy(&it, p, 1)
		}
	}); n != 0 {
		t.Errorf("%v allocations for each packet", n)
	}
}

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

// TestRepeats: a capture that has every packet twice is halved, from its first packet on; whatever
// makes one source repeat itself is not.
func TestRepeats(t *testing.T) {
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
	}{
		{"single", asked{sources: 12, rounds: 10, times: always(1)}, 120, 120},
		{"double", asked{sources: 12, rounds: 10, times: always(2), gap: near}, 120, 240},
		{"double, IPv6", asked{sources: 12, rounds: 10, times: always(2), gap: near, v6: true}, 120, 240},
		{"double, 4 ms apart", asked{sources: 12, rounds: 10, times: always(2), gap: 4 * time.Millisecond}, 120, 240},
		{"double, 6 ms apart: not of a mirror", asked{sources: 12, rounds: 10, times: always(2), gap: 6 * time.Millisecond}, 240, 240},
		{"one sender repeats itself", asked{sources: 12, rounds: 10, times: first(2), gap: near}, 130, 130},
		{"many times", asked{sources: 12, rounds: 10, times: first(9), gap: near}, 200, 200},
		{"a quarter does", asked{sources: 12, rounds: 10, times: few, gap: near}, 150, 150},
		{"one sender, IPv6", asked{sources: 12, rounds: 10, times: first(2), gap: near, v6: true}, 130, 130},
		{"all repeat themselves, with numbers of their own", asked{sources: 12, rounds: 10, times: always(2), gap: near, number: true}, 240, 240},
		{"too few sources to tell", asked{sources: 3, rounds: 10, times: always(2), gap: near}, 60, 60},
	}
	for _, tt := range tests {
		data := tt.in.write(t)
		var one int
		for _, jobs := range []int{1, 4} {
			l := watchRun(t, data, jobs, nil)
			got := len(l.seen)
			if got != tt.want {
				t.Errorf("%s, %d jobs: got %d sightings of %d packets, want %d", tt.name, jobs, got, tt.all, tt.want)
			}
			if l.run.Copies != uint64(tt.all-got) {
				t.Errorf("%s, %d jobs: copies\ngot  %d\nwant %d", tt.name, jobs, l.run.Copies, tt.all-got)
			}
			if jobs == 1 {
				one = got
			} else if got != one {
				t.Errorf("%s: %d sightings with 1 job, %d with %d", tt.name, one, got, jobs)
			}
		}
	}
}
