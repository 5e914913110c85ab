package flood

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/flood/other"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

// strange is a packet that is no query: what it is, and its size with all headers.
type strange struct {
	what   track.PacketType
	tcp    bool
	detail uint8
	flags  track.SightFlags
	key    uint32
	bytes  uint32 // of payload
	size   uint32
	class  uint8 // of another game
}

// pass shows the detector a packet between two ends; what the usual host sends is not
// captured where the world is blind.
func (w *world) pass(src track.Host, srcPort uint16, dst track.Host, dstPort uint16, x strange) {
	if w.blind && src == w.parse(usual) {
		return
	}
	s := track.Sighting{What: x.what, Src: src, SrcPort: srcPort, Dst: dst, DstPort: dstPort, Detail: x.detail, Flags: x.flags,
		Key: x.key, Bytes: x.bytes, Wire: x.size, Foreign: x.class, TTL: 60}
	if x.tcp {
		s.Flags |= track.Connection
	}
	w.see(s)
}

// both has a client and the host exchange packets, so many a second each way.
func (w *world) both(c client, port, at uint16, rate float64, from, to time.Duration, x strange) {
	host := w.parse(usual)
	w.every(rate, from, to, func(int) { w.pass(c.host, port, host, at, x) })
	w.every(rate, from+c.trip, to, func(int) { w.pass(host, at, c.host, port, x) })
}

// players play the game, each at so many packets a second both ways.
func (w *world) players(n int, rate float64, from, to time.Duration) {
	for i := range n {
		off := time.Duration(w.r.Float64() * 1e9 / rate)
		w.both(w.client(50_000+i), 27005, 27015, rate, from+off, to, strange{what: track.IsOther, bytes: 60, size: 88})
	}
}

// connect makes a client's connection to the host, with the acknowledgement that completes
// it or without.
func (w *world) connect(h track.Host, port, at uint16, completes bool) {
	host, number := w.parse(usual), w.r.Uint32()
	w.pass(h, port, host, at, strange{what: track.IsOpened, tcp: true, size: 60})
	w.pass(host, at, h, port, strange{what: track.IsAgreed, tcp: true, size: 60, key: number})
	if completes {
		w.pass(h, port, host, at, strange{what: track.IsAcked, tcp: true, size: 52, key: number})
	}
}

// download is n downloads from the host, each with so many acknowledgements a second.
func (w *world) download(n int, rate float64, from, to time.Duration) {
	for i := range n {
		c, port := w.client(60_000+i), uint16(20_000+i)
		w.at(from, func() { w.connect(c.host, port, 80, true) })
		w.both(c, port, 80, rate, from+100*time.Millisecond, to, strange{what: track.IsAcked, tcp: true, bytes: 100, size: 140})
	}
}

// otherGame is a message of another game, as the pipeline has it.
var otherGame = []*dissect.ForeignType{{Name: "status_toy", Says: "toys"}, {Name: "amplified_toy", Says: "toys", Reply: true}}

// newOtherWorld is a world with ordinary queries to a server.
func newOtherWorld(draw uint64, last time.Duration) *world {
	w := newWorld(draw)
	w.d.Know([]uint16{27015}, otherGame)
	return w
}

