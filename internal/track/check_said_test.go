package track

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// saying is what the server at 198.18.0.port says after some seconds: information, or a list.
type saying struct {
	at     float64
	server byte
	said   Said
	step   Step // Answer if it is not set
}

func info(at float64, server byte, players, bots int32) saying {
	return saying{at: at, server: server, said: Said{Players: players, Max: 24, Bots: bots, TagPlayers: -1, List: PlayerList{Counted: -1}}}
}

// list is a list of n players who have been there between some seconds. times is the hash of these.
func list(at float64, server byte, n int32, shortest, longest float64, times uint64) saying {
	return saying{at: at, server: server, said: Said{Players: -1, Max: -1, Bots: -1, TagPlayers: -1, List: PlayerList{
		Counted: n, Listed: n, Named: n, Timed: n, Names: 77, Times: times, Shortest: int64(shortest * 1e9), Longest: int64(longest * 1e9)}}}
}

// with returns a changed copy of a.
func (a saying) with(change func(s *Said)) saying {
	change(&a.said)
	return a
}

// raised returns what hosts raise of answers: codes, severities and frames.
func raised(x *Hosts, answers []saying) string {
	var out []string
	x.Raise = func(r *Raised) {
		out = append(out, fmt.Sprint(r.Expert.Code.ID, " ", r.Expert.Severity, " ", r.Frames, " ", string(r.Expert.AppendText(nil))))
	}
	for i, a := range answers {
		step := a.step
		if step == NoStep {
			step = Answer
		}
		age := 1e18 + int64(a.at*1e9)
		kind := byte('I')
		if a.said.List.Counted >= 0 {
			kind = 'D'
		}
		x.AddFact(&Fact{Frame: uint64(i + 1), Age: age, Nanos: age, Reply: true, Type: testKinds[kind], Proto: &testProto, Part: Part{Step: step}, Said: &a.said,
			Server: netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, a.server}), 27015)})
	}
	return strings.Join(out, ", ")
}

// times repeats what at makes of a time, n times every few seconds.
func times(n int, every float64, at func(t float64) []saying) (all []saying) {
	for i := range n {
		all = append(all, at(float64(i)*every)...)
	}
	return all
}

