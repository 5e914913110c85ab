package diff

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/testpcap"
)

// newWorld returns small traffic that has been played.
func newWorld(change func(*world)) *world {
	w := &world{clients: 12, rounds: 24, rng: rand.New(rand.NewPCG(3, 4))}
	change(w)
	return w.played()
}

func (w *world) played() *world {
	w.play()
	return w
}

// TestSelf: a capture does not differ from itself, nor from one whose clock is elsewhere.
func TestSelf(t *testing.T) {
	all := newWorld((*world).all).captures(t)
	for _, side := range []Side{Edge, Host} {
		r, got := runOn(t, [2][]capture.Packet{all[side], all[side]}, Options{})
		if r.Matched() != r.Captures[Edge].Datagrams || len(got[Edge])+len(got[Host])+len(r.Differences) > 0 || r.Clock.Offset != 0 {
			t.Errorf("side %d: %d of %d matched, %d differ, clock %+v", side, r.Matched(), r.Captures[Edge].Datagrams, len(r.Differences), r.Clock)
		}
	}
}

// TestSwap: given the other way round, what one capture alone has changes its class, and ways stay.
func TestSwap(t *testing.T) {
	all := newWorld(func(w *world) { w.loss, w.late, w.offset = 0.1, 0.05, 2*time.Second }).captures(t)
	a, _ := runOn(t, all, Options{})
	b, _ := runOn(t, [2][]capture.Packet{all[Host], all[Edge]}, Options{})
	if a.Clock.IsReversed || !b.Clock.IsReversed || a.Matched() != b.Matched() || a.Count(Late) != b.Count(Late) {
		t.Errorf("%+v, %+v, %d and %d matched, %d and %d late", a.Clock, b.Clock, a.Matched(), b.Matched(), a.Count(Late), b.Count(Late))
	}
	for _, way := range []Way{ToServer, ToClient} {
		if a.Count(Lost) != b.Count(Extra) || a.Count(Extra) != b.Count(Lost) || a.Total(way).Missing() != b.Total(way).Missing() {
			t.Errorf("%d and %d, %d and %d, missing %d and %d", a.Count(Lost), b.Count(Extra), a.Count(Extra), b.Count(Lost), a.Total(way).Missing(), b.Total(way).Missing())
		}
	}
}

// TestEmpty: nothing is judged where a capture has nothing.
func TestEmpty(t *testing.T) {
	all := newWorld(func(*world) {}).captures(t)
	for _, pair := range [][2][]capture.Packet{{all[Edge], nil}, {nil, all[Host]}, {nil, nil}} {
		r, _ := runOn(t, pair, Options{})
		if r.Matched() > 0 || len(r.Differences) > 0 || r.Count(Outside) != r.Captures[Edge].Datagrams+r.Captures[Host].Datagrams {
			t.Errorf("%d matched, %d differ", r.Matched(), len(r.Differences))
		}
	}
}

// TestLossBySize: only replies above a size are lost, and the limit is found.
func TestLossBySize(t *testing.T) {
	r, _ := runOn(t, newWorld(func(w *world) { w.lossAbove = 1300 }).captures(t), Options{})
	l, ok := r.Sizes[ToClient].Limit()
	if !ok || l.Through != 1212 || l.Lost != 2000 || l.LostBelow != 0 || l.LostAbove != l.Above {
		t.Errorf("%+v, %t", l, ok)
	}
	if r, _ = runOn(t, newWorld(func(w *world) { w.loss = 0.2 }).captures(t), Options{}); r.Sizes[ToClient].arrived == nil {
		t.Error("nothing arrived")
	}
	if l, ok := r.Sizes[ToClient].Limit(); ok {
		t.Errorf("loss at random has the limit %+v", l)
	}
}

