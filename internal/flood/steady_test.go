package flood

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

// load is traffic that goes on for ever: each call shows a detector one more packet.
type load struct {
	name string
	rate int64 // packets/s
	show func(d *Detector, n int64, s *track.Sighting, r *rand.Rand)
}

// ask makes s a request to the usual server.
func ask(s *track.Sighting, host track.Host, port uint16, ttl uint8) {
	s.What, s.Src, s.SrcPort, s.Dst, s.DstPort = track.IsRequest, host, port, v4(198, 51, 100, 17), 27015
	s.TTL, s.Asks, s.Bytes, s.Flags, s.Key, s.Print = ttl, dissect.AskInfo, 25, 0, 0, 7
}

// answer turns a request into what the server says to it.
func answer(s *track.Sighting, what track.PacketType, key uint32) {
	s.What, s.Src, s.SrcPort, s.Dst, s.DstPort, s.TTL = what, s.Dst, s.DstPort, s.Src, s.SrcPort, 64
	s.Asks, s.Bytes, s.Flags, s.Key = dissect.AskInfo, 170, 0, 0
	if what == track.IsChallenge {
		s.Asks, s.Bytes, s.Flags, s.Key = dissect.AskChallenge, 9, track.HasKey, key
	}
}

func v4(a, b, c, d byte) track.Host {
	return track.Host{10: 0xff, 11: 0xff, 12: a, 13: b, 14: c, 15: d}
}

func anyHost(r *rand.Rand) track.Host {
	n := r.Uint32()
	return v4(byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

var loads = []load{
	{"Spoofed", 100_000, func(d *Detector, n int64, s *track.Sighting, r *rand.Rand) {
		ask(s, anyHost(r), uint16(n), 243)
		s.FillHashes(seed)
		d.Sight(s)
	}},
	{"Botnet", 6000, func(d *Detector, n int64, s *track.Sighting, r *rand.Rand) {
		bot := n % 300
		ask(s, v4(91, byte(bot*7), byte(bot), byte(bot*13)), uint16(r.Uint32()), uint8(40+bot%20))
		s.FillHashes(seed)
		d.Sight(s)
	}},
	{"Challenged", 100_000, func(d *Detector, n int64, s *track.Sighting, r *rand.Rand) {
		if n%2 == 0 {
			ask(s, anyHost(r), uint16(n), 243)
		} else {
			answer(s, track.IsChallenge, uint32(n)|1)
		}
		s.FillHashes(seed)
		d.Sight(s)
	}},
	{"Carpet", 2000, func(d *Detector, n int64, s *track.Sighting, r *rand.Rand) {
		ask(s, anyHost(r), uint16(n), 117)
		s.Dst = v4(198, 51, 100, byte(n%200))
		s.FillHashes(seed)
		d.Sight(s)
	}},
	// Clients that ask, are challenged, complete and get an answer, in turn.
	{"Ordinary", 20, func(d *Detector, n int64, s *track.Sighting, r *rand.Rand) {
		i := n / 4
		host, key := v4(byte(20+i%50), byte(i%211), byte(i%103), byte(i%5000)), uint32(i)|1
		ask(s, host, uint16(30_000+i%1000), uint8(110+i%9))
		switch n % 4 {
		case 1:
			answer(s, track.IsChallenge, key)
		case 2:
			s.Flags, s.Key, s.Bytes = track.HasKey, key, 29
		case 3:
			answer(s, track.IsReply, 0)
		}
		s.FillHashes(seed)
		d.Sight(s)
	}},
}

// player plays a load, in packet time.
type player struct {
	load
	d *Detector
	s track.Sighting
	r *rand.Rand
	n int64
}

func newPlayer(l load) *player {
	p := &player{load: l, d: New(Defaults(), 1, nil), r: rand.New(rand.NewPCG(3, 3))}
	p.s.Proto = a2s
	return p
}

func (p *player) packets(n int) {
	for range n {
		p.s.Frame++
		p.s.Age = dawn.UnixNano() + p.n*1e9/p.rate
		p.s.Nanos = p.s.Age
		p.show(p.d, p.n, &p.s, p.r)
		p.n++
	}
}

// No packet costs memory once an attack is under way, nor does what is said of it:
// verdicts of each second lie in fixed places.
func TestSteadyAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, l := range loads {
		p := newPlayer(l)
		p.packets(int(min(l.rate*30, 200_000)) + int(l.rate))
		if got := testing.AllocsPerRun(10, func() { p.packets(int(min(l.rate*3, 50_000))) }); got != 0 {
			t.Errorf("%s\ngot  %v allocations in three seconds\nwant 0", l.name, got)
		}
	}
}

// Memory does not follow the number of sources: 22 MiB of tables, some targets, and
// room for what the collector has not seen yet.
func TestMemoryOfManySources(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector needs memory of its own")
	}
	const most = 40 << 20
	packets := 2_000_000
	if testing.Short() {
		packets = 500_000
	}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	p := newPlayer(loads[0])
	p.packets(packets / 2)
	// The other half goes to as many servers, from as many sources.
	p.show = func(d *Detector, n int64, s *track.Sighting, r *rand.Rand) {
		ask(s, anyHost(r), uint16(n), 243)
		s.Dst, s.DstPort = anyHost(r), uint16(r.Uint32())
		if n%3 == 0 {
			answer(s, track.IsReply, 0)
		}
		s.FillHashes(seed)
		d.Sight(s)
	}
	p.packets(packets / 2)
	got := int64(heap()) - int64(before)
	t.Logf("%d packets: %d KiB more", packets, got>>10)
	if got > most {
		t.Errorf("got  %d KiB more\nwant %d KiB at most", got>>10, most>>10)
	}
	runtime.KeepAlive(p)
}

