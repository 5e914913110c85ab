package measure

import (
	"unsafe"

	"qsniff/flood/sketch"
	"qsniff/internal/lru"
)

// Claims follows which sources bring back the challenge that they were given: the
// only proof of an address that the protocol has. It keeps a sample of the sources
// of all targets, so that shares stay right however many addresses are invented.
type Claims struct {
	sets  []claimTags
	items []claim // claimWays of a set
	Level uint8   // one source in 2^Level is followed
	fresh int     // new ones in this second
	// shown are sources that proved their address to a server in the last ten to twenty
	// minutes, of all of which few are looked up.
	shown *sketch.Recent
}

const claimWays = 4

// ClaimsBytes is what a book of claims takes.
const ClaimsBytes = claimSets*claimWays*int(unsafe.Sizeof(claim{})+unsafe.Sizeof(claimTags{}[0])) + 2*provenBytes

// claimTags is what a search in a set touches.
type claimTags [claimWays]uint32 // upper half of the key; 0: free

// claim is one source at one target. Times are seconds since the first packet.
type claim struct {
	key           uint64 // of target and source; 0: free
	value, before uint32 // the challenges that it was given last
	cached        uint32 // one that it brought without being given it in this capture
	asked         int32  // of the first request that waits for proof
	issued        int32  // of the first challenge that waits for its echo
	proved, last  int32
	pending       uint16 // requests whose echo is still to come
	unproven      uint16 // requests that count as unproven so far
	plain         uint16 // length of the last request without a challenge
	waits         bool   // it was challenged and did not echo yet
	open          bool   // its last request had no challenge
	level         uint8  // of the sample when the first request that waits came
}

// How long things stay true, in seconds.
const (
	ProvenFor  = 20 * 60 // an address that was proved
	PendingFor = 5       // a client's patience between challenge and echo
	FreshFor   = 60      // a challenge: GoldSource's live for minutes
)

// NewClaims returns an empty book of claims.
func NewClaims() *Claims {
	return &Claims{sets: make([]claimTags, claimSets), items: make([]claim, claimSets*claimWays),
		shown: sketch.NewRecent(provenBytes)}
}

// follows reports whether the source with that hash is in the sample.
func (c *Claims) follows(source uint64) bool { return source>>32&(1<<c.Level-1) == 0 }

// add returns the claim of key, new if need be: a source that proved its address
// makes room only for another one that did.
func (c *Claims) add(key uint64, now int32) *claim {
	if x := c.find(key); x != nil {
		x.last = now
		return x
	}
	set := key % claimSets
	items := c.items[set*claimWays:][:claimWays]
	oldest, worth := 0, int32(1<<31-1)
	for i := range items {
		x := &items[i]
		w := x.last
		if c.sets[set][i] == 0 {
			oldest = i
			break
		}
		if x.proved > 0 && now-x.proved < ProvenFor {
			w += ProvenFor
		}
		if w < worth {
			oldest, worth = i, w
		}
	}
	c.fresh++
	c.sets[set][oldest] = tagOf(key)
	items[oldest] = claim{key: key, last: now}
	return &items[oldest]
}

// find returns the claim of key, or nil.
func (c *Claims) find(key uint64) *claim {
	set, tag := key%claimSets, tagOf(key)
	for i, t := range &c.sets[set] {
		if t == tag {
			if x := &c.items[int(set)*claimWays+i]; x.key == key {
				return x
			}
		}
	}
	return nil
}

func tagOf(key uint64) uint32 { return uint32(key>>32) | 1 }

// Tick adapts the sample to the second that ends.
func (c *Claims) Tick() {
	switch {
	case c.fresh > ClaimsEach && c.Level < 16:
		c.Level++
	case c.fresh < claimsCalm && c.Level > 0:
		c.Level--
	}
	c.fresh = 0
}

// weight is how many sources one that is followed stands for.
func (c *Claims) weight() uint32 { return 1 << c.Level }

// weight is how many sources this one stood for when it asked: what it does later is
// set against that.
func (x *claim) weight() uint32 { return 1 << x.level }

func claimKey(target, source uint64) uint64 { return lru.Mix(target, source) | 1 }

// proven reports whether the source proved its address not long ago.
func (x *claim) proven(now int32) bool { return x.proved > 0 && now-x.proved < ProvenFor }

// Turn lets go of proofs that nobody asked for in ten to twenty minutes.
func (c *Claims) Turn() { c.shown.Rotate() }
