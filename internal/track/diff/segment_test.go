package diff

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/testpcap"
)

// TestPolynomial: the hash of bytes is that of their parts, wherever they are cut, and of no others.
func TestPolynomial(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		p := newPolynomial(rng.Uint64())
		b := make([]byte, 1+rng.IntN(3000))
		for i := range b {
			b[i] = byte(rng.IntN(3)) // with zeros at its ends
		}
		n := rng.IntN(len(b) + 1)
		if got, want := p.join(p.sum(b[:n]), p.sum(b[n:]), len(b)-n), p.sum(b); got != want || want >= prime {
			t.Fatalf("%d bytes cut at %d: %d, want %d", len(b), n, got, want)
		}
		if p.sum(b) == p.sum(append(b, 0)) || p.sum(b) == p.sum(append([]byte{0}, b...)) {
			t.Fatal("the length is not part of the hash")
		}
		was := p.sum(b)
		if b[rng.IntN(len(b))] ^= 8; p.sum(b) == was {
			t.Fatal("another byte has the same hash")
		}
	}
}

// streamCaptures returns two captures of a console over a minute, after a change.
func streamCaptures(t *testing.T, change func(*world)) [2][]capture.Packet {
	w := &world{rng: rand.New(rand.NewPCG(8, 9))}
	w.tcp.connections = 100
	w.playStreams()
	change(w)
	return w.captures(t)
}

// TestStreamParts: of a changed segment the field is named, and no text is shown.
func TestStreamParts(t *testing.T) {
	for name, x := range map[string]struct {
		at   int
		want string
	}{"id": {4, "rcon.id"}, "type": {8, "rcon.type"}, "password": {12, "rcon.auth.body"}} {
		n := 0
		all := streamCaptures(t, func(w *world) {
			for _, s := range w.sent {
				if b := s.segs[Edge][0].Payload; len(b) == 20 && b[8] == 3 && s.at[Edge] > 10*time.Second && s.at[Edge] < 20*time.Second {
					n++
					b = append([]byte{}, b...)
					b[x.at] ^= 1
					s.segs[Host][0].Payload = b
				}
			}
		})
		r, _ := runOn(t, all, Options{})
		if n == 0 || r.Count(Changed) != uint64(n) {
			t.Fatalf("%s: %d of %d changed", name, r.Count(Changed), n)
		}
		for i := range r.Differences {
			parts, _ := r.Parts(protos.Registry(t), &r.Differences[i])
			if x.at == 8 { // the type decides which fields there are
				if len(parts) == 0 {
					t.Errorf("%s: no part", name)
				}
				continue
			}
			if len(parts) != 1 || parts[0].Name != x.want || x.at == 12 && (parts[0].Def != nil || parts[0].Values[0].Field != nil) {
				t.Errorf("%s: parts %+v", name, parts)
			}
		}
	}
}

// TestOtherStreams: connections that are no console's are counted, and not compared.
func TestOtherStreams(t *testing.T) {
	all := streamCaptures(t, func(w *world) {
		for _, s := range w.sent {
			for side := range s.segs {
				for i := range s.segs[side] {
					g := &s.segs[side][i]
					for _, end := range [...]*netip.AddrPort{&g.Src, &g.Dst} {
						if end.Port() < 30000 {
							*end = netip.AddrPortFrom(end.Addr(), 443)
						}
					}
					if len(g.Payload) > 0 {
						g.Payload = []byte("\x17\x03\x03\x00\x20 encrypted bytes of somebody else")
					}
				}
			}
		}
	})
	r, _ := runOn(t, all, Options{})
	for s := range r.Captures {
		if n := &r.Captures[s]; n.Segments > 0 || n.TCP != n.Packets || n.TCP == 0 {
			t.Errorf("side %d: %+v", s, n)
		}
	}
}

