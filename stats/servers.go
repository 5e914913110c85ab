package stats

import (
	"net/netip"
	"time"

	"qsniff/internal/lru"
	"qsniff/track"
)

// server is what is kept of one server: about 650 bytes.
type server struct {
	in, out                    tally
	answered, unanswered, late uint64
	challenged, open           uint64
	canChallenge               bool   // it was asked for information in a form that can bring a challenge back
	refused                    uint64 // ICMP errors about queries to it
	response                   latency
	challenge, train           mean
	post                       track.ServerInfo
	posted                     bool
}

// says takes what the server says of itself: each reply tells a part of it.
func (s *server) says(post *track.ServerInfo) {
	if !s.posted {
		s.post, s.posted = *post, true
		return
	}
	if len(post.Name.Bytes()) > 0 {
		s.post.Name = post.Name
	}
	if len(post.Map.Bytes()) > 0 {
		s.post.Map = post.Map
	}
	if post.Players >= 0 {
		s.post.Players = post.Players
	}
	if post.Max >= 0 {
		s.post.Max = post.Max
	}
}

// habit takes an answer to a request for information: whether the server demands a
// challenge shows in what the request brought. Known reports whether the client had
// one; else what it sent can be anything.
func (s *server) habit(f *track.Fact, known bool) {
	switch {
	case f.Trip >= 0 || f.BroughtChallenge && known:
		s.challenged++
	case !f.BroughtChallenge:
		s.open++
	}
}

// mean adds up times in nanoseconds.
type mean struct {
	n   uint64
	sum float64
}

func (m *mean) add(nanos int64) {
	m.n++
	m.sum += float64(nanos)
}

// value is the mean, or -1.
func (m *mean) value() time.Duration {
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

// servers keeps servers in two tables: those that answer what the capture shows
// they were asked, and all others. See maxSilent.
type servers struct {
	answering, others *lru.Table[endKey, server]
	forgotten         uint64
	// last is the server of the message before, and at its state: floods ask one
	// server again and again.
	last endKey
	at   *server
}

func newServers(answering, others int) servers {
	return servers{answering: lru.New[endKey, server](answering), others: lru.New[endKey, server](others)}
}

// asked returns the state of a server that somebody asks.
func (t *servers) asked(end netip.AddrPort) *server {
	k := keyOf(end)
	if t.at != nil && k == t.last {
		return t.at
	}
	s := t.answering.Get(k)
	if s == nil {
		var evicted *lru.Evicted[endKey, server]
		if s, evicted = t.others.Put(k); evicted != nil {
			t.forgotten++
		}
	}
	t.last, t.at = k, s
	return s
}

// heard returns the state of a server that sends a reply. One that was asked
// belongs to those that answer from now on, if the reply is one that somebody
// asked for.
func (t *servers) heard(end netip.AddrPort, wanted bool) *server {
	k := keyOf(end)
	if s := t.answering.Get(k); s != nil {
		return s
	}
	s := t.asked(end)
	if !wanted || s.in.n == 0 {
		return s
	}
	t.at = nil // it moves
	moved, evicted := t.answering.Put(k)
	if evicted != nil {
		t.forgotten++
	}
	*moved = *s
	t.others.Delete(k)
	return moved
}
