package diff

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/testpcap"
)

// streamWorld is consoles over TCP: how many connections, and what happens to them besides what
// happens to datagrams.
type streamWorld struct {
	connections                           int
	again, injected, blocked, resegmented float64 // shares: of segments; of connections
	shift                                 uint32  // what a middlebox adds to sequence numbers on the way
	withoutSYN                            bool

	unheard int // connections of which nothing arrived
}

// stream is a connection in the making.
type stream struct {
	w              *world
	client, server netip.AddrPort
	next           [2]uint32 // of what the client, and the server, sends
	hasArrived     bool
}

// playStreams makes connections, one after the other and overlapping.
func (w *world) playStreams() {
	for c := range w.tcp.connections {
		x := &stream{w: w, client: netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 120, byte(1 + c%50)}), uint16(50000+c)),
			server: worldServers[c%len(worldServers)], next: [2]uint32{w.rng.Uint32(), w.rng.Uint32()}}
		x.play(time.Duration(c)*137*time.Millisecond, c)
		if !x.hasArrived {
			w.tcp.unheard++
		}
	}
}

// play opens the connection, logs in, asks a few times and closes.
func (x *stream) play(at time.Duration, c int) {
	w := x.w
	if w.happens(w.tcp.blocked) {
		for try := range 3 {
			x.add(at+time.Duration(1<<try-1)*time.Second, true, testpcap.SYN, nil, Lost, int(Edge))
		}
		return
	}
	if !w.tcp.withoutSYN {
		at = x.send(at, true, testpcap.SYN, nil)
		at = x.send(at+time.Millisecond, false, testpcap.SYN|testpcap.ACK, nil)
	}
	at = x.send(at+time.Millisecond, true, testpcap.ACK|testpcap.PSH, rconPacket(1, 3, "secret"))
	at = x.send(at+time.Millisecond, false, testpcap.ACK|testpcap.PSH, rconPacket(1, 2, ""))
	isReset := w.happens(w.tcp.injected)
	for i := range 6 {
		at = x.send(at+300*time.Millisecond, true, testpcap.ACK|testpcap.PSH, rconPacket(int32(i+2), 2, "status"))
		if isReset && i == 3 {
			x.inject(at + time.Millisecond)
			return
		}
		text := fmt.Sprintf("hostname: server of %s\nplayers : %d humans, at %d.%d\n", x.server, i, c, i)
		if w.happens(0.3) {
			x.sendLong(at+2*time.Millisecond, rconPacket(int32(i+2), 0, text+strings.Repeat("# player name of somebody who plays\n", 90)))
			at += 40 * time.Millisecond
			continue
		}
		at = x.send(at+2*time.Millisecond, false, testpcap.ACK|testpcap.PSH, rconPacket(int32(i+2), 0, text))
	}
	if w.happens(0.3) {
		x.sendOnce(at+50*time.Millisecond, true, testpcap.RST, nil, false)
		return
	}
	at = x.send(at+50*time.Millisecond, true, testpcap.FIN|testpcap.ACK, nil)
	x.send(at+time.Millisecond, false, testpcap.FIN|testpcap.ACK, nil)
}

// rconPacket is a packet of Source RCON.
func rconPacket(id, kind int32, text string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(10+len(text)))
	b = binary.LittleEndian.AppendUint32(b, uint32(id))
	b = binary.LittleEndian.AppendUint32(b, uint32(kind))
	return append(append(b, text...), 0, 0)
}

// send sends a segment until it arrives, and returns when that is.
func (x *stream) send(at time.Duration, toServer bool, flags testpcap.Flags, payload []byte) time.Duration {
	w := x.w
	defer x.advance(toServer, flags, payload)
	for try := range 6 {
		if arrives, ok := x.sendOnce(at, toServer, flags, payload, try > 0); ok {
			if w.happens(w.tcp.again) { // its acknowledgement was lost
				x.sendOnce(at+230*time.Millisecond, toServer, flags, payload, true)
				arrives = max(arrives, at+250*time.Millisecond)
			}
			return arrives
		}
		at += 220 * time.Millisecond << try
	}
	return at
}

