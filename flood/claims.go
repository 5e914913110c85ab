package flood

import "qsniff/internal/lru"

// claims follows which sources bring back the challenge that they were given: the
// only proof of an address that the protocol has. It keeps a sample of the sources
// of all targets, so that shares stay right however many addresses are invented.
type claims struct {
	sets  []claimTags
	items []claim // claimWays of a set
	level uint8   // one source in 2^level is followed
	fresh int     // new ones in this second
}

const claimWays = 4

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
}

// How long things stay true, in seconds.
const (
	provenFor  = 20 * 60 // an address that was proved
	pendingFor = 5       // a client's patience between challenge and echo
	freshFor   = 60      // a challenge: GoldSource's live for minutes
)

func newClaims() claims {
	return claims{sets: make([]claimTags, claimSets), items: make([]claim, claimSets*claimWays)}
}

// follows tells whether the source with that hash is in the sample.
func (c *claims) follows(source uint64) bool { return source>>32&(1<<c.level-1) == 0 }

// of returns the claim of key, new if need be: a source that proved its address
// makes room only for another one that did.
func (c *claims) of(key uint64, now int32) *claim {
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
		if x.proved > 0 && now-x.proved < provenFor {
			w += provenFor
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
func (c *claims) find(key uint64) *claim {
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

// tick adapts the sample to the last second.
func (c *claims) tick() {
	switch {
	case c.fresh > claimsEach && c.level < 16:
		c.level++
	case c.fresh < claimsCalm && c.level > 0:
		c.level--
	}
	c.fresh = 0
}

// weight is how many sources one that is followed stands for.
func (c *claims) weight() uint32 { return 1 << c.level }

func claimKey(target, source uint64) uint64 { return lru.Mix(target, source) | 1 }

// proven tells whether the source proved its address not long ago.
func (x *claim) proven(now int32) bool { return x.proved > 0 && now-x.proved < provenFor }
