package flood

import (
	"math"
	"net/netip"
	"time"

	"qsniff/internal/base/lru"
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
	side     // of all sources but the operator's tools
	own      own
	victims  victims
	scans    scans
	consoles consoles
	others   *others
	claims   *measure.Claims
	guessers guessers
	asked    *sketch.Recent // pairs of client and server, of requests to servers that are not watched closely
	played   *sketch.Recent // pairs of server and client that the game itself was spoken with
	part     track.Sighting // see handleJunkPart

	hasBegun bool
	firstAge int64 // age of the first sighting
	nextAge  int64 // at which the second at hand is over

	isShared  bool  // see Share
	isAligned bool  // seconds are, by ahead
	ahead     int64 // the time stamp of a packet minus its age
}

// New returns a detector whose tables have size times their default size. With a nil advisor
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
	d.scans.isCarpet = d.side.networks.isCarpet
	d.consoles = newConsoles(b, n(rconTargets), n(rconLogins))
	d.others = newOthers(b, &d.side, size)
	return d
}

// claimsSize returns the size of the claims of a detector of a size: all of them down to a
// quarter of the default size, as proofs of addresses decide about incidents.
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
		if s.What == track.IsPart && d.isJunkPart(s) {
			d.handleJunkPart(s)
			break
		}
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

