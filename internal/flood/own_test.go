package flood

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/track"
)

// Tools of one's own in these tests: in IPv6 a /64.
const (
	toolAddr = "192.0.2.9"
	toolNet  = "192.0.2.0/24"
	toolNet6 = "2a00:c000:0:2::/64"
)

// tool is a program of one's own at the n-th address from toolAddr on.
func (w *world) tool(n uint32) client {
	return client{w.ip(0xc0000209 + n), 57, 40 * time.Millisecond}
}

// nameOwn has the detector know one's own tools.
func (w *world) nameOwn(t *testing.T, list string) {
	t.Helper()
	if w.six {
		list = toolNet6
	}
	names, err := hostset.ParseNetworks(list)
	if err != nil {
		t.Fatal(err)
	}
	w.d.SetOwn(names)
}

// storm has a tool ask rate times a second.
func (w *world) storm(c client, s *server, rate float64, completes bool, from, to time.Duration) {
	w.every(rate, from, to, func(int) { w.query(c, 40_000, s, dissect.AskInfo, completes) })
}

// TestOwnTools: what is a storm of one's own tools, and what is not.
func TestOwnTools(t *testing.T) {
	const from, to, last = t0, t0 + 40*sec, 240 * sec
	var all worlds
	for _, tc := range []struct {
		name   string
		list   string // of own tools; empty: toolNet
		play   func(w *world, s *server)
		want   []Kind // of warnings and alerts, in any order
		says   string // in the evidence of one of them
		silent string // in no evidence
	}{
		{name: "one tool", play: func(w *world, s *server) { w.storm(w.tool(0), s, 40, true, from, to) },
			want: kinds(OwnToolStorm), says: "is an address that --own names, and brought back challenges"},
		{name: "one tool by its address", list: toolAddr, play: func(w *world, s *server) { w.storm(w.tool(0), s, 40, true, from, to) },
			want: kinds(OwnToolStorm)},
		{name: "a tool that nobody named", list: "192.0.2.10", play: func(w *world, s *server) { w.storm(w.tool(0), s, 40, true, from, to) },
			want: kinds(FloodFew), silent: "--own"},
		{name: "a poller", play: func(w *world, s *server) { w.storm(w.tool(0), s, 18, true, from, to) }},
		{name: "pollers", play: func(w *world, s *server) {
			for i := range uint32(7) {
				w.storm(w.tool(i), s, 12, true, from+time.Duration(i)*7*time.Millisecond, to)
			}
		}},
		{name: "several tools", play: func(w *world, s *server) {
			for i := range uint32(9) {
				w.storm(w.tool(i), s, 14, true, from+time.Duration(i)*7*time.Millisecond, to)
			}
		}, want: kinds(OwnToolStorm)},
		{name: "with one address and many ports", play: func(w *world, s *server) {
			w.every(45, from, to, func(int) { w.query(w.tool(0), w.port(), s, dissect.AskInfo, true) })
		}, want: kinds(OwnToolStorm)},
		{name: "three questions, one of which is answered without a challenge", play: func(w *world, s *server) {
			s.isOpen = func(a dissect.Asked) bool { return a == dissect.AskInfo }
			w.every(12, from, to, func(int) { w.visit(w.tool(0), s, 3, time.Millisecond, true) })
		}, want: kinds(OwnToolStorm)},

		// Who forges the address of a tool.
		{name: "a forger", play: func(w *world, s *server) {
			w.storm(w.tool(0), s, 300, false, from, to)
		}, want: kinds(FloodFew), says: "it may be forged"},
		{name: "a forger, while the tool asks", play: func(w *world, s *server) {
			w.every(1, 0, last, func(int) { w.visit(w.tool(0), s, 3, time.Millisecond, true) })
			w.storm(w.tool(0), s, 300, false, from, to)
		}, want: kinds(FloodFew), says: "it may be forged"},
		{name: "a slow forger, while the tool asks", play: func(w *world, s *server) {
			w.every(2, 0, last, func(int) { w.visit(w.tool(0), s, 3, time.Millisecond, true) })
			w.storm(w.tool(0), s, 40, false, from, to+40*sec)
		}, want: kinds(FloodFew), says: "it may be forged"},
		{name: "a forger of what is answered without a challenge", play: func(w *world, s *server) {
			s.isOpen = func(a dissect.Asked) bool { return a == dissect.AskInfo }
			w.every(1, 0, last, func(int) { w.query(w.tool(0), 40_000, s, dissect.AskPlayers, true) })
			w.storm(w.tool(0), s, 100, false, from, to)
		}, want: kinds(FloodFew), says: "it may be forged"},
		{name: "a forger who guesses challenges", play: func(w *world, s *server) {
			w.every(1, 0, last, func(int) { w.query(w.tool(0), 40_000, s, dissect.AskInfo, true) })
			w.every(100, from, to, func(int) {
				s.take(request{from: w.tool(0).host, port: 40_000, ttl: 57, asks: dissect.AskInfo, key: w.r.Uint32() | 1}, nil)
			})
		}, want: kinds(ChallengeBypass), says: "it may be forged"},
		{name: "a forger of all addresses that are named", play: func(w *world, s *server) {
			w.every(600, from, to, func(i int) {
				w.query(w.tool(uint32(i%200)), w.port(), s, dissect.AskInfo, false)
			})
		}, want: kinds(FloodFew)},
		{name: "a forger where all get the same challenge", play: func(w *world, s *server) {
			s.isSame = true
			w.daily(s, 2, last)
			w.storm(w.tool(0), s, 40, true, from, to)
		}, want: kinds(FloodFew), says: "it may be forged"},
		{name: "a server without a challenge", play: func(w *world, s *server) {
			w.storm(w.tool(0), s.open(), 40, true, from, to)
		}, want: kinds(FloodFew), says: "it may be forged"},
		{name: "a tool that is refused", play: func(w *world, s *server) {
			w.storm(w.tool(0), s.limited(90, 30*sec), 40, true, from, to)
		}, want: kinds(FloodFew), says: "it may be forged"},

		// With others at the same time.
		{name: "and an attacker", play: func(w *world, s *server) {
			w.storm(w.tool(0), s, 40, true, from, to)
			w.storm(w.client(70_001), s, 300, false, from, to)
		}, want: kinds(OwnToolStorm, FloodFew)},
		{name: "and an attacker who is slower", play: func(w *world, s *server) {
			w.storm(w.tool(0), s, 400, true, from, to)
			w.storm(w.client(70_001), s, 40, true, from, to)
		}, want: kinds(OwnToolStorm, FloodFew)},
		{name: "and invented sources", play: func(w *world, s *server) {
			w.storm(w.tool(0), s, 40, true, from, to)
			invent(w, s, 4000, from+5*sec, to)
		}, want: kinds(OwnToolStorm, FloodSpoofed)},
		{name: "and a busy evening", play: func(w *world, s *server) {
			w.storm(w.tool(0), s, 40, true, from, to)
			n := 0
			w.poisson(20, from, to, func() { n++; w.visit(w.client(n), s, 1+n%3, 200*time.Millisecond, true) })
		}, want: kinds(OwnToolStorm)},
	} {
		for _, six := range []bool{false, true} {
			if six && (tc.list != "" || testing.Short() && tc.says == "") {
				continue
			}
			name := tc.name
			if six {
				name += "/IPv6"
			}
			t.Run(name, func(t *testing.T) {
				w := newWorld(1)
				w.six = six
				list := tc.list
				if list == "" {
					list = toolNet
				}
				w.nameOwn(t, list)
				s := w.server(usual, 27015)
				w.daily(s, .3, last)
				tc.play(w, s)
				w.run(last)
				w.checkOwn(t, tc.want, tc.says, tc.silent)
				if t.Failed() {
					w.logIncidents(t)
				}
				if !six {
					all.add(t.Name(), w)
				}
			})
		}
	}
	all.compare(t, "own.txt")
}

