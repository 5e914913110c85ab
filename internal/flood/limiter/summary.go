package limiter

import (
	"cmp"
	"net/netip"
	"slices"

	"qsniff/internal/flood/proof"
	"qsniff/internal/track"
)

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

	Clients        uint64 // proven ones
	ClientsRefused uint64 // at least once
	ShutOut        uint64 // each time
	ClientRequests uint64
	ClientRefusals uint64

	TopClients []Source // the most refused of the proven ones
	TopSources []Source // the most refused of the others
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