// TestSmallWindows: where memory is short, datagrams are judged before the wait is over, are counted, and all
// have a class.
func TestSmallWindows(t *testing.T) {
	w := &world{clients: 800, rounds: 3, rng: rand.New(rand.NewPCG(5, 6)), loss: 0.02}
	w.play()
	r, _ := runOn(t, w.captures(t), Options{Scale: 1e-9, Wait: 2 * time.Second})
	if r.JudgedEarly == 0 || r.Matched() < r.Captures[Host].Datagrams*9/10 {
		t.Errorf("%d judged early, %d of %d matched", r.JudgedEarly, r.Matched(), r.Captures[Host].Datagrams)
	}
}

// TestWants: what the caller does not want is compared all the same, and in no figure but that.
func TestWants(t *testing.T) {
	all := newWorld(func(w *world) { w.loss, w.natClients = 0.1, true }).captures(t)
	want := worldServers[0]
	whole, _ := runOn(t, all, Options{})
	o := Options{Registry: protos.Registry(t), Open: func(s Side) (capture.Source, error) { return &packets{all[s]}, nil },
		Wants: func(p *packet.Packet, _ uint64, _ int64) bool { return p.Src == want || p.Dst == want }}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	for _, row := range whole.Rows {
		if row.Server == want {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 || !slices.Equal(r.Rows, rows) {
		t.Errorf("got  %+v\nwant %+v", r.Rows, rows)
	}
	for s := range r.Counts {
		sum := r.Unwanted[s]
		for c := range NumClasses {
			for way := range numWays {
				sum += r.Counts[s][c][way]
			}
		}
		if sum != r.Captures[s].Datagrams {
			t.Errorf("side %d: %d of %d datagrams", s, sum, r.Captures[s].Datagrams)
		}
	}
}

// TestInterrupted: what was compared until then is judged, and nothing is called lost that was not read.
func TestInterrupted(t *testing.T) {
	all := (&world{clients: 200, rounds: 30, rng: rand.New(rand.NewPCG(7, 8))}).played().captures(t)
	for _, at := range []Reading{Surveying, Comparing} {
		ctx, interrupt := context.WithCancel(t.Context())
		batches := 0
		r, err := Run(ctx, Options{Registry: protos.Registry(t), Open: func(s Side) (capture.Source, error) { return &packets{all[s]}, nil },
			Progress: func(reading Reading, _ capture.Stats) {
				if reading == at {
					batches++
				}
				if batches > 100 {
					interrupt()
				}
			}})
		if !errors.Is(err, context.Canceled) || (r == nil) != (at == Surveying) {
			t.Fatalf("%s: %v, result %v", at, err, r)
		}
		if r == nil {
			continue
		}
		read, whole := r.Compared[Edge], uint64(len(all[Edge]))
		if !r.IsInterrupted || read == 0 || read == whole || r.Matched() == 0 || r.Matched() >= read || len(r.Differences) > 0 {
			t.Errorf("interrupted %t after %d of %d, %d matched, %d differ", r.IsInterrupted, read, whole, r.Matched(), len(r.Differences))
		}
	}
}

// TestTotal: each count of the rows of a way is in its total.
func TestTotal(t *testing.T) {
	var one Row
	one.Way = ToClient
	counts := reflect.ValueOf(&one.Fates).Elem()
	for i := range counts.NumField() {
		counts.Field(i).SetUint(uint64(i + 1))
	}
	r := Result{Rows: []Row{one, one, {Way: ToServer}}}
	total := reflect.ValueOf(r.Total(ToClient).Fates)
	for i := range total.NumField() {
		if got, want := total.Field(i).Uint(), uint64(2*(i+1)); got != want {
			t.Errorf("%s: got %d, want %d", total.Type().Field(i).Name, got, want)
		}
	}
}

// TestParts: the field that was changed is named.
func TestParts(t *testing.T) {
	w := newWorld(func(*world) {})
	for _, s := range w.sent {
		if s.as[Edge].Src == worldServers[0] && len(s.as[Edge].Payload) > 80 && s.as[Edge].Payload[4] == 'I' {
			s.as[Edge].Payload = infoReply("SERVER "+worldServers[0].String(), 3)
		}
	}
	r, _ := runOn(t, w.captures(t), Options{})
	if r.Count(Changed) == 0 {
		t.Fatal("nothing is changed")
	}
	parts, more := r.Parts(protos.Registry(t), &r.Differences[0])
	if len(parts) == 0 || more > 0 || parts[0].Name != "a2s.info.name" {
		t.Errorf("parts %+v", parts)
	}
}

// FuzzRun: whatever two captures have, each datagram has one class, and none differs from itself.
func FuzzRun(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x10\x11"), []byte("\x00\x02\x03\x10"))
	f.Add([]byte("\x07\x07\x07\x07\x07\x07\x07"), []byte("\x07\x07"))
	f.Add([]byte("18X\x0070'"), []byte("0")) // both ends send the same
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var all [2][]capture.Packet
		for s, in := range [][]byte{a, b} {
			at := testpcap.Start
			for _, x := range in[:min(len(in), 200)] {
				at += int64(x>>4) * int64(70*time.Millisecond)
				d := testpcap.Datagram{Src: worldServers[x&1], Dst: worldServers[2], TTL: 60, ID: uint32(x & 2), Payload: []byte(infoQuery + string(x&6))}
				if x&8 != 0 {
					d.Src, d.Dst = d.Dst, d.Src
				}
				frame := d.Frame(testpcap.Link{Type: testpcap.LinkEthernet})
				all[s] = append(all[s], capture.Packet{No: uint64(len(all[s]) + 1), Nanos: at, Data: frame, Wire: uint32(len(frame)), Link: testpcap.LinkEthernet})
			}
		}
		runOn(t, all, Options{})
		if r, _ := runOn(t, [2][]capture.Packet{all[0], all[0]}, Options{}); r.Clock.Offset == 0 && len(r.Differences) > 0 {
			t.Errorf("%+v differs from itself", r.Differences[0])
		}
	})
}

