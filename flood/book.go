package flood

import (
	"slices"
	"time"

	"qsniff/flood/measure"
)

// book is what every watcher works with: the clock, the thresholds, and the incidents.
// Watchers open and close their incidents in it; it numbers them, joins them to campaigns
// and passes each event on.
type book struct {
	measure.Clock
	epoch int64 // time stamp of second 0, by the packet at hand
	frame uint64

	lim     Thresholds
	key     measure.Key
	advisor Advisor
	found   func(in *Incident, e Event)

	requests, lost uint64 // packets so far

	next   uint64
	past   []past // the last ones that closed
	open   int    // incidents
	minute int32
	opened [NumKinds]int // in this minute
	// uncounted is how many incidents were not opened, because too many were.
	uncounted uint64

	busiest  []measure.Busy // memory of whoever lists sources
	prefixes []Prefix       // and networks
}

// past is an incident that closed.
type past struct {
	target   Target
	family   family
	campaign uint64
	end      int64
}

// family is what can be wrong with a target at the same time: it has one open incident of
// each, because each looks at packets of its own.
type family uint8

const (
	ofQueries family = iota // flood_few to reflection
	ofGuesses               // challenge_bypass
	ofJunk                  // junk_flood
	ofLoad                  // crowd, poller: queries, too, but no attack
	families                // counts those of a server
)

// Families of incidents that are not about queries to a server.
const (
	ofReplies = families + iota
	ofScans
	ofLogins
	ofPosture
	ofOthers // what is no query: one incident for each class at a host
)

// secondEnd returns the time stamp at the end of the second at hand.
func (b *book) secondEnd() int64 { return b.epoch + int64(b.Now)*int64(time.Second) }

// openIncident makes an incident that started at a time; it returns nil where too many are
// open already, or of its kind in this minute. The caller describes it and announces it.
func (b *book) openIncident(target Target, kind Kind, family family, start int64) *Incident {
	if b.Now/60 != b.minute {
		b.minute = b.Now / 60
		clear(b.opened[:])
	}
	b.opened[kind]++
	if b.opened[kind] > maxPerMinute || b.open == openIncidents {
		b.uncounted++
		return nil
	}
	b.open++
	b.next++
	in := &Incident{ID: b.next, Campaign: b.next, Kind: kind, Level: kind.Level(), Target: target, Pulses: 1,
		Start: start, Detected: max(b.secondEnd(), start), Completion: -1, Answered: -1, Frame: b.frame, Dropped: b.lost}
	for i := range b.past {
		p := &b.past[i]
		if p.target == target && p.family == family && start-p.end <= int64(b.lim.Campaign) {
			in.Campaign = p.campaign
		}
	}
	return in
}

// changeKind gives an open incident another kind.
func (b *book) changeKind(in *Incident, kind Kind, nanos int64) {
	in.History = append(in.History, Change{in.Kind, nanos})
	in.Kind, in.Level = kind, kind.Level()
}

// closeIncident announces that an incident is over. Clocks that were set back do not make
// it end before it was there; scans are over before answers have failed to come.
func (b *book) closeIncident(in *Incident, family family) {
	in.End = max(in.End, in.Start)
	if family != ofScans {
		in.End = max(in.End, in.Detected)
	}
	if len(b.past) == keptIncidents {
		b.past = slices.Delete(b.past, 0, 1)
	}
	b.past = append(b.past, past{in.Target, family, in.Campaign, in.End})
	b.open--
	b.found(in, Ends)
}

// isQuiet reports whether a second is so long ago that an incident whose last one it was
// is over.
func (b *book) isQuiet(last int32) bool { return float64(b.Now-last) >= b.lim.Quiet.Seconds() }

// How sure a verdict is, and can be at most.
const (
	sureLeast   = 0.5
	surePoint   = 0.07
	sureMost    = 0.99
	sureOneWay  = 0.60
	sureVictim  = 0.75 // of replies, when its own requests were not captured
	sureLossy   = 0.70
	lossyShare  = 0.2 // of the requests, from which on a capture is lossy
	sureWarming = 0.70
	warmUp      = 30 // seconds
)

// confidence returns how sure a score makes.
func (b *book) confidence(score float64, oneWay bool) float64 {
	c := min(sureMost, sureLeast+surePoint*score)
	if oneWay {
		c = min(c, sureOneWay)
	}
	if b.lost > 0 && float64(b.lost) > lossyShare*float64(b.requests) {
		c = min(c, sureLossy)
	}
	if b.Now < warmUp {
		c = min(c, sureWarming)
	}
	return max(c, 0)
}

// retry tries the rules anew where another verdict asks for others.
func (b *book) retry(in *Incident, t Trial) Trial {
	if t == nil {
		return b.advisor.Try(in)
	}
	t.Restart(in)
	return t
}

// conclude writes the advice with what was measured, if anything was.
func (b *book) conclude(in *Incident, t Trial, blind bool) {
	if t == nil {
		b.advisor.Advise(in)
		return
	}
	t.Conclude(in, blind)
}
