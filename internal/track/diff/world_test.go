package diff

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/testpcap"
)

// world is traffic between clients and servers, what happens to it between two points, and what
// both capture.
type world struct {
	rng *rand.Rand
	// what happens, as shares of datagrams
	loss, late, copies, changed, reordered, cached, reframed float64
	uncaptured                                               [2]float64 // share of what passes a point that its capture has not
	lossAbove                                                int        // payloads above it are lost on the way to clients
	// how the points differ
	offset                    time.Duration
	drift                     float64
	natServer, natClients     bool
	mtu                       int // of EDGE; HOST has whole datagrams
	snaplen                   int // of EDGE
	lateStart, earlyEnd       time.Duration
	equalChallenges, onlyInfo bool
	clients, rounds           int
	zeroIDs                   bool
	tcp                       streamWorld

	sent []*sentDatagram
	last map[[2]netip.AddrPort]time.Duration // when the last one of a flow arrived
	id   uint32
}

// sentDatagram is a datagram as it was at both points, and what became of it.
type sentDatagram struct {
	truth  Class
	only   int // the side that alone has it, -1 for both
	at     [2]time.Duration
	as     [2]testpcap.Datagram
	segs   [2][]testpcap.Segment // of a stream, in place of as
	parts  [2][][]byte           // in which it is sent at each point, if not as it is
	frames [2][]uint64
	copyOf int // side with a copy, -1
	copyAt time.Duration
	copies []uint64 // frames of the copy
}

const oneWay = 12 * time.Millisecond

var worldServers = []netip.AddrPort{netip.MustParseAddrPort("198.51.100.7:27015"), netip.MustParseAddrPort("198.51.100.7:27016"), netip.MustParseAddrPort("198.51.100.9:27015")}

func (w *world) happens(share float64) bool { return w.rng.Float64() < share }

// send sends a datagram at a time from one end to the other, and returns when it arrived, if it did.
func (w *world) send(at time.Duration, client, server netip.AddrPort, toServer bool, payload []byte) (time.Duration, bool) {
	near, far := Edge, Host
	src, dst := client, server
	if !toServer {
		near, far, src, dst = Host, Edge, server, client
	}
	if w.id++; w.zeroIDs {
		w.id = 0
	}
	d := testpcap.Datagram{Src: src, Dst: dst, TTL: 64, ID: w.id & 0xffff, Payload: payload}
	s := &sentDatagram{only: -1, copyOf: -1}
	s.as[near], s.as[far] = d, d
	s.as[far].TTL -= 7
	flow := [2]netip.AddrPort{src, dst}
	arrives := max(at+oneWay+time.Duration(w.rng.ExpFloat64()*float64(time.Millisecond)), w.last[flow]+20*time.Microsecond)
	s.at[near] = at
	w.sent = append(w.sent, s)
	switch {
	case w.happens(w.loss) || !toServer && w.lossAbove > 0 && len(payload) > w.lossAbove:
		s.truth, s.only = [...]Class{Lost, Extra}[near], int(near)
		return 0, false
	case w.happens(w.late):
		s.truth = Late
		arrives += 250*time.Millisecond + time.Duration(w.rng.IntN(800))*time.Millisecond
	case w.happens(w.changed):
		s.truth = Changed
		b := slices.Clone(payload)
		b[len(b)-1-w.rng.IntN(min(len(b)-5, 20))] ^= 0x15
		s.as[far].Payload = b
	case w.happens(w.copies):
		s.copyOf, s.copyAt = int(far), arrives+time.Duration(w.rng.IntN(30))*time.Millisecond
	}
	if s.truth != Late {
		w.last[flow] = arrives
	}
	s.at[far] = arrives
	return arrives, true
}

// sendReframed sends a reply that is in other datagrams at EDGE than at HOST: whole at one of them, or in other
// parts.
func (w *world) sendReframed(at time.Duration, client, server netip.AddrPort, payload []byte) {
	w.id++
	d := testpcap.Datagram{Src: server, Dst: client, TTL: 64, ID: w.id & 0xffff, Payload: payload}
	s := &sentDatagram{truth: Reframed, only: -1, copyOf: -1, as: [2]testpcap.Datagram{d, d}}
	s.at = [2]time.Duration{at + oneWay + time.Duration(w.rng.IntN(2000))*time.Microsecond, at}
	how := w.rng.IntN(3)
	if how != 0 {
		s.parts[Host] = testpcap.SplitSource(payload, w.id, 1200, true, false)
	}
	if how != 1 {
		s.parts[Edge] = testpcap.SplitSource(payload, w.id|1<<20, 700, true, false)
	}
	w.sent = append(w.sent, s)
}

