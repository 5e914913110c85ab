package limiter

import (
	"net/netip"
	"time"

	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/flood/proof"
	"qsniff/internal/track"
)

// Options choose what is replayed.
type Options struct {
	Model Model
	Ours  *hostset.Set // servers that are replayed; nil: all
	Scale float64      // of the tables, as a multiple of the usual; 0: the usual
}

// Replay runs a model over requests. It implements track.Watcher.
type Replay struct {
	model      Model
	ours       *hostset.Set
	proofs     *proof.Collector
	servers    *lru.Table[track.End, serverLimiter]
	others     *lru.Table[sourceKey, sourceCounter] // sources that were not proven when they were counted last
	clients    *lru.Table[sourceKey, sourceCounter] // sources that were
	lastNumber uint32                               // of the newest server

	evictedServers, evictedClients, evictedOthers uint64
}

// sourceKey is an address at a server, by the server's number.
type sourceKey struct {
	server uint32
	host   track.Host
}

// Hash mixes the key with the seed.
func (k sourceKey) Hash(seed uint64) uint64 { return lru.Mix(k.host.Hash(seed), uint64(k.server)) }

// serverLimiter is the limiter of a server and what it did.
type serverLimiter struct {
	number    uint32 // from 1
	era       uint32 // from 1: addresses of an earlier one are unknown again
	hasWindow bool   // the window of all began once
	start     int64  // second in which the window of all began
	count     uint64
	ring      [ringSize]uint32 // addresses by the second in which their window began
	tracked   uint64           // sum of the ring
	ringEnd   int64            // second up to which the ring has expired addresses dropped
	overruns  uint64

	requests, byRate, byAll uint64
	firstByAll, lastByAll   int64  // Unix times of refusals for the limit of all
	seconds                 uint64 // in which a packet was refused for the limit of all
	lastSecond              int64  // the last of these
}

// sourceCounter is the counter of an address at a server, and what became of its packets.
type sourceCounter struct {
	start                   int64
	count                   uint32
	era                     uint32 // of the server when the address was counted; 0: unknown to the engine
	requests, byRate, byAll uint64
	first, last             int64 // refusal
}

// New returns a replay of opt.Model.
func New(opt Options) *Replay {
	if opt.Scale == 0 {
		opt.Scale = 1
	}
	size := func(n int) int { return int(float64(n) * opt.Scale) }
	return &Replay{
		model: opt.Model, ours: opt.Ours,
		proofs:  proof.New(proof.Options{Ours: opt.Ours, Scale: opt.Scale}),
		servers: lru.New[track.End, serverLimiter](size(maxServers)),
		others:  lru.New[sourceKey, sourceCounter](size(maxSources)),
		clients: lru.New[sourceKey, sourceCounter](size(maxClients)),
	}
}

// Sight implements track.Watcher: it runs a packet through the limiter of its server.
func (r *Replay) Sight(s *track.Sighting) {
	r.proofs.Sight(s)
	st := r.findServer(s)
	if st == nil {
		return
	}
	now := s.Age / int64(time.Second)
	x := r.findSource(st, s.Src, now)
	v := r.model.admit(st, x, now)
	st.requests++
	x.requests++
	if v == admitted {
		return
	}
	if x.byRate+x.byAll == 0 {
		x.first = s.Nanos
	}
	x.last = s.Nanos
	if v == refusedByRate {
		st.byRate++
		x.byRate++
		return
	}
	x.byAll++
	st.recordRefusal(s.Nanos, now)
}

// recordRefusal records a refusal for the limit of all.
func (st *serverLimiter) recordRefusal(nanos, now int64) {
	if st.byAll == 0 {
		st.firstByAll = nanos
	}
	if st.byAll == 0 || now != st.lastSecond {
		st.seconds++
	}
	st.byAll++
	st.lastByAll, st.lastSecond = nanos, now
}

// Tick forwards the time to the proofs. The windows of the engine begin and end with
// packets only.
func (r *Replay) Tick(age, nanos int64) { r.proofs.Tick(age, nanos) }

// Lost counts packets that the capture lacks.
func (r *Replay) Lost(packets uint64) { r.proofs.Lost(packets) }

// End ends the proofs: no packet follows.
func (r *Replay) End(age, nanos int64) { r.proofs.End(age, nanos) }

// findServer returns the server whose limiter counts a packet, or nil if none does. A
// request adds its destination.
func (r *Replay) findServer(s *track.Sighting) *serverLimiter {
	k := s.To()
	switch {
	case s.Flags&track.Connection != 0:
		return nil
	case s.What == track.IsJunk, (s.What == track.IsReply || s.What == track.IsChallenge) && isConnectionless(s):
		return r.servers.Get(k)
	case s.What != track.IsRequest || !isConnectionless(s):
		return nil
	case r.ours != nil && !r.ours.Has(netip.AddrPortFrom(s.Dst.Addr(), s.DstPort)):
		return nil
	}
	st, evicted := r.servers.Put(k)
	if evicted != nil {
		r.evictedServers++
	}
	if st.number == 0 {
		r.lastNumber++
		st.number, st.era, st.ringEnd = r.lastNumber, 1, s.Age/int64(time.Second)
	}
	return st
}

// isConnectionless reports whether the limiters of the engines count a message.
func isConnectionless(s *track.Sighting) bool { return s.Proto != nil && s.Proto.Limited }

// findSource returns the counter of an address. Once the address is proven, its counter
// moves to r.clients, from which forged addresses cannot evict it.
func (r *Replay) findSource(st *serverLimiter, host track.Host, now int64) *sourceCounter {
	k := sourceKey{st.number, host}
	if x := r.clients.Get(k); x != nil {
		return x
	}
	if !r.proofs.IsProven(host) {
		x, evicted := r.others.Put(k)
		if evicted != nil {
			r.keepEvicted(evicted, now)
		}
		return x
	}
	x := r.addClient(k)
	if o := r.others.Peek(k); o != nil {
		*x = *o
		r.others.Delete(k)
	}
	return x
}

// addClient adds the counter of a proven client and evicts the oldest if there is no room.
func (r *Replay) addClient(k sourceKey) *sourceCounter {
	x, evicted := r.clients.Put(k)
	if evicted != nil {
		r.evictedClients++
	}
	return x
}

// keepEvicted handles an evicted counter: if its address has been proven since, it moves to
// r.clients. Otherwise it counts as evicted if its window is not over, as only then its
// absence changes outcomes.
func (r *Replay) keepEvicted(evicted *lru.Evicted[sourceKey, sourceCounter], now int64) {
	if r.proofs.IsProven(evicted.Key.host) {
		*r.addClient(evicted.Key) = evicted.Val
		return
	}
	if evicted.Val.era != 0 && now-evicted.Val.start <= r.model.Window {
		r.evictedOthers++
	}
}
