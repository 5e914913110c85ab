package flood

import (
	"slices"
	"time"

	"qsniff/internal/base/hostset"
	"qsniff/internal/flood/measure"
)

// book is what all watchers of a detector share: the clock, the thresholds, and the book of
// incidents. Watchers open and close their incidents through it; it numbers them, joins them
// to campaigns and announces each event.
type book struct {
	measure.Clock
	epoch int64 // time stamp of second 0, by the packet at hand
	frame uint64
	begun int32 // the second of the first packet

	lim      Thresholds
	key      measure.Key
	advisor  Advisor
	ownNames *hostset.Networks // of the operator's tools
	announce func(in *Incident, e Event)

	claimsSize float64 // see claimsSize

	requests, lost uint64 // packets so far
	pairing        pairing

	lastID uint64
	closed []closedIncident // the last ones that closed
	open   int              // incidents
	minute int32
	opened [NumKinds]int // in this minute
	// unopened counts incidents that were not opened, because openIncidents or
	// maxPerMinute was reached. One that is tried again while its verdict holds counts once.
	unopened uint64

	notes      []sharedNote      // open ones that further servers may join
	amplifiers []*amplifiersNote // at most sharedNotes

	busiest  []measure.BusyHost // memory of whoever lists sources
	prefixes []Prefix           // and networks
}

// pairing counts replies of servers that are not watched closely and get requests: with their request in the
// capture, and without. Where one of N packets was captured, or one interface of two, most are without, and
// what a source proves is in packets that the capture lacks.
type pairing struct{ pairs, strays uint32 }

// add adds a reply. What was long ago counts less and less.
func (p *pairing) add(isPaired bool) {
	if isPaired {
		p.pairs++
	} else {
		p.strays++
	}
	if p.pairs+p.strays >= pairingMost {
		p.pairs, p.strays = p.pairs/2, p.strays/2
	}
}

// lacksPackets reports whether the capture lacks many packets.
func (b *book) lacksPackets() bool {
	p := &b.pairing
	return p.strays >= pairingLeast && p.strays >= p.pairs
}

const (
	// pairingMost is how many replies are counted until half of them are forgotten, and pairingLeast how many
	// without a request show that packets are missing. Chosen: a capture begins between requests and replies.
	pairingMost  = 1 << 12
	pairingLeast = 20
)

// closedIncident is what is kept of an incident that closed, so that the next one at its
// target joins its campaign.
type closedIncident struct {
	target   Target
	family   family
	campaign uint64
	end      int64
}

// family groups the kinds that exclude each other. A target has at most one open incident
// of each family; those of different families count different packets and may be open at
// the same time.
type family uint8

const (
	ofQueries      family = iota // flood_few to reflection
	ofGuesses                    // challenge_bypass
	ofJunk                       // junk_flood
	ofLoad                       // crowd, poller: queries, too, but no attack
	serverFamilies               // how many families a server has
)

// Families of the other watchers.
const (
	ofReplies = serverFamilies + iota
	ofScans
	ofLogins
	ofAmplifier
	ofOthers // what is no query: one incident for each class at a host
	ofOwn    // storms of the operator's tools
)

// secondEnd returns the time stamp at the end of the second at hand.
func (b *book) secondEnd() int64 { return b.epoch + int64(b.Now)*int64(time.Second) }

// openIncident returns a new incident that started at start, in Unix nanoseconds. It returns
// nil and counts the incident as unopened where openIncidents are open, or maxPerMinute of
// its kind were opened in this minute. The caller fills it in and announces it.
func (b *book) openIncident(target Target, kind Kind, family family, start int64) *Incident {
	if b.Now/60 != b.minute {
		b.minute = b.Now / 60
		clear(b.opened[:])
	}
	b.opened[kind]++
	if b.opened[kind] > maxPerMinute || b.open == openIncidents {
		b.unopened++
		return nil
	}
	b.open++
	b.lastID++
	in := &Incident{ID: b.lastID, Campaign: b.lastID, Kind: kind, Level: kind.Level(), Target: target, Pulses: 1,
		Start: start, Detected: max(b.secondEnd(), start), Completion: -1, Answered: -1, Served: -1, Frame: b.frame, Dropped: b.lost, Own: b.ownNames}
	for i := range b.closed {
		p := &b.closed[i]
		if p.target == target && p.family == family && start-p.end <= int64(b.lim.Campaign) {
			in.Campaign = p.campaign
		}
	}
	return in
}

// changeKind gives an open incident another kind; the one before goes to its History.
func (b *book) changeKind(in *Incident, kind Kind, nanos int64) {
	in.History = append(in.History, Change{in.Kind, nanos})
	in.Kind, in.Level = kind, kind.Level()
}

// setEnd sets the end of an incident. Where the capture's clock was set back, the end is moved
// to the start, or to the detection. A scan may end before its detection, which waits for
// answers.
func (b *book) setEnd(in *Incident, end int64, family family) {
	in.End = max(end, in.Start)
	if family != ofScans {
		in.End = max(in.End, in.Detected)
	}
}

// captureEnd returns the end of the capture for finish, which is called when the second after
// it has begun.
func (b *book) captureEnd() int64 { return b.Nanos - int64(time.Second) }

// closeIncident announces that an incident is over, and keeps it for campaigns.
func (b *book) closeIncident(in *Incident, family family) {
	b.setEnd(in, in.End, family)
	if len(b.closed) == keptIncidents {
		b.closed = slices.Delete(b.closed, 0, 1)
	}
	b.closed = append(b.closed, closedIncident{in.Target, family, in.Campaign, in.End})
	b.open--
	b.announce(in, Ends)
}

// isQuiet reports whether the quiet time has passed since last, the last second in which an
// incident qualified.
func (b *book) isQuiet(last int32) bool { return float64(b.Now-last) >= b.lim.Quiet.Seconds() }

// WarmUp is the length of capture after which the baseline is known: until then confidence
// is limited.
const WarmUp = warmUp * time.Second

// SureAfter is for how long a server has to be watched until a page may say that nothing is wrong with it: a slow
// attack takes so long to be found. Chosen: that of ten seconds whose mean is judged.
const SureAfter = 10 * time.Second

// usualAfter is how many seconds of a capture before an incident show what is usual. Chosen: with fewer it is chance,
// and that of an attack that was there from the first packet is the attack's.
const usualAfter = 5

// restartTrial restarts the trial of an incident whose kind changed, or begins one.
func (b *book) restartTrial(in *Incident, t Trial) Trial {
	if t == nil {
		return b.advisor.Try(in)
	}
	t.Restart(in)
	return t
}

// concludeTrial writes the final advice, with what the trial measured if there was one. blind
// is set where no source could prove its address.
func (b *book) concludeTrial(in *Incident, t Trial, blind bool) {
	if t == nil {
		b.advisor.Advise(in)
		return
	}
	t.Conclude(in, blind)
}

const (
	// limit: openIncidents is how many incidents are open at a time. Further ones are counted, and not
	// opened.
	openIncidents = 256
	// limit: keptIncidents is how many closed incidents are kept, for campaigns.
	keptIncidents = 256
	// limit: maxPerMinute is how many incidents of a kind open in a minute, so that nobody can fill
	// openIncidents with them. Further ones are counted, and not opened.
	maxPerMinute = 50
)