func (x *stream) advance(toServer bool, flags testpcap.Flags, payload []byte) {
	n := uint32(len(payload))
	if flags&(testpcap.SYN|testpcap.FIN) != 0 {
		n++
	}
	x.next[bit(!toServer)] += n
}

// sendOnce sends a segment, and returns when it arrived, if it did.
func (x *stream) sendOnce(at time.Duration, toServer bool, flags testpcap.Flags, payload []byte, isAgain bool) (time.Duration, bool) {
	w := x.w
	near := Edge
	if !toServer {
		near = Host
	}
	if w.happens(w.loss) {
		x.add(at, toServer, flags, payload, [...]Class{Lost, Extra}[near], int(near))
		return 0, false
	}
	x.hasArrived = true
	s := x.add(at, toServer, flags, payload, Same, -1)
	if isAgain {
		s.truth = Retransmitted
	}
	arrives := s.at[1-near]
	switch {
	case w.happens(w.late):
		s.truth = Late
		arrives += 150*time.Millisecond + time.Duration(w.rng.IntN(50))*time.Millisecond
		s.at[1-near] = arrives
	case w.happens(w.changed) && len(payload) > 0:
		s.truth = Changed
		b := append([]byte{}, payload...)
		b[4+w.rng.IntN(4)] ^= 0x15
		s.segs[1-near][0].Payload = b
	case w.happens(w.copies):
		s.copyOf, s.copyAt = int(1-near), arrives+time.Duration(w.rng.IntN(30))*time.Millisecond
	}
	return arrives, true
}

// add adds a segment that both sides, or one of them, have.
func (x *stream) add(at time.Duration, toServer bool, flags testpcap.Flags, payload []byte, truth Class, only int) *sentDatagram {
	w := x.w
	near, src, dst := Edge, x.client, x.server
	if !toServer {
		near, src, dst = Host, x.server, x.client
	}
	if w.id++; w.zeroIDs {
		w.id = 0
	}
	g := testpcap.Segment{Src: src, Dst: dst, TTL: 64, ID: w.id & 0xffff, Seq: x.next[bit(!toServer)], Flags: flags, Payload: payload}
	if flags&testpcap.ACK != 0 {
		g.Ack = x.next[bit(toServer)]
	}
	far := g
	far.TTL -= 7
	s := &sentDatagram{truth: truth, only: only, copyOf: -1}
	s.at[near], s.segs[near] = at, []testpcap.Segment{g}
	queued := 0.8 * (1 + math.Sin(2*math.Pi*at.Seconds()/0.097)) // milliseconds; what was sent later never arrives earlier
	arrives := at + oneWay + time.Duration(queued*float64(time.Millisecond))
	s.at[1-near], s.segs[1-near] = arrives, []testpcap.Segment{far}
	w.sent = append(w.sent, s)
	return s
}

// sendLong sends an answer of several segments, which a network card may join.
func (x *stream) sendLong(at time.Duration, payload []byte) {
	const room = 1400
	if !x.w.happens(x.w.tcp.resegmented) {
		for i := 0; len(payload) > 0; i++ {
			n := min(room, len(payload))
			x.send(at+time.Duration(i)*100*time.Microsecond, false, testpcap.ACK, payload[:n])
			payload = payload[n:]
		}
		return
	}
	x.hasArrived = true
	s := x.add(at, false, testpcap.ACK, payload, Reframed, -1)
	whole := s.segs[Edge][0]
	var cut []testpcap.Segment
	for i := 0; i < len(payload); i += room {
		g := whole
		g.Seq, g.Payload, g.ID = whole.Seq+uint32(i), payload[i:min(i+room, len(payload))], whole.ID+uint32(i)
		cut = append(cut, g)
	}
	s.segs[Edge] = cut
	x.advance(false, testpcap.ACK, payload)
}

// inject ends the connection from between the points: each end gets a reset that the other one did not send.
func (x *stream) inject(at time.Duration) {
	a := x.add(at, true, testpcap.RST, nil, Injected, int(Host))
	a.at[Host] = at
	b := x.add(at, false, testpcap.RST, nil, Injected, int(Edge))
	b.at[Edge] = at
}

