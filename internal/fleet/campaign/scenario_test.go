package campaign

import (
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/internal/flood"
	"qsniff/internal/track"
)

const (
	sec = time.Second
	// calm is how long hosts are watched before something happens.
	calm = 90 * sec
)

// scenario is what happens to a fleet, and the one campaign that must be found; none if how is empty.
type scenario struct {
	name    string
	play    func(w *world)
	how     How
	kinds   []flood.Kind
	servers int
	// quietHosts: no host finds anything but notes.
	quietHosts bool
	// raised: so many servers get much more than usual in a window, though it is no attack.
	raised int
}

var scenarios = []scenario{
	{name: "carpet of forged addresses", how: Carpet, kinds: []flood.Kind{flood.FloodSpoofed}, servers: 16, quietHosts: true,
		play: func(w *world) { w.run(60*sec, func() { w.carpet(8, w.forged) }) }},
	{name: "carpet of a botnet", how: Carpet, kinds: []flood.Kind{flood.FloodSpoofed, flood.FloodDistributed}, servers: 16, quietHosts: true,
		play: func(w *world) {
			w.run(60*sec, func() { w.carpet(8, func() track.Host { return w.bot(1, 3000) }) })
		}},
	{name: "a carpet of one window", quietHosts: true, raised: 16, play: func(w *world) {
		w.run(10*sec, func() { w.carpet(8, w.forged) })
	}},
	{name: "carpet of junk", how: Carpet, kinds: []flood.Kind{flood.JunkFlood}, servers: 16, quietHosts: true,
		play: func(w *world) {
			w.run(60*sec, func() { w.everyServer(func(h *host, s int) { h.junk(8, h.servers[s]) }) })
		}},
	{name: "carpet of junk at three hosts", how: Carpet, kinds: []flood.Kind{flood.JunkFlood}, servers: 3, quietHosts: true,
		play: func(w *world) { w.run(60*sec, func() { w.junkAtThree(9) }) }},
	{name: "carpet of junk, half of the servers busy", how: Carpet, kinds: []flood.Kind{flood.JunkFlood}, servers: 8, quietHosts: true,
		play: func(w *world) {
			w.run(60*sec, func() {
				w.everyServer(func(h *host, s int) {
					h.junk(8, h.servers[s])
					for range w.times(10 * float64(s)) {
						h.visit(person(w.r.Uint32N(40_000)), h.servers[s])
					}
				})
			})
		}},
	{name: "some junk everywhere, more at three hosts", quietHosts: true, raised: 3, play: func(w *world) {
		w.run(60*sec, func() {
			w.everyServer(func(h *host, s int) { h.junk(3.5, h.servers[s]) })
			w.junkAtThree(5.5)
		})
	}},
	{name: "junk at one server", raised: 1, play: func(w *world) {
		w.run(60*sec, func() { w.hosts[0].junk(60, w.hosts[0].servers[0]) })
	}},
	{name: "players join at all servers", quietHosts: true, raised: 16, play: func(w *world) {
		w.run(60*sec, func() {
			w.everyServer(func(h *host, s int) {
				for range w.times(6) {
					h.visit(person(w.r.Uint32N(40_000)), h.servers[s])
					h.join(person(w.r.Uint32N(40_000)), h.servers[s])
				}
			})
		})
	}},
	{name: "players come back to all servers", quietHosts: true, play: func(w *world) {
		w.run(20*sec, func() {
			w.everyServer(func(h *host, s int) {
				for range w.times(1.6) {
					h.join(person(w.r.Uint32N(40_000)), h.servers[s])
				}
			})
		})
	}},
	{name: "a monitor of one's own asks too often everywhere", play: func(w *world) {
		w.run(60*sec, func() {
			w.everyServer(func(h *host, s int) {
				for range w.times(40) {
					h.visit(ownTool, h.servers[s])
				}
			})
		})
		for _, h := range w.hosts {
			if !slices.Equal(h.found, []string{"own_tool_storm", "own_tool_storm"}) {
				w.t.Errorf("%s found %v", h.name, h.found)
			}
		}
	}},
	{name: "calm", play: func(w *world) { w.run(60*sec, nil) }, quietHosts: true},
	{name: "a crowd after an update", quietHosts: true, raised: 16, play: func(w *world) {
		w.run(60*sec, func() {
			for _, h := range w.hosts {
				for _, s := range h.servers {
					for range w.times(10) {
						h.visit(person(w.r.Uint32N(40_000)), s)
					}
				}
			}
		})
	}},
	{name: "list refreshes of monitors", quietHosts: true, raised: 16, play: func(w *world) {
		i := 0
		w.run(90*sec, func() {
			if i++; i%400 > 20 { // a second in twenty
				return
			}
			for m := range uint32(2) {
				w.everyServer(func(h *host, s int) { h.visit(address(0x2e000000+m+uint32(i%20)<<8), h.servers[s]) })
			}
		})
	}},
	{name: "a survey", quietHosts: true, play: func(w *world) {
		i := 0
		w.run(60*sec, func() {
			h := w.hosts[i%len(w.hosts)]
			if i < 2*len(w.hosts) {
				h.visit(address(0x2f000001), h.servers[i/len(w.hosts)])
			}
			i++
		})
	}},
	{name: "two attacks at a time", play: func(w *world) {
		w.run(60*sec, func() {
			for range w.times(300) {
				w.hosts[0].flood(w.forged(), w.hosts[0].servers[0])
			}
			for range w.times(200) {
				w.hosts[5].flood(address(0x2e010101+w.r.Uint32N(3)), w.hosts[5].servers[1])
			}
		})
	}},
	{name: "two botnets, and clients that share an address", play: func(w *world) {
		w.run(60*sec, func() {
			for i := range 2 {
				h := w.hosts[3*i]
				for range w.times(600) {
					h.flood(w.bot(uint64(10+i), 100), h.servers[0])
				}
				for range w.times(5) {
					h.visit(address(0x2e020202), h.servers[0])
				}
			}
		})
	}},
	{name: "the same bots at two hosts", how: SameSources, kinds: []flood.Kind{flood.FloodSpoofed, flood.FloodDistributed}, servers: 2, play: func(w *world) {
		w.run(60*sec, func() {
			for _, i := range []int{1, 6} {
				for range w.times(600) {
					w.hosts[i].flood(w.bot(1, 100), w.hosts[i].servers[0])
				}
			}
		})
	}},
	{name: "one address at two hosts", how: SameSources, kinds: []flood.Kind{flood.FloodFew}, servers: 2, play: func(w *world) {
		w.run(60*sec, func() {
			for _, i := range []int{1, 6} {
				for range w.times(100) {
					w.hosts[i].flood(address(0x2e010101), w.hosts[i].servers[0])
				}
			}
		})
	}},
	{name: "bots that walk", how: Walk, kinds: []flood.Kind{flood.FloodSpoofed, flood.FloodDistributed}, servers: 3, play: func(w *world) {
		for i := range 3 {
			w.run(40*sec, func() {
				for range w.times(600) {
					w.hosts[2*i].flood(w.bot(1, 100), w.hosts[2*i].servers[0])
				}
			})
		}
	}},
	{name: "forged addresses that walk", how: Walk, kinds: []flood.Kind{flood.FloodSpoofed}, servers: 4, play: func(w *world) {
		for i := range 4 {
			w.run(40*sec, func() {
				for range w.times(300) {
					w.hosts[2*i].flood(w.forged(), w.hosts[2*i].servers[0])
				}
			})
		}
	}},
	{name: "forged addresses at four hosts at once", how: SameShape, kinds: []flood.Kind{flood.FloodSpoofed}, servers: 4, play: func(w *world) {
		w.run(60*sec, func() {
			for i := range 4 {
				for range w.times(300) {
					w.hosts[2*i].flood(w.forged(), w.hosts[2*i].servers[0])
				}
			}
		})
	}},
	{name: "the same reflectors", how: Reflectors, kinds: []flood.Kind{flood.ReplyFloodVictim}, servers: 2, play: func(w *world) {
		w.run(60*sec, func() { w.reflect(0, 1, 300); w.reflect(4, 1, 300) })
	}},
	{name: "other reflectors", play: func(w *world) {
		w.run(60*sec, func() { w.reflect(0, 1, 300); w.reflect(4, 2, 300) })
	}},
}

