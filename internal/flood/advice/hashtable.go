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
	marks     []uint64 // a filter: both bits of a key that is in the table are set
	numKeys   int
	maxKeys   int
	nextSweep int64 // from when on a full table is searched for idle keys again
	oldest    int64 // no number is smaller; math.MinInt64: not known
}

type hashSlot struct {
	key uint64 // 0: free
	val int64
}

const (
	minHashSlots = 1 << 6
	// marksPerSlot is how many bits of marks there are for each slot: eight for each key of a
	// full table, which find 19 of 20 other keys to be missing without a search. That costs a
	// cache miss, where forged addresses have filled a table.
	marksPerSlot = 4
	// sweepPause is the least time between two searches by removeIdle: without it, a full
	// table is searched for every packet.
	sweepPause = int64(time.Second)
)

// reset empties the table, keeps its memory, and limits it to most keys.
func (t *hashTable) reset(most int) {
	clear(t.slots)
	clear(t.marks)
	t.numKeys, t.maxKeys, t.nextSweep, t.oldest = 0, most, math.MinInt64, math.MinInt64
}

// findOrAdd returns the number of a key, which it adds with math.MinInt64 if it is new; nil
// if there is no room for it. The pointer is valid until the next call.
func (t *hashTable) findOrAdd(key uint64) *int64 {
	if key == 0 {
		key = 1
	}
	if v := t.lookup(key); v != nil || t.numKeys == t.maxKeys {
		return v
	}
	return t.add(key)
}

// add adds a key that is not there, and for which there is room.
func (t *hashTable) add(key uint64) *int64 {
	if 2*t.numKeys >= len(t.slots) {
		t.grow()
	}
	i := t.find(key)
	t.slots[i] = hashSlot{key: key, val: math.MinInt64}
	t.mark(key)
	t.numKeys++
	return &t.slots[i].val
}

// findOrReplace does so after it has removed idle keys, if the table is full.
func (t *hashTable) findOrReplace(key uint64, now int64, idle time.Duration) *int64 {
	if key == 0 {
		key = 1
	}
	v := t.lookup(key)
	if v != nil || t.numKeys == t.maxKeys && (now < t.nextSweep || !t.removeIdle(now, idle)) {
		return v
	}
	return t.add(key)
}

// record sets the number of a key to now, if there is room for it.
func (t *hashTable) record(key uint64, now int64, idle time.Duration) {
	if val := t.findOrReplace(key, now, idle); val != nil {
		*val = now
	}
}

// lookup returns the number of a key; nil if it is not there. The pointer is valid until the
// next call of another method.
func (t *hashTable) lookup(key uint64) *int64 {
	if key == 0 {
		key = 1
	}
	if len(t.slots) > 0 && t.isMarked(key) {
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
	t.marks = make([]uint64, len(t.slots)*marksPerSlot/64)
	for _, s := range old {
		if s.key != 0 {
			t.slots[t.find(s.key)] = s
			t.mark(s.key)
		}
	}
}

// placeOf returns the word of a key in marks, and its two bits.
func (t *hashTable) placeOf(key uint64) (word, bits uint64) {
	return key >> 24 & uint64(len(t.marks)-1), 1<<(key>>58) | 1<<(key>>52&63)
}

func (t *hashTable) mark(key uint64) {
	word, bits := t.placeOf(key)
	t.marks[word] |= bits
}

func (t *hashTable) isMarked(key uint64) bool {
	word, bits := t.placeOf(key)
	return t.marks[word]&bits == bits
}

// removeIdle removes from a full table the buckets that have been full for idle, and reports
// whether there were any. It is called at most once a second, as the kernel sweeps its sets, and
// does not search while none can be: numbers only grow.
func (t *hashTable) removeIdle(now int64, idle time.Duration) bool {
	t.nextSweep = now + sweepPause
	if t.oldest > now-int64(idle) {
		return false
	}
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
	clear(t.marks)
	t.oldest = math.MaxInt64
	for _, s := range t.slots {
		if s.key != 0 {
			t.mark(s.key)
			t.oldest = min(t.oldest, s.val)
		}
	}
	return t.numKeys < t.maxKeys
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
