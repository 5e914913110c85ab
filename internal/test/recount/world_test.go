package recount

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"qsniff/internal/test/testpcap"
)

// world makes the packets of a capture, in any order.
type world struct {
	rng     *rand.Rand
	packets []testpcap.Packet
	console uint32 // connections to consoles so far
}

func newWorld() *world { return &world{rng: rand.New(rand.NewPCG(17, 1))} }

// Messages of Source queries.
const (
	info      = "\xff\xff\xff\xffTSource Engine Query\x00"
	challenge = "\xff\xff\xff\xffA"
	rules     = "\xff\xff\xff\xffV"
	infoReply = "\xff\xff\xff\xffI\x11Example arena\x00de_dust2\x00csgo\x00Counter-Strike\x00\xda\x02\x03\x10\x00dl\x00\x011.38.7.9\x00\x00"
)

// udp adds a datagram, at a time since the begin of the capture.
func (w *world) udp(at time.Duration, from, to netip.AddrPort, ttl uint8, payload string) {
	d := testpcap.Datagram{Src: from, Dst: to, TTL: ttl, ID: uint32(len(w.packets)), Payload: []byte(payload)}
	w.add(at, d.Frame(testpcap.Link{Type: testpcap.LinkEthernet}))
}

func (w *world) add(at time.Duration, frame []byte) {
	w.packets = append(w.packets, testpcap.Packet{Nanos: testpcap.Start + int64(at), Frame: frame})
}

// token returns four bytes that are nobody's yet.
func (w *world) token() string {
	return string(binary.LittleEndian.AppendUint32(nil, w.rng.Uint32N(1<<31-2)+1))
}

// visit adds a client that asks, is challenged, brings the challenge back and is answered.
func (w *world) visit(at time.Duration, client, server netip.AddrPort) {
	key := w.token()
	w.udp(at, client, server, 52, info)
	w.udp(at+5*time.Millisecond, server, client, 64, challenge+key)
	w.udp(at+60*time.Millisecond, client, server, 52, info+key)
	w.udp(at+65*time.Millisecond, server, client, 64, infoReply)
}

// ordinary adds a visit of another client every half a second.
func (w *world) ordinary(length time.Duration, clients netip.Prefix, servers ...netip.AddrPort) {
	n := 0
	for at := time.Duration(0); at < length; at += 500 * time.Millisecond {
		w.visit(at, w.client(clients), servers[n%len(servers)])
		n++
	}
}

// client returns a random end in a network.
func (w *world) client(in netip.Prefix) netip.AddrPort {
	b := in.Addr().AsSlice()
	for i := range b {
		free := min(max(8*(i+1)-in.Bits(), 0), 8)
		b[i] |= byte(w.rng.IntN(1 << free))
	}
	a, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(a, uint16(1024+w.rng.IntN(1<<16-1024)))
}

// every calls f at even distances, rate times a second.
func every(rate int, from, to time.Duration, f func(at time.Duration)) {
	for at := from; at < to; at += time.Second / time.Duration(rate) {
		f(at)
	}
}

// login adds a connection to a remote console with a wrong password.
func (w *world) login(at time.Duration, client, server netip.AddrPort, password string) {
	w.console++
	next := map[netip.AddrPort]uint32{client: 1000 * w.console, server: 7_000_000 + 1000*w.console}
	send := func(from, to netip.AddrPort, flags testpcap.Flags, body string) {
		s := testpcap.Segment{Src: from, Dst: to, TTL: 60, Seq: next[from], Ack: next[to], Flags: flags, Payload: []byte(body)}
		if flags == testpcap.SYN {
			s.Ack = 0
		}
		ip, err := s.IP()
		if err != nil {
			panic(err)
		}
		w.add(at, testpcap.Link{Type: testpcap.LinkEthernet}.Frame(ip, to == server))
		next[from] += uint32(len(body))
		if flags&(testpcap.SYN|testpcap.FIN) != 0 {
			next[from]++
		}
		at += 2 * time.Millisecond
	}
	send(client, server, testpcap.SYN, "")
	send(server, client, testpcap.SYN|testpcap.ACK, "")
	send(client, server, testpcap.ACK, "")
	send(client, server, testpcap.ACK|testpcap.PSH, console(1, 3, password))
	send(server, client, testpcap.ACK|testpcap.PSH, console(1, 0, ""))
	send(server, client, testpcap.ACK|testpcap.PSH, console(1<<32-1, 2, ""))
	send(client, server, testpcap.ACK|testpcap.FIN, "")
	send(server, client, testpcap.ACK|testpcap.FIN, "")
	send(client, server, testpcap.ACK, "")
}

// console returns a message of the remote console.
func console(id, kind uint32, body string) string {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(body)+10))
	b = binary.LittleEndian.AppendUint32(b, id)
	b = binary.LittleEndian.AppendUint32(b, kind)
	return string(b) + body + "\x00\x00"
}

// write writes the packets in the order of their times.
func (w *world) write(t *testing.T, path string) {
	t.Helper()
	slices.SortStableFunc(w.packets, func(a, b testpcap.Packet) int { return int(a.Nanos - b.Nanos) })
	var file bytes.Buffer
	out, err := testpcap.NewWriter(&file, testpcap.Format{Link: testpcap.LinkEthernet, SnapLen: 262144})
	for i := 0; err == nil && i < len(w.packets); i++ {
		err = out.WritePacket(w.packets[i].Nanos, w.packets[i].Frame)
	}
	if err == nil {
		err = os.WriteFile(path, file.Bytes(), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
