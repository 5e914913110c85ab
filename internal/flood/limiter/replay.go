// Package limiter replays the limiter of connectionless packets that game servers
// of Valve's engines have, over the packets of a capture: whom would it have refused,
// and when? It is a track.Watcher and takes a fixed amount of memory. What the server of the
// capture did, its replies show.
//
// # What is counted
//
// The engines ask their limiter before they read the packet: everything that begins
// with FF FF FF FF counts, whatever it is (ReHLDS, SV_ReadPackets; Source calls it
// first thing in the function for connectionless packets). So junk that begins so
// uses up the limit as queries do, and so does a reply that somebody else's server
// sends to this one's port. A request makes its destination a server here; junk and
// replies count at ends that were asked before, because nothing else distinguishes a server's
// port from a client's. The All-Seeing Eye and master servers have no such limiter,
// and their messages do not count.
//
// # The model
//
// Time is in whole seconds. There is a counter for each address (its ports do not
// matter) and one for all, each with the second in which its window began:
//
//   - First the one of the address. An unknown address begins a window at 1. If more than
//     window seconds have passed since the window began, a new one begins at 1.
//     Else the counter rises, also with packets that are refused, and if it is then above per
//     times window, the packet is refused. So the limit is an average: all of a
//     window's packets may come at once, and after them nothing gets through until
//     the window is over.
//   - Then the one of all, in the same way, with global times window. What was refused for
//     its address is not counted there; what is refused here is.
//
// Sources: ReHLDS, rehlds/engine/ipratelimit.cpp (rehlds); for Source the same
// algorithm with the defaults of its variables, sv_max_queries_sec and its kin, in
// the lists of variables that the games print (source: 3, 60, window 30;
// source-late: 3, 3000, window 30, of later branches; csgo: 10, 500, window 30).
//
// csgo differs in two ways. It stores an address only when its packet got past
// both limits. And where more than 50,000 addresses have a window, it drops all of
// them and refuses everybody for a window: that is what a flood of forged sources
// brings about, and the replay counts it as an overrun.
//
// # What it does not model
//
//   - What was before the capture: counters begin at zero with the first packet, and
//     the engine's windows may lie up to a window otherwise.
//   - The engine's clock: its seconds begin at other fractions than the packets'.
//   - ReHLDS and Source trim their list of addresses when it is long, by those whose
//     window is over for long. With windows up to 120 s that changes no outcome.
//   - Bans and filters of the server before the limiter, other limits (of the Steam library: N
//     packets in 200 ms; of proxies and firewalls), packets that the kernel dropped.
//   - csgo drops an address in the second in which its window ends, if another
//     packet comes first in it; here its window lasts through that second.
//   - Split packets, which the engines join before they count. No query is split.
//   - IPv6, which the engines do not support: its addresses are counted as if they did.
//   - That clients ask again, or stop asking, when they get no answer.
//
// # Clients
//
// Refusals of clients that proved their address (internal/flood/proof) are counted separately: those
// are the people for whom the server exists. A proof at any time in the capture
// counts, also one after the refusal. A client that comes in the middle of a flood is refused
// on the first packet in the replay, and proves itself a moment later because the
// server of the capture did answer; counting only proofs that came before would leave
// out exactly those that a flood keeps away.
package limiter