// TestMerged: datagrams that offload merged at one point are those of the other, with and without the kernel's word.
func TestMerged(t *testing.T) {
	for _, segment := range []uint16{0, uint16(len(infoQuery) + 4)} {
		var all [2][]capture.Packet
		link := testpcap.Link{Type: testpcap.LinkEthernet}
		add := func(s Side, at time.Duration, d testpcap.Datagram, segment uint16) {
			frame := d.Frame(link)
			all[s] = append(all[s], capture.Packet{No: uint64(len(all[s]) + 1), Nanos: testpcap.Start + int64(at), Data: frame,
				Wire: uint32(len(frame)), Link: testpcap.LinkEthernet, Segment: segment})
		}
		const clients, each = 100, 4
		for i := range clients {
			at := time.Duration(i) * 100 * time.Millisecond
			client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 40000)
			var merged []byte
			id := uint32(100 + i*each)
			for k := range each {
				payload := binary.LittleEndian.AppendUint32([]byte(infoQuery), uint32(i*each+k)*7919)
				merged = append(merged, payload...)
				add(Edge, at+time.Duration(k)*time.Microsecond, testpcap.Datagram{Src: client, Dst: worldServers[0], TTL: 60, ID: id + uint32(k), Payload: payload}, 0)
			}
			add(Host, at+oneWay, testpcap.Datagram{Src: client, Dst: worldServers[0], TTL: 53, ID: id, Payload: merged}, segment)
			for k := range each {
				reply := testpcap.Datagram{Src: worldServers[0], Dst: client, TTL: 64, ID: uint32(1000 + i*each + k), Payload: infoReply("server", i)}
				add(Host, at+oneWay+time.Millisecond, reply, 0)
				reply.TTL = 57
				add(Edge, at+2*oneWay+time.Millisecond, reply, 0)
			}
		}
		r, err := Run(t.Context(), Options{Registry: protos.Registry(t), Open: func(s Side) (capture.Source, error) { return &packets{all[s]}, nil }})
		if err != nil {
			t.Fatal(err)
		}
		if r.Captures[Host].Datagrams != 2*clients*each || r.Matched() != 2*clients*each || len(r.Differences) > 0 {
			t.Errorf("segment %d: %d of %d datagrams at the host match, %d differ", segment, r.Matched(), r.Captures[Host].Datagrams, len(r.Differences))
		}
	}
}
