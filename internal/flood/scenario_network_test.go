package flood

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// hoster returns n servers of one network, each asked rate times a second on a usual day.
func (w *world) hoster(n int, rate float64, until time.Duration) []*server {
	var all []*server
	for i := range n {
		s := w.server(usual, 27015)
		s.host = w.ip(0xc6336440 + uint32(i))
		if rate > 0 {
			w.poisson(rate, 0, until, func() { w.visit(w.someone(), s, 1, 0, true) })
		}
		all = append(all, s)
	}
	return all
}

// networkOf is how incidents name the network of a server.
func networkOf(s *server) string {
	p := measure.Network(s.host)
	return Target{End: netip.AddrPortFrom(p.Addr(), s.port), Prefix: p}.String()
}

// carpet asks servers in turn in the name of random sources.
func carpet(w *world, all []*server, rate float64, from, to time.Duration) {
	w.every(rate, from, to, func(i int) {
		s := all[i%len(all)]
		s.take(request{from: w.anywhere(), port: uint16(w.r.IntN(65536)), ttl: 117, asks: dissect.AskInfo}, nil)
	})
}

// poll has probes ask each of the servers rate times a second.
func poll(w *world, all []*server, probes int, rate float64, completes bool, from, to time.Duration) {
	for p := range probes {
		c := w.client(96_000 + p)
		for i, s := range all {
			at := from + time.Duration(p)*23*time.Millisecond + time.Duration(i)*5*time.Millisecond
			w.every(rate, at, to, func(int) { w.query(c, uint16(34_000+i), s, dissect.AskInfo, completes) })
		}
	}
}