func TestContradictions(t *testing.T) {
	both := func(every float64, n int, players, bots, listed int32) []saying {
		return times(n, every, func(t float64) []saying {
			return []saying{info(t, 1, players, bots), list(t+1, 1, listed, 5+t, 900+t, uint64(t))}
		})
	}
	tags := func(every float64, n int, players, inTags int32) []saying {
		return times(n, every, func(t float64) []saying {
			return []saying{info(t, 1, players, 0).with(func(s *Said) { s.TagPlayers = inTags })}
		})
	}
	still := func(n int, longest float64) []saying {
		return times(n, 60, func(t float64) []saying { return []saying{list(t, 1, 3, 0.5, longest, 9)} })
	}
	joint := func(listed, bots int32, spread, longest float64) []saying {
		return times(2, 60, func(t float64) []saying {
			return []saying{info(t, 1, listed, bots), list(t, 1, listed, t+longest-spread, t+longest, uint64(t))}
		})
	}
	ids := func(id uint64, every float64) (all []saying) {
		for i := range 5 {
			all = append(all, info(every*float64(i), byte(1+i%4), 3, 0).with(func(s *Said) { s.ID = id }))
		}
		return all
	}
	same := func(players, bots int32, n int) []saying {
		return times(n, 72, func(t float64) []saying { return []saying{info(t, 1, players, bots)} })
	}
	lists := func(bots int32, n byte, names func(i int) uint64) (all []saying) {
		for i := range int(n) {
			all = append(all, info(0, byte(1+i), 5, bots),
				list(1, byte(1+i), 5, 5, 900, uint64(i)).with(func(s *Said) { s.List.Names = names(i) }))
		}
		return all
	}
	one := func(int) uint64 { return 7 }
	const shown = "LIE-03 warn [1 6] 20 players by the count, and in the list 3"
	for _, tc := range []struct {
		name string
		in   []saying
		want string
	}{
		{"counts", both(5, 3, 20, 0, 3), shown},
		{"counts, once", both(5, 9, 20, 0, 3), shown},
		{"list before the information", times(3, 5, func(t float64) []saying {
			return []saying{list(t, 1, 3, 5+t, 900, uint64(t)), info(t+1, 1, 20, 0)}
		}), shown},
		{"counts, twice", both(10, 2, 20, 0, 3), ""},
		{"counts, quickly", both(2.5, 3, 20, 0, 3), ""},
		{"counts that differ by 2", both(5, 9, 5, 0, 3), ""},
		{"bots that are not listed", both(5, 9, 20, 15, 3), ""},
		{"more listed than counted, bots", both(5, 9, 3, 15, 20), ""},
		{"more listed than counted", both(5, 3, 4, 0, 20), "LIE-03 warn [1 6] 4 players by the count, and in the list 20"},
		{"a byte is full", both(5, 9, 255, 0, 3), ""},
		{"players join", append(append(both(5, 2, 20, 0, 3), info(11, 1, 20, 0), list(12, 1, 20, 1, 900, 5)), both(5, 2, 20, 0, 3)...), ""},
		{"the list counts those who join", times(9, 5, func(t float64) []saying {
			return []saying{info(t, 1, 20, 0), list(t+1, 1, 3, 5+t, 900+t, uint64(t)).with(func(s *Said) { s.List.Counted = 20 })}
		}), ""},
		{"three seconds between", times(9, 10, func(t float64) []saying {
			return []saying{info(t, 1, 20, 0), list(t+3, 1, 3, 5+t, 900+t, uint64(t))}
		}), ""},
		{"another server", times(9, 5, func(t float64) []saying {
			return []saying{info(t, 1, 20, 0), list(t+1, 2, 3, 5+t, 900+t, uint64(t))}
		}), ""},
		{"nobody asked", times(9, 5, func(t float64) []saying {
			a, b := info(t, 1, 20, 0), list(t+1, 1, 3, 5+t, 900+t, uint64(t))
			a.step, b.step = Stray, Stray
			return []saying{a, b}
		}), ""},
		{"an empty list", both(5, 9, 20, 0, 0), "LIE-09 note [1 6] 20 players by the count, and in the list 0"},
		{"an empty server", both(5, 9, 0, 0, 0), ""},
		{"tags", tags(30, 3, 20, 60), "LIE-03 warn [1 3] 20 players by the count, and by the tags 60"},
		{"tags, late", tags(20, 3, 20, 60), ""},
		{"tags that differ by 2", tags(30, 9, 20, 22), ""},
		{"tags with more than a byte", tags(30, 9, 44, 300), ""},
		{"times stand still", still(4, 900), "LIE-04 note [2 4] the times of all 3 players stand still for 120 s"},
		{"times stand still for a minute", still(3, 900), ""},
		{"one second for everybody", still(9, 1), ""},
		{"times go on", times(9, 60, func(t float64) []saying { return []saying{list(t, 1, 3, t, 900+t, uint64(t))} }), ""},
		{"joint", joint(8, 0, 1.5, 900), "LIE-05 note [2 4] all 8 players came at the same moment, before 958 s"},
		{"joint, bots", joint(8, 8, 1.5, 900), ""},
		{"joint, bots unknown", joint(8, -1, 1.5, 900), ""},
		{"one list, bots unknown", lists(-1, 4, one), ""},
		{"joint, seven", joint(7, 0, 1.5, 900), ""},
		{"joint within half a minute", joint(8, 0, 20, 900), ""},
		{"joint, recently", joint(8, 0, 1.5, 500), ""},
		{"one id", ids(5, 60), "LIE-06 note [1 4] one id at 4 addresses or more, also at 198.18.0.3:27015"},
		{"one id, over hours", ids(5, 240), ""},
		{"no id", ids(0, 60), ""},
		{"the same count", same(12, 0, 103), "LIE-07 note [2 102] 12 players, neither more nor fewer, for 2h0m0s"},
		{"the same count for less", same(12, 0, 100), ""},
		{"the same count, a few", same(7, 0, 200), ""},
		{"the same count, bots", same(12, 6, 200), ""},
		{"the same count, full", same(23, 0, 200), ""},
		{"the same count, hibernating", same(0, 0, 200), ""},
		{"one list", lists(0, 4, one), "LIE-08 note [2 8] the same 5 players at 4 addresses or more, also at 198.18.0.3:27015"},
		{"one list at three", lists(0, 3, one), ""},
		{"one list of bots", lists(5, 4, one), ""},
		{"lists", lists(0, 4, func(i int) uint64 { return uint64(i) }), ""},
	} {
		if got := raised(NewHosts(1), tc.in); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}
