package pipeline

import (
	"net/netip"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// proxies finds proxies that give a server the addresses of its clients in headers before the payload,
// and makes the client the end of what the proxy forwards. Anyone can write such a header. Therefore
// it is believed only of a proxy and a server of which the server has shown that it reads them:
//
//   - Servers whose replies have the header too (Spectrum): once a reply begins with the header of a
//     request that waits for it. A server that does not know the header drops the request, or never
//     sends one.
//   - Servers whose replies have none (PROXY protocol): once a reply answers a request with a header,
//     for quietTime before it all that the proxy sent to the server had one, and each datagram without
//     one has had an answer. A server that does not know the header answers requests without one only:
//     an attacker who sends both kinds in turn to a slow server has no more answers than requests of
//     the second kind. A datagram without header takes the belief back.
//
// An attacker who sends a header to a server that reads none is not believed; one who reaches a server
// that believes everyone deceives the server as well. Senders of headers in the first datagram of a
// flow only (frp) are not believed. Until a header is believed its datagram is one of another protocol;
// so that a file's first requests are read, the rest of their batch is looked at before.
type proxies struct {
	reg        *dissect.Registry
	ctx        dissect.Context
	candidates *lru.Table[proxyPair, proxied]
	proven     *lru.Table[proxyPair, proxied]
	clients    *lru.Table[proxyFlow, netip.AddrPort] // where replies have no header
	hasPlain   bool                                  // there is a pair whose replies have no header
	looksAhead bool                                  // a file is read
	hasLooked  bool                                  // in this batch
	looks      int
	scratch    packet.Packet
	n          uint64 // datagrams of clients and to clients
	evicted    uint64 // pairs and clients that made room for others
}

const (
	// maxProxyPairs is how many pairs of a proxy's address and a server are remembered, of those that
	// are believed and of the others. Chosen: the servers of a hoster at hundreds of edges.
	maxProxyPairs = 4096
	// maxProxyClients is how many clients are remembered for replies without header. Chosen: more
	// than ask in the time that a server takes to answer, in a flood.
	maxProxyClients = 1 << 15
	// quietTime is longer than a server takes to answer requests that were sent before the first header was
	// seen, in nanoseconds. Chosen: clients give up after 1 to 3 s.
	quietTime = 3_000_000_000
	// plainTime is how long a datagram without header may wait for its answer, in nanoseconds: then it was
	// lost. Chosen: ten times what an overloaded server takes.
	plainTime = 30_000_000_000
	// maxPlain is how many datagrams without header are counted of a pair (chosen: what a server's socket
	// holds, a few hundred, several times).
	maxPlain = 4096
	// maxWaiting is how many requests of a pair wait at once for a reply that proves it (chosen).
	maxWaiting = 4
	// maxProxyLooks is how many batches are looked at before they are read (chosen: an attacker who
	// sends headers from new addresses does not make everything be decoded twice).
	maxProxyLooks = 64
)

// proxyPair is the address of a proxy, which sends from many ports, and a server.
type proxyPair struct {
	proxy  [16]byte
	server track.End
}

func (k proxyPair) Hash(seed uint64) uint64 { return lru.Mix16(k.server.Hash(seed), &k.proxy) }

// proxyFlow is the two ends of a datagram from a proxy to a server.
type proxyFlow struct{ proxy, server track.End }

func (k proxyFlow) Hash(seed uint64) uint64 { return k.proxy.Hash(k.server.Hash(seed)) }

// proxied is what is known of a pair.
type proxied struct {
	inReplies bool  // replies have the header, too
	isProven  bool  // the header is believed
	since     int64 // all datagrams of the proxy have a header since this age
	plain     int   // datagrams without header that have had no answer, at most maxPlain
	waiting   [maxWaiting]proxiedRequest
}

// proxiedRequest is a request of a client whose reply would prove the pair.
type proxiedRequest struct {
	port   uint16 // of the proxy; 0: none
	client netip.AddrPort
	age    int64
}

func newProxies(reg *dissect.Registry) *proxies {
	return &proxies{reg: reg,
		candidates: lru.New[proxyPair, proxied](maxProxyPairs),
		proven:     lru.New[proxyPair, proxied](maxProxyPairs),
		clients:    lru.New[proxyFlow, netip.AddrPort](maxProxyClients),
	}
}

// mayMatter reports whether a datagram has to be looked at: of ordinary traffic two bytes are.
func (x *proxies) mayMatter(b []byte) bool {
	return x != nil && (x.hasPlain || packet.MayBeProxied(b))
}

// unwrap makes p a datagram between a client and a server if it is one that a proxy forwarded, and
// returns the length of its header, which may be 0. next are the packets that follow in the batch.
func (x *proxies) unwrap(p *packet.Packet, at moment, next []capture.Packet) (n int, ok bool) {
	if !p.Src.IsValid() || !p.Dst.IsValid() {
		return 0, false
	}
	known := x.candidates.Len() + x.proven.Len()
	h, isReply, ok := x.observe(p, at.age)
	if !ok && x.looksAhead && !x.hasLooked && x.looks < maxProxyLooks && x.candidates.Len()+x.proven.Len() > known {
		x.hasLooked = true
		x.looks++
		for i := range next {
			x.scratch.Outer = nil
			x.scratch.Decode(next[i].Link, next[i].Data, int(next[i].Wire))
			if s := &x.scratch; s.Stop == packet.OK && !s.Frag.Set && x.mayMatter(s.Payload) {
				x.observe(s, max(at.age, at.age+next[i].Nanos-at.nanos))
			}
		}
		h, isReply, ok = x.observe(p, at.age)
	}
	if !ok || !p.EnterProxy(h.Client, isReply, h.Len) {
		return 0, false
	}
	x.n++
	return h.Len, true
}

// observe learns from a datagram. It reports true if a proxy that is believed sent it, or gets it:
// h has the client then, and in Len how much of the payload is the header.
func (x *proxies) observe(p *packet.Packet, age int64) (h packet.ProxyHeader, isReply, ok bool) {
	h, hasHeader := packet.ParseProxyHeader(p.Payload)
	there := proxyPair{p.Src.Addr().As16(), track.EndOf(p.Dst)}
	back := proxyPair{p.Dst.Addr().As16(), track.EndOf(p.Src)}
	if !hasHeader {
		if !x.hasPlain {
			return h, false, false
		}
		if pair := x.find(there); pair != nil && !pair.inReplies {
			if age-pair.since >= plainTime {
				pair.plain = 0
			}
			pair.isProven, pair.since = false, age
			pair.plain = min(pair.plain+1, maxPlain)
			return h, false, false
		}
		pair := x.find(back)
		if pair == nil || pair.inReplies {
			return h, false, false
		}
		switch {
		case pair.isProven:
		case pair.plain > 0 && age-pair.since < plainTime:
			pair.plain--
		case age-pair.since >= quietTime && x.proves(pair, p, &h):
			pair = x.believe(back, pair)
		}
		if !pair.isProven {
			return h, false, false
		}
		if client := x.clients.Get(proxyFlow{track.EndOf(p.Dst), track.EndOf(p.Src)}); client != nil {
			h.Client, ok = *client, true
		}
		return h, true, ok
	}
	if pair := x.find(there); pair != nil {
		return h, false, pair.inReplies == h.InReplies && x.forward(pair, p, &h, age)
	}
	if pair := x.find(back); pair != nil && h.InReplies && pair.inReplies {
		if !pair.isProven && x.proves(pair, p, &h) {
			pair = x.believe(back, pair)
		}
		return h, true, pair.isProven
	}
	if t := x.typeOf(p, h.Len); t == nil || t.Reply || t.Notice {
		return h, false, false
	}
	pair, out := x.candidates.Put(there)
	x.count(out != nil)
	*pair = proxied{inReplies: h.InReplies, since: age}
	x.hasPlain = x.hasPlain || !h.InReplies
	x.forward(pair, p, &h, age)
	return h, false, false
}

// count counts an entry that made room for another.
func (x *proxies) count(isEvicted bool) {
	if isEvicted {
		x.evicted++
	}
}

// find returns what is known of a pair, or nil.
func (x *proxies) find(k proxyPair) *proxied {
	if pair := x.proven.Get(k); pair != nil {
		return pair
	}
	return x.candidates.Get(k)
}

// believe makes pair a proven one.
func (x *proxies) believe(k proxyPair, pair *proxied) *proxied {
	known := *pair
	known.isProven = true
	x.candidates.Delete(k)
	pair, out := x.proven.Put(k)
	x.count(out != nil)
	*pair = known
	return pair
}

// forward notes a datagram from a proxy to a server, and reports whether its header is believed.
func (x *proxies) forward(pair *proxied, p *packet.Packet, h *packet.ProxyHeader, age int64) bool {
	if pair.isProven {
		if !h.InReplies {
			client, out := x.clients.Put(proxyFlow{track.EndOf(p.Src), track.EndOf(p.Dst)})
			x.count(out != nil)
			*client = h.Client
		}
		return true
	}
	for i := range pair.waiting {
		if w := &pair.waiting[i]; w.port == 0 || age-w.age >= quietTime {
			*w = proxiedRequest{p.Src.Port(), h.Client, age}
			break
		}
	}
	return false
}

// proves reports whether p is the reply to a request that waits for one.
func (x *proxies) proves(pair *proxied, p *packet.Packet, h *packet.ProxyHeader) bool {
	for i := range pair.waiting {
		w := &pair.waiting[i]
		if w.port != 0 && w.port == p.Dst.Port() && (!h.InReplies || w.client == h.Client) {
			t := x.typeOf(p, h.Len)
			return t != nil && t.Reply
		}
	}
	return false
}

// typeOf returns the type of the message after n bytes of header, nil if it is none for sure.
func (x *proxies) typeOf(p *packet.Packet, n int) *dissect.Type {
	x.ctx.Src, x.ctx.Dst, x.ctx.Wire = p.Src, p.Dst, p.Wire-n
	if v := x.reg.Pick(&x.ctx, p.Payload[n:]); v.Conf >= dissect.Likely {
		return v.Type
	}
	return nil
}