// FullTables returns the names of the tables whose limits cost something: what was counted was evicted, or
// what was worth a place got none.
func (d *Detector) FullTables() []string {
	var full []string
	add := func(name string, yes bool) {
		if yes {
			full = append(full, name)
		}
	}
	add("servers", d.servers.hasLost)
	add("servers watched closely", d.servers.fullSince > 0 || d.servers.noneIdleSince > 0)
	add("networks", d.networks.hasLost)
	add("networks watched closely", d.networks.fullSince > 0)
	add("hosts that get replies nobody asked for", d.victims.hasNoRoom)
	add("tools of one's own", d.own.isFull())
	add("sources of scans", d.scans.hasLost)
	add("hosts that get more than queries", d.others.IsFull())
	add("consoles", d.consoles.hasEvicted)
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

// SetThresholds replaces the thresholds between two sightings. What was measured stays, and so do
// the incidents that are open: they are judged by the new ones from the next second on. A run that
// began with lim and one that changed to it differ in what the old ones had begun to watch closely.
func (d *Detector) SetThresholds(lim Thresholds) {
	d.book.lim = lim
	d.rules, d.own.rules = newRulebook(&lim), newOwnRulebook(&lim)
	d.others.limits = limitsOfOthers(&lim)
}

// handleRequest counts a request at its server, and for its source's scan unless the server
// is known to have answered lately.
func (d *Detector) handleRequest(s *track.Sighting) {
	b := &d.book
	b.requests += uint64(s.Count())
	x, isOwn := &d.side, d.own.names != nil && d.own.takeRequest(s)
	if isOwn {
		x = &d.own.side
		d.tryRules(s, d.servers.receiver(s))
	}
	w := x.servers.receiver(s)
	isSummed := x.networks.handleRequest(s, w)
	if w == nil {
		d.asked.Add(lru.Mix(s.ClientHash, s.ServerHash))
		d.scans.countRequest(s)
		if w = x.countPacket(s, isSummed); w == nil {
			d.claims.CheckRequest(nil, nil, s, b.Now)
			return
		}
	} else if w.LastSent == 0 || b.Now-w.LastSent > measure.BinSeconds || d.scans.isWatching() {
		d.scans.countRequest(s)
	}
	second := w.CountRequest(s, b.Clock)
	r := d.claims.CheckRequest(&w.Server, second, s, b.Now)
	r.IsProven = r.IsProven || isOwn // also where the source is in no sample
	if r.IsProven && second != nil && s.Flags&track.HasKey != 0 {
		second.ProvenAsked += s.Count()
	}
	if w.hasTrial() {
		w.applyTrials(s, r.IsProven || d.isProven(s))
	}
	d.guessers.recordRequest(s, r.IsGuess)
	w.CountChecked(s, b.Clock, second, r)
}

// isProven reports whether the client of a packet proved its address to the server in the
// last measure.ProvenFor seconds.
func (d *Detector) isProven(s *track.Sighting) bool {
	return d.claims.IsProven(s.ServerHash, s.ClientHash, d.book.Now)
}

// wasAsked reports whether the client of a packet sent its server a request in the last five
// to ten seconds, while the server was not watched closely.
func (d *Detector) wasAsked(s *track.Sighting) bool {
	return d.asked.Has(lru.Mix(s.ClientHash, s.ServerHash))
}

// handleReply counts a reply, a challenge or a part of a split reply.
func (d *Detector) handleReply(s *track.Sighting) {
	b := &d.book
	w := d.servers.sender(s)
	x, isOwn := &d.side, d.own.names != nil && d.own.takesReply(s)
	if isOwn {
		x = &d.own.side
		d.tryRules(s, w)
		if w != nil {
			w.LastSent = b.Now
		}
		w = x.servers.sender(s)
	}
	// A server that is watched closely gets so many requests that its replies count as
	// asked for: pairs are not kept for it.
	isWanted := s.IsSample() || w != nil && b.Now-w.LastAsked < 2*askedPeriod || d.wasAsked(s)
	isWhole := s.What != track.IsPart || s.Flags&track.First != 0
	x.networks.handleReply(s, w, isWhole)
	d.victims.countReply(s, isWanted)
	if isWanted {
		d.scans.countReply(s)
	}
	var server *measure.Server
	if w == nil {
		if x.servers.recordReply(s.From(), s.What == track.IsChallenge) && isWhole && !s.IsSample() {
			b.pairing.add(isWanted)
		}
		if d.servers.hasTrial { // junk that looks like a reply, as rules see it
			if to := d.servers.receiver(s); to != nil && to.hasTrial() {
				to.applyTrials(s, isWanted)
			}
		}
	} else {
		server = &w.Server
		second := w.CountReply(s, b.Clock, isWhole)
		if isWhole && s.What != track.IsChallenge && d.isProven(s) {
			second.ProvenGiven += s.Count()
		}
		d.recordLeak(w, s, isWhole)
		if w.hasTrial() {
			w.applyTrials(s, d.isProven(s))
		}
	}
	if !isWanted {
		return
	}
	switch {
	case w == nil:
	case !isWhole:
		w.amplifier.countPart(s)
	default:
		if a := d.claims.TakeAnswered(s, b.Now); a.IsPlain && !isOwn {
			w.amplifier.countAnswer(b, server, s, a)
		}
	}
	if s.What == track.IsChallenge && s.Flags&track.HasKey != 0 {
		d.claims.RecordChallenge(server, s, b.Clock)
	}
}

// isJunkPart reports whether a part of a split reply comes to a server that is asked, and from a port
// that is none of a server's: replies go to clients, and a reflection brings what servers send. So
// the receiver is no victim of one, but a server that is sent junk.
func (d *Detector) isJunkPart(s *track.Sighting) bool {
	return s.Flags&track.AtSplitPort == 0 && d.servers.isAsked(s) && d.servers.sender(s) == nil && !d.wasAsked(s)
}

// handleJunkPart handles such a part as junk, but from a player: games split what they send as well. Its hashes
// take the sender for the server, so it gets others.
func (d *Detector) handleJunkPart(s *track.Sighting) {
	d.part = *s
	d.part.What = track.IsOther
	d.part.ClientHash, d.part.ServerHash = d.book.key.HashHost(&s.Src), s.ToHash()
	if !d.played.Has(lru.Mix(d.part.ClientHash, d.part.ServerHash^uint64(s.SrcPort))) {
		d.handleJunk(&d.part)
	}
}

// handleJunk counts a datagram that begins like a query and is nothing known at its receiver,
// unless a server that is watched closely sent it.
func (d *Detector) handleJunk(s *track.Sighting) {
	w := d.servers.receiver(s)
	if w == nil && d.servers.sender(s) != nil { // a server's own notice
		return
	}
	isSummed := d.networks.handleJunk(s, w)
	if w == nil {
		if w = d.side.countPacket(s, isSummed); w == nil {
			return
		}
	}
	w.CountJunk(s, d.book.Clock)
	if w.hasTrial() {
		w.applyTrials(s, d.claims.IsProven(w.Hash, s.ClientHash, d.book.Now))
	}
}

// handleOther handles a datagram that is of no known protocol. Those that a server sends
// show with whom it speaks the game; one to a server from anybody else counts as strange.
func (d *Detector) handleOther(s *track.Sighting) {
	b := &d.book
	if w := d.servers.sender(s); w != nil {
		w.LastSent = b.Now
		d.played.Add(lru.Mix(b.key.HashHost(&s.Dst), w.Hash^uint64(s.DstPort)))
		if w.hasTrial() {
			w.applyTrials(s, true)
		}
		return
	}
	w := d.servers.receiver(s)
	if w == nil || w.LastSent == 0 {
		return
	}
	hasPlayed := d.played.Has(lru.Mix(b.key.HashHost(&s.Src), w.Hash^uint64(s.SrcPort)))
	if w.hasTrial() { // the game goes both ways with players: they receive what is sent to them
		w.applyTrials(s, hasPlayed)
	}
	if !hasPlayed && !(s.IsSample() && w.hidesSessions(s, b.Now)) {
		w.CountStrange(s, b.Clock)
		d.networks.handleStrange(s, w)
	}
}

// hidesSessions reports whether samples have not shown yet, or cannot show, with whom a server speaks the game.
func (w *watched) hidesSessions(s *track.Sighting, now int32) bool {
	return s.Count() > mostSessionWeight || now-w.Born < sampledSessions
}

const (
	// sampledSessions is for how many seconds samples of what a server sends are looked at until a datagram
	// from elsewhere counts as one of no session, and mostSessionWeight of how many packets a sample may be
	// one: five samples of each player who gets 20 packets a second. The filter of sessions keeps them for so long.
	sampledSessions   = 30
	mostSessionWeight = 20 * sampledSessions / 5
)

// Share has the detector measure what can be put together with what detectors on other hosts
// measure. It is called before the first sighting.
//
// All of them have the key of the networks, and sightings with the same seed: a source has the
// same hash everywhere. Seconds and panes begin with those of Unix time, so that the sketches of one
// pane are of the same ten seconds everywhere. A server for which isOwn reports true is watched
// closely from the first request on, or from the first one in a second in which it does, if there is
// room, or a server that is watched closely was not asked for BinSeconds: the sketches then hold all
// that it was asked, and its baseline is that of a calm day. None makes room that is asked.
//
// If the clock of the packets is set, by more than clockSet, the pane at hand is shorter or longer.
func (d *Detector) Share(k measure.Key, isOwn func(netip.AddrPort) bool) {
	d.book.key, d.servers.isOwn, d.isShared = k, isOwn, true
}

// clockSet is by how much the time stamps and the age of packets drift apart before seconds are
// aligned anew. Chosen: packets of several sources may be out of order by less.
const clockSet = time.Second

// alignSeconds makes the second of age end with one of Unix time, and gives it a number that ends
// with the same digit, which is no lower than the one it had: panes turn when the digit is 0.
func (d *Detector) alignSeconds(age, nanos int64) {
	second := int64(time.Second)
	ahead := nanos - age
	if d.isAligned && max(ahead-d.ahead, d.ahead-ahead) <= int64(clockSet) {
		return
	}
	sec := int64(1)
	if d.isAligned {
		sec = (age-d.firstAge)/second + 1
	}
	d.isAligned, d.ahead = true, ahead
	unix := floorDiv(nanos, second)
	const digits = measure.PaneSeconds
	sec += ((unix-sec)%digits + digits) % digits
	d.firstAge = age - (nanos - unix*second) - (sec-1)*second
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Pane returns at which age of packets the pane at hand is over, and which Unix time that is, in
// nanoseconds; ages that no packet has before the first sighting, and after lastSecond. It is for a
// detector that Share was called on.
func (d *Detector) Pane() (endAge, end int64) {
	switch {
	case !d.hasBegun:
		return math.MinInt64, 0
	case d.book.Now >= lastSecond:
		return math.MaxInt64, 0
	}
	n := int64(d.book.Now/measure.PaneSeconds+1) * measure.PaneSeconds // the first second of the next one
	endAge = d.firstAge + (n-1)*int64(time.Second)
	return endAge, endAge + d.ahead
}

// Watched returns the measurements of a server that is watched closely, else nil. They are valid
// until the next call of a method that takes a packet or passes time.
func (d *Detector) Watched(a netip.AddrPort) *measure.Server {
	e := track.EndOf(a)
	if w := d.servers.find(&e.Host, e.Port); w != nil {
		return &w.Server
	}
	return nil
}

// Measure sets f to the features of a server that Watched returned, those of junk and guesses
// included, as the rules would get them if the second at hand were over. It changes nothing.
func (d *Detector) Measure(f *measure.Features, t *measure.Server) {
	b := &d.book
	t.Measure(f, b.Now, measure.Limits{Unproven: b.lim.FewUnproven, Proven: b.lim.FewProven})
	t.MeasureJunk(f, b.Now, false)
	t.MeasureGuesses(f, b.Now)
}

// MergeShape adds the forms of the queries of the last measure.ShapeSeconds to such a server.
func (d *Detector) MergeShape(all *measure.Shape, t *measure.Server) {
	for sec := d.book.Now - measure.ShapeSeconds + 1; sec <= d.book.Now; sec++ {
		t.MergeShape(all, measure.Queries, sec)
	}
}

const (
	// limit: askedBytes is the size of each of the two filters of who asked whom in the last five to ten
	// seconds.
	askedBytes = 512 << 10
	// limit: sessionBytes is the same for who spoke the game with which server in the last sessionPeriod
	// to two of these.
	sessionBytes = 128 << 10
	// limit: scanners is how many sources are watched that asked at least two servers that never answered.
	scanners = 1024
)
