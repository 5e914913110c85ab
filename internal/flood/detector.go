package flood

import (
	"math"
	"time"

	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Detector finds incidents in sightings, which must come in packet order. It is a
// track.Watcher. Its time is that of the packets and its memory is fixed. It is not safe for
// concurrent use.
type Detector struct {
	observers []func(in *Incident, e Event)

	book     book
	side     // of everybody but one's own tools
	own      own
	victims  victims
	scans    scans
	consoles consoles
	others   *others
	claims   *measure.Claims
	guessers guessers
	asked    *sketch.Recent // pairs of client and server, of requests to servers that are not watched closely
	played   *sketch.Recent // pairs of server and client that the game itself was spoken with

	hasBegun bool
	firstAge int64 // age of the first sighting
	nextAge  int64 // at which the second at hand is over

	isShared  bool  // see Share
	isAligned bool  // seconds are, by ahead
	ahead     int64 // the time stamp of a packet minus its age
}

// New returns a detector whose tables have size times their usual size. With a nil advisor
// incidents have no advice.
func New(lim Thresholds, size float64, advisor Advisor) *Detector {
	n := func(n int) int { return max(int(float64(n)*size), 16) }
	if advisor == nil {
		advisor = noAdvice{}
	}
	d := &Detector{nextAge: math.MinInt64, claims: measure.NewClaims(claimsSize(size)),
		asked: sketch.NewRecent(askedBytes), played: sketch.NewRecent(sessionBytes)}
	b := &d.book
	*b = book{lim: lim, advisor: advisor, claimsSize: claimsSize(size),
		announce: d.announce}
	d.side = newSide(b, newRulebook(&lim), size)
	d.own = newOwn(b, size)
	d.victims = newVictims(b)
	d.scans = newScans(b, n(scanners))
	d.consoles = newConsoles(b, n(rconTargets), n(rconLogins))
	d.others = newOthers(b, &d.servers, size)
	return d
}

// claimsSize returns the size of the claims of a detector of a size: all of them down to a
// quarter of the usual size, as proofs of addresses decide about incidents.
func claimsSize(size float64) float64 { return min(1, 4*size) }

// AddObserver adds a function that is called with each event of an incident, after those
// added before. The incident is valid during the call. Observers are added before the first
// sighting.
func (d *Detector) AddObserver(observe func(in *Incident, e Event)) {
	d.observers = append(d.observers, observe)
}

func (d *Detector) announce(in *Incident, e Event) {
	for _, observe := range d.observers {
		observe(in, e)
	}
}

// Sight handles the sighting of a packet.
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
			d.handleRequest(s)
		}
	case track.IsReply, track.IsChallenge, track.IsPart:
		d.handleReply(s)
		if d.own.names != nil {
			d.own.recordChallenge(s)
		}
	case track.IsJunk:
		d.handleJunk(s)
	case track.IsOther:
		if s.Flags&track.Connection == 0 { // a reset is no datagram
			d.handleOther(s)
		}
	case track.IsUnreachable:
		w := d.servers.sender(s)
		d.networks.handleUnreachable(s, w)
		if w != nil {
			w.CountUnreachable(d.book.Clock)
		}
	case track.IsLogin, track.IsWelcome, track.IsRejected:
		d.consoles.countLogin(s)
	case track.IsOpened:
		d.consoles.countConnection(s)
	}
}

// AddListed implements track.ListWatcher.
func (d *Detector) AddListed(s *track.Sighting, servers []uint64) {
	if s.Flags&track.Cut != 0 && d.wasAsked(s) {
		d.scans.listed.Add(s.ClientHash) // which may ask any server on the list
	}
	for _, server := range servers {
		d.scans.listed.Add(server)
	}
}

// Foresee implements track.Foreseer.
func (d *Detector) Foresee(s *track.Sighting) {
	if s.What == track.IsRequest {
		d.claims.Foresee(s.ServerHash, s.ClientHash)
	}
}

// Tick closes the seconds before a time without a packet, once a packet was seen.
func (d *Detector) Tick(age, nanos int64) {
	if d.hasBegun {
		d.advance(age, nanos)
	}
}

// Lost counts packets that are missing from the capture.
func (d *Detector) Lost(packets uint64) { d.book.lost += packets }

