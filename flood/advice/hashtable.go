package advice

import (
	"math"
	"time"
)

// hashTable maps hashes of addresses to numbers, with open addressing and at least half of
// the slots free. It grows to maxKeys and then refuses new keys, as the kernel's sets do;
// lru.Table would evict old ones, and take all of its memory at once. The seed of the hashes
// must be secret, so that nobody can choose addresses that collide.
type hashTable struct {
	slots     []hashSlot
	numKeys   int
	maxKeys   int
	lastSweep int64 // when removeIdle last searched the table; math.MinInt64: never
}

type hashSlot struct {
	key uint64 // 0: free
	val int64
}

const (
	minHashSlots = 1 << 6
	// sweepPause is the least time between two searches by removeIdle: without it, a full
	// table is searched for every packet.
	sweepPause = int64(time.Second)
)

// reset empties the table, keeps its memory, and limits it to most keys.
func (t *hashTable) reset(most int) {
	clear(t.slots)
	t.numKeys, t.maxKeys, t.lastSweep = 0, most, math.MinInt64
}

// findOrAdd returns the number of a key, which it adds with math.MinInt64 if it is new; nil
// if there is no room for it. The pointer is valid until the next call.
func (t *hashTable) findOrAdd(key uint64) *int64 {
	if key == 0 {
		key = 1
	}
	if len(t.slots) == 0 {
		t.grow()
	}
	i := t.find(key)
	if t.slots[i].key == key {
		return &t.slots[i].val
	}
	if t.numKeys == t.maxKeys {
		return nil
	}
	if 2*t.numKeys >= len(t.slots) {
		t.grow()
		i = t.find(key)
	}
	t.slots[i] = hashSlot{key: key, val: math.MinInt64}
	t.numKeys++
	return &t.slots[i].val
}

// makeRoom is findOrAdd that removes idle keys from a full table first.
func (t *hashTable) makeRoom(key uint64, now int64, idle time.Duration) *int64 {
	val := t.findOrAdd(key)
	if val == nil {
		t.removeIdle(now, idle)
		val = t.findOrAdd(key)
	}
	return val
}

// record sets the number of a key to now, if there is room for it.
func (t *hashTable) record(key uint64, now int64, idle time.Duration) {
	if val := t.makeRoom(key, now, idle); val != nil {
		*val = now
	}
}

// lookup returns the number of a key; nil if it is not there. The pointer is valid until the
// next call of another method.
func (t *hashTable) lookup(key uint64) *int64 {
	if key == 0 {
		key = 1
	}
	if len(t.slots) > 0 {
		if i := t.find(key); t.slots[i].key == key {
			return &t.slots[i].val
		}
	}
	return nil
}

// find returns the slot that has the key, or a free one where it belongs.
func (t *hashTable) find(key uint64) int {
	mask := len(t.slots) - 1
	at := int(key) & mask
	for t.slots[at].key != key && t.slots[at].key != 0 {
		at = (at + 1) & mask
	}
	return at
}

func (t *hashTable) grow() {
	old := t.slots
	t.slots = make([]hashSlot, max(2*len(old), minHashSlots))
	for _, s := range old {
		if s.key != 0 {
			t.slots[t.find(s.key)] = s
		}
	}
}

// removeIdle removes from a full table the buckets that have been full for idle. It searches
// at most once a second, as the kernel sweeps its sets.
func (t *hashTable) removeIdle(now int64, idle time.Duration) {
	if t.numKeys < t.maxKeys || t.lastSweep != math.MinInt64 && now-t.lastSweep < sweepPause {
		return
	}
	t.lastSweep = now
	mask := len(t.slots) - 1
	first := 0
	for t.slots[first].key != 0 { // no key after a free slot belongs before it
		first++
	}
	for i := 1; i <= mask; {
		at := (first + i) & mask
		if t.slots[at].key != 0 && t.slots[at].val <= now-int64(idle) {
			t.remove(at) // the next key may have moved to this slot
		} else {
			i++
		}
	}
}

// remove frees slot i, and moves keys after it that found their own slot taken back towards
// it.
func (t *hashTable) remove(i int) {
	mask := len(t.slots) - 1
	t.numKeys--
	for at := i; ; {
		at = (at + 1) & mask
		k := t.slots[at].key
		if k == 0 {
			break
		}
		if home := int(k) & mask; (at-home)&mask >= (at-i)&mask {
			t.slots[i] = t.slots[at]
			i = at
		}
	}
	t.slots[i] = hashSlot{}
}