// answerBetween answers a request at EDGE with bytes that HOST sent before.
func (w *world) answerBetween(at time.Duration, client, server netip.AddrPort, request, reply []byte) {
	q := &sentDatagram{truth: AnsweredBetween, only: int(Edge), copyOf: -1}
	q.at[Edge], q.as[Edge] = at, testpcap.Datagram{Src: client, Dst: server, TTL: 64, ID: 7, Payload: request}
	a := &sentDatagram{truth: AnsweredBetween, only: int(Edge), copyOf: -1}
	a.at[Edge], a.as[Edge] = at+200*time.Microsecond, testpcap.Datagram{Src: server, Dst: client, TTL: 63, ID: 9, Payload: reply}
	w.sent = append(w.sent, q, a)
}

const infoQuery = "\xff\xff\xff\xffTSource Engine Query\x00"

// infoReply is a reply of a server, with a number of players.
func infoReply(name string, players int) []byte {
	return append([]byte("\xff\xff\xff\xffI\x11"+name+"\x00de_dust2\x00cstrike\x00Counter-Strike: Source\x00\xf0\x00"), byte(players), 32, 0, 'd', 'l', 0, 1, '1', '.', '0', 0)
}

// play makes the traffic: each client asks servers again and again.
func (w *world) play() {
	w.last = map[[2]netip.AddrPort]time.Duration{}
	for c := range w.clients {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, byte(113 + c/200), byte(1 + c%200)}), uint16(40000+c))
		at := time.Duration(w.rng.IntN(1000)) * time.Millisecond
		for round := range w.rounds {
			server := worldServers[(c+round)%len(worldServers)]
			at += 700*time.Millisecond + time.Duration(w.rng.IntN(600))*time.Millisecond
			w.exchange(at, client, server, round)
		}
	}
	w.playStreams()
}

func (w *world) exchange(at time.Duration, client, server netip.AddrPort, round int) {
	reply := infoReply("server "+server.String(), round/8)
	if w.happens(w.cached) && round > 8 {
		w.answerBetween(at, client, server, []byte(infoQuery), reply)
		return
	}
	t, ok := w.send(at, client, server, true, []byte(infoQuery))
	if !ok || w.onlyInfo {
		return
	}
	challenge := binary.LittleEndian.AppendUint32(nil, w.rng.Uint32())
	if w.equalChallenges {
		challenge = []byte("\x01\x02\x03\x04")
	}
	if t, ok = w.send(t+time.Millisecond, client, server, false, append([]byte("\xff\xff\xff\xffA"), challenge...)); !ok {
		return
	}
	if t, ok = w.send(t+time.Millisecond, client, server, true, append([]byte(infoQuery), challenge...)); !ok {
		return
	}
	w.send(t+time.Millisecond, client, server, false, reply)
	if round%3 == 0 {
		rules := make([]byte, 1100*4)
		copy(rules, fmt.Sprintf("\xff\xff\xff\xffE\x50\x00%s %d", server, round))
		first := len(w.sent)
		for i, part := range testpcap.SplitSource(rules, uint32(round), 1200, true, false) {
			w.send(t+time.Duration(3000+200*i)*time.Microsecond, client, server, false, part)
		}
		if parts := w.sent[first:]; w.happens(w.reordered) && !slices.ContainsFunc(parts, func(s *sentDatagram) bool { return s.truth != Same || s.copyOf >= 0 }) {
			parts[1].truth = Reordered
			parts[1].at[Edge] = parts[2].at[Edge] + 100*time.Microsecond
			if parts[3].at[Edge] < parts[1].at[Edge] {
				parts[3].at[Edge] = parts[1].at[Edge] + 50*time.Microsecond
			}
			w.last[[2]netip.AddrPort{server, client}] = parts[3].at[Edge]
		}
	}
	if w.happens(0.3) {
		long := make([]byte, 2000)
		copy(long, fmt.Sprintf("\xff\xff\xff\xffD\x02\x00%s %d", client, round))
		if w.happens(w.reframed) {
			w.sendReframed(t+8*time.Millisecond, client, server, long)
			return
		}
		w.send(t+8*time.Millisecond, client, server, false, long)
	}
}

// translate returns what an end is called at HOST.
func (w *world) translate(e netip.AddrPort) netip.AddrPort {
	isServer := slices.Contains(worldServers, e)
	switch {
	case isServer && w.natServer:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, e.Addr().As4()[3]}), e.Port()+100)
	case !isServer && w.natClients:
		return netip.AddrPortFrom(netip.MustParseAddr("172.17.0.1"), e.Port()^0x1234)
	}
	return e
}

