package flood

import (
	"time"

	"qsniff/flood/sketch"
	"qsniff/internal/lru"
	"qsniff/track"
)

// Event is what is said of an incident.
type Event uint8

// The events.
const (
	Begins  Event = iota // it was detected
	Changes              // another kind fits better, or it grew to twice its size
	Ends
)

// String is the event's name in output.
func (e Event) String() string { return [...]string{"open", "update", "close"}[e] }

// Detector finds incidents in sightings, which it takes in packet order: it is a
// track.Watcher. It has no clock, grows nothing and asks nobody; the same sightings
// give the same incidents. It is not safe for concurrent use.
type Detector struct {
	// Found is called with each event of an incident, which is valid during the call.
	// Set it before the first sighting.
	Found func(in *Incident, e Event)

	lim Thresholds
	key key

	begun bool
	first int64 // age of the first sighting
	now   int32 // seconds since then, from 1
	nanos int64 // time stamp of the packet at hand
	shift int64 // from ages to time stamps
	frame uint64

	last   *target // the one before
	full   int32   // second in which there was no room for one more
	heavy  []*target
	ports  [heavyTargets]uint16 // of these, side by side
	most   int                  // how many of these there may be
	light  *lru.Table[track.End, light]
	claims claims
	asked  *sketch.Recent
	played *sketch.Recent // sessions of the game
	named  *sketch.Recent // by master servers
	proven *sketch.Recent // sources that proved their address to a target

	victims  victims
	scans    scans
	consoles consoles

	inbound, outbound uint64 // requests and replies so far
	lost              uint64
	book              book
	trials            trials
}

// light is a server that is counted coarsely.
type light struct {
	sec      int32
	count    uint32 // in that second
	first    int32  // second in which it was asked first
	ten      uint32 // in these ten seconds
	tenSince int32
	before   float64 // rate of the ten seconds before
	heard    int32   // it answered; 0: never
	given    int32   // it gave a challenge
}

// New returns a detector with tables of size times the usual size.
func New(lim Thresholds, size float64) *Detector {
	n := func(n int) int { return max(int(float64(n)*size), 16) }
	d := &Detector{lim: lim, most: min(max(int(heavyTargets*size), leastTargets), heavyTargets),
		light:  lru.New[track.End, light](n(lightTargets)),
		claims: newClaims(),
		asked:  sketch.NewRecent(askedBytes), played: sketch.NewRecent(sessionBytes), named: sketch.NewRecent(listedBytes),
		proven: sketch.NewRecent(provenBytes),
	}
	d.victims = newVictims()
	d.scans = newScans(n(scanners))
	d.consoles = newConsoles(n(rconTargets), n(rconLogins))
	d.book = book{d: d}
	return d
}

// Sight takes a packet.
func (d *Detector) Sight(s *track.Sighting) {
	d.clock(s.Age, s.Nanos)
	if d.key == 0 {
		d.key = keyOf(s)
	}
	d.frame = s.Frame
	switch s.What {
	case track.IsRequest:
		if s.Asks != 0 {
			d.request(s)
		}
	case track.IsReply, track.IsChallenge, track.IsPart:
		d.reply(s)
	case track.IsJunk:
		d.junk(s)
	case track.IsOther:
		d.other(s)
	case track.IsUnreachable:
		if t := d.find(s.From()); t != nil {
			t.bin(d.now, d.nanos).unreach++
		}
	case track.IsListed:
		if s.Flags&track.Cut == 0 {
			d.named.Add(s.ServerHash)
		} else if d.asked.Has(lru.Mix(s.ClientHash, s.ServerHash)) { // it asks servers that the capture does not show
			d.named.Add(s.ClientHash)
		}
	case track.IsLogin, track.IsWelcome, track.IsRejected:
		d.consoles.take(d, s)
	case track.IsOpened:
		d.consoles.opened(d, s)
	}
}

// Tick says that time has passed.
func (d *Detector) Tick(age, nanos int64) {
	if d.begun {
		d.clock(age, nanos)
	}
}

// Lost says that packets are missing from the capture.
func (d *Detector) Lost(packets uint64) { d.lost += packets }

// End says that no packet follows: what is open stays open, for nobody saw it end.
func (d *Detector) End(age, nanos int64) {
	if !d.begun {
		return
	}
	d.clock(age+int64(time.Second), nanos+int64(time.Second))
	d.book.end()
}