// The same packets give the same incidents, to the byte.
func TestDeterminism(t *testing.T) {
	if race.Enabled {
		t.Skip("nothing here is concurrent, and it takes ten times as long")
	}
	for i, sc := range scenarios {
		if sc.last > 1000*sec || testing.Short() && i%8 != 0 {
			continue
		}
		var dumps [2]string
		for i := range dumps {
			w := newWorld(2)
			sc.play(w)
			w.run(sc.last)
			dumps[i] = w.dump()
		}
		if dumps[0] != dumps[1] {
			t.Errorf("%s\ngot  %s\nwant %s", sc.name, dumps[1], dumps[0])
		}
	}
}

func benchmark(b *testing.B, name string) {
	for _, l := range loads {
		if l.name != name {
			continue
		}
		p := newPlayer(l)
		p.packets(int(min(l.rate*20, 500_000)))
		b.ReportAllocs()
		b.ResetTimer()
		p.packets(b.N)
	}
}

func BenchmarkSpoofed(b *testing.B)    { benchmark(b, "Spoofed") }
func BenchmarkBotnet(b *testing.B)     { benchmark(b, "Botnet") }
func BenchmarkChallenged(b *testing.B) { benchmark(b, "Challenged") }
func BenchmarkOrdinary(b *testing.B)   { benchmark(b, "Ordinary") }

// BenchmarkTick is a second's end with as many targets as there is room for, all of
// them in an alarm.
func BenchmarkTick(b *testing.B) {
	d := New(Defaults(), 1, nil)
	r := rand.New(rand.NewPCG(4, 4))
	s := track.Sighting{Proto: a2s}
	second := int64(0)
	fill := func() {
		for i := range 64 * 500 {
			s.Age = second*1e9 + int64(i)
			ask(&s, anyHost(r), uint16(i), 243)
			s.DstPort = uint16(27000 + i%64)
			s.FillHashes(seed)
			d.Sight(&s)
		}
	}
	for range 70 { // no more than maxPerMinute begin in one
		fill()
		second++
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		b.StopTimer()
		fill()
		second++
		b.StartTimer()
		d.Tick(second*1e9, second*1e9)
	}
	b.StopTimer()
	open := 0
	for _, t := range d.servers.heavy {
		if t.courses[ofQueries].in != nil {
			open++
		}
	}
	if open != heavyTargets {
		b.Fatalf("got  %d targets under attack\nwant %d", open, heavyTargets)
	}
}
