package vantages_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
	"time"

	"qsniff/capture/file"
	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/pipeline"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
	"qsniff/internal/track/vantages"
)

var (
	server  = netip.MustParseAddrPort("198.51.100.7:27015")
	sibling = netip.MustParseAddrPort("198.51.100.7:27016")
	console = netip.MustParseAddrPort("198.51.100.7:27020")
)

const (
	infoQuery = "\xff\xff\xff\xffTSource Engine Query\x00"
	infoReply = "\xff\xff\xff\xffI\x11Test\x00de_dust2\x00cstrike\x00Counter-Strike\x00\xf0\x00\x03\x10\x00dl\x00\x011.0\x00\x00"
	challenge = "\x4b\xa1\xd5\x22"
)

// client is a vantage: what its captures show of a server.
type client struct {
	path   time.Duration // round trip
	jitter time.Duration // median of what queues add, one way; lognormal
	loss   float64       // share of datagrams, and of segments
	polls  int
	// edge is the round trip to what answers requests for information in the server's place, and hold how
	// long answers are held back until; 0: neither.
	edge, hold time.Duration
	// isProxied: all that comes from the host comes from the edge.
	isProxied bool
	// frame is the length of the server's frames, and work how long a request takes at most.
	frame, work time.Duration
	// isSteady: the client asks each second, on the dot.
	isSteady bool
	// what else than information the client asks for
	players, echoes, siblings bool
	handshakes                int  // with the console, at most
	oneWay                    bool // the capture has no replies

	rng  *rand.Rand
	sent []sent
	id   uint32
}

// sent is a packet at the client.
type sent struct {
	at time.Duration
	ip []byte
}

func (c *client) lost() bool { return c.rng.Float64() < c.loss }

// losesExchange reports whether a packet or the answer to it is lost.
func (c *client) losesExchange() bool {
	there := c.lost()
	return there || c.lost()
}

// delay returns what queues add to a packet.
func (c *client) delay() time.Duration {
	if c.jitter == 0 {
		return 0
	}
	return time.Duration(float64(c.jitter) * math.Exp(0.7*c.rng.NormFloat64()))
}

// put adds a packet.
func (c *client) put(at time.Duration, isReply bool, ip []byte) {
	if !isReply || !c.oneWay {
		c.sent = append(c.sent, sent{at, ip})
	}
}

func (c *client) datagram(at time.Duration, to netip.AddrPort, port uint16, isReply bool, payload string) {
	me := netip.AddrPortFrom(netip.MustParseAddr("203.0.113.5"), port)
	c.id++
	d := testpcap.Datagram{Src: me, Dst: to, TTL: 64, ID: c.id & 0xffff, Payload: []byte(payload)}
	if isReply {
		d.Src, d.Dst, d.TTL = to, me, 55
	}
	ip, err := d.IP(0)
	if err != nil {
		panic(err)
	}
	c.put(at, isReply, ip[0])
}

// answerAt returns when the answer to what was sent at a time comes. A server reads requests once a frame.
func (c *client) answerAt(at time.Duration, isInfo bool) time.Duration {
	trip := c.path
	if c.isProxied || isInfo && c.edge > 0 {
		trip = c.edge
	}
	there := at + trip/2 + c.delay()
	if c.work > 0 {
		there += time.Duration(c.rng.Int64N(int64(c.work)))
	}
	if c.frame > 0 && (c.edge == 0 || !isInfo) {
		there = there.Truncate(c.frame) + c.frame
	}
	back := there + trip - trip/2 + c.delay()
	if isInfo && c.hold > 0 {
		back = max(back, at+c.hold+c.delay()/4)
	}
	return back
}

// ask sends a request, again after a second if it or its answer is lost, and returns when the answer came.
func (c *client) ask(at time.Duration, to netip.AddrPort, port uint16, request, reply string, isInfo bool) (time.Duration, bool) {
	for range 3 {
		c.datagram(at, to, port, false, request)
		if back := c.answerAt(at, isInfo); !c.losesExchange() {
			c.datagram(back, to, port, true, reply)
			return back, true
		}
		at += time.Second
	}
	return 0, false
}

// reach returns when the system of the host answers what was sent at a time.
func (c *client) reach(at time.Duration) time.Duration {
	trip := c.path
	if c.isProxied {
		trip = c.edge
	}
	return at + trip + c.delay() + c.delay()
}

