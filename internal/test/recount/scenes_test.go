package recount

import (
	"fmt"
	"net/netip"
	"time"

	"qsniff/internal/test/testpcap"
)

// scene is one capture: made here, or one of the repository.
type scene struct {
	name  string
	kinds []string // of the incidents that its report has
	build func(w *world)
}

var (
	clients = netip.MustParsePrefix("10.64.0.0/16")
	anybody = netip.MustParsePrefix("0.0.0.0/0")
	server  = netip.MustParseAddrPort("198.18.9.1:27015")
)

// scenes are the captures: those without a build are in pcapfiles/floods.
var scenes = []scene{
	{"spoofed", []string{"flood_spoofed"}, nil},
	{"reflection", []string{"reflection"}, nil},
	{"other-dns", []string{"other_flood"}, nil},
	{"other-syn", []string{"other_flood"}, nil},
	{"other-connect", []string{"other_flood"}, nil},
	{"guesses", []string{"challenge_bypass"}, buildGuesses},
	{"pulses", []string{"flood_spoofed"}, buildPulses},
	{"carpet", []string{"flood_spoofed"}, buildCarpet},
	{"console", []string{"rcon_bruteforce"}, buildConsole},
	{"single", []string{"flood_few"}, buildSingle},
	{"challenged", []string{"flood_distributed"}, buildChallenged},
	{"amplifier", []string{"open_amplifier"}, buildAmplifier},
	{"victim", []string{"reply_flood_victim"}, buildVictim},
	{"junk", []string{"junk_flood"}, buildJunk},
}

const second = time.Second

// buildGuesses: 29-byte requests with random challenges from 300 sources; the server
// answers one in 20 of them.
func buildGuesses(w *world) {
	w.ordinary(110*second, clients, server)
	from := netip.MustParsePrefix("203.0.113.0/24")
	n := 0
	every(150, 70*second+300*time.Millisecond, 90*second, func(at time.Duration) {
		c := w.client(from)
		w.udp(at, c, server, 243, info+w.token())
		if n++; n%20 == 0 {
			w.udp(at+time.Millisecond, server, c, 64, infoReply)
		}
	})
}

// buildPulses: a second of forged sources every 12 s.
func buildPulses(w *world) {
	w.ordinary(100*second, clients, server)
	for i := range 4 {
		from := time.Duration(40+12*i)*second + 400*time.Millisecond
		every(700, from, from+1200*time.Millisecond, func(at time.Duration) { w.udp(at, w.client(anybody), server, 243, info) })
	}
}

// buildCarpet: forged sources ask forty servers of a network.
func buildCarpet(w *world) {
	var servers []netip.AddrPort
	for i := range 40 {
		servers = append(servers, netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 9, byte(10 + i)}), 27015))
	}
	w.ordinary(70*second, clients, servers...)
	every(300, 40*second+200*time.Millisecond, 55*second, func(at time.Duration) {
		w.udp(at, w.client(anybody), servers[w.rng.IntN(len(servers))], 243, info)
	})
}

// buildConsole: a password after the other, from two addresses.
func buildConsole(w *world) {
	w.ordinary(60*second, clients, server)
	for i := range 60 {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 113, byte(1 + i%2)}), uint16(40000+i))
		w.login(20*second+time.Duration(i)*350*time.Millisecond, client, server, fmt.Sprintf("secret%d", i))
	}
}

// buildSingle: one source of IPv6 that never brings its challenge back.
func buildSingle(w *world) {
	six := netip.MustParseAddrPort("[2001:db8::1]:27015")
	w.ordinary(70*second, netip.MustParsePrefix("2001:db8:64::/48"), six)
	attacker := netip.MustParseAddrPort("[2001:db8:bad::7]:57147")
	every(400, 40*second+700*time.Millisecond, 55*second, func(at time.Duration) {
		w.udp(at, attacker, six, 52, info)
		w.udp(at+time.Millisecond, six, attacker, 64, challenge+w.token())
	})
}

// buildChallenged: 120 machines, of which each tenth request brings the challenge back; all
// are challenged, with the same token for each address.
func buildChallenged(w *world) {
	w.ordinary(80*second, clients, server)
	tokens := map[netip.Addr]string{}
	n := 0
	every(500, 40*second+100*time.Millisecond, 60*second, func(at time.Duration) {
		i := n % 120
		n++
		bot := netip.AddrPortFrom(netip.AddrFrom4([4]byte{byte(60 + i), 7, byte(i), 9}), uint16(1024+w.rng.IntN(60000)))
		if tokens[bot.Addr()] == "" {
			tokens[bot.Addr()] = w.token()
		}
		w.udp(at, bot, server, uint8(44+i%13), info)
		w.udp(at+time.Millisecond, server, bot, 64, challenge+tokens[bot.Addr()])
		if i < 12 {
			w.udp(at+time.Millisecond*3/2, bot, server, uint8(44+i%13), info+tokens[bot.Addr()])
			w.udp(at+time.Millisecond*9/5, server, bot, 64, infoReply)
		}
	})
}

// buildAmplifier: a server that sends its rules to anybody, in two parts.
func buildAmplifier(w *world) {
	reply := "\xff\xff\xff\xffE\x64\x00"
	for i := range 100 {
		reply += fmt.Sprintf("sv_setting_%d\x00%d\x00", i, i*i)
	}
	w.ordinary(60*second, clients, netip.MustParseAddrPort("198.18.9.2:27015"))
	n := uint32(0)
	every(5, 5*second, 55*second, func(at time.Duration) {
		c := w.client(clients)
		w.udp(at, c, server, 52, rules+"\xff\xff\xff\xff")
		n++
		for i, part := range testpcap.SplitSource([]byte(reply), n, 1200, true, false) {
			w.udp(at+time.Duration(5+i)*time.Millisecond, server, c, 64, string(part))
		}
	})
}

// buildVictim: replies of 300 servers to a host that asked one of them.
func buildVictim(w *world) {
	host := netip.MustParseAddrPort("198.18.9.77:80")
	for i := range 20 {
		w.visit(time.Duration(i)*second, netip.AddrPortFrom(host.Addr(), 40000), netip.MustParseAddrPort("192.0.2.1:27015"))
	}
	w.ordinary(70*second, clients, server)
	every(600, 40*second+250*time.Millisecond, 55*second, func(at time.Duration) {
		i := w.rng.IntN(300)
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{100 + byte(i/250), 99, byte(i), 7}), 27015)
		w.udp(at, from, host, 57, infoReply)
	})
}

// buildJunk: what begins like a query, and is none, from 200 sources.
func buildJunk(w *world) {
	w.ordinary(70*second, clients, server)
	from := netip.MustParsePrefix("203.0.113.0/25")
	every(300, 40*second+600*time.Millisecond, 55*second, func(at time.Duration) {
		body := make([]byte, 8+w.rng.IntN(40))
		for i := range body {
			body[i] = byte(w.rng.IntN(16)) + 0x90
		}
		w.udp(at, w.client(from), server, 243, "\xff\xff\xff\xff"+string(body))
	})
}