// carpets are attacks that are spread over the servers of a network, and what looks like it.
var carpets = []scenario{
	{name: "a carpet", last: 170 * sec, play: func(w *world) []attack {
		all := w.hoster(64, .05, 170*sec)
		carpet(w, all, 640, t0, t0+20*sec)
		return []attack{{kinds: kinds(FloodSpoofed), target: networkOf(all[0]), from: t0, to: t0 + 20*sec, within: 4 * sec, peak: 643, sources: 12_900}}
	}},
	{name: "a carpet of datagrams of no session", last: 170 * sec, both: true, play: func(w *world) []attack {
		all := w.hoster(80, .3, 170*sec)
		w.every(2000, t0, t0+15*sec, func(i int) {
			c, s := w.client(60_000+i%200), all[w.r.IntN(len(all))]
			w.see(track.Sighting{What: track.IsOther, Src: c.host, SrcPort: w.port(), Dst: s.host, DstPort: s.port, TTL: c.ttl, Bytes: 900, Print: w.r.Uint32()})
		})
		return []attack{{kinds: kinds(JunkFlood), target: networkOf(all[0]), from: t0, to: t0 + 15*sec, within: 6 * sec, peak: 2000, sources: 200}}
	}},
	{name: "neighbours that answer a victim in their network", last: 170 * sec, four: true, both: true, play: func(w *world) []attack {
		all := w.hoster(12, 1, 170*sec)
		victim := w.ip(0xc6336409)
		for _, s := range all {
			s.open()
		}
		w.every(600, t0, t0+20*sec, func(i int) { // a port of clients: only the routers in between tell
			all[i%len(all)].take(request{from: victim, port: 40_000, ttl: 243, asks: dissect.AskInfo}, nil)
		})
		return []attack{{kinds: kinds(Reflection), target: networkOf(all[0]), from: t0, to: t0 + 20*sec, within: 6 * sec, peak: 612}}
	}},
	{name: "servers that answer a victim at a server's port", last: 170 * sec, both: true, play: func(w *world) []attack {
		all := w.hoster(12, 1, 170*sec)
		for _, s := range all {
			s.open()
		}
		victim := w.client(70_021)
		w.every(600, t0, t0+20*sec, func(i int) {
			all[i%len(all)].take(request{from: victim.host, port: all[0].port, ttl: 53, asks: dissect.AskInfo}, nil)
		})
		return []attack{{kinds: kinds(Reflection), target: networkOf(all[0]), from: t0, to: t0 + 20*sec, within: 6 * sec, peak: 612}}
	}},
	{name: "a carpet that is thin", last: 170 * sec, play: func(w *world) []attack {
		all := w.hoster(64, .05, 170*sec)
		carpet(w, all, 96, t0, t0+30*sec)
		return []attack{{kinds: kinds(FloodSpoofed), target: networkOf(all[0]), from: t0, to: t0 + 30*sec, within: 12 * sec, peak: 99}}
	}},
	{name: "a carpet from the first packet", last: 120 * sec, play: func(w *world) []attack {
		all := w.hoster(64, 0, 0)
		carpet(w, all, 1280, 0, 20*sec)
		carpetEnd(w, all, 120*sec)
		return []attack{{kinds: kinds(FloodSpoofed), target: networkOf(all[0]), from: 0, to: 20 * sec, within: 4 * sec}}
	}},
	{name: "a carpet of bots", last: 170 * sec, play: func(w *world) []attack {
		all := w.hoster(40, .1, 170*sec)
		w.every(600, t0, t0+30*sec, func(i int) {
			c := w.client(50_000 + i%200)
			all[w.r.IntN(len(all))].take(request{from: c.host, port: w.port(), ttl: c.ttl, asks: dissect.AskInfo}, nil)
		})
		return []attack{{kinds: kinds(FloodDistributed, FloodSuspect), target: networkOf(all[0]), from: t0, to: t0 + 30*sec, within: 14 * sec, peak: 604}}
	}, both: true}, // with one direction, real machines that ask this little each look like clients
	{name: "a carpet over three ports", last: 170 * sec, both: true, play: func(w *world) []attack {
		var all []*server
		for port := range uint16(3) {
			more := w.hoster(40, .05, 170*sec)
			for _, s := range more {
				s.port += port
			}
			all = append(all, more...)
		}
		carpet(w, all, 1500, t0, t0+20*sec)
		return []attack{{kinds: kinds(FloodSpoofed), target: networkOf(all[0]), from: t0, to: t0 + 20*sec, within: 6 * sec, peak: 1506}}
	}},
	{name: "a carpet and a server that stands out", last: 200 * sec, play: func(w *world) []attack {
		all := w.hoster(40, .1, 200*sec)
		carpet(w, all[1:], 400, t0, t0+50*sec)
		invent(w, all[0], 2000, t0+20*sec, t0+40*sec)
		return []attack{
			{kinds: kinds(FloodSpoofed), target: networkOf(all[0]), from: t0, to: t0 + 50*sec, within: 6 * sec},
			{kinds: kinds(FloodSpoofed), target: all[0].target(), from: t0 + 20*sec, to: t0 + 40*sec, within: 4 * sec, peak: 2000},
		}
	}},
	{name: "one of many servers", last: 170 * sec, play: func(w *world) []attack {
		all := w.hoster(40, .1, 170*sec)
		invent(w, all[3], 2000, t0, t0+20*sec)
		return []attack{{kinds: kinds(FloodSpoofed), target: all[3].target(), from: t0, to: t0 + 20*sec, within: 3 * sec, peak: 2000}}
	}},
	{name: "two networks", last: 170 * sec, four: true, play: func(w *world) []attack {
		all := w.hoster(40, .05, 170*sec)
		others := w.hoster(40, .05, 170*sec)
		for i, s := range others {
			s.host = w.ip(0xcb007140 + uint32(i))
		}
		carpet(w, all, 400, t0, t0+20*sec)
		carpet(w, others, 400, t0, t0+20*sec)
		return []attack{
			{kinds: kinds(FloodSpoofed), target: networkOf(all[0]), from: t0, to: t0 + 20*sec, within: 5 * sec},
			{kinds: kinds(FloodSpoofed), target: networkOf(others[0]), from: t0, to: t0 + 20*sec, within: 5 * sec},
		}
	}},
	{name: "a hoster on a usual day", last: 150 * sec, play: func(w *world) []attack {
		w.hoster(50, 1, 150*sec)
		return nil
	}},
	{name: "a hoster with a service that polls", last: 150 * sec, play: func(w *world) []attack {
		poll(w, w.hoster(40, .1, 150*sec), 12, 1, true, t0, 150*sec)
		return nil
	}},
	{name: "a hoster with an old tool that polls", last: 150 * sec, play: func(w *world) []attack {
		poll(w, w.hoster(40, .1, 150*sec), 8, .5, false, t0, 150*sec)
		return nil
	}},
	{name: "a hoster's evening", last: 200 * sec, play: func(w *world) []attack {
		n := 0
		for _, s := range w.hoster(20, .2, 200*sec) {
			w.poisson(5, t0, t0+60*sec, func() { n++; w.visit(w.client(n), s, 1+n%3, 200*time.Millisecond, true) })
		}
		return nil
	}},
}