// TestOthersCalm: what hosts with servers get on any day is no flood.
func TestOthersCalm(t *testing.T) {
	const last = 100 * sec
	udp := strange{what: track.IsOther, bytes: 60, size: 88}
	for _, tc := range []struct {
		name string
		play func(w *world)
	}{
		{"48 players, 48 more come at once", func(w *world) {
			w.players(48, 33, 0, last)
			w.players(96, 33, t0, last)
		}},
		{"a full server at the highest rate", func(w *world) { w.players(64, 128, 0, 15*sec) }},
		{"the server is silent for 12 s, the players go on", func(w *world) {
			host := w.parse(usual)
			for i := range 32 {
				c := w.client(50_000 + i)
				w.every(40, time.Duration(i)*time.Millisecond, last, func(int) { w.pass(c.host, 27005, host, 27015, udp) })
				for _, span := range [][2]time.Duration{{0, t0}, {t0 + 12*sec, last}} {
					w.every(40, span[0]+time.Duration(i)*time.Millisecond, span[1], func(int) { w.pass(host, 27015, c.host, 27005, udp) })
				}
			}
		}},
		{"downloads", func(w *world) { w.download(20, 500, t0, t0+30*sec) }},
		{"64 clients begin 16 connections each after a map change", func(w *world) {
			for i := range 64 * 16 {
				c := w.client(60_000 + i/16)
				w.at(t0+time.Duration(i)*2*time.Millisecond, func() { w.connect(c.host, uint16(20_000+i), 80, true) })
			}
		}},
		{"a resolver answers", func(w *world) {
			w.both(w.client(70_000), 53, 40_000, 2000, t0, t0+30*sec, strange{what: track.IsOther, bytes: 300, size: 328})
		}},
		{"a resolver answers in fragments", func(w *world) {
			c, host := w.client(70_000), w.parse(usual)
			w.every(800, t0, t0+30*sec, func(i int) {
				w.pass(host, 40_000, c.host, 53, udp)
				w.pass(c.host, 53, host, 40_000, strange{what: track.IsFragment, detail: packet.ProtoUDP, flags: track.First, key: uint32(i), bytes: 1480, size: 1500})
				w.pass(c.host, 0, host, 0, strange{what: track.IsFragment, detail: packet.ProtoUDP, key: uint32(i), bytes: 500, size: 520})
				w.pass(c.host, 53, host, 40_000, strange{what: track.IsOther, flags: track.Joined, bytes: 1972, size: 2020})
			})
		}},
		{"scanners", func(w *world) {
			host := w.parse(usual)
			w.every(300, 0, last, func(i int) {
				w.pass(w.anywhere(), w.port(), host, uint16(i*37), strange{what: track.IsOpened, tcp: true, size: 44})
			})
		}},
		{"ICMP errors about what the host sends", func(w *world) {
			host := w.parse(usual)
			w.every(4000, t0, t0+30*sec, func(int) {
				gone := w.anywhere()
				w.pass(host, 27015, gone, 40_001, strange{what: track.IsReply, bytes: 9, size: 37})
				w.pass(host, 27015, gone, 40_001, strange{what: track.IsUnreachable, size: 65})
			})
		}},
		{"a tunnel in use", func(w *world) {
			w.both(w.client(70_000), 0, 0, 5000, t0, t0+30*sec, strange{what: track.IsCarried, detail: packet.ProtoGRE, size: 1400})
		}},
		{"the host pings", func(w *world) {
			c, host := w.client(70_000), w.parse(usual)
			w.every(900, t0, t0+30*sec, func(int) {
				w.pass(host, 0, c.host, 0, strange{what: track.IsControl, detail: 8, size: 84})
				w.pass(c.host, 0, host, 0, strange{what: track.IsControl, detail: 0, size: 84})
			})
		}},
		{"another game is asked now and then", func(w *world) {
			host := w.parse(usual)
			w.poisson(50, 0, last, func() {
				w.pass(w.anywhere(), w.port(), host, 27960, strange{what: track.IsJunk, class: 1, bytes: 14, size: 42})
			})
		}},
	} {
		for _, blind := range []bool{false, true} {
			w := newOtherWorld(1, last)
			w.blind = blind
			w.daily(w.server(usual, 27015), 2, last)
			tc.play(w)
			w.run(last)
			for _, in := range w.incidents {
				if in.Kind == OtherFlood {
					t.Errorf("%v, blind %v\ngot  %s %s: %v", tc.name, blind, in.Class.Name, in.Target, in.Evidence)
				}
			}
		}
	}
}

// flood is one way of packets to the usual host, from invented addresses; it counts them
// in sent. Port 1 is another one each time.
func (w *world) flood(rate float64, from, to time.Duration, port, at uint16, x strange, sent *uint64) {
	host := w.parse(usual)
	w.every(rate, from, to, func(i int) {
		*sent++
		x.key = uint32(i)
		p := port
		if p == 1 {
			p = w.port()
		}
		w.pass(w.anywhere(), p, host, at, x)
	})
}

