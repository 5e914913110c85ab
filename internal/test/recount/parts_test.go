package recount

import (
	"net/netip"
)

// types are the names of requests by the fifth byte.
var types = map[byte]string{'T': "A2S_INFO", 'U': "A2S_PLAYER", 'V': "A2S_RULES"}

// ofType returns the incident's packets of the type that an entry of kinds is about.
func (x *incident) ofType(v value) []*row {
	var list []*row
	for _, r := range x.list {
		name := "unknown"
		if r.what != junk {
			name = types[r.payload[4]]
		}
		if name == v.sibling("type").text() {
			list = append(list, r)
		}
	}
	return list
}

func checkType(x *incident, v value) {
	if len(x.ofType(v)) == 0 {
		x.t.Errorf("%s: by tshark no %s came", x.Kind, v.text())
	}
}

// checkOfType: forms are kept of the seconds shortly before the detection and of all later ones.
func checkOfType(x *incident, v value) {
	all := len(x.ofType(v))
	since := 0
	for _, r := range x.ofType(v) {
		if r.nanos >= x.Detected.UnixNano()-1e9 {
			since++
		}
	}
	if x.Pulses > 1 || x.Kind == "challenge_bypass" {
		since = 0
	}
	x.between(v, float64(since), float64(all+x.after()))
}

// checkShare: of all packets whose form was kept.
func checkShare(x *incident, v value) {
	all := 0
	for _, k := range x.Kinds {
		all += k.Packets
	}
	x.near(v, ratio(v.sibling("packets").int(), all), 1e-9)
}

// lengths returns the least and the greatest length of packets of a type.
func (x *incident) lengths(v value) [2]int {
	n := [2]int{1 << 20, 0}
	for _, r := range x.ofType(v) {
		n[0], n[1] = min(n[0], len(r.payload)), max(n[1], len(r.payload))
	}
	return n
}

func checkWithChallenge(x *incident, v value) {
	n := 0
	for _, r := range x.ofType(v) {
		if r.key != "" {
			n++
		}
	}
	x.near(v, ratio(n, len(x.ofType(v))), 0.01)
}

// checkVerified: a source is proven that brought a challenge back before the window was over; a
// connection proves an address as well.
func checkVerified(x *incident, v value) {
	if x.Kind == "rcon_bruteforce" {
		x.same(v, true)
		return
	}
	at := x.provenAt(v)
	x.same(v, at != 0 && at < x.window().to)
}

// provenAt returns when a source brought a challenge back to a server of the target; 0: never.
func (x *incident) provenAt(v value) int64 {
	a := netip.MustParseAddr(v.sibling("address").text())
	for p, nanos := range x.c.proven {
		if p.client == a && x.isTarget(p.server) {
			return nanos
		}
	}
	return 0
}

// checkPorts: a bitmap counts them, which is exact while they are few, and with a standard error of 5 % at a hundred.
func checkPorts(x *incident, v value) {
	list := x.of(v.sibling("address").text())
	port := func(r *row) uint16 { return r.src.Port() }
	if x.Kind == "reply_flood_victim" {
		port = func(r *row) uint16 { return r.dst.Port() }
	}
	if x.Kind == "rcon_bruteforce" || list[0].src.Port() == 0 {
		x.same(v, 0)
		return
	}
	// Of a source that was evicted and came again, the ports of the last time are there.
	low, n := 1.0, distinct(list, port)
	if v.sibling("count_low").int() == v.sibling("count_high").int() {
		low = float64(n) - max(1, 0.15*float64(n))
	}
	x.between(v, low, min(v.sibling("count_high").number(), float64(n)+max(1, 0.15*float64(n))))
}

func checkTTL(x *incident, v value) {
	list := x.of(v.sibling("address").text())
	if countBy(list, func(r *row) int { return r.ttl })[v.int()] == 0 {
		x.t.Errorf("%s: by tshark no packet of %s has time to live %d", x.Kind, v.sibling("address").text(), v.int())
	}
}

// ofPrefix returns the packets of a network in the incident and the window before it.
func (x *incident) ofPrefix(v value) []*row {
	n := netip.MustParsePrefix(v.sibling("prefix").text())
	var list []*row
	for _, r := range x.within(x.panes()) {
		if n.Contains(r.src.Addr()) {
			list = append(list, r)
		}
	}
	return list
}

// challenges counts the challenges that the servers of the target gave, and those of them that were brought
// back, each once.
func (x *incident) challenges() (given, returned int) {
	waits := map[pair]int{}
	for i := range x.c.rows {
		r := &x.c.rows[i]
		switch p := (pair{r.src, r.dst.Addr()}); {
		case r.nanos >= x.whole.to+3e9:
		case r.what == challenged && x.isTarget(r.src) && r.nanos >= x.whole.from && r.nanos < x.whole.to:
			given++
			waits[p]++
		case r.what == echo && x.isTarget(r.dst) && waits[pair{r.dst, r.src.Addr()}] > 0:
			waits[pair{r.dst, r.src.Addr()}]--
			returned++
		}
	}
	return given, returned
}

// givenLow and givenHigh are the bounds of how many challenges an incident may name: between its pulses
// those of clients are left out, and its first and last second are whole ones.
func (x *incident) givenLow() float64 {
	given, _ := x.challenges()
	if x.Pulses > 1 {
		return float64(given)/2 - 10
	}
	return 0.9*float64(given) - 10
}

func (x *incident) givenHigh() float64 {
	given, _ := x.challenges()
	return 1.05*float64(given) + 10
}

func checkChallenged(x *incident, v value) { x.between(v, x.givenLow(), x.givenHigh()) }

func checkCompletion(x *incident, v value) {
	_, returned := x.challenges()
	if n := v.sibling("challenged").number(); n > 0 {
		least := float64(returned)
		if x.Pulses > 1 {
			least /= 2
		}
		x.between(v, (0.9*least-10)/n, min(1, (1.05*float64(returned)+10)/n))
	}
}

// answeredGuesses returns the replies with data to an address and port that had sent a guess
// last.
func (x *incident) answeredGuesses() []*row {
	var list []*row
	last := map[netip.AddrPort]what{}
	for i := range x.c.rows {
		switch r := &x.c.rows[i]; {
		case x.isTarget(r.dst) && r.what.isRequest():
			last[r.src] = r.what
		case x.isTarget(r.src) && r.what == data && last[r.dst] == guess:
			list = append(list, r)
		}
	}
	return list
}

// checkLeak: the first guess of an address may be a challenge from before the capture, and its
// answer no leak.
func checkLeak(of func(*row) int) func(x *incident, v value) {
	return func(x *incident, v value) {
		all := x.answeredGuesses()
		want := sum(all, of)
		x.between(v, 0.85*float64(want), float64(want))
	}
}

// checkReceiver: the counts of a receiver are since it was among the busiest.
func checkReceiver(of func(*row) int) func(x *incident, v value) {
	return func(x *incident, v value) {
		n := 0
		for _, r := range x.answeredGuesses() {
			if r.dst.Addr() == netip.MustParseAddr(v.sibling("address").text()) {
				n += of(r)
			}
		}
		x.between(v, 1, float64(n))
	}
}
