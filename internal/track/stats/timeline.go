package stats

import (
	"net/netip"
	"time"

	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Timeline counts facts in intervals of time: by kind of request, by server and by client,
// as charts show them. It implements track.Listener. Where a capture has more servers,
// clients or kinds than there are rows, those with the fewest messages are added up in a row
// without a name.
type Timeline struct {
	ours  *hostset.Set
	clock timelineClock

	kinds   rows[kindKey]
	servers rows[endKey]
	clients rows[hostKey]
}

// kindKey is a question of a protocol, or a type of message that asks nothing.
type kindKey struct {
	questionKey
	name string
}

// Hash mixes the key.
func (k kindKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(lru.MixBytes(seed, []byte(k.proto.Name)), []byte(k.name)), uint64(k.asks))
}

// NewTimeline returns an empty timeline. interval is the length of the first intervals; 0:
// it is chosen. ours are the servers whose messages count; nil: all.
func NewTimeline(interval time.Duration, ours *hostset.Set) *Timeline {
	return &Timeline{ours: ours, clock: newTimelineClock(interval.Nanoseconds()),
		kinds: newRows[kindKey](timelineKinds), servers: newRows[endKey](timelineServers), clients: newRows[hostKey](timelineClients)}
}

// AddFact counts a message, or an answer that did not come.
func (t *Timeline) AddFact(f *track.Fact, _ []track.Found, _ *track.ServerInfo) {
	if !t.ours.Has(f.Server) {
		return
	}
	if n := t.clock.extend(f.Nanos); n > 1 { // intervals become longer
		t.kinds.merge(n)
		t.servers.merge(n)
		t.clients.merge(n)
	}
	at := t.clock.indexOf(f.Nanos)
	asked := at
	if f.Took > 0 && (f.Step == track.Answer || f.Step == track.Late) {
		asked = t.clock.indexOf(f.Nanos - f.Took)
	}
	kind := kindOf(f)
	k := t.kinds.find(kind)
	k.names.learn(f)
	k.count(f, at, asked)
	s := t.servers.find(keyOf(f.Server))
	s.count(f, at, asked)
	if s != &t.servers.rest {
		s.countPartner(kind, f)
	}
	if !f.Reply && f.Step != track.Silence {
		t.clients.find(f.Client.Addr().As16()).countRequest(at)
	}
}

// AddFinding does nothing: findings have lists of their own.
func (t *Timeline) AddFinding(uint64, int64, netip.AddrPort, netip.AddrPort, track.Found) {}

// kindOf returns what a message asks or answers. Notices, and what asks nothing, are of their
// type's name.
func kindOf(f *track.Fact) kindKey {
	k := kindKey{questionKey: questionKey{proto: f.Proto, asks: questionOf(f)}}
	if k.asks == 0 && f.Type != nil {
		k.name = f.Type.Name
	}
	return k
}