// carpet sends so many queries a second to each server.
func (w *world) carpet(rate float64, source func() track.Host) {
	w.everyServer(func(h *host, s int) {
		for range w.times(rate) {
			h.flood(source(), h.servers[s])
		}
	})
}

// junkAtThree sends junk to a server of each of three hosts.
func (w *world) junkAtThree(rate float64) {
	for _, h := range w.hosts[:3] {
		h.junk(rate, h.servers[0])
	}
}

func (w *world) everyServer(f func(h *host, server int)) {
	for _, h := range w.hosts {
		for s := range h.servers {
			f(h, s)
		}
	}
}

// reflect has reflectors of a set answer what the host did not ask.
func (w *world) reflect(i int, set uint64, rate float64) {
	h := w.hosts[i]
	for range w.times(rate) {
		x := track.Sighting{What: track.IsReply, TTL: 50, Bytes: 1200, Wire: 1228, Type: w.types["S2A_INFO_SRC"], Proto: w.proto,
			Src: w.bot(100+set, 200), SrcPort: 27015, Dst: track.HostOf(h.servers[0]), DstPort: 27015}
		x.Asks = x.Type.Asks
		h.see(x)
	}
}

// messages returns the fleet after a scenario, with its messages.
func (sc *scenario) messages(t testing.TB) *world {
	w := newWorld(t, 8)
	w.run(calm, nil)
	sc.play(w)
	w.run(2*time.Minute, nil)
	return w
}