// TestOthersFound: each class is found, at the target that it goes to, once, and with as
// many packets and bytes as there were.
func TestOthersFound(t *testing.T) {
	const last, long = 145 * sec, 6 * sec
	var all worlds
	for _, c := range other.Classes(nil) { // what each is by, and from what rate on
		fmt.Fprintf(&all, "%s: at least %g, %g at servers, %g from few, ports %v, protocol %d\n", c.Name, c.Least, c.AtServers, c.FromFew, c.SourcePorts, c.Protocol)
	}
	udp := strange{what: track.IsOther, bytes: 100, size: 128}
	for _, tc := range []struct {
		class, target string
		rate          float64
		port, at      uint16 // 1: another one each time
		x             strange
	}{
		{"tcp_syn", "tcp/" + usual + ":27015", 1200, 1, 27015, strange{what: track.IsOpened, tcp: true, size: 44}},
		{"tcp_synack", usual, 1200, 443, 1, strange{what: track.IsAgreed, tcp: true, size: 44}},
		{"tcp_other", "tcp/" + usual + ":80", 6000, 1, 80, strange{what: track.IsAcked, tcp: true, size: 40}},
		{"tcp_other", "tcp/" + usual + ":80", 6000, 1, 80, strange{what: track.IsOther, tcp: true, size: 40}},
		{"udp_other", "udp/" + usual + ":30000", 1200, 40_000, 30000, udp},
		{"udp_other", usual, 1200, 40_000, 1, udp},
		{"fragments", usual, 1200, 0, 0, strange{what: track.IsFragment, detail: packet.ProtoUDP, bytes: 480, size: 500}},
		{"icmp", usual, 1200, 0, 0, strange{what: track.IsControl, detail: 8, size: 84}},
		{"gre", usual, 1200, 0, 0, strange{what: track.IsCarried, detail: packet.ProtoGRE, size: 600}},
		{"esp", usual, 1200, 0, 0, strange{what: track.IsCarried, detail: packet.ProtoESP, size: 600}},
		{"ip_other", usual, 1200, 0, 0, strange{what: track.IsCarried, detail: 132, size: 600}},
		{"amplified_dns", "udp/" + usual + ":27015", 250, 53, 27015, udp},
		{"amplified_ntp", "udp/" + usual + ":80", 250, 123, 80, udp},
		{"status_toy", "udp/" + usual + ":27960", 150, 1, 27960, strange{what: track.IsJunk, class: 1, bytes: 14, size: 42}},
		{"amplified_toy", "udp/" + usual + ":27015", 150, 27960, 27015, strange{what: track.IsJunk, class: 2, bytes: 500, size: 528}},
	} {
		for _, times := range []float64{1, 12} {
			if times > 1 && (testing.Short() || tc.rate > 5000) { // it takes long, and shows the same
				continue
			}
			w, sent := newOtherWorld(1, last), uint64(0)
			w.daily(w.server(usual, 27015), 2, last)
			w.players(4, 20, 0, last)
			if tc.at == 1 { // ports of all sorts
				host := w.parse(usual)
				w.every(times*tc.rate, t0, t0+long, func(i int) { sent++; w.pass(w.anywhere(), tc.port, host, uint16(i%20_000), tc.x) })
			} else {
				w.flood(times*tc.rate, t0, t0+long, tc.port, tc.at, tc.x, &sent)
			}
			w.run(last)
			if times == 1 {
				all.add(fmt.Sprint(tc.class, " ", tc.target), w)
			}
			var found []string
			for _, in := range w.incidents {
				found = append(found, fmt.Sprint(in.Kind, " ", in.Target))
				if in.Kind != OtherFlood || in.Class.Name != tc.class || in.Target.String() != tc.target {
					continue
				}
				if in.Packets != sent || in.BytesIn != in.Packets*uint64(tc.x.size) {
					t.Errorf("%s: got %d packets, %d bytes of %d", tc.class, in.Packets, in.BytesIn, sent)
				}
				if d := time.Duration(in.Detected - dawn.UnixNano()); d < t0 || d > t0+6*sec || times > 1 && d > t0+4*sec {
					t.Errorf("%s, %g times: detected after %v", tc.class, times, d-t0)
				}
				if e := time.Duration(in.End - dawn.UnixNano()); e < t0+long-sec || e > t0+long+2*sec || in.Level != Alert {
					t.Errorf("%s: %s until %v, want an alert until %v", tc.class, in.Level, e, t0+long)
				}
			}
			if len(found) != 1 || found[0] != "other_flood "+tc.target {
				t.Errorf("%s, %g times: got %q, want other_flood at %s", tc.class, times, found, tc.target)
			}
		}
	}
	all.compare(t, "others.txt")
}

