package flood

import (
	"time"

	"qsniff/flood/measure"
	"qsniff/flood/sketch"
	"qsniff/internal/lru"
	"qsniff/track"
)

// Detector finds incidents in sightings, which it takes in packet order: it is a
// track.Watcher. It has no clock, grows nothing and asks nobody; the same sightings
// give the same incidents. It is not safe for concurrent use.
type Detector struct {
	observers []func(in *Incident, e Event)

	book     book
	rules    rulebook
	servers  servers
	victims  victims
	scans    scans
	consoles consoles
	others   *others
	claims   *measure.Claims
	asked    *sketch.Recent // who asked whom, where the server is not watched closely
	played   *sketch.Recent // sessions of the game

	begun bool
	first int64 // age of the first sighting
}

// New returns a detector with tables of size times the usual size. A nil advisor leaves
// incidents without advice.
func New(lim Thresholds, size float64, advisor Advisor) *Detector {
	n := func(n int) int { return max(int(float64(n)*size), 16) }
	if advisor == nil {
		advisor = silent{}
	}
	d := &Detector{rules: newRulebook(&lim), claims: measure.NewClaims(),
		asked: sketch.NewRecent(askedBytes), played: sketch.NewRecent(sessionBytes)}
	b := &d.book
	*b = book{lim: lim, advisor: advisor,
		found: d.tell}
	d.servers = servers{book: b, most: min(max(int(heavyTargets*size), leastTargets), heavyTargets),
		light: lru.New[track.End, light](n(lightTargets))}
	d.victims = newVictims(b)
	d.scans = newScans(b, n(scanners))
	d.consoles = newConsoles(b, n(rconTargets), n(rconLogins))
	d.others = newOthers(b, &d.servers, size)
	return d
}

// Observe adds who is called with each event of an incident, which is valid during the
// call, after those that were added before. Call it before the first sighting.
func (d *Detector) Observe(found func(in *Incident, e Event)) {
	d.observers = append(d.observers, found)
}

func (d *Detector) tell(in *Incident, e Event) {
	for _, found := range d.observers {
		found(in, e)
	}
}

// Sight takes a packet.
func (d *Detector) Sight(s *track.Sighting) {
	d.advance(s.Age, s.Nanos)
	if d.book.key == 0 {
		d.book.key = measure.KeyOf(s)
	}
	d.book.frame = s.Frame
	if d.others.Sight(s, d.book.key) { // it has a name, and is no query
		return
	}
	switch s.What {
	case track.IsRequest:
		if s.Asks != 0 {
			d.sightRequest(s)
		}
	case track.IsReply, track.IsChallenge, track.IsPart:
		d.sightReply(s)
	case track.IsJunk:
		d.sightJunk(s)
	case track.IsOther:
		d.sightOther(s)
	case track.IsUnreachable:
		if w := d.servers.find(s.From()); w != nil {
			w.CountUnreachable(d.book.Clock)
		}
	case track.IsListed:
		d.scans.recordListed(s, d.wasAsked)
	case track.IsLogin, track.IsWelcome, track.IsRejected:
		d.consoles.countLogin(s)
	case track.IsOpened:
		d.consoles.countConnection(s)
	}
}

// Tick takes note that time has passed.
func (d *Detector) Tick(age, nanos int64) {
	if d.begun {
		d.advance(age, nanos)
	}
}

// Lost takes note that packets are missing from the capture.
func (d *Detector) Lost(packets uint64) { d.book.lost += packets }

// End takes note that no packet follows: what is open stays open, for nobody saw it end.
func (d *Detector) End(age, nanos int64) {
	if !d.begun {
		return
	}
	d.advance(age+int64(time.Second), nanos+int64(time.Second))
	d.servers.end()
	d.victims.end()
	d.scans.end()
	d.consoles.end()
	d.others.end()
}

// Announced is an observer that calls found with the events of incidents that ask for
// something, warnings and alerts. One that was a note at first begins when it becomes
// more; of one that turns out to be a note the end is announced.
func Announced(found func(in *Incident, e Event)) func(in *Incident, e Event) {
	announced := map[uint64]bool{} // no more than are open
	return func(in *Incident, e Event) {
		isKnown := announced[in.ID]
		switch {
		case e == Ends:
			delete(announced, in.ID)
			if !isKnown && in.Level < Warn {
				return
			}
		case in.Level < Warn:
			return
		default:
			announced[in.ID] = true
			if !isKnown {
				e = Begins
			}
		}
		found(in, e)
	}
}

// Full names the tables that are full, so that something may have been evicted.
func (d *Detector) Full() []string {
	var full []string
	add := func(name string, yes bool) {
		if yes {
			full = append(full, name)
		}
	}
	add("servers", d.servers.light.Len() == d.servers.light.Cap())
	add("servers watched closely", len(d.servers.heavy) == d.servers.most)
	add("hosts that get replies nobody asked for", len(d.victims.heavy) == heavyVictims)
	add("sources of scans", d.scans.table.Len() == d.scans.table.Cap())
	add("hosts that get more than queries", d.others.IsFull())
	add("consoles", d.consoles.table.Len() == d.consoles.table.Cap())
	return full
}

// longGap is a stretch without packets after which nothing is left to go on with.
const longGap = 2 * measure.BinSeconds

// lastSecond is where time stops, 68 years after the first packet: stamps that say so
// are wrong.
const lastSecond = 1<<31 - 1 - 4*namedTurn

// advance does what is due up to age.
func (d *Detector) advance(age, nanos int64) {
	b := &d.book
	if !d.begun {
		d.begun, d.first, b.Now = true, age, 1
	}
	sec := int32(min(max((age-d.first)/int64(time.Second), 0), lastSecond)) + 1
	if sec > b.Now {
		if sec-b.Now > longGap { // as if the last seconds only had passed
			for n := longGap; n > 0 && b.open > 0; n-- { // what is open ends
				d.tick()
			}
			b.Now = max(b.Now, sec-2*measure.PaneSeconds)
		}
		for b.Now < sec {
			d.tick()
		}
	}
	b.Nanos, b.epoch = nanos, d.first+nanos-age
}

// tick closes the second at hand.
func (d *Detector) tick() {
	b := &d.book
	d.servers.tick(&d.rules)
	d.victims.tick()
	d.consoles.tick()
	d.others.tick()
	d.claims.Tick()
	b.Now++
	if b.Now%askedTurn == 0 {
		d.asked.Turn()
		d.played.Turn()
	}
	if b.Now%namedTurn == 0 {
		d.scans.named.Turn()
		d.claims.Turn()
	}
	if b.Now%scanTurn == 0 {
		d.scans.tick()
	}
	d.servers.roll()
}

// How often filters let go of what is old, in seconds.
const (
	askedTurn = 5
	namedTurn = 600
)
