package other

import (
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Spell is how a class of packets goes at a host: what is usual, and the flood that there
// is, if there is one.
type Spell struct {
	Usual   float64 // packets/s when nothing is wrong
	Start   int64   // time stamp of the begin of its first second
	Frame   uint64  // a packet at or after Start
	Packets uint64
	Bytes   uint64
	Peak    float64 // packets in the busiest second
	PeakOf  uint64  // bytes in the one with most
	Seconds int     // in which it was there
	Pulses  int
	LastEnd int64 // time stamp of the end of the last second that qualified
	Blind   bool  // the host was not seen to send anything
	// Completed is how many handshakes were completed meanwhile.
	Completed uint64
	Fast      measure.Fast // sources of most of it, where these are faster than clients
	// Try is called with each packet, once an incident is open; nil: none.
	Try func(*track.Sighting)
	// Rate and Amount are packets and bytes of the last second that qualified.
	Rate, Amount uint64

	open   bool
	active bool  // the last second qualified
	heat   uint8 // seconds that qualified
	last   int32 // the last of them
	rest   int32 // first second of a pause
	before tally // the second before this one
	noted  float64
	view   *view
}

// Event is how a spell changed in a second.
type Event uint8

// The events.
const (
	Ripens Event = iota // it has been a flood for long enough: an incident may be opened
	Doubles
	Ends
)

// Limits are what a second is held against.
type Limits struct {
	Scale      float64 // times the least rate of a class
	Factor     float64 // times the usual rate
	Fast, Slow int     // seconds a flood must last, of quickRate times its least rate, and below
	Quiet      float64 // seconds without one that end it
	Share      float64 // of its mean rate that it lives by
	// Of messages of other games: packets/s of a source that is faster than a client, the share of few such
	// sources, and times the usual rate where they have that.
	Each, FewShare, FewFactor float64
}

const (
	// quickRate is how many times its least rate a class must have to need less time.
	quickRate = 10
	// BlindFactor is how many times as many packets must come where sessions are not seen:
	// a full server's 64 players send 8,192 a second at the highest rate that engines have.
	BlindFactor = 10
	// ColdAfter is how many seconds without one make a flood begin anew: pulses come closer.
	ColdAfter = 30
	// learnFirst is for how many seconds after the begin of a capture what a blind host gets
	// is taken for usual.
	learnFirst = 10
	// pulseGap is how long a pause between two pulses lasts at least, in seconds.
	pulseGap = 4
	// How the usual rate follows the one that is: as for queries.
	learnFast  = 1.0 / 60
	learnSlow  = 1.0 / 600
	learnUntil = 120
	learnLeast = 10
)

// Tick ends the second at hand, whose time stamp is nanos at its end, and decides on what
// it makes of spells.
func (t *Table) Tick(now int32, nanos int64, lim *Limits) {
	t.now = now
	t.finishPeak()
	for _, h := range t.heavy {
		if h.known == nil {
			continue
		}
		h.forgiveErrors()
		for class := range t.classes {
			s := &h.spells[class]
			n := &h.now[class]
			if n.packets > 0 {
				h.lastIn = now
			}
			if n.packets > 0 || s.heat > 0 || s.Usual > 0 {
				t.judge(h, class, s, nanos, lim)
			}
			s.before = *n
		}
		if h.lastIn == now && !h.isForgotten {
			t.known.Get(h.Addr) // a busy host is not evicted before an idle one
		}
		h.endSecond()
	}
	t.now = now + 1
	if now%sessionTurn == 0 {
		t.session.Rotate()
		if t.fresh != nil {
			t.fresh.Rotate()
		}
	}
	if now%handshakeTurn == 0 {
		t.half.Rotate()
		t.agreed.Rotate()
	}
}

// judge takes a second of a class at a host.
func (t *Table) judge(h *Host, class int, s *Spell, nanos int64, lim *Limits) {
	c, n := &t.classes[class], &h.now[class]
	least := c.Least * lim.Scale
	if class == synClass && (2*h.toServers > n.packets || s.isAtService()) {
		least = c.AtServers * lim.Scale
	}
	factor := lim.Factor
	if float64(n.packets) >= c.FromFew*lim.Scale && s.isFromFew(c, float64(n.packets), lim) {
		least, factor = c.FromFew*lim.Scale, lim.FewFactor
	}
	blind, isFresh := c.Sessions && h.isBlind(t.now), class == udpClass && float64(h.fresh) >= max(least, lim.Factor*h.usualFresh)
	if blind {
		least *= BlindFactor
		if t.now <= learnFirst {
			s.Usual = max(s.Usual, float64(n.packets))
			if class == udpClass {
				h.usualFresh = max(h.usualFresh, float64(h.fresh))
			}
			t.drop(s)
			return
		}
	}
	isOver := isFresh || float64(n.packets) >= max(least, factor*s.Usual)
	switch {
	case s.open:
		t.live(h, class, s, nanos, lim, least, isFresh)
	case isOver:
		if s.heat == 0 {
			t.begin(s, nanos)
			s.Blind = blind
		}
		s.heat++
		t.add(h, class, s, nanos)
		need := lim.Slow
		if float64(n.packets) >= quickRate*least {
			need = lim.Fast
		}
		if int(s.heat) >= need {
			if s.open = t.Decide(h, class, s, Ripens); !s.open {
				t.drop(s)
				return
			}
			s.noted = s.Peak
		}
	case s.heat > 0:
		if s.active {
			s.active, s.rest = false, t.now
		}
		if t.now-s.last > ColdAfter {
			t.drop(s)
		}
	default: // from the second before: what comes in this one may be the begin of a flood
		s.learn(float64(s.before.packets), t.now-h.born)
		if blind && class == udpClass {
			learnRate(&h.usualFresh, float64(h.fresh), t.now-h.born)
		}
		if s.view != nil {
			t.drop(s)
		}
	}
}

// isFromFew reports whether few sources send most of a class, each faster than a client, and nearly all to
// one port. If so, it sets the spell's Fast.
func (s *Spell) isFromFew(c *Class, rate float64, lim *Limits) bool {
	if _, atPort := s.Port(); c.FromFew == 0 || atPort < PortShare {
		return false
	}
	fast := s.view.Faster(rate, lim.Each)
	if fast.Share < lim.FewShare {
		return false
	}
	s.Fast = fast
	return true
}

// isAtService reports whether nearly all goes to one port that is none of the web: what crowds load is
// there, and scanners try many ports.
func (s *Spell) isAtService() bool {
	port, share := s.Port()
	return port != 0 && share >= PortShare && !isWebPort(port)
}

const second = 1e9

// begin begins a spell with what led to it: the second before, where it was more than
// usual.
func (t *Table) begin(s *Spell, nanos int64) {
	v := s.view
	if v == nil {
		v = t.takeView()
	}
	*s = Spell{Usual: s.Usual, before: s.before, Start: nanos - second, Pulses: 1, view: v}
	if b := &s.before; float64(b.packets) > 2*s.Usual {
		s.Start -= second
		s.Frame, s.Packets, s.Bytes, s.Seconds = b.frame, uint64(b.packets), b.bytes, 1
		s.Peak, s.PeakOf = float64(b.packets), b.bytes
	}
}

// add adds a second that qualifies.
func (t *Table) add(h *Host, class int, s *Spell, nanos int64) {
	n := &h.now[class]
	if s.Frame == 0 {
		s.Frame = n.frame
	}
	if !s.active && s.rest > 0 && t.now-s.rest >= pulseGap {
		s.Pulses++
	}
	s.active, s.rest, s.last, s.LastEnd = true, 0, t.now, nanos
	s.Rate, s.Amount = uint64(n.packets), n.bytes
	s.sum(n)
	s.Completed += uint64(h.completed)
}

// sum adds what came in a second.
func (s *Spell) sum(n *tally) {
	s.Packets += uint64(n.packets)
	s.Bytes += n.bytes
	s.Seconds++
	s.Peak, s.PeakOf = max(s.Peak, float64(n.packets)), max(s.PeakOf, n.bytes)
}

// Mean returns packets a second, of the seconds in which there were any.
func (s *Spell) Mean() float64 { return measure.Share(float64(s.Packets), float64(s.Seconds)) }

// IsActive reports whether the last second qualified.
func (s *Spell) IsActive() bool { return s.active }

// live goes on with a spell whose incident is open. A second below is the last of a pulse,
// or of all: what is more than usual in it counts.
func (t *Table) live(h *Host, class int, s *Spell, nanos int64, lim *Limits, least float64, isOver bool) {
	n := &h.now[class]
	if !isOver && float64(n.packets) < max(least/4, lim.Share*s.Mean(), 2*s.Usual) {
		if s.active {
			s.active, s.rest = false, t.now
			if float64(n.packets) > 2*s.Usual {
				s.Packets += uint64(n.packets)
				s.Bytes += n.bytes
				s.LastEnd = nanos
			}
		}
		if float64(t.now-s.last) >= lim.Quiet {
			t.Decide(h, class, s, Ends)
			t.drop(s)
		}
		return
	}
	t.add(h, class, s, nanos)
	if s.Peak >= 2*s.noted {
		s.noted = s.Peak
		t.Decide(h, class, s, Doubles)
	}
}

// learn moves the baseline towards the rate of a second.
func (s *Spell) learn(rate float64, age int32) { learnRate(&s.Usual, rate, age) }

func learnRate(usual *float64, rate float64, age int32) {
	step := learnSlow
	if age < learnUntil {
		step = learnFast
	}
	*usual += (min(rate, max(learnLeast, 4**usual)) - *usual) * step
}

// drop ends a spell; its baseline stays.
func (t *Table) drop(s *Spell) {
	if s.view != nil {
		t.spare = append(t.spare, s.view)
	}
	*s = Spell{Usual: s.Usual, before: s.before}
}

// takeView returns an empty view; nil if all are in use.
func (t *Table) takeView() *view {
	if n := len(t.spare); n > 0 {
		v := t.spare[n-1]
		t.spare = t.spare[:n-1]
		v.Reset()
		v.ports.Reset()
		return v
	}
	if len(t.views) == views {
		return nil
	}
	v := &view{Senders: measure.NewSenders(topSources)}
	t.views = append(t.views, v)
	return v
}

// End ends all that is open.
func (t *Table) End() {
	for _, h := range t.heavy {
		for class := range t.classes {
			if s := &h.spells[class]; s.open {
				t.Decide(h, class, s, Ends)
				t.drop(s)
			}
		}
	}
}

// Port returns the port to which most packets went, and their share of those that were
// looked at; 0 where that is not known.
func (s *Spell) Port() (port uint16, share float64) {
	if s.view == nil {
		return 0, 0
	}
	v, n, all := s.view.ports.Leader()
	return uint16(v), measure.Share(float64(n), float64(all))
}

// Sources returns about how many there are, but for those of the first packets; 0 where
// that is not known.
func (s *Spell) Sources() float64 {
	if s.view == nil {
		return 0
	}
	return s.view.Count()
}

// Sketch returns the spell's counter of sources; nil where it has none.
func (s *Spell) Sketch() *sketch.Distinct {
	if s.view == nil {
		return nil
	}
	return s.view.Sketch()
}

// Viewed returns of how many packets the sources were looked at.
func (s *Spell) Viewed() uint64 {
	if s.view == nil {
		return 0
	}
	return s.view.Packets
}

// Busiest lists the busiest sources, in list.
func (s *Spell) Busiest(list []measure.BusyHost) []measure.BusyHost {
	if s.view == nil {
		return list[:0]
	}
	return s.view.Busiest(list)
}

const (
	// limit: sessionTurn, in seconds: a server that changes maps is silent for ten, and its players go on.
	sessionTurn = 30
	// limit: views is for how many classes of hosts sources are counted at a time, 8 KiB each; where all
	// are in use, the number of sources is unknown.
	views = 32
	// limit: topSources is how many sources of one of them are told apart.
	topSources = 64
)
