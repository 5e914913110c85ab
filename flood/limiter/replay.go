package limiter

import (
	"net/netip"
	"time"

	"qsniff/flood/proof"
	"qsniff/internal/hostset"
	"qsniff/internal/lru"
	"qsniff/track"
)

// Options choose what is replayed.
type Options struct {
	Model Model
	Ours  *hostset.Set // servers that are replayed; nil: all
	Scale float64      // of the tables, as a multiple of the usual; 0: the usual
}

// Replay runs a model over requests. It implements track.Watcher.
type Replay struct {
	model   Model
	ours    *hostset.Set
	proofs  *proof.Collector
	servers *lru.Table[track.End, server]
	others  *lru.Table[sourceKey, source] // not proven when they were counted last
	clients *lru.Table[sourceKey, source] // proven
	next    uint32                        // number of the next server

	serversGone, clientsGone, othersGone uint64
}

// sourceKey is an address at a server, by the server's number.
type sourceKey struct {
	server uint32
	host   track.Host
}

func (k sourceKey) Hash(seed uint64) uint64 { return lru.Mix(k.host.Hash(seed), uint64(k.server)) }

// server is the limiter of a server and what it did.
type server struct {
	number   uint32 // from 1
	era      uint32 // from 1: addresses of an earlier one are forgotten
	began    bool
	start    int64 // second in which the window of all began
	count    uint64
	ring     [ringSize]uint32 // addresses by the second in which their window began
	tracked  uint64           // sum of the ring
	turned   int64            // second up to which the ring is right
	overruns uint64

	requests, byRate, byAll uint64
	first, last             int64 // refusal for the limit of all
	seconds                 uint64
	second                  int64 // the last of those
}

// source is the counter of an address and what became of its packets.
type source struct {
	start                   int64
	count                   uint32
	era                     uint32 // 0: the engine does not know it
	requests, byRate, byAll uint64
	first, last             int64 // refusal
}

// New returns a replay.
func New(opt Options) *Replay {
	if opt.Scale == 0 {
		opt.Scale = 1
	}
	size := func(n int) int { return int(float64(n) * opt.Scale) }
	return &Replay{
		model: opt.Model, ours: opt.Ours,
		proofs:  proof.New(proof.Options{Ours: opt.Ours, Scale: opt.Scale}),
		servers: lru.New[track.End, server](size(maxServers)),
		others:  lru.New[sourceKey, source](size(maxSources)),
		clients: lru.New[sourceKey, source](size(maxClients)),
	}
}

// Sight takes a packet.
func (r *Replay) Sight(s *track.Sighting) {
	r.proofs.Sight(s)
	st := r.counts(s)
	if st == nil {
		return
	}
	now := s.Age / int64(time.Second)
	x := r.source(st, s.Src, now)
	v := r.model.judge(st, x, now)
	st.requests++
	x.requests++
	if v == admitted {
		return
	}
	if x.byRate+x.byAll == 0 {
		x.first = s.Nanos
	}
	x.last = s.Nanos
	if v == byRate {
		st.byRate++
		x.byRate++
		return
	}
	x.byAll++
	st.limited(s.Nanos, now)
}

// limited notes a refusal for the limit of all.
func (st *server) limited(nanos, now int64) {
	if st.byAll == 0 {
		st.first = nanos
	}
	if st.byAll == 0 || now != st.second {
		st.seconds++
	}
	st.byAll++
	st.last, st.second = nanos, now
}

// Tick does nothing: the engine's windows turn with packets only.
func (r *Replay) Tick(age, nanos int64) { r.proofs.Tick(age, nanos) }

// Lost counts packets that the capture lacks.
func (r *Replay) Lost(packets uint64) { r.proofs.Lost(packets) }

// End says that no packet follows.
func (r *Replay) End(age, nanos int64) { r.proofs.End(age, nanos) }

// counts returns the server whose limiter counts a packet, or nil.
func (r *Replay) counts(s *track.Sighting) *server {
	k := s.To()
	switch {
	case s.Flags&track.Connection != 0:
		return nil
	case s.What == track.IsJunk, (s.What == track.IsReply || s.What == track.IsChallenge) && connectionless(s):
		return r.servers.Get(k)
	case s.What != track.IsRequest || !connectionless(s):
		return nil
	case r.ours != nil && !r.ours.Has(netip.AddrPortFrom(s.Dst.Addr(), s.DstPort)):
		return nil
	}
	st, gone := r.servers.Put(k)
	if gone != nil {
		r.serversGone++
	}
	if st.number == 0 {
		r.next++
		st.number, st.era, st.turned = r.next, 1, s.Age/int64(time.Second)
	}
	return st
}

// connectionless reports whether a message is one that the engines' limiters count.
func connectionless(s *track.Sighting) bool { return s.Proto != nil && s.Proto.Limited }

// source returns the counter of an address, which moves where it cannot be pushed
// out once the address is proven.
func (r *Replay) source(st *server, host track.Host, now int64) *source {
	k := sourceKey{st.number, host}
	if x := r.clients.Get(k); x != nil {
		return x
	}
	if !r.proofs.Proven(host) {
		x, gone := r.others.Put(k)
		if gone != nil {
			r.forget(gone, now)
		}
		return x
	}
	x := r.client(k)
	if o := r.others.Peek(k); o != nil {
		*x = *o
		r.others.Delete(k)
	}
	return x
}

// client makes room for a proven client.
func (r *Replay) client(k sourceKey) *source {
	x, gone := r.clients.Put(k)
	if gone != nil {
		r.clientsGone++
	}
	return x
}

// forget lets a counter go, unless its address has been proven since. It is missed
// if its window is not over.
func (r *Replay) forget(gone *lru.Evicted[sourceKey, source], now int64) {
	if r.proofs.Proven(gone.Key.host) {
		*r.client(gone.Key) = gone.Val
		return
	}
	if gone.Val.era != 0 && now-gone.Val.start <= r.model.Window {
		r.othersGone++
	}
}