// End ends the capture: observers are called with Ends for each open incident. One that was
// active to the last has no end time, as the capture does not show its end.
func (d *Detector) End(age, nanos int64) {
	if !d.hasBegun {
		return
	}
	d.advance(age+int64(time.Second), nanos+int64(time.Second))
	d.side.finish()
	d.own.finish()
	d.victims.finish()
	d.scans.finish()
	d.consoles.finish()
	d.others.end()
	d.book.closeAmplifiers(0)
}

// WarningsOnly returns an observer that calls observe with the events of warnings and alerts
// only. An incident that was a note at first begins for observe when it becomes more; one
// that becomes a note later still ends for it.
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

// FullTables returns the names of the tables that are full: something may have been evicted
// from them, or refused.
func (d *Detector) FullTables() []string {
	var full []string
	add := func(name string, yes bool) {
		if yes {
			full = append(full, name)
		}
	}
	add("servers", d.servers.light.Len() == d.servers.light.Cap())
	add("servers watched closely", len(d.servers.heavy) == d.servers.maxHeavy)
	add("networks", d.networks.light.Len() == d.networks.light.Cap())
	add("networks watched closely", len(d.networks.heavy) == d.networks.maxHeavy)
	add("hosts that get replies nobody asked for", len(d.victims.heavy) == heavyVictims)
	add("tools of one's own", d.own.isFull())
	add("sources of scans", d.scans.table.Len() == d.scans.table.Cap())
	add("hosts that get more than queries", d.others.IsFull())
	add("consoles", d.consoles.table.Len() == d.consoles.table.Cap())
	return full
}

// longGap is how many seconds without packets end every incident and empty every sum.
const longGap = 2 * measure.BinSeconds

// lastSecond is where time stops, 68 years after the first packet, so that seconds fit in 32
// bits. Later time stamps are wrong.
const lastSecond = 1<<31 - 1 - 4*listedPeriod

// advance closes all seconds before age, the nanoseconds of a clock that is never set back;
// nanos is the time stamp at that moment. Of a long gap it closes no more seconds than it
// takes to end all incidents.
func (d *Detector) advance(age, nanos int64) {
	b := &d.book
	if age < d.nextAge {
		b.Nanos, b.epoch = nanos, d.firstAge+nanos-age
		return
	}
	if !d.hasBegun {
		d.begin(age, nanos)
	} else if d.isShared {
		d.alignSeconds(age, nanos)
	}
	sec := int32(min(max((age-d.firstAge)/int64(time.Second), 0), lastSecond)) + 1
	if sec > b.Now {
		if sec-b.Now > longGap { // close as few as have an effect
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
	d.nextAge = d.firstAge + int64(b.Now)*int64(time.Second)
}

// begin begins the first second.
func (d *Detector) begin(age, nanos int64) {
	d.hasBegun, d.firstAge = true, age
	if d.isShared {
		d.alignSeconds(age, nanos)
	}
	d.book.Now = int32((age-d.firstAge)/int64(time.Second)) + 1
	d.book.begun = d.book.Now
}

// closeSecond closes the second at hand: the watchers judge it, and the next one begins.
func (d *Detector) closeSecond() {
	b := &d.book
	d.side.judgeSecond()
	d.own.judgeSecond()
	d.victims.closeSecond()
	d.consoles.closeQuiet()
	d.others.tick()
	d.claims.AdaptSample()
	b.closeAmplifiers(amplifiersQuiet)
	b.Now++
	if b.Now%askedPeriod == 0 {
		d.asked.Rotate()
	}
	if b.Now%sessionPeriod == 0 {
		d.played.Rotate()
	}
	if b.Now%listedPeriod == 0 {
		d.scans.listed.Rotate()
		d.claims.TurnProofs()
		d.networks.turnProofs()
		d.own.networks.turnProofs()
	}
	if b.Now%scanPane == 0 {
		d.scans.closeSecond()
	}
	d.side.rollPanes()
	d.own.rollPanes()
}

// How long a period of a filter is, in seconds: what was added expires one to two of them
// later. Chosen: answers come within five seconds, a server that changes maps is silent for ten and its
// players go on, and a server list is used for minutes.
const (
	askedPeriod   = 5
	sessionPeriod = 30
	listedPeriod  = 600
)