// TestOthersOfFew: below the rate of a flood from many, few sources that are faster than clients are one, and a
// reflection if the server sends them more than it gets from ever new ports; people who share an address, a
// panel that asks many servers, and a crowd are none.
func TestOthersOfFew(t *testing.T) {
	const last, long = 140 * sec, 15 * sec
	ask := strange{what: track.IsOther, class: 1, bytes: 30, size: 58}
	answer := strange{what: track.IsOther, class: 2, bytes: 900, size: 928}
	for _, tc := range []struct {
		says    string
		sources int
		ports   int // of each: 0: ever new ones
		servers int
		want    string
	}{
		{"two victims", 2, 0, 1, "reflection"},
		{"one bot", 1, 1, 1, "other_flood"},
		{"forty people at one address", 1, 40, 1, ""},
		{"forty people", 40, 1, 1, ""},
		{"a panel of forty servers", 1, 1, 40, ""},
	} {
		w := newOtherWorld(1, last)
		w.daily(w.server(usual, 27015), 2, last)
		host := w.parse(usual)
		w.every(40, t0, t0+long, func(i int) {
			c, port := w.client(70_000+i%tc.sources).host, uint16(20_000+i)
			if tc.ports > 0 {
				port = uint16(20_000 + i%tc.ports)
			}
			at := uint16(27960 + i%tc.servers)
			w.pass(c, port, host, at, ask)
			w.pass(host, at, c, port, answer)
		})
		w.run(last)
		got := ""
		for _, in := range w.incidents {
			got += in.Kind.String()
			if d := time.Duration(in.Detected - dawn.UnixNano()); d > t0+6*sec || in.Level != Alert {
				t.Errorf("%s: %s detected after %v", tc.says, in.Level, d-t0)
			}
			if amp := in.Feature("amp"); amp < 29 || amp > 31 || in.BytesOut < 400_000 || in.BytesOut > 600*900 {
				t.Errorf("%s: %g times, %d bytes out, want 30 times and 540,000", tc.says, amp, in.BytesOut)
			}
		}
		if got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.says, got, tc.want)
		}
	}
}

