package stats

import (
	"net/netip"
	"time"

	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// serverState is the counts of one server: about 650 bytes.
type serverState struct {
	in, out                    tally
	answered, unanswered, late uint64
	fates                      Fates[uint64]
	challenged, unchallenged   uint64 // answers to requests for information
	canChallenge               bool   // it was asked for information in a form that can bring a challenge back
	icmpErrors                 uint64 // that quote queries to it
	response                   latency
	challenge, train           meanTime
	info                       track.ServerInfo
	hasInfo                    bool // info is set
}

// addInfo merges what the server reports of itself: each reply has a part of it.
func (s *serverState) addInfo(info *track.ServerInfo) {
	if !s.hasInfo {
		s.info, s.hasInfo = *info, true
		return
	}
	s.info.Merge(info)
}

// countChallenge counts an answer to a request for information: as challenged if the
// client brought a challenge that it had been given (wasChallenged), as unchallenged if it
// brought none. A challenge of unknown origin can be anything and does not count.
func (s *serverState) countChallenge(f *track.Fact, wasChallenged bool) {
	switch {
	case f.Trip >= 0 || f.BroughtChallenge && wasChallenged:
		s.challenged++
	case !f.BroughtChallenge:
		s.unchallenged++
	}
}

// meanTime adds up times in nanoseconds.
type meanTime struct {
	n   uint64
	sum float64
}

func (m *meanTime) add(nanos int64) {
	m.n++
	m.sum += float64(nanos)
}

// mean returns the mean, or -1 if there are no times.
func (m *meanTime) mean() time.Duration {
	if m.n == 0 {
		return -1
	}
	return time.Duration(m.sum / float64(m.n))
}

// endKey is an address and a port.
type endKey struct {
	addr hostKey
	port uint16
}

// Hash mixes the key.
func (k endKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(seed, k.addr[:]), uint64(k.port))
}

func (k endKey) end() netip.AddrPort { return netip.AddrPortFrom(k.addr.addr(), k.port) }

func keyOf(end netip.AddrPort) endKey { return endKey{end.Addr().As16(), end.Port()} }

// serverTables keeps servers in two tables: those that answer requests in the capture, and
// all others. See maxSilent.
type serverTables struct {
	answering, others *lru.Table[endKey, serverState]
	evicted           uint64
	// lastEnd is the server of the previous message, and lastServer its state: floods ask one
	// server again and again.
	lastEnd    netip.AddrPort
	lastServer *serverState
}

func newServerTables(answering, others int) serverTables {
	return serverTables{answering: lru.New[endKey, serverState](answering), others: lru.New[endKey, serverState](others)}
}

// findAsked returns the state of a server to which a request goes.
func (t *serverTables) findAsked(end netip.AddrPort) *serverState {
	if t.lastServer != nil && end == t.lastEnd {
		return t.lastServer
	}
	k := keyOf(end)
	s := t.answering.Get(k)
	if s == nil {
		var evicted *lru.Evicted[endKey, serverState]
		if s, evicted = t.others.Put(k); evicted != nil {
			t.evicted++
		}
	}
	t.lastEnd, t.lastServer = end, s
	return s
}

// findReplying returns the state of a server that sends a reply. If it was asked, and the reply
// was requested, it moves to those that answer.
func (t *serverTables) findReplying(end netip.AddrPort, isRequested bool) *serverState {
	k := keyOf(end)
	if s := t.answering.Get(k); s != nil {
		return s
	}
	s := t.findAsked(end)
	if !isRequested || s.in.n == 0 {
		return s
	}
	t.lastServer = nil // its state moves
	moved, evicted := t.answering.Put(k)
	if evicted != nil {
		t.evicted++
	}
	*moved = *s
	t.others.Delete(k)
	return moved
}
