package track

import (
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// hostPair is the hosts of a server and of a client.
type hostPair struct{ server, client Host }

// Hash mixes the key.
func (k hostPair) Hash(seed uint64) uint64 {
	return lru.Mix16(lru.Mix16(seed, (*[16]byte)(&k.server)), (*[16]byte)(&k.client))
}

// AddHandshake adds a TCP connection that failed before anything was said: f has its frame, times, ends and the protocol
// whose port it is, how is one of dissect.HandshakeRefused and those after it. It is raised once for two hosts: a
// client tries again, and a scan tries all ports. Of resets and silence towards addresses that may be forged nothing is
// kept but the pair.
func (h *Hosts) AddHandshake(f *Fact, how int) {
	k := hostPair{HostOf(f.Server), HostOf(f.Client)}
	if h.handshakes.Get(k) != nil {
		return
	}
	h.handshakes.Put(k)
	h.raise(f, f.Frame, finding.Expert{Code: pairCodes(f.Proto).Handshake, A: uint64(how), B: uint64(f.Server.Port())}, h.isUnsure(f.Age-int64(aliveFor)))
}