// lose takes a datagram out of the captures that lose what passes their point.
func (w *world) lose(s *sentDatagram) {
	const neither = 2 // of the captures
	for side := range w.uncaptured {
		switch {
		case s.only == 1-side || s.only == neither || w.uncaptured[side] == 0 || !w.happens(w.uncaptured[side]):
		case s.only == side:
			s.only = neither
		default:
			s.truth, s.only = Uncaptured, 1-side
		}
	}
}

// captures returns what both points capture, and sets the frames of what was sent.
func (w *world) captures(t testing.TB) (all [2][]capture.Packet) {
	for _, s := range w.sent {
		w.lose(s)
	}
	type one struct {
		at  time.Duration
		s   *sentDatagram
		dup bool
		ip  []byte
	}
	for side := range all {
		var list []one
		mtu := 0
		if Side(side) == Edge {
			mtu = w.mtu
		}
		for _, s := range w.sent {
			if s.only >= 0 && s.only != side {
				continue
			}
			d := s.as[side]
			if Side(side) == Host {
				d.Src, d.Dst = w.translate(d.Src), w.translate(d.Dst)
			}
			ips, err := d.IP(mtu)
			if parts := s.parts[side]; len(parts) > 0 {
				ips = nil
				for i, part := range parts {
					p := d
					p.Payload, p.ID = part, (d.ID+uint32(i)*7919)&0xffff
					more, failed := p.IP(mtu)
					ips, err = append(ips, more...), errors.Join(err, failed)
				}
			}
			if len(s.segs[side]) > 0 {
				ips, err = w.segments(s, Side(side))
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, ip := range ips {
				list = append(list, one{s.at[side] + time.Duration(i)*10*time.Microsecond, s, false, ip})
				if s.copyOf == side {
					list = append(list, one{s.copyAt + time.Duration(i)*10*time.Microsecond, s, true, ip})
				}
			}
		}
		slices.SortStableFunc(list, func(a, b one) int { return cmp.Compare(a.at, b.at) })
		end := list[len(list)-1].at
		for _, x := range list {
			at := x.at
			if Side(side) == Host {
				if at < w.lateStart || at > end-w.earlyEnd {
					continue
				}
				at += w.offset + time.Duration(w.drift*float64(at))
			}
			n := uint64(len(all[side]) + 1)
			frame := testpcap.Link{Type: testpcap.LinkEthernet}.Frame(x.ip, true)
			p := capture.Packet{No: n, Nanos: testpcap.Start + int64(at), Data: frame, Wire: uint32(len(frame)), Link: testpcap.LinkEthernet}
			if Side(side) == Edge && w.snaplen > 0 && len(frame) > w.snaplen {
				p.Data = frame[:w.snaplen]
			}
			all[side] = append(all[side], p)
			if x.dup {
				x.s.copies = append(x.s.copies, n)
			} else {
				x.s.frames[side] = append(x.s.frames[side], n)
			}
		}
	}
	return all
}

// packets is a capture in memory.
type packets struct{ left []capture.Packet }

func (p *packets) Read(b *capture.Batch) error {
	b.Reset()
	n := min(len(p.left), capture.MaxPackets)
	b.Packets = append(b.Packets, p.left[:n]...)
	if p.left = p.left[n:]; n == 0 {
		return io.EOF
	}
	return nil
}
func (*packets) Stats() capture.Stats { return capture.Stats{} }
func (*packets) Close() error         { return nil }

// runOn compares two captures, and returns the class of each frame of both that has one.
func runOn(t testing.TB, all [2][]capture.Packet, o Options) (*Result, [2]map[uint64]Class) {
	t.Helper()
	got := [2]map[uint64]Class{{}, {}}
	o.Registry = protos.Registry(t)
	o.Open = func(s Side) (capture.Source, error) { return &packets{all[s]}, nil }
	o.Judged = func(s Side, c Class, frame uint64) {
		if was, ok := got[s][frame]; ok {
			t.Errorf("frame %d of side %d is %s and %s", frame, s, was, c)
		}
		got[s][frame] = c
	}
	r, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	checkSums(t, r)
	return r, got
}

// checkSums: each datagram has one class, and pairs are in both captures.
func checkSums(t testing.TB, r *Result) {
	t.Helper()
	for s := range r.Counts {
		var sum uint64
		for c := range NumClasses {
			for w := range numWays {
				sum += r.Counts[s][c][w]
				if c.isPair() && r.Counts[Edge][c][w] != r.Counts[Host][c][w] {
					t.Errorf("%s: %d at EDGE, %d at HOST", c, r.Counts[Edge][c][w], r.Counts[Host][c][w])
				}
			}
		}
		if sum != r.Captures[s].Datagrams+r.Captures[s].Segments {
			t.Errorf("side %d: %d datagrams and %d segments, of which %d have a class", s, r.Captures[s].Datagrams, r.Captures[s].Segments, sum)
		}
	}
}