func TestScenarios(t *testing.T) {
	for _, sc := range scenarios {
		t.Run(sc.name, func(t *testing.T) {
			w := sc.messages(t)
			for _, h := range w.hosts {
				if sc.quietHosts && len(h.found) > 0 {
					t.Errorf("%s found %v by itself", h.name, h.found)
				}
			}
			x := deliver(w.log)
			x.check(t, &sc, 40*sec)
			raised := 0
			for _, w := range x.engine.Windows() {
				raised = max(raised, w.Raised)
			}
			if raised < sc.raised {
				t.Errorf("%d servers are raised, less than %d", raised, sc.raised)
			}
			if t.Failed() {
				for _, h := range w.hosts {
					t.Logf("%s found %v", h.name, h.found)
				}
				t.Logf("told:\n%s", strings.Join(x.lines(), "\n"))
			}
		})
	}
}

// check compares what was told with what had to be, within a time.
func (x *told) check(t *testing.T, sc *scenario, within time.Duration) {
	t.Helper()
	x.checkEvents(t)
	opened := slices.DeleteFunc(slices.Clone(x.campaigns), func(c Campaign) bool { return c.Event != "close" })
	if sc.how == "" {
		if len(opened) > 0 {
			t.Errorf("%d campaigns, where there is none", len(opened))
		}
		return
	}
	if len(opened) != 1 {
		t.Errorf("%d campaigns in place of one", len(opened))
		return
	}
	c := opened[0]
	if c.How != sc.how || !slices.Contains(sc.kinds, c.Kind()) || c.Servers != sc.servers || len(c.Members) != sc.servers {
		t.Errorf("got  %s %s of %d servers, %d of them listed\nwant %s %v of %d", c.How, c.Category, c.Servers, len(c.Members), sc.how, sc.kinds, sc.servers)
	}
	if from := time.Duration(c.Start-dawn) - calm; from.Abs() > 12*sec {
		t.Errorf("it starts %v after the attack", from)
	}
	if after := time.Duration(c.Detected-dawn) - calm; c.How != Walk && after > within {
		t.Errorf("it was detected after %v", after)
	}
	if c.Advice == "" || len(c.Evidence) < 2 || (c.Sources < 1) != (c.Kind() == flood.JunkFlood) || c.Requests == 0 {
		t.Errorf("something lacks: %+v", c)
	}
}

// checkEvents: each campaign is opened first and closed last, and no event is told twice.
func (x *told) checkEvents(t *testing.T) {
	t.Helper()
	numbers := map[string]uint64{}
	over := map[string]bool{}
	for _, c := range x.campaigns {
		numbers[c.ID]++
		if c.Number != numbers[c.ID] || over[c.ID] || (c.Event == "open") != (c.Number == 1) {
			t.Errorf("%s: event %d, the %d., is %q", c.ID, c.Number, numbers[c.ID], c.Event)
		}
		over[c.ID] = c.Event == "close"
	}
	for id := range numbers {
		if !over[id] {
			t.Errorf("%s was never closed", id)
		}
	}
}
