package advice

import (
	"encoding/binary"
	"math"
	"net/netip"
	"time"

	"qsniff/track"
)

// allowance is a token bucket, as nftables' "limit rate over" (nft_limit.c of Linux)
// and iptables' hashlimit have it: a packet costs the time in which one more is
// allowed, time that passes pays, and no more than the burst can be saved. A bucket
// begins full. A packet over the limit is dropped and costs nothing.
type allowance struct {
	packets int64 // 0: none is let through
	per     time.Duration
	burst   int64
}

// over charges a packet at now to the bucket that will be full at the time *full,
// which says the same as the count of tokens and needs no time of last use.
func (l *allowance) over(full *int64, now int64) bool {
	cost := int64(l.per) / l.packets
	from := max(*full, now)
	if from-now+cost > cost*l.burst {
		return true
	}
	*full = from + cost
	return false
}

// hashes maps hashes of addresses to a number. It grows to its limit and then takes no
// more; a slot in two is free. It is no lru.Table, which takes all its memory at once
// and evicts, as the kernel's sets do not. Likewise the seed of the hashes must be
// secret, so that nobody can choose addresses that collide; what the table does does
// not depend on it.
type hashes struct {
	slots []hashSlot
	n     int
	most  int
	swept int64 // when forget last looked
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
func (t *hashes) reset(most int) {
	clear(t.slots)
	t.n, t.most, t.swept = 0, most, math.MinInt64
}

// at is the number of a key, of a new one math.MinInt64; nil if there is no room.
// It is valid until the next call.
func (t *hashes) at(key uint64) *int64 {
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
	if t.n == t.most {
		return nil
	}
	if 2*t.n >= len(t.slots) {
		t.grow()
		i = t.find(key)
	}
	t.slots[i] = hashSlot{key: key, val: math.MinInt64}
	t.n++
	return &t.slots[i].val
}

// find returns the slot that has the key, or a free one where it belongs.
func (t *hashes) find(key uint64) int {
	mask := len(t.slots) - 1
	at := int(key) & mask
	for t.slots[at].key != key && t.slots[at].key != 0 {
		at = (at + 1) & mask
	}
	return at
}

func (t *hashes) grow() {
	old := t.slots
	t.slots = make([]hashSlot, max(2*len(old), hashSlots))
	for _, s := range old {
		if s.key != 0 {
			t.slots[t.find(s.key)] = s
		}
	}
}

// forget makes room of buckets that have been full for so long. It looks once a
// second: the kernel's sets are swept no more often.
func (t *hashes) forget(now int64, idle time.Duration) {
	if t.n < t.most || t.swept != math.MinInt64 && now-t.swept < sweepPause {
		return
	}
	t.swept = now
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
func (t *hashes) remove(i int) {
	mask := len(t.slots) - 1
	t.n--
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

// netMask is a network in two words, IPv4 mapped.
type netMask struct{ hi, lo, hiMask, loMask uint64 }

func maskOf(p netip.Prefix) netMask {
	bits := p.Bits()
	if p.Addr().Is4() {
		bits += 96
	}
	a := p.Addr().As16()
	n := netMask{hiMask: ^uint64(0), loMask: ^uint64(0)}
	if bits < 64 {
		n.hiMask, n.loMask = n.hiMask<<(64-bits), 0
	} else {
		n.loMask <<= 128 - bits
	}
	n.hi, n.lo = binary.BigEndian.Uint64(a[:8])&n.hiMask, binary.BigEndian.Uint64(a[8:])&n.loMask
	return n
}

func (n *netMask) has(h *track.Host) bool {
	return binary.BigEndian.Uint64(h[:8])&n.hiMask == n.hi && binary.BigEndian.Uint64(h[8:])&n.loMask == n.lo
}