// segments returns the packets of a stream's segments at a side.
func (w *world) segments(s *sentDatagram, side Side) (ips [][]byte, err error) {
	for _, g := range s.segs[side] {
		if side == Host {
			g.Src, g.Dst = w.translate(g.Src), w.translate(g.Dst)
			g.Seq += w.tcp.shift
		}
		ip, failed := g.IP()
		ips, err = append(ips, ip), errors.Join(err, failed)
	}
	return ips, err
}

// all makes everything happen to streams.
func (w *world) allStreams() {
	w.loss, w.late, w.copies, w.changed = 0.03, 0.02, 0.02, 0.02
	w.tcp.again, w.tcp.injected, w.tcp.blocked, w.tcp.resegmented = 0.02, 0.2, 0.1, 0.5
}

// TestStreamScores: recall and precision of each class, of TCP connections.
func TestStreamScores(t *testing.T) {
	var all figures
	all.compareWith(t, "testdata/stream_scores.txt")
	for name, change := range map[string]func(w *world){
		"nothing":           func(w *world) {},
		"loss":              func(w *world) { w.loss = 0.05 },
		"heavy loss":        func(w *world) { w.loss = 0.3 },
		"delay":             func(w *world) { w.late = 0.05 },
		"copies":            func(w *world) { w.copies = 0.05 },
		"copies, no ids":    func(w *world) { w.copies, w.zeroIDs = 0.05, true },
		"again":             func(w *world) { w.tcp.again = 0.1 },
		"changes":           func(w *world) { w.changed = 0.05 },
		"resets":            func(w *world) { w.tcp.injected, w.loss = 0.3, 0.02 },
		"blocked":           func(w *world) { w.tcp.blocked = 0.3 },
		"other segments":    func(w *world) { w.tcp.resegmented = 1 },
		"all":               func(w *world) { w.allStreams() },
		"all, clock":        func(w *world) { w.allStreams(); w.offset, w.drift = 3*time.Second, 50e-6 },
		"all, day ahead":    func(w *world) { w.allStreams(); w.offset, w.drift = 26*time.Hour, 50e-6 },
		"all, server NAT":   func(w *world) { w.allStreams(); w.natServer, w.offset = true, time.Second },
		"all, client NAT":   func(w *world) { w.allStreams(); w.natClients, w.offset = true, time.Second },
		"all, both NAT":     func(w *world) { w.allStreams(); w.natClients, w.natServer = true, true },
		"all, new sequence": func(w *world) { w.allStreams(); w.tcp.shift, w.tcp.injected = 0x12345678, 0 },
		"all, no start":     func(w *world) { w.allStreams(); w.tcp.blocked, w.tcp.withoutSYN = 0, true },
		"all, datagrams":    func(w *world) { w.all(); w.allStreams(); w.clients, w.rounds = 40, 40 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{rng: rand.New(rand.NewPCG(2, uint64(len(name))))}
			w.tcp.connections = 300
			change(w)
			w.play()
			r, got := runOn(t, w.captures(t), Options{})
			all.add(name, r)
			t.Logf("clock %+v, connections %d, %v", r.Clock, r.Connections.Both, r.Connections.Only)
			for c, x := range score(w, got, r) {
				recall, precision := x.both/max(x.has, 1), x.both/max(x.said, 1)
				if x.has > 0 || x.said > 0 {
					t.Logf("%-16s %5.0f segments, recall %.4f, precision %.4f", Class(c), x.has, recall, precision)
				}
				const least = 0.98
				if x.has > 0 && recall < least || x.said > 0 && precision < least {
					t.Errorf("%s: %+v, recall %.4f, precision %.4f", Class(c), x, recall, precision)
				}
			}
			if only := r.Connections.Only; float64(only[Edge]) < 0.9*float64(w.tcp.unheard) || only[Edge] > uint64(w.tcp.unheard) || only[Host] > 0 {
				t.Errorf("%v connections at one point, of %d of which nothing arrived", only, w.tcp.unheard)
			}
		})
	}
}