// carpetEnd keeps a capture going after its attack.
func carpetEnd(w *world, all []*server, until time.Duration) {
	w.every(1, 0, until, func(i int) { w.visit(w.someone(), all[i%len(all)], 1, 0, true) })
}

// An incident of a network has what all its servers got, and lists them.
func TestNetworkFigures(t *testing.T) {
	w := newWorld(1)
	all := w.hoster(100, 0, 0)
	carpetEnd(w, all[:40], t0+100*sec) // when it is over, fewer are asked
	carpet(w, all, 1000, t0, t0+10*sec)
	w.run(t0 + 100*sec)
	if len(w.incidents) != 1 {
		w.logIncidents(t)
		t.Fatalf("got  %d incidents\nwant one", len(w.incidents))
	}
	in := w.incidents[0]
	if in.Requests < 9800 || in.Requests > 10_000+60 { // the first ones are counted coarsely
		t.Errorf("requests\ngot  %d\nwant 10,000", in.Requests)
	}
	if in.Servers != 100 || len(in.Targets) != listedServers || in.MoreServers {
		t.Errorf("servers\ngot  %d, %d listed, more: %v\nwant 100, %d listed", in.Servers, len(in.Targets), in.MoreServers, listedServers)
	}
	for _, x := range in.Targets {
		if !slices.ContainsFunc(all, func(s *server) bool { return netip.AddrPortFrom(s.host.Addr(), s.port) == x }) {
			t.Errorf("got  %v among the servers\nwant only those that were asked", x)
		}
	}
	want := Sentence{"it is spread over 100 servers of 198.51.100.0/24, 1 % of it to the busiest", in.Start, in.End}
	if !slices.Contains(in.Evidence, want) {
		t.Errorf("got  %v\nwant %v in it, which is of the whole", in.Evidence, want)
	}
}

// Below eight servers, and where one server gets more than a quarter, it is no incident of the
// network.
func TestNetworkLimits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		servers int
		extra   int // further requests to the first server for each round
		want    bool
	}{
		{"eight servers", 8, 0, true},
		{"seven servers", 7, 0, false},
		{"one gets a quarter", 13, 3, true},
		{"one gets more than a quarter", 12, 5, false},
	} {
		w := newWorld(1)
		all := w.hoster(tt.servers, 0, 0)
		spread := slices.Clone(all)
		for range tt.extra {
			spread = append(spread, all[0])
		}
		for i := range 8 { // who makes the network one that is watched
			s := w.server(usual, 27015)
			s.host = w.ip(0xc6336410 + uint32(i))
			w.every(.5, 0, t0, func(int) { w.visit(w.someone(), s, 1, 0, true) })
		}
		carpet(w, spread, float64(len(spread))*4, t0, t0+30*sec)
		w.run(t0 + 30*sec) // later the one has an incident of its own, and the rest may be a carpet
		got := slices.ContainsFunc(w.incidents, func(x *record) bool { return x.Target.IsNetwork() && x.Level == Alert })
		if got != tt.want {
			t.Errorf("%s\ngot  %v\nwant %v", tt.name, got, tt.want)
			w.logIncidents(t)
		}
	}
}

// One service that polls many servers is one note, which names them.
func TestPollerOfManyServers(t *testing.T) {
	w := newWorld(1)
	all := w.hoster(80, .1, 85*sec)
	poll(w, all, 40, 1, true, t0, 85*sec)
	w.run(85 * sec)
	if len(w.incidents) != 1 || w.incidents[0].level != Info || w.incidents[0].Servers != 80 || !w.incidents[0].Target.IsNetwork() {
		w.logIncidents(t)
		t.Errorf("got  %d incidents\nwant one note, of a network, with 80 servers", len(w.incidents))
	}
}