// TestOthersTogether: what belongs to a flood that is found is not another one.
func TestOthersTogether(t *testing.T) {
	const last = 150 * sec
	var sent uint64
	for _, tc := range []struct {
		name, want string
		play       func(w *world)
	}{
		{"who was forged resets what a SYN flood began", "other_flood tcp_syn alert", func(w *world) {
			host := w.parse(usual)
			w.every(12_000, t0, t0+10*sec, func(int) {
				h, port := w.anywhere(), w.port()
				w.connect(h, port, 27015, false)
				w.pass(h, port, host, 27015, strange{what: track.IsOther, tcp: true, size: 40})
			})
		}},
		{"bots complete what they begin", "other_flood tcp_syn warn", func(w *world) {
			w.every(1500, t0, t0+10*sec, func(i int) { w.connect(w.client(i%300).host, uint16(1024+i/300), 80, true) })
		}},
		{"fragments of an amplifier's replies", "other_flood amplified_dns alert", func(w *world) {
			host := w.parse(usual)
			w.every(1200, t0, t0+10*sec, func(i int) {
				h := w.anywhere()
				w.pass(h, 53, host, 80, strange{what: track.IsFragment, detail: packet.ProtoUDP, flags: track.First, key: uint32(i), bytes: 1480, size: 1500})
				w.pass(h, 0, host, 0, strange{what: track.IsFragment, detail: packet.ProtoUDP, key: uint32(i), bytes: 1480, size: 1500})
				w.pass(h, 53, host, 80, strange{what: track.IsOther, flags: track.Joined, bytes: 2952, size: 3000})
			})
		}},
		{"reflectors of several kinds", "other_flood amplified alert", func(w *world) {
			for _, port := range []uint16{53, 123, 389} {
				w.flood(2000, t0, t0+10*sec, port, 27015, strange{what: track.IsOther, bytes: 900, size: 928}, &sent)
			}
		}},
		{"junk beside more queries", "flood_spoofed, junk_flood", func(w *world) {
			invent(w, w.server(usual, 27015), 3000, t0, t0+10*sec)
			w.flood(700, t0, t0+10*sec, 40_000, 27015, strange{what: track.IsOther, bytes: 1000, size: 1028}, &sent)
		}},
		{"connections to a console", "other_flood tcp_syn warn", func(w *world) {
			w.every(150, t0, t0+10*sec, func(i int) { w.connect(w.client(i%40).host, uint16(1024+i), 27015, true) })
		}},
		{"pulses of a second", "other_flood tcp_syn alert", func(w *world) {
			for i := range time.Duration(6) {
				w.flood(20_000, t0+i*10*sec, t0+i*10*sec+sec, 1, 27015, strange{what: track.IsOpened, tcp: true, size: 44}, &sent)
			}
		}},
		{"random bytes to a port that is watched", "junk_flood", func(w *world) {
			w.flood(3000, t0, t0+10*sec, 40_000, 27015, strange{what: track.IsOther, bytes: 100, size: 128}, &sent)
		}},
		{"two at the same time", "other_flood tcp_syn alert, other_flood icmp alert", func(w *world) {
			w.flood(2000, t0, t0+10*sec, 1, 27015, strange{what: track.IsOpened, tcp: true, size: 44}, &sent)
			w.flood(2000, t0+3*sec, t0+10*sec, 0, 0, strange{what: track.IsControl, detail: 8, size: 84}, &sent)
		}},
		{"ICMP errors about what the host never sent", "other_flood icmp alert", func(w *world) {
			host := w.parse(usual)
			w.every(1500, t0, t0+10*sec, func(int) { w.pass(host, 27015, w.anywhere(), 40_001, strange{what: track.IsUnreachable, size: 65}) })
		}},
	} {
		w := newOtherWorld(1, last)
		w.daily(w.server(usual, 27015), 4, last)
		w.players(4, 20, 0, last)
		tc.play(w)
		w.run(last)
		var found []string
		for _, in := range w.incidents {
			name := in.Kind.String()
			if in.Class != nil {
				name = fmt.Sprint(name, " ", in.Class.Name, " ", in.Level)
			}
			found = append(found, name)
		}
		if got := strings.Join(found, ", "); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
			w.logIncidents(t)
		}
		if tc.name == "pulses of a second" && len(w.incidents) == 1 {
			if in := w.incidents[0]; in.Pulses != 6 || in.Detected > dawn.UnixNano()+int64(t0+12*sec) {
				t.Errorf("%s: %d pulses, detected after %v", tc.name, in.Pulses, time.Duration(in.Detected-in.Start))
			}
		}
	}
}

// TestOthersBlind: where the host's own packets are not captured it takes ten times as many
// of what it may answer, and as many of what it does not.
func TestOthersBlind(t *testing.T) {
	const last = 150 * sec
	var sent uint64
	udp, syn := strange{what: track.IsOther, bytes: 100, size: 128}, strange{what: track.IsOpened, tcp: true, size: 44}
	for _, tc := range []struct {
		name string
		from time.Duration
		rate float64
		port uint16
		x    strange
		want int
	}{
		{"a crowd of players", t0, 9000, 0, udp, 0},
		{"more than players", t0, 15_000, 0, udp, 1},
		{"from ports that sent nothing before", t0, 1500, 1, udp, 1},
		{"that was there from the begin on", 0, 15_000, 40_000, udp, 0},
		{"connections", t0, 1500, 1, syn, 1},
		{"replies of many name servers", t0, 2500, 53, udp, 1},
	} {
		w := newOtherWorld(1, last)
		w.blind = true
		w.daily(w.server(usual, 27015), 2, last)
		if tc.port == 0 {
			host := w.parse(usual)
			w.every(tc.rate, tc.from, tc.from+20*sec, func(i int) { w.pass(w.client(50_000+i%150).host, 27005, host, 30_000, tc.x) })
		} else {
			w.flood(tc.rate, tc.from, tc.from+20*sec, tc.port, 30_000, tc.x, &sent)
		}
		w.run(last)
		if n := len(w.incidents); n != tc.want {
			t.Errorf("%s: got %d incidents, want %d", tc.name, n, tc.want)
		}
	}
}