// TestTooLittle: captures of different polls are not of the same traffic because their questions, and the
// answers of an empty server, are equal; captures of one poll are.
func TestTooLittle(t *testing.T) {
	poll := func(at time.Duration, client, server string) (all []capture.Packet) {
		c, s := netip.MustParseAddrPort(client), netip.MustParseAddrPort(server)
		for i, payload := range [][]byte{[]byte(infoQuery), infoReply("empty", 0), []byte("\xff\xff\xff\xffU\xff\xff\xff\xff"), []byte("\xff\xff\xff\xffD\x00")} {
			d := testpcap.Datagram{Src: c, Dst: s, TTL: 60, ID: uint32(i), Payload: payload}
			if i%2 == 1 {
				d.Src, d.Dst = s, c
			}
			frame := d.Frame(testpcap.Link{Type: testpcap.LinkEthernet})
			all = append(all, capture.Packet{No: uint64(i + 1), Nanos: testpcap.Start + int64(at) + int64(i)*int64(20*time.Millisecond), Data: frame, Wire: uint32(len(frame)), Link: testpcap.LinkEthernet})
		}
		return all
	}
	const client, server, other, far = "203.0.113.5:40000", "198.51.100.7:27015", "203.0.113.6:41234", "192.0.2.9:27016"
	for name, x := range map[string]struct {
		b          []capture.Packet
		isDoubtful bool
	}{
		"the same":                 {poll(0, client, server), false},
		"clocks apart":             {poll(3*time.Second, client, server), false},
		"client translated":        {poll(0, other, server), false},
		"another day":              {poll(24*time.Hour, other, server), true},
		"another day, same client": {poll(24*time.Hour, client, server), true},
		"another server":           {poll(time.Hour, other, far)[:1], true},
		"another server, same day": {poll(10*time.Second, other, far)[:1], true},
	} {
		r, _ := runOn(t, [2][]capture.Packet{poll(0, client, server), x.b}, Options{})
		if r.Clock.IsDoubtful != x.isDoubtful || x.isDoubtful != (r.Matched() == 0) || len(r.Differences) > 0 && x.isDoubtful {
			t.Errorf("%s: doubtful %t, %d matched, %d differ", name, r.Clock.IsDoubtful, r.Matched(), len(r.Differences))
		}
	}
}

// FuzzStreams: whatever segments two captures have, each one that is compared has one class.
func FuzzStreams(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x10\x11"), []byte("\x00\x02\x03\x10"))
	f.Add([]byte("\x08\x18\x28\x38\x48"), []byte("\x08\x38\x58"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var all [2][]capture.Packet
		text := rconPacket(1, 2, "status and more")
		for s, in := range [][]byte{a, b} {
			at := testpcap.Start
			for _, x := range in[:min(len(in), 200)] {
				at += int64(x>>4) * int64(70*time.Millisecond)
				g := testpcap.Segment{Src: netip.MustParseAddrPort("203.0.113.5:40000"), Dst: worldServers[x&1], TTL: 60, ID: uint32(x & 2), Seq: uint32(x>>3) << 28,
					Flags: testpcap.Flags(x >> 1), Payload: text[:int(x&7)*len(text)/7]}
				if x&8 != 0 {
					g.Src, g.Dst = g.Dst, g.Src
				}
				ip, err := g.IP()
				if err != nil {
					t.Fatal(err)
				}
				frame := testpcap.Link{Type: testpcap.LinkEthernet}.Frame(ip, true)
				all[s] = append(all[s], capture.Packet{No: uint64(len(all[s]) + 1), Nanos: at, Data: frame, Wire: uint32(len(frame)), Link: testpcap.LinkEthernet})
			}
		}
		runOn(t, all, Options{})
		if r, _ := runOn(t, [2][]capture.Packet{all[0], all[0]}, Options{}); r.Clock.Offset == 0 && r.Count(Lost)+r.Count(Extra)+r.Count(Changed) > 0 {
			t.Errorf("%+v differs from itself", r.Differences[0])
		}
	})
}