// A customer's /48 with a server in each /64 is one network.
func TestWideNetwork(t *testing.T) {
	w := newWorld(1)
	w.six = true
	var all []*server
	for i := range 40 {
		s := w.server(usual, 27015)
		s.host = track.Host{0: 0x20, 1: 1, 2: 0x0d, 3: 0xb8, 7: byte(i), 15: 1}
		all = append(all, s)
	}
	carpetEnd(w, all, 120*sec)
	carpet(w, all, 600, t0, t0+20*sec)
	w.run(160 * sec)
	if len(w.incidents) != 1 || w.incidents[0].Target.String() != "udp/[2001:db8::/48]:27015" || w.incidents[0].Servers != 40 {
		w.logIncidents(t)
		t.Errorf("got  %d incidents\nwant one of the /48 with 40 servers", len(w.incidents))
	}
}

// Servers beyond those that a network counts one by one are told of.
func TestMembersBound(t *testing.T) {
	n := newNetwork(seed)
	n.reset(netKey{port: 27015, base: track.Host{0: 0x20}}, 1)
	for i := range networkServers + 1 {
		n.members.count(track.Host{0: 0x20, 14: byte(i >> 8), 15: byte(i)}, 1)
	}
	var in Incident
	n.members.list(&in)
	if in.Servers != networkServers || !in.MoreServers || len(in.Targets) != listedServers {
		t.Errorf("got  %d servers, %d listed, more: %v\nwant %d, %d, true", in.Servers, len(in.Targets), in.MoreServers, networkServers, listedServers)
	}
	if n.members.table.Len() != networkServers {
		t.Errorf("got  %d\nwant %d", n.members.table.Len(), networkServers)
	}
}

// More networks than fit are watched in turn: a busier one evicts one without an incident.
func TestNetworksBound(t *testing.T) {
	w := newWorld(1)
	for i := range heavyNetworks + 8 {
		all := w.hoster(10, 0, 0)
		for j, s := range all {
			s.host = w.ip(0xc6330000 + uint32(i)<<8 + uint32(j))
		}
		from := time.Duration(i) * sec
		w.every(20, from, 60*sec, func(k int) { w.visit(w.someone(), all[k%10], 1, 0, true) })
	}
	busy := w.hoster(10, 0, 0)
	for j, s := range busy {
		s.host = w.ip(0xcb007100 + uint32(j))
	}
	carpet(w, busy, 300, 60*sec, 80*sec)
	w.run(80 * sec)
	if got := len(w.d.networks.heavy); got != heavyNetworks {
		t.Errorf("got  %d networks\nwant %d", got, heavyNetworks)
	}
	if !slices.ContainsFunc(w.incidents, func(x *record) bool { return x.Target.String() == networkOf(busy[0]) }) {
		t.Error("got  no incident of the busiest network")
	}
	if !slices.Contains(w.d.FullTables(), "networks watched closely") {
		t.Errorf("got  %q\nwant networks among them", w.d.FullTables())
	}
}

func TestNetworkTarget(t *testing.T) {
	four := Target{End: netip.MustParseAddrPort("198.51.100.0:27015"), Prefix: netip.MustParsePrefix("198.51.100.0/24")}
	six := Target{End: netip.MustParseAddrPort("[2001:db8::]:27015"), Prefix: netip.MustParsePrefix("2001:db8::/64")}
	for _, tt := range []struct {
		target  Target
		text    string
		servers string
		want    bool
	}{
		{four, "udp/198.51.100.0/24:27015", "198.51.100.7:27015", true},
		{four, "udp/198.51.100.0/24:27015", "198.51.100.7:27016", false},
		{four, "udp/198.51.100.0/24:27015", "198.51.0.0/16", true},
		{four, "udp/198.51.100.0/24:27015", "198.51.101.0/24", false},
		{six, "udp/[2001:db8::/64]:27015", "2001:db8::1", true},
		{six, "udp/[2001:db8::/64]:27015", "2001:db8:1::/64", false},
	} {
		set, err := hostset.Parse(tt.servers)
		if err != nil {
			t.Fatal(err)
		}
		if got := tt.target.String(); got != tt.text {
			t.Errorf("got  %s\nwant %s", got, tt.text)
		}
		if got := (&Incident{Kind: FloodSpoofed, Target: tt.target}).IsAt(set); got != tt.want {
			t.Errorf("%s is at %s\ngot  %v\nwant %v", tt.text, tt.servers, got, tt.want)
		}
	}
}