// TestOthersSummed: what is said of a capture without floods agrees with what there was.
func TestOthersSummed(t *testing.T) {
	const last = 30 * sec
	var sent uint64
	w := newOtherWorld(1, last)
	w.daily(w.server(usual, 27015), 2, last)
	w.flood(400, 10*sec, 15*sec, 1, 27015, strange{what: track.IsOpened, tcp: true, size: 44}, &sent)
	w.run(last)
	total, peak, _ := w.d.Others()
	if total.Packets != sent || total.Bytes != sent*44 {
		t.Errorf("got %+v in all, want %d packets of 44 bytes", total, sent)
	}
	if peak.Packets < 399 || peak.Packets > 401 || peak.Class == nil || peak.Class.Name != "tcp_syn" || OtherTarget(&peak).String() != "tcp/"+usual+":27015" {
		t.Errorf("got %+v", peak)
	}
}

// TestCountOthersAt: what else came is of the hosts that are named.
func TestCountOthersAt(t *testing.T) {
	const last = 30 * sec
	var sent uint64
	for _, tt := range []struct {
		named string
		want  float64 // share of what was sent
	}{{usual, 1}, {"203.0.113.5", 0}} {
		sent = 0
		w := newOtherWorld(1, last)
		w.d.CountOthersAt(func(a netip.Addr) bool { return a.String() == tt.named })
		w.daily(w.server(usual, 27015), 2, last)
		w.daily(w.server("203.0.113.5", 27015), 2, last)
		w.players(5, 20, 0, last)
		w.flood(400, 10*sec, 15*sec, 1, 27015, strange{what: track.IsOpened, tcp: true, size: 44}, &sent)
		w.run(last)
		total, peak, sessions := w.d.Others()
		if float64(total.Packets) < tt.want*float64(sent) || tt.want == 0 && total.Packets+peak.Packets+sessions > 0 {
			t.Errorf("%s\ngot  %+v in all, %+v at most, %d of sessions\nwant what came to it", tt.named, total, peak.Traffic, sessions)
		}
	}
}

// TestOthersForget: floods at more hosts than there is room for grow nothing, and what is
// left out is told.
func TestOthersForget(t *testing.T) {
	w := newOtherWorld(1, 60*sec)
	x := strange{what: track.IsOpened, tcp: true, size: 44}
	for i := range 200 {
		w.every(100, time.Duration(i)*time.Millisecond, 20*sec, func(n int) {
			w.pass(w.anywhere(), w.port(), w.ip(uint32(10<<24+i)), 27015, x)
		})
	}
	w.run(60 * sec)
	if full := strings.Join(w.d.FullTables(), ", "); !strings.Contains(full, "hosts that get more than queries") {
		t.Errorf("got %q", full)
	}
}

// A flood of anything costs no memory once it is under way.
func TestOthersAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	d := New(Defaults(), 1, nil)
	d.Know([]uint16{27015}, otherGame)
	r := rand.New(rand.NewPCG(3, 3))
	n := int64(0)
	types := []track.PacketType{track.IsOpened, track.IsAcked, track.IsOther, track.IsFragment, track.IsControl, track.IsCarried, track.IsJunk}
	var s track.Sighting
	play := func(packets int) {
		for range packets {
			s = track.Sighting{Frame: uint64(n), Age: dawn.UnixNano() + n*50_000, Nanos: dawn.UnixNano() + n*50_000, Src: anyHost(r), SrcPort: uint16(n),
				Dst: v4(198, 51, 100, 17), DstPort: 27015, What: types[n%int64(len(types))], Wire: 100, Foreign: uint8(n % 3)}
			if s.What == track.IsOpened || s.What == track.IsAcked {
				s.Flags = track.Connection
			}
			s.FillHashes(seed)
			d.Sight(&s)
			n++
		}
	}
	play(400_000)
	if got := testing.AllocsPerRun(5, func() { play(60_000) }); got != 0 {
		t.Errorf("got %v allocations in three seconds, want 0", got)
	}
	if len(d.others.open) < 3 {
		t.Errorf("only %d floods are open", len(d.others.open))
	}
}

// TestOtherClasses: names are unique and fit into a command line, and each class says why
// its limit is what it is.
func TestOtherClasses(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range other.Classes(otherGame) {
		if seen[c.Name] || strings.Trim(c.Name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("%q is no name, or there twice", c.Name)
		}
		seen[c.Name] = true
		isOfGame := strings.HasSuffix(c.Name, "_toy")
		if c.Least <= 0 || c.Why == "" || c.Says == "" || c.Means == "" || len(c.Advice) == 0 || c.Source == "" && !isOfGame {
			t.Errorf("%+v", c)
		}
	}
}
