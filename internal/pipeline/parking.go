package pipeline

import (
	"net/netip"
	"time"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
)

// A request too weak to be believed by its bytes, such as a single byte, is parked until
// the reply to it comes, which shows that it was a request.
const (
	parkingSpaces = 256             // in each partition; the oldest request is evicted (chosen)
	parkedMax     = 64              // bytes of a request; longer ones are not parked: weak ones are short
	parkedFor     = 5 * time.Second // packet time; as long as a set of parts waits
)

// parkKey is the ends of a request, by direction.
type parkKey struct {
	src, dst         [16]byte
	srcPort, dstPort uint16
}

// Hash mixes the key with the seed.
func (k parkKey) Hash(seed uint64) uint64 {
	h := lru.MixBytes(lru.MixBytes(seed, k.src[:]), k.dst[:])
	return lru.Mix(h, uint64(k.srcPort)<<16|uint64(k.dstPort))
}

func parkKeyOf(src, dst netip.AddrPort) parkKey {
	return parkKey{src.Addr().As16(), dst.Addr().As16(), src.Port(), dst.Port()}
}

// parked is a request that waits.
type parked struct {
	data    [parkedMax]byte
	n       int
	wire    int
	asks    dissect.Asked
	verdict dissect.Verdict // on its bytes alone
	frame   uint64
	nanos   int64
}

// bytes returns the request, valid until the next change.
func (k *parked) bytes() []byte { return k.data[:k.n] }

// parking holds the requests that wait, one for each pair of ends.
type parking struct {
	table *lru.Table[parkKey, parked]
}

func newParking() *parking {
	return &parking{table: lru.New[parkKey, parked](parkingSpaces)}
}

func (k *parking) isEmpty() bool { return k.table.Len() == 0 }

// keepRequest stores the request s until its reply comes. asks is what it asks for, and v
// the verdict on its bytes alone. A newer request replaces an older one.
func (k *parking) keepRequest(s *payload, asks dissect.Asked, v *dissect.Verdict) {
	if len(s.data) > parkedMax {
		return
	}
	w, _ := k.table.Put(parkKeyOf(s.src, s.dst))
	w.n, w.wire, w.frame, w.nanos = copy(w.data[:], s.data), s.wire, s.frame, s.nanos
	w.asks, w.verdict = asks, *v
}

// findRequest returns the request that waits for a reply that goes from src to dst, nil if
// there is none. It is valid until the next change.
func (k *parking) findRequest(src, dst netip.AddrPort) *parked {
	if k.isEmpty() {
		return nil
	}
	return k.table.Peek(parkKeyOf(dst, src))
}

// isFresh reports whether a reply at nanos may still answer the request.
func (k *parked) isFresh(nanos int64) bool { return nanos-k.nanos <= int64(parkedFor) }

// asked returns what the request asked for that a reply from src to dst at nanos may
// answer, 0 if none waits.
func (k *parking) asked(src, dst netip.AddrPort, nanos int64) dissect.Asked {
	w := k.findRequest(src, dst)
	if w == nil || !w.isFresh(nanos) {
		return 0
	}
	return w.asks
}

// dropRequest removes the request that waits for a reply from src to dst.
func (k *parking) dropRequest(src, dst netip.AddrPort) { k.table.Delete(parkKeyOf(dst, src)) }