// checkOwn compares the warnings and alerts with those that are wanted.
func (w *world) checkOwn(t *testing.T, want []Kind, says, silent string) {
	t.Helper()
	for _, s := range w.absurd {
		t.Error(s)
	}
	var got []Kind
	hasSaid := says == ""
	for _, x := range w.incidents {
		evidence := evidenceText(x.Evidence)
		hasSaid = hasSaid || strings.Contains(evidence, says)
		if silent != "" && strings.Contains(evidence, silent) {
			t.Errorf("%s: %q in the evidence", x.Name(), silent)
		}
		if x.level >= Warn {
			got = append(got, x.Kind)
		}
		for _, s := range x.Top {
			if x.Kind == OwnToolStorm && !(x.Own.Has(s.Addr) && s.Verified) {
				t.Errorf("%s: %+v is not one's own, or not proven", x.Name(), s)
			}
		}
	}
	slices.Sort(got)
	if want = slices.Sorted(slices.Values(want)); !slices.Equal(got, want) {
		t.Errorf("warnings and alerts\ngot  %v\nwant %v", got, want)
	}
	if !hasSaid {
		t.Errorf("nothing says %q", says)
	}
}

// A tool that storms over a network is one incident of it.
func TestOwnStormOfNetwork(t *testing.T) {
	w := newWorld(1)
	w.nameOwn(t, toolNet)
	all := w.hoster(40, .05, 200*sec)
	for i, s := range all {
		w.storm(w.tool(0), s, 30, true, t0+time.Duration(i)*time.Millisecond, t0+40*sec)
	}
	w.run(200 * sec)
	w.checkOwn(t, kinds(OwnToolStorm), "", "")
	if x := w.incidents[len(w.incidents)-1]; x.Target.String() != networkOf(all[0]) || x.Servers != len(all) {
		t.Errorf("got  %s, %d servers\nwant %s, %d", x.Target, x.Servers, networkOf(all[0]), len(all))
	}
	if t.Failed() {
		w.logIncidents(t)
	}
}

