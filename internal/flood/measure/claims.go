package measure

import (
	"math/bits"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/base/mem"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Claims follows which sources bring back the challenge that they were given: the
// only proof of an address that the protocols have. It follows a sample of the sources
// of all servers, so that shares stay right however many addresses are invented.
type Claims struct {
	sets        []claimSet
	items       []claim // claimWays of a set
	SampleLevel uint8   // one source in 2^SampleLevel is followed
	each        int     // claims that may be added in a second
	added       int     // claims added in this second
	// recentlyProven holds the sources that proved their address in the last ten to twenty
	// minutes, so that a lookup of any other source need not search the sets.
	recentlyProven *sketch.Recent
}

const claimWays = 4

// ClaimsBytes returns the memory that Claims takes.
func ClaimsBytes() int {
	return claimSets*(claimWays*mem.SizeOf[claim]()+mem.SizeOf[claimSet]()) + 2*provenBytes
}

// claimSet holds what a search in a set looks at, so that a new claim finds its place without
// those that are there: half of a cache line.
type claimSet struct {
	tags [claimWays]uint32 // upper half of the key; 0: free
	used [claimWays]used
}

// used is when a source asked last: twice that second, and one more if it ever proved its
// address.
type used uint32

func (u used) second() int32 { return int32(u >> 1) }

func (u *used) set(now int32) { *u = used(now)<<1 | *u&1 }

// claim is what one source did at one server. Times are seconds since the first packet.
type claim struct {
	key, keyHigh        uint32 // the halves of the key, of server and source
	challenge, previous uint32 // the last two challenges that it was given
	unissued            uint32 // the last challenge that it brought without being given it in this capture
	askedAt             int32  // of the first request that waits for proof, or of the orphan
	issuedAt            int32  // of the first challenge that waits for its echo
	provedAt            int32
	pending             uint16 // requests whose echo has not come yet
	plainBytes          uint16 // length of the last request without a challenge
	awaitsEcho          bool   // it was challenged and has not echoed yet
	last                lastSent
	given               uint8 // challenges that it was given and has not brought back, 255 at most
	level               uint8 // SampleLevel when the first pending request came
	plainKind           uint8 // kindOf what the last request without a challenge asked for; 0: it was answered
	keyed               uint8 // requests with a challenge that were not answered, 255 at most
}

// lastSent is what the last request of a source was.
type lastSent uint8

const (
	lastOther  lastSent = iota
	lastPlain           // it had no challenge
	lastOrphan          // it counts as an orphan, which no answer has decided yet
)

// leave makes the last request another one, if it was was.
func (x *claim) leave(was lastSent) {
	if x.last == was {
		x.last = lastOther
	}
}

// How long a fact counts, in seconds.
const (
	ProvenFor  = 20 * 60 // a proof of an address: the longest that recentlyProven holds it
	PendingFor = 5       // from a request to its echo. Chosen: clients give up after 1 to 3 s
	FreshFor   = 60      // a challenge. GoldSource's are valid for minutes
)

// NewClaims returns an empty Claims that follows size times the usual number of sources.
func NewClaims(size float64) *Claims {
	n := max(int(claimSets*size), 1)
	n = 1 << (bits.Len(uint(n)) - 1) // a power of two: no division finds a set
	return &Claims{sets: make([]claimSet, n), items: make([]claim, n*claimWays), each: max(int(ClaimsEach*size), 1),
		recentlyProven: sketch.NewRecent(provenBytes)}
}

// follows reports whether the source with that hash is in the sample.
func (c *Claims) follows(source uint64) bool {
	return source>>32&(1<<(c.SampleLevel%64)-1) == 0 // levels are below 64: then the shift needs no check
}

// add returns the claim of key and creates it if there is none. A claim with a recent
// proof is evicted only if all claims of its set have one.
func (c *Claims) add(key uint64, now int32) *claim {
	if x, u := c.find(key); x != nil {
		x.use(u, now)
		return x
	}
	number := key & uint64(len(c.sets)-1)
	set, items := &c.sets[number], c.items[number*claimWays:][:claimWays]
	oldest, worth := 0, int32(1<<31-1)
	for i, u := range set.used {
		w := u.second()
		if set.tags[i] == 0 {
			oldest = i
			break
		}
		if u&1 != 0 && items[i].isProven(now) {
			w += ProvenFor
		}
		if w < worth {
			oldest, worth = i, w
		}
	}
	c.added++
	set.tags[oldest], set.used[oldest] = tagOf(key), used(now)<<1
	items[oldest] = claim{key: uint32(key), keyHigh: uint32(key >> 32)}
	return &items[oldest]
}

// find returns the claim of key and when it was used, or nil.
func (c *Claims) find(key uint64) (*claim, *used) {
	number, tag := key&uint64(len(c.sets)-1), tagOf(key)
	set := &c.sets[number]
	for i, t := range &set.tags {
		if t == tag {
			if x := &c.items[int(number)*claimWays+i]; x.wholeKey() == key {
				return x, &set.used[i]
			}
		}
	}
	return nil, nil
}

// Foresee asks the processor for what a request of the source at the server will touch.
func (c *Claims) Foresee(server, source uint64) {
	if !c.follows(source) {
		return
	}
	number := claimKey(server, source) & uint64(len(c.sets)-1)
	mem.Prefetch(&c.items[number*claimWays], &c.sets[number])
}

func (x *claim) wholeKey() uint64 { return uint64(x.keyHigh)<<32 | uint64(x.key) }

// use records that the source asked, and u when. A request that waited long gets no answer any
// more.
func (x *claim) use(u *used, now int32) {
	if now-u.second() > PendingFor {
		x.keyed, x.plainKind = 0, 0
	}
	u.set(now)
}

// recordProof records that the source proved its address.
func (c *Claims) recordProof(x *claim, now int32) {
	x.provedAt = now
	key := x.wholeKey()
	c.recentlyProven.Add(key)
	if _, u := c.find(key); u != nil {
		*u |= 1
	}
}

// tagOf returns what claimTags holds of a key: never 0.
func tagOf(key uint64) uint32 { return uint32(key>>32) | 1 }

// AdaptSample halves the sample if more than ClaimsEach claims were added in the second
// that ends, and doubles it if fewer than claimsCalm were; of fewer sets, fewer.
func (c *Claims) AdaptSample() {
	switch {
	case c.added > c.each && c.SampleLevel < 16:
		c.SampleLevel++
	case c.added < max(c.each*claimsCalm/ClaimsEach, 1) && c.SampleLevel > 0:
		c.SampleLevel--
	}
	c.added = 0
}

// weight returns the number of sources for which this one stood when it asked: what it
// does later is compared with that request.
func (x *claim) weight() uint32 { return 1 << x.level }

// claimKey returns the key of a source at a server: never 0.
func claimKey(server, source uint64) uint64 { return lru.Mix(server, source) | 1 }

// isProven reports whether the source proved its address in the last ProvenFor seconds.
func (x *claim) isProven(now int32) bool { return x.provedAt > 0 && now-x.provedAt < ProvenFor }

// TurnProofs drops from recentlyProven what was added before the previous call. It is
// called every ten minutes.
func (c *Claims) TurnProofs() { c.recentlyProven.Rotate() }

// Request is what a request turned out to be.
type Request struct {
	IsQuery  bool // it counts as a query: it is not the echo of a request that counted
	IsProven bool // its source proved its address in the last ProvenFor seconds
	IsGuess  bool // it has a challenge that was never issued to it
	// MayBeGuess: it has a challenge that the capture does not show, while most are guesses.
	MayBeGuess bool
}

// CheckRequest compares the challenge of a request with those that its source was given,
// and records the request. t and b are nil where the server is not watched closely: then
// nothing is counted there. A source outside of the sample has no claim, unless it was in
// the sample before: nothing is added for it, or invented addresses that bring challenges
// would fill the sets however small the sample is.
func (c *Claims) CheckRequest(t *Server, b *Second, s *track.Sighting, now int32) Request {
	isKeyed := s.Flags&track.HasKey != 0
	x := c.claimOf(s, isKeyed, now)
	if x == nil {
		r := Request{IsQuery: !isKeyed || t == nil || t.LastChallenge == 0} // its challenge may be valid
		r.MayBeGuess = !r.IsQuery && b.isMostlyGuesses()
		return r
	}
	if isKeyed && b != nil && c.follows(s.ClientHash) {
		b.Checked++
	}
	if x.pending > 0 && now-x.askedAt > PendingFor {
		x.pending, x.awaitsEcho = 0, false
	}
	if !isKeyed && !(s.Flags&track.Cut != 0 && x.awaitsEcho && uint16(s.Bytes) == x.plainBytes+uint16(s.Type.TokenLen())) {
		return c.recordPlain(b, s, x, now)
	}
	x.leave(lastPlain)
	x.keyed = min(x.keyed, 254) + 1
	switch {
	case !isKeyed:
		return c.recordEcho(t, b, x, now, false)
	case x.challenge == 0 && x.previous == 0:
		return c.recordUnissued(t, b, s, x, now)
	case s.Key == x.challenge || s.Key == x.previous:
		return c.recordEcho(t, b, x, now, true)
	}
	return c.recordGuess(b, s, x, now)
}

// claimOf returns the claim of the source of a request, or nil if it has none: that of a
// source in the sample is created. Of a source outside of it, only a request with a challenge
// is looked up.
func (c *Claims) claimOf(s *track.Sighting, isKeyed bool, now int32) *claim {
	key := claimKey(s.ServerHash, s.ClientHash)
	if c.follows(s.ClientHash) {
		return c.add(key, now)
	}
	if !isKeyed {
		return nil
	}
	x, u := c.find(key)
	if x != nil {
		x.use(u, now)
	}
	return x
}

// recordGuess records a request with a challenge that is not the one that its source was
// given. The refusal that answers it counts nothing more.
func (c *Claims) recordGuess(b *Second, s *track.Sighting, x *claim, now int32) Request {
	x.leave(lastOrphan)
	if b != nil && c.follows(s.ClientHash) {
		b.Guesses++
	}
	return Request{IsGuess: true, IsProven: x.isProven(now)}
}

// recordPlain records a request without a challenge.
func (c *Claims) recordPlain(b *Second, s *track.Sighting, x *claim, now int32) Request {
	x.last, x.plainBytes, x.plainKind = lastPlain, uint16(s.Bytes), uint8(KindOf(s.Asks))
	if x.pending == 0 {
		x.askedAt, x.level = now, c.SampleLevel
	}
	x.pending = min(x.pending, 1<<15) + 1
	if b != nil {
		b.Plain += x.weight()
	}
	return Request{IsQuery: true, IsProven: x.isProven(now)}
}

// recordEcho records a request that brings back what its source was given. isWhole is
// false where the capture cut the challenge.
func (c *Claims) recordEcho(t *Server, b *Second, x *claim, now int32, isWhole bool) Request {
	r := Request{IsQuery: x.pending == 0, IsProven: true}
	waits := x.given > 0
	x.follow(t)
	x.given -= min(x.given, 1)
	c.recordProof(x, now)
	if t == nil {
		return r
	}
	if waits && b != nil {
		b.Brought += x.weight()
	}
	if !isWhole {
		t.LastCut = now
	}
	w := x.weight()
	if x.awaitsEcho {
		if b := t.At(x.issuedAt); b != nil {
			b.Echoed += w
		}
	}
	x.awaitsEcho = false
	return r
}

// follow records that a request with a challenge follows one that waits for it: one, as others in the name
// of the same address may be forged. t is nil where the server is not watched closely.
func (x *claim) follow(t *Server) {
	if x.pending == 0 {
		return
	}
	x.pending--
	if b := t.At(x.askedAt); b != nil {
		b.Followed += x.weight()
	}
}

// recordUnissued records a request with a challenge that the capture did not show. While
// such challenges may well be from before the capture, the request counts as an echo or a
// query.
func (c *Claims) recordUnissued(t *Server, b *Second, s *track.Sighting, x *claim, now int32) Request {
	isFirst, isOther := x.unissued == 0, x.unissued != 0 && x.unissued != s.Key
	x.unissued = s.Key
	isValid := t == nil || t.takesUnissued(now)
	if !isValid && isOther {
		return c.recordGuess(b, s, x, now)
	}
	r := Request{IsQuery: x.pending == 0}
	// One that pends may have got a challenge that the capture lacks.
	if isFirst && x.pending == 0 && b != nil && t.LastChallenge != 0 {
		x.last, x.askedAt, r.IsQuery = lastOrphan, now, isValid
		r.MayBeGuess = !isValid && b.isMostlyGuesses()
		if c.follows(s.ClientHash) {
			b.Orphans++
		}
	}
	if !isValid || x.pending == 0 {
		return r
	}
	// A capture of one direction shows no better proof than what looks like an echo.
	if t != nil && t.LastChallenge == 0 {
		c.recordProof(x, now)
		r.IsProven = true
	}
	x.follow(t)
	return r
}

// RecordChallenge records a challenge that a server gives. t is nil where the server is
// not watched closely.
func (c *Claims) RecordChallenge(t *Server, s *track.Sighting, clock Clock) {
	if t != nil {
		if t.LastChallenge == 0 {
			t.FirstChallenge = clock.Now
		}
		t.LastChallenge = clock.Now
	}
	key := claimKey(s.ServerHash, s.ClientHash)
	x, _ := c.find(key)
	if x == nil {
		if !c.follows(s.ClientHash) {
			return
		}
		x = c.add(key, clock.Now)
	}
	if s.Key != x.challenge {
		x.previous, x.challenge = x.challenge, s.Key
	}
	if s.Key == x.unissued && s.Key != 0 {
		c.recordEarlyEcho(t, x, clock)
		return
	}
	if t == nil {
		return
	}
	b := t.OpenSecond(clock.Now, clock.Nanos)
	x.given = min(x.given, 254) + 1
	b.Given += x.weight()
	switch {
	case x.pending > 0 && !x.awaitsEcho:
		x.awaitsEcho, x.issuedAt = true, clock.Now
		b.Challenged += x.weight()
	case x.unissued != 0 && x.unissued != s.Key && x.last != lastPlain:
		// The server refuses the challenge that the source brought.
		x.unissued = 0
		if x.last == lastOrphan {
			x.last = lastOther
			t.recordRefusal(s, x.askedAt, clock.Now, c.follows(s.ClientHash))
		}
	}
}

// recordEarlyEcho records that a source had brought the challenge which the server gives it now: the
// clock of what the host sends is late, as where two interfaces were merged by time, or the challenge is
// the one of an earlier visit. Either way the source received it: a sender cannot guess 32 bits.
func (c *Claims) recordEarlyEcho(t *Server, x *claim, clock Clock) {
	x.unissued = 0
	x.leave(lastOrphan)
	c.recordProof(x, clock.Now)
	if t == nil {
		return
	}
	w := x.weight()
	if x.pending > 0 && !x.awaitsEcho {
		b := t.OpenSecond(clock.Now, clock.Nanos)
		b.Challenged += w
		b.Echoed += w
		b.Given += w
		b.Brought += w
	}
	if b := t.At(x.askedAt); b != nil {
		b.Orphans -= min(b.Orphans, 1)
	}
	x.follow(t)
	x.pending, x.awaitsEcho = 0, false
}

// IsProven reports whether a source proved its address to a server in the last ProvenFor
// seconds. It also holds for sources outside the sample that brought a challenge back.
func (c *Claims) IsProven(server, source uint64, now int32) bool {
	if c.recentlyProven.IsEmpty() { // as where one direction was captured: it needs no key
		return false
	}
	key := claimKey(server, source)
	if !c.recentlyProven.Has(key) {
		return false
	}
	x, _ := c.find(key)
	return x != nil && x.isProven(now)
}

// Answer is what a reply or a challenge answers.
type Answer struct {
	IsPlain bool   // a request without a challenge
	Kind    int    // KindOf what that asked for
	Bytes   uint16 // its length
}

// TakeAnswered returns what a server answers to a client in the sample with s, a challenge or
// the first packet of a reply. A client may send many requests before the answers come. As
// many replies as it sent requests with a challenge answer these: what is left was given to
// somebody who had proved nothing, if it is of the kind that was asked for last.
func (c *Claims) TakeAnswered(s *track.Sighting, now int32) Answer {
	if !c.follows(s.ClientHash) {
		return Answer{}
	}
	x, u := c.find(claimKey(s.ServerHash, s.ClientHash))
	if x == nil || now-u.second() > PendingFor {
		return Answer{}
	}
	isData := s.What != track.IsChallenge
	if isData && x.keyed > 0 {
		x.keyed--
		return Answer{}
	}
	if x.plainKind == 0 || isData && s.What != track.IsPart && int(x.plainKind) != KindOf(s.Asks) { // a part does not show its kind
		return Answer{}
	}
	a := Answer{IsPlain: true, Kind: int(x.plainKind), Bytes: x.plainBytes}
	x.plainKind = 0
	if isData && x.pending > 0 { // it waits for no echo
		x.pending--
		x.leave(lastPlain)
	}
	return a
}

// KindOf numbers what is asked for, from 1 to MaxKind. Of a request for several things, the
// first counts.
func KindOf(a dissect.Asked) int { return min(bits.TrailingZeros32(uint32(a))+1, MaxKind) }

// MaxKind is the highest number of a kind: there are fewer.
const MaxKind = 16

const (
	// limit: Claims follows claimSets sets of claimWays sources, 65,536 in all; where more than ClaimsEach
	// new ones come in a second, one source in 2^n. Chosen: ClaimsEach sources a second fill the sets in
	// 20 s, several times PendingFor.
	claimSets  = 1 << 14
	ClaimsEach = 3000
	// limit: claimsCalm is the number of new sources a second below which more are followed again.
	claimsCalm = 500
	// limit: provenBytes is the size of each of the two filters that hold the sources that proved their
	// address in the last ten to twenty minutes.
	provenBytes = 16 << 10
)