// open makes a handshake with the console.
func (c *client) open(at time.Duration, port uint16) {
	me := netip.AddrPortFrom(netip.MustParseAddr("203.0.113.5"), port)
	segment := func(at time.Duration, isReply bool, flags testpcap.Flags, seq, ack uint32) {
		s := testpcap.Segment{Src: me, Dst: console, TTL: 64, Flags: flags, Seq: seq, Ack: ack}
		if isReply {
			s.Src, s.Dst, s.TTL = console, me, 47
		}
		ip, err := s.IP()
		if err != nil {
			panic(err)
		}
		c.put(at, isReply, ip)
	}
	segment(at, false, testpcap.SYN, 100, 0)
	if c.losesExchange() {
		at += time.Second
		segment(at, false, testpcap.SYN, 100, 0)
		at -= 300 * time.Millisecond // the answer to the first one was late
	}
	segment(c.reach(at), true, testpcap.SYN|testpcap.ACK, 900, 101)
}

// ping sends an ICMP echo, and gets its reply.
func (c *client) ping(at time.Duration, n uint16) {
	me := netip.AddrPortFrom(netip.MustParseAddr("203.0.113.5"), 1)
	for isReply, kind := range map[bool]byte{false: 8, true: 0} {
		if isReply && c.lost() {
			continue
		}
		d := testpcap.Datagram{Src: me, Dst: netip.AddrPortFrom(server.Addr(), 1), TTL: 64, Payload: make([]byte, 48)}
		if isReply {
			d.Src, d.Dst = d.Dst, d.Src
		}
		all, err := d.IP(0)
		if err != nil {
			panic(err)
		}
		ip := all[0]
		ip[9] = 1 // ICMP, whose header is as long as that of UDP
		copy(ip[20:], []byte{kind, 0, 0, 0, 0x12, 0x34})
		binary.BigEndian.PutUint16(ip[26:], n)
		when := at
		if isReply {
			when = c.reach(at)
		}
		c.put(when, isReply, ip)
	}
}

// play makes the client's traffic.
func (c *client) play() {
	at := time.Duration(c.rng.IntN(1000)) * time.Millisecond
	for i := range c.polls {
		at += 4 * time.Second
		if !c.isSteady {
			at += time.Duration(c.rng.IntN(500_000)) * time.Microsecond
		}
		port := uint16(40000 + i)
		c.ask(at, server, port, infoQuery, infoReply, true)
		if c.players {
			if back, ok := c.ask(at+137*time.Millisecond, server, port+1000, "\xff\xff\xff\xffU\xff\xff\xff\xff", "\xff\xff\xff\xffA"+challenge, true); ok {
				c.ask(back+time.Millisecond, server, port+1000, "\xff\xff\xff\xffU"+challenge, "\xff\xff\xff\xffD\x00", false)
			}
		}
		if c.siblings {
			c.ask(at+211*time.Millisecond, sibling, port+2000, infoQuery, infoReply, false)
		}
		if c.handshakes > i/2 && i%2 == 0 {
			c.open(at+333*time.Millisecond, port)
		}
		if c.echoes && i%2 == 1 {
			c.ping(at+411*time.Millisecond, uint16(i))
		}
	}
}

// capture returns what the client captured, as a file.
func (c *client) capture(t testing.TB) []byte {
	slices.SortStableFunc(c.sent, func(a, b sent) int { return cmp.Compare(a.at, b.at) })
	link := testpcap.Link{Type: testpcap.LinkEthernet}
	x := testpcap.Capture{Link: link, Format: testpcap.Format{Link: link.Type, SnapLen: 1 << 16, Nano: true}}
	for _, s := range c.sent {
		x.Packets = append(x.Packets, testpcap.Packet{Nanos: testpcap.Start + int64(s.at), Frame: link.Frame(s.ip, true)})
	}
	var out bytes.Buffer
	if err := x.WritePcap(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func registry(t testing.TB) *dissect.Registry {
	reg, err := dissect.NewRegistry(protocols.All()...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// collect reads a capture.
func collect(t testing.TB, reg *dissect.Registry, data []byte) *vantages.Capture {
	t.Helper()
	src, err := file.NewReader(bytes.NewReader(data), "test")
	if err != nil {
		t.Fatal(err)
	}
	c := vantages.NewCollector(0.25)
	if _, err := pipeline.Run(context.Background(), pipeline.Config{Source: src, Registry: reg, Jobs: 1, Memory: pipeline.DefaultMemory / 4,
		Listener: c, Watchers: []track.Watcher{c}}); err != nil {
		t.Fatal(err)
	}
	return c.Capture()
}

// played returns what each of the clients captures, with a seed for each.
func played(t testing.TB, reg *dissect.Registry, seed uint64, clients ...client) (all []*vantages.Capture) {
	t.Helper()
	for i := range clients {
		c := clients[i]
		c.rng = rand.New(rand.NewPCG(seed, uint64(i)))
		c.play()
		all = append(all, collect(t, reg, c.capture(t)))
	}
	return all
}
