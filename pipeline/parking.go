package pipeline

import (
	"net/netip"
	"time"

	"qsniff/dissect"
	"qsniff/internal/lru"
)

// Requests too short to be believed wait for the reply that proves them: a single
// byte can be a query or anything else. They are forgotten when they are old.
const (
	parkingSpaces = 256             // in each partition; the oldest makes room
	parkedMax     = 64              // bytes of a request that is kept: weak ones are short
	parkedFor     = 5 * time.Second // packet time; as long as a set of parts waits
)

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
	data  [parkedMax]byte
	n     int
	wire  int
	asks  dissect.Asked
	frame uint64
	nanos int64
}

type parking struct {
	table *lru.Table[parkKey, parked]
}

func newParking() *parking {
	return &parking{table: lru.New[parkKey, parked](parkingSpaces)}
}

func (k *parking) len() int { return k.table.Len() }

// keep remembers s, which asks for that, until a reply comes. A newer request
// replaces an older one.
func (k *parking) keep(s *source, asks dissect.Asked) {
	if len(s.data) > parkedMax {
		return
	}
	v, _ := k.table.Put(parkKeyOf(s.src, s.dst))
	v.n, v.wire, v.frame, v.nanos = copy(v.data[:], s.data), s.wire, s.frame, s.nanos
	v.asks = asks
}

// asked is what waits for a reply that goes from src to dst at nanos.
func (k *parking) asked(src, dst netip.AddrPort, nanos int64) dissect.Asked {
	if k.len() == 0 {
		return 0
	}
	w := k.table.Peek(parkKeyOf(dst, src))
	if w == nil || nanos-w.nanos > int64(parkedFor) {
		return 0
	}
	return w.asks
}

// unpark reports the request that reply s of type t answers, if one waits.
func (p *partition) unpark(s *source, t *dissect.Type) {
	key := parkKeyOf(s.dst, s.src)
	w := p.parked.table.Peek(key)
	if w == nil {
		return
	}
	was := p.ctx
	if s.nanos-w.nanos <= int64(parkedFor) {
		q := source{src: s.dst, dst: s.src, data: w.data[:w.n], run: w.n, wire: w.wire, frame: w.frame, nanos: w.nanos}
		p.ctx = dissect.Context{Src: q.src, Dst: q.dst, Wire: q.wire}
		v := p.reg.Pick(&p.ctx, q.data)
		if v.Dissector != nil && !v.Type.Reply && v.Type.Asks&t.Asks != 0 {
			v.Conf, v.Why = dissect.Likely, "its reply came"
			p.n.unbelieved-- // it was counted when it came
			p.dissect(&q, &v)
		}
	}
	p.ctx = was
	p.parked.table.Delete(key)
}
