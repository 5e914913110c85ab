package measure

import (
	"math/bits"

	"qsniff/internal/base/lru"
	"qsniff/internal/base/mem"
	"qsniff/internal/flood/sketch"
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
	unproven            uint16 // requests counted as unproven so far
	plainBytes          uint16 // length of the last request without a challenge
	awaitsEcho          bool   // it was challenged and has not echoed yet
	lastWasPlain        bool   // its last request had no challenge
	isOrphan            bool   // it counts as an orphan, which no answer has decided yet
	level               uint8  // SampleLevel when the first pending request came
	plainKind           uint8  // kindOf what the last request without a challenge asked for; 0: it was answered
	keyed               uint8  // requests with a challenge that were not answered, 255 at most
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

// use records that the source asked, and u when. What waited for an answer for long gets none any
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