// longGap is a stretch without packets behind which nothing is left to go on with.
const longGap = 2 * binSeconds

// lastSecond is where time stops, 68 years behind the first packet: stamps that say so
// are wrong.
const lastSecond = 1<<31 - 1 - 4*namedTurn

// clock does what is due up to age.
func (d *Detector) clock(age, nanos int64) {
	if !d.begun {
		d.begun, d.first, d.now = true, age, 1
	}
	sec := int32(min(max((age-d.first)/int64(time.Second), 0), lastSecond)) + 1
	if sec <= d.now {
		d.nanos, d.shift = nanos, nanos-age
		return
	}
	if sec-d.now > longGap { // as if the last seconds only had passed
		for n := longGap; n > 0 && d.book.open > 0; n-- { // what is open ends
			d.tick()
		}
		d.now = max(d.now, sec-2*paneSeconds)
	}
	for d.now < sec {
		d.tick()
	}
	d.nanos, d.shift = nanos, nanos-age
}

// tick closes the second at hand.
func (d *Detector) tick() {
	for _, t := range d.heavy {
		if d.now-t.last <= binSeconds || t.opened() { // else it is as it was
			d.judge(t)
		}
	}
	d.victims.tick(d)
	d.consoles.tick(d)
	d.claims.tick()
	d.now++
	if d.now%askedTurn == 0 {
		d.asked.Turn()
		d.played.Turn()
	}
	if d.now%namedTurn == 0 {
		d.named.Turn()
		d.proven.Turn()
	}
	if d.now%scanTurn == 0 {
		d.scans.judge(d)
	}
	for _, t := range d.heavy {
		t.roll(d.now)
	}
}

// How often filters forget, in seconds.
const (
	askedTurn = 5
	namedTurn = 600
)

// find returns the target at e if it is watched closely.
func (d *Detector) find(e track.End) *target {
	if t := d.last; t != nil && t.end == e {
		return t
	}
	for i, port := range d.ports[:len(d.heavy)] {
		if port == e.Port && d.heavy[i].end == e {
			d.last = d.heavy[i]
			return d.last
		}
	}
	return nil
}

// count counts a packet to a server that is not watched closely, and begins to
// watch it where it is asked much.
func (d *Detector) count(e track.End, hash uint64) *target {
	l := d.light.Get(e)
	if l == nil {
		l, _ = d.light.Put(e)
		*l = light{sec: d.now, tenSince: d.now, first: d.now}
	}
	if l.sec != d.now {
		l.sec, l.count = d.now, 0
	}
	if d.now-l.tenSince >= paneSeconds {
		l.before = 0
		if d.now-l.tenSince < 2*paneSeconds {
			l.before = float64(l.ten) / paneSeconds
		}
		l.ten, l.tenSince = 0, d.now
	}
	l.count++
	l.ten++
	if l.count < promoteSecond && l.ten < promoteTen {
		return nil
	}
	return d.promote(e, hash, l)
}

// What makes a server worth watching closely.
const (
	promoteSecond = 10 // queries in a second
	promoteTen    = 30 // in ten
)

// promote begins to watch a server closely, if there is room.
func (d *Detector) promote(e track.End, hash uint64, l *light) *target {
	i := len(d.heavy)
	switch {
	case i < d.most:
		d.heavy = append(d.heavy, newTarget(d.key))
	case d.full == d.now: // it was tried in this second
		return nil
	default:
		if i = d.leastBusy(l.ten); i < 0 {
			d.full = d.now
			return nil
		}
	}
	t := d.heavy[i]
	t.reset(e, hash, d.now)
	d.ports[i] = e.Port
	t.base, t.born, t.heard, t.challenged = l.before, l.first, l.heard, l.given
	d.light.Delete(e)
	d.last = t
	return t
}

// leastBusy is the number of the target that makes room for one that was asked count
// times in ten seconds: one with less than half of that and without an open
// incident; -1 if there is none.
func (d *Detector) leastBusy(count uint32) int {
	least, number := count/2, -1
	for i, t := range d.heavy {
		if t.opened() {
			continue
		}
		s := t.sum(d.now, paneSeconds)
		if n := s.packets + s.junk; n < least {
			least, number = n, i
		}
	}
	return number
}