// A storm is part of no attack's campaign, nor an attack of a storm's.
func TestOwnStormIsNoCampaign(t *testing.T) {
	w := newWorld(1)
	w.nameOwn(t, toolNet)
	s := w.server(usual, 27015)
	w.storm(w.client(70_001), s, 300, false, t0, t0+20*sec)
	w.storm(w.tool(0), s, 40, true, t0+200*sec, t0+240*sec)
	w.storm(w.client(70_001), s, 300, false, t0+400*sec, t0+420*sec)
	w.run(600 * sec)
	var got []uint64
	for _, x := range w.incidents {
		if x.level >= Warn {
			got = append(got, x.Campaign)
		}
	}
	if want := []uint64{1, w.incidents[1].ID, 1}; len(got) != 3 || got[0] != want[0] || got[2] != want[2] || got[1] == 1 {
		w.logIncidents(t)
		t.Errorf("campaigns\ngot  %v\nwant the first and the last in one", got)
	}
}

// Credit: each proof is worth so many requests, and no more than mostCredit are saved.
func TestOwnCredit(t *testing.T) {
	o := newOwn(&book{lim: Defaults()}, 1)
	o.names, _ = hostset.ParseNetworks(toolNet)
	packet := func(what track.PacketType, client string, key uint32) bool {
		s := &track.Sighting{What: what, Key: key, SrcPort: 40_000, DstPort: 27015}
		netSet(&s.Src, client)
		netSet(&s.Dst, usual)
		if key != 0 {
			s.Flags = track.HasKey
		}
		if what == track.IsChallenge {
			s.Src, s.SrcPort, s.Dst, s.DstPort = s.Dst, s.DstPort, s.Src, s.SrcPort
		}
		s.FillHashes(seed)
		if what == track.IsChallenge {
			o.recordChallenge(s)
			return o.takesReply(s)
		}
		return o.takeRequest(s)
	}
	taken := func(n int, client string, key uint32) (sum int) {
		for range n {
			if packet(track.IsRequest, client, key) {
				sum++
			}
		}
		return sum
	}
	check := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s\ngot  %d\nwant %d", what, got, want)
		}
	}
	check("without a proof", taken(10, toolAddr, 0), 0)
	check("with a guess", taken(10, toolAddr, 7), 0)
	packet(track.IsChallenge, toolAddr, 77)
	check("the first proof", taken(1, toolAddr, 77), 0)
	check("what it is worth", taken(10, toolAddr, 0), proofCredit)
	check("many proofs", taken(10*mostCredit, toolAddr, 77), 10*mostCredit-1)
	check("another address of the network", taken(10, "192.0.2.10", 77), 0)
	check("what they are worth", taken(10*mostCredit, toolAddr, 0), mostCredit)
	packet(track.IsChallenge, "203.0.113.5", 77) // a stranger gets the same
	check("a challenge that others have", taken(10, toolAddr, 77), 0)
	o.names = nil
	check("once nobody is named", taken(10, toolAddr, 77), 0)
}

func netSet(h *track.Host, a string) { *h = netip.MustParseAddr(a).As16() }

// Forged addresses of a large network of one's own make no table grow, and allocate nothing.
func TestOwnSteady(t *testing.T) {
	w := newWorld(1)
	w.nameOwn(t, "10.0.0.0/8")
	s := w.server(usual, 27015)
	n := uint32(0)
	var x track.Sighting
	forge := func() {
		n++
		x = track.Sighting{What: track.IsChallenge, Src: s.host, SrcPort: s.port, Dst: w.ip(0x0a000000 + n*7919%(1<<24)), DstPort: 1, Key: n, Flags: track.HasKey, Age: int64(n), Nanos: int64(n)}
		x.FillHashes(seed)
		w.d.Sight(&x)
		x.What, x.Src, x.SrcPort, x.Dst, x.DstPort, x.Asks = track.IsRequest, x.Dst, x.DstPort, x.Src, x.SrcPort, dissect.AskInfo
		w.d.Sight(&x)
	}
	for range 3 * ownPairs {
		forge()
	}
	if !slices.Contains(w.d.FullTables(), "tools of one's own") {
		t.Errorf("full tables: got %v", w.d.FullTables())
	}
	if got := testing.AllocsPerRun(2000, forge); got != 0 {
		t.Errorf("got  %g allocations\nwant none", got)
	}
}