import (
	"cmp"
	"net/netip"
	"slices"
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

// Summary is the result of a replay. Times are Unix nanoseconds of packets.
type Summary struct {
	Model   Model
	Servers []Server // most refused first
	// EvictedServers counts servers that were evicted, with all that they would have refused.
	// EvictedClients and EvictedSources count evicted counters of sources that were still
	// within their window: these begin at zero when they come back, and are refused less here
	// than by a server.
	EvictedServers, EvictedClients, EvictedSources uint64
	// Clients counts proven addresses, each once for all servers; ClientsRefused those that at
	// least one server would have refused, ShutOut those that one would have refused
	// each time.
	Clients, ClientsRefused, ShutOut uint64
	// Proofs are the proofs of the addresses that are called clients here.
	Proofs *proof.Summary
}

// Server is what the limiter of one server would have done.
type Server struct {
	Addr     netip.AddrPort
	Requests uint64
	ByRate   uint64 // refused for the limit of its source
	ByAll    uint64 // refused for the limit of all
	First    int64  // Unix time of the first refusal for the limit of all; 0 if there is none
	Last     int64
	Seconds  uint64 // in which a packet was refused for the limit of all
	Overruns uint64 // times that the engine dropped all addresses, as more than MaxTracked had a window

	OfProven

	TopClients []Source // the most refused of the proven ones
	TopSources []Source // the most refused of the others
}

// OfProven counts the proven clients of a server. Its tags are those of the JSON output.
type OfProven struct {
	Clients        uint64 `json:"proven" jsonschema:"proven sources"`
	ClientsRefused uint64 `json:"refused" jsonschema:"those that were refused something"` // at least once
	ShutOut        uint64 `json:"shut_out" jsonschema:"those that got nothing"`
	ClientRequests uint64 `json:"requests" jsonschema:"their requests"`
	ClientRefusals uint64 `json:"requests_refused" jsonschema:"those refused"`
}

// Refused returns how many packets would have been refused.
func (s *Server) Refused() uint64 { return s.ByRate + s.ByAll }

// Source is an address that would have been refused.
type Source struct {
	Addr          netip.Addr
	Requests      uint64
	ByRate, ByAll uint64
	First, Last   int64 // refusal
}

// Refused returns how many packets of the source would have been refused.
func (s *Source) Refused() uint64 { return s.ByRate + s.ByAll }

// Summary returns the result so far.
func (r *Replay) Summary() *Summary {
	s := &Summary{Model: r.model, EvictedServers: r.evictedServers, EvictedClients: r.evictedClients,
		EvictedSources: r.evictedOthers, Proofs: r.proofs.Summary()}
	byNumber := make(map[uint32]*Server, r.servers.Len())
	for k, st := range r.servers.All() {
		byNumber[st.number] = st.report(k.AddrPort())
	}
	fates := map[track.Host]fate{}
	for k, x := range r.clients.All() {
		fates[k.host] |= r.addSource(byNumber[k.server], k, x)
	}
	for k, x := range r.others.All() {
		if f := r.addSource(byNumber[k.server], k, x); f != 0 {
			fates[k.host] |= f
		}
	}
	for _, f := range fates {
		s.Clients += uint64(f & asked)
		s.ClientsRefused += uint64(f & refused >> 1)
		s.ShutOut += uint64(f & shutOut >> 2)
	}
	for _, out := range byNumber {
		s.Servers = append(s.Servers, *out)
	}
	slices.SortFunc(s.Servers, func(a, b Server) int {
		return cmp.Or(cmp.Compare(b.Refused(), a.Refused()), cmp.Compare(b.Requests, a.Requests),
			a.Addr.Addr().Compare(b.Addr.Addr()), cmp.Compare(a.Addr.Port(), b.Addr.Port()))
	})
	return s
}

// report returns the server as the summary lists it, without its clients and sources.
func (st *serverLimiter) report(addr netip.AddrPort) *Server {
	return &Server{Addr: addr, Requests: st.requests, ByRate: st.byRate, ByAll: st.byAll,
		First: st.firstByAll, Last: st.lastByAll, Seconds: st.seconds, Overruns: st.overruns}
}

// fate is what became of a proven client at all servers together.
type fate uint8

const (
	asked fate = 1 << iota
	refused
	shutOut
)

// addSource adds the outcomes of one address's packets to the summary of its server; to
// is nil if that server was evicted. It returns the fate of the address if that is
// proven, else 0.
func (r *Replay) addSource(to *Server, k sourceKey, x *sourceCounter) (f fate) {
	if to == nil {
		return 0
	}
	src := Source{Addr: k.host.Addr(), Requests: x.requests, ByRate: x.byRate, ByAll: x.byAll, First: x.first, Last: x.last}
	n := src.Refused()
	list := &to.TopSources
	if r.proofs.IsProven(k.host) {
		list = &to.TopClients
		f = asked
		to.Clients++
		to.ClientRequests += x.requests
		to.ClientRefusals += n
		if n > 0 {
			to.ClientsRefused++
			f |= refused
		}
		if n == x.requests {
			to.ShutOut++
			f |= shutOut
		}
	}
	if n > 0 {
		*list = insertMostRefused(*list, src)
	}
	return f
}

// insertMostRefused inserts src into the list of the most refused, of topSources at most.
func insertMostRefused(list []Source, src Source) []Source {
	at, _ := slices.BinarySearchFunc(list, src, func(a, b Source) int {
		return cmp.Or(cmp.Compare(b.Refused(), a.Refused()), a.Addr.Compare(b.Addr))
	})
	if at == topSources {
		return list
	}
	list = slices.Insert(list, at, src)
	return list[:min(len(list), topSources)]
}

const (
	// limit: maxServers is how many servers are replayed, 0.5 MiB: the largest hosts have some hundred on
	// one address. The server whose last request is longest ago is evicted.
	maxServers = 1024
	// limit: maxSources is how many pairs of server and address are counted at a time, 7 MiB. An address
	// that can be refused sends several packets a second, so in a flood from invented addresses it stays
	// unless the flood has 65,536 others in that time.
	maxSources = 65_536
	// limit: maxClients is how many pairs of server and proven client are counted, 2 MiB. Forged addresses
	// never enter this table, so they cannot evict clients.
	maxClients = 16_384
	// limit: topSources is how many of the most refused sources, and of the most refused clients, the
	// summary of a server lists.
	topSources = 10
)
