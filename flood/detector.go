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
	claims   *measure.Claims
	asked    *sketch.Recent // who asked whom, where the server is not watched closely
	played   *sketch.Recent // sessions of the game

	hasBegun bool
	firstAge int64 // age of the first sighting
}

// New returns a detector with tables of size times the usual size. A nil advisor leaves
// incidents without advice.
func New(lim Thresholds, size float64, advisor Advisor) *Detector {
	n := func(n int) int { return max(int(float64(n)*size), 16) }
	if advisor == nil {
		advisor = noAdvice{}
	}
	d := &Detector{rules: newRulebook(&lim), claims: measure.NewClaims(),
		asked: sketch.NewRecent(askedBytes), played: sketch.NewRecent(sessionBytes)}
	b := &d.book
	*b = book{lim: lim, advisor: advisor,
		announce: d.announce}
	d.servers = servers{book: b, maxHeavy: min(max(int(heavyTargets*size), leastTargets), heavyTargets),
		light: lru.New[track.End, lightServer](n(lightTargets))}
	d.victims = newVictims(b)
	d.scans = newScans(b, n(scanners))
	d.consoles = newConsoles(b, n(rconTargets), n(rconLogins))
	return d
}

// AddObserver adds who is called with each event of an incident, which is valid during the
// call, after those that were added before. Call it before the first sighting.
func (d *Detector) AddObserver(observe func(in *Incident, e Event)) {
	d.observers = append(d.observers, observe)
}

func (d *Detector) announce(in *Incident, e Event) {
	for _, observe := range d.observers {
		observe(in, e)
	}
}

// Sight takes a packet.
func (d *Detector) Sight(s *track.Sighting) {
	d.advance(s.Age, s.Nanos)
	if d.book.key == 0 {
		d.book.key = measure.KeyOf(s)
	}
	d.book.frame = s.Frame
	switch s.What {
	case track.IsRequest:
		if s.Asks != 0 {
			d.handleRequest(s)
		}
	case track.IsReply, track.IsChallenge, track.IsPart:
		d.handleReply(s)
	case track.IsJunk:
		d.handleJunk(s)
	case track.IsOther:
		d.handleOther(s)
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
	if d.hasBegun {
		d.advance(age, nanos)
	}
}

// Lost takes note that packets are missing from the capture.
func (d *Detector) Lost(packets uint64) { d.book.lost += packets }

// End takes note that no packet follows: what is open stays open, for nobody saw it end.
func (d *Detector) End(age, nanos int64) {
	if !d.hasBegun {
		return
	}
	d.advance(age+int64(time.Second), nanos+int64(time.Second))
	d.servers.finish()
	d.victims.finish()
	d.scans.finish()
	d.consoles.finish()
}

// WarningsOnly is an observer that calls found with the events of incidents that ask for
// something, warnings and alerts. One that was a note at first begins when it becomes
// more; of one that turns out to be a note the end is announced.
func WarningsOnly(observe func(in *Incident, e Event)) func(in *Incident, e Event) {
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
		observe(in, e)
	}
}

// FullTables names the tables that are full, so that something may have been evicted.
func (d *Detector) FullTables() []string {
	var full []string
	add := func(name string, yes bool) {
		if yes {
			full = append(full, name)
		}
	}
	add("servers", d.servers.light.Len() == d.servers.light.Cap())
	add("servers watched closely", len(d.servers.heavy) == d.servers.maxHeavy)
	add("hosts that get replies nobody asked for", len(d.victims.heavy) == heavyVictims)
	add("sources of scans", d.scans.table.Len() == d.scans.table.Cap())
	add("consoles", d.consoles.table.Len() == d.consoles.table.Cap())
	return full
}

// longGap is a stretch without packets after which nothing is left to go on with.
const longGap = 2 * measure.BinSeconds

// lastSecond is where time stops, 68 years after the first packet: stamps that say so
// are wrong.
const lastSecond = 1<<31 - 1 - 4*listedPeriod

// advance does what is due up to age.
func (d *Detector) advance(age, nanos int64) {
	b := &d.book
	if !d.hasBegun {
		d.hasBegun, d.firstAge, b.Now = true, age, 1
	}
	sec := int32(min(max((age-d.firstAge)/int64(time.Second), 0), lastSecond)) + 1
	if sec > b.Now {
		if sec-b.Now > longGap { // as if the last seconds only had passed
			for n := longGap; n > 0 && b.open > 0; n-- { // what is open ends
				d.closeSecond()
			}
			b.Now = max(b.Now, sec-2*measure.PaneSeconds)
		}
		for b.Now < sec {
			d.closeSecond()
		}
	}
	b.Nanos, b.epoch = nanos, d.firstAge+nanos-age
}

// closeSecond closes the second at hand.
func (d *Detector) closeSecond() {
	b := &d.book
	d.servers.judgeSecond(&d.rules)
	d.victims.closeSecond()
	d.consoles.closeQuiet()
	d.claims.Tick()
	b.Now++
	if b.Now%askedPeriod == 0 {
		d.asked.Rotate()
		d.played.Rotate()
	}
	if b.Now%listedPeriod == 0 {
		d.scans.listed.Rotate()
		d.claims.Turn()
	}
	if b.Now%scanPane == 0 {
		d.scans.closeSecond()
	}
	d.servers.rollPanes()
}

// How often filters let go of what is old, in seconds.
const (
	askedPeriod  = 5
	listedPeriod = 600
)
