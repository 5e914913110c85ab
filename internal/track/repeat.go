package track

// Repeat is what a request that repeats the one before it shows of the pace of its client. It is
// zero of other messages.
type Repeat struct {
	// Gap is the time since the request before, in nanoseconds, if that is equal and the server
	// sent nothing in between; 0 if the two may be copies of one packet.
	Gap int64
	// IsThird is set of the third equal request within copiesFor.
	IsThird bool
}

// The values of exchange.copyGap: the time between the last two requests, if they are equal and
// the server sent nothing in between, in units of copyUnit, rounded up.
const (
	noCopy   = 0                      // they are not, or there is one request
	hasTwin  = 1                      // they may be copies of one packet
	longCopy = 254                    // this time or more
	nextNone = 255                    // the next request is no copy, whatever it is
	copyUnit = int64(copiesFor) / 200 // the twins of twinFor are one unit
)

// countCopy returns what m, a further request of e, of the kind with a number, shows of the pace
// of its client. Of two requests within twinFor the second may be a copy that the network or the
// capture made of the first: it does not count, unless it is the second such one in a row.
func (e *exchange) countCopy(m *Message, kind uint8) (r Repeat) {
	if e.copyGap == nextNone || e.state&(replyDue|partsCame) != replyDue || e.requestKey != uint32(m.Key) || e.requestKind != kind || e.size != m.size() {
		e.copyGap = noCopy
		return r
	}
	gap := max(m.Age-e.lastAge, 0)
	if gap < int64(twinFor) && e.copyGap != hasTwin {
		if e.copyGap == noCopy {
			e.copyGap = hasTwin
		}
		return r
	}
	if gap == 0 { // offload merged them into one frame: the capture does not have their times
		return r
	}
	before := int64(e.copyGap) * copyUnit
	r = Repeat{Gap: gap, IsThird: e.copyGap > hasTwin && before+gap <= int64(copiesFor)}
	e.copyGap = uint8(max(min((gap+copyUnit-1)/copyUnit, longCopy), hasTwin+1))
	return r
}

// recordOther records that p is the part of a reply. If that ended no wait it may be a wrong answer
// to any open question between the ends at hand: what the client asks next is no copy.
func (x *Exchanges) recordOther(p Part) Part {
	if p.Step == NoStep || p.Step == Stray || p.Step == Extra {
		for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
			e.copyGap = nextNone
		}
	}
	return p
}
