package advice

import (
	"math"
	"time"
)

// hashTable maps hashes of addresses to a number. It grows to its limit and then takes no
// more; a slot in two is free. It is no lru.Table, which takes all its memory at once
// and evicts, as the kernel's sets do not. Likewise the seed of the hashes must be
// secret, so that nobody can choose addresses that collide; what the table does does
// not depend on it.
type hashTable struct {
	slots     []hashSlot
	numKeys   int
	maxKeys   int
	lastSweep int64 // when forget last looked
}

type hashSlot struct {
	key uint64 // 0: free
	val int64
}

const (
	hashSlots = 1 << 6
	// sweepPause keeps a full table from being swept for every packet, see forget.
	sweepPause = int64(time.Second)
)

// reset empties the table, which keeps its memory.
func (t *hashTable) reset(most int) {
	clear(t.slots)
	t.numKeys, t.maxKeys, t.lastSweep = 0, most, math.MinInt64
}

// findOrAdd is the number of a key, of a new one math.MinInt64; nil if there is no room.
// It is valid until the next call.
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
	t.slots = make([]hashSlot, max(2*len(old), hashSlots))
	for _, s := range old {
		if s.key != 0 {
			t.slots[t.find(s.key)] = s
		}
	}
}

// removeIdle makes room of buckets that have been full for so long. It looks once a
// second: the kernel's sets are swept no more often.
func (t *hashTable) removeIdle(now int64, idle time.Duration) {
	if t.numKeys < t.maxKeys || t.lastSweep != math.MinInt64 && now-t.lastSweep < sweepPause {
		return
	}
	t.lastSweep = now
	mask := len(t.slots) - 1
	first := 0
	for t.slots[first].key != 0 { // after a free slot nothing is pushed on from in front
		first++
	}
	for i := 1; i <= mask; {
		at := (first + i) & mask
		if t.slots[at].key != 0 && t.slots[at].val <= now-int64(idle) {
			t.remove(at) // another may have come into its place
		} else {
			i++
		}
	}
}

// remove frees slot i and moves up those after it that were pushed on.
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
