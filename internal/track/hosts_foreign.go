package track

import (
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// AddForeign adds that another protocol is spoken at a port where one of ours usually is. f has
// its frame, times and ends. family is the protocol's name.
func (h *Hosts) AddForeign(f *Fact, family string) {
	k := foreignKey{EndOf(f.Server), f.TCP}
	if h.foreign.Get(k) != nil {
		return
	}
	h.foreign.Put(k)
	name := uint64(0)
	for i := min(len(family), maxFamily) - 1; i >= 0; i-- {
		name = name<<8 | uint64(family[i])
	}
	h.raise(serverOnly(f), f.Frame, finding.Expert{Code: &ForeignPort, A: name, B: uint64(f.Server.Port())}, false)
}

// AddEcho adds a datagram that sends a request back, once for each server. f has its frame, times, ends and
// length, and as Key the length of the request.
func (h *Hosts) AddEcho(f *Fact) {
	k := foreignKey{EndOf(f.Server), f.TCP}
	if h.foreign.Get(k) != nil {
		return
	}
	h.foreign.Put(k)
	h.raise(f, f.Frame, finding.Expert{Code: &SentBack, A: f.Key, B: uint64(f.Bytes)}, false)
}

// maxFamily is how many letters of a protocol's name a finding has room for.
const maxFamily = 8

// foreignKey is a port of a server.
type foreignKey struct {
	end End
	tcp bool
}

// Hash mixes the key.
func (k foreignKey) Hash(seed uint64) uint64 {
	if k.tcp {
		seed++
	}
	return lru.Mix(k.end.Hash(seed), 0)
}

// AddDoubtful adds a datagram that may be a request, and that nothing confirms: f is the fact of
// the request.
func (h *Hosts) AddDoubtful(f *Fact) {
	if f.Proto.QueryOffset != 0 && !f.Reply {
		h.addUnheardQuery(f)
	}
}
