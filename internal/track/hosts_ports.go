package track

import (
	"strconv"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// OtherGamePort is raised by a reply from port A that names port B as the game's.
var OtherGamePort = finding.Code{ID: "NET-02", Severity: finding.Note, Fault: finding.Server,
	Seen:  "a reply that names another port for the game than the one that it came from",
	Means: "queries and players use different ports, as many games have it (DayZ, Rust, ARK, Unturned); or a router translates the port, or the server names a wrong one",
	Do:    "query the port that answers, and show players the port in the reply; where the game has one port for both, look for address translation before the server",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "port "...), e.A, 10)
		dst = strconv.AppendUint(append(dst, " answers queries and names port "...), e.B, 10)
		return append(dst, " for the game"...)
	}}

// checkGamePort raises, once for a server, that it names another port for players than the one
// that the reply f came from.
func (h *Hosts) checkGamePort(f *Fact, s *hostState) {
	if f.GamePort == 0 || f.GamePort == f.Server.Port() || s.isPortReported || f.Proto.QueryOffset != 0 {
		return
	}
	s.isPortReported = true
	h.raise(serverOnly(f), f.Frame, finding.Expert{Code: &OtherGamePort, A: uint64(f.Server.Port()), B: uint64(f.GamePort)}, false)
}

// askedPort is a port of a host that is not the one that answers queries, or may not be: the
// game's. It is asked, or another port of the host answers.
type askedPort struct {
	first      uint64 // frame of the first query that nobody answered
	age        int64  // of that query; never if there is none
	client     End    // that sent it
	answering  uint16 // the port of the same host that answers; 0: none was seen
	isReported bool   // or the port answers, so that nothing is to be reported
}

// openAskedPort returns the entry of a port.
func (h *Hosts) openAskedPort(end End) *askedPort {
	p, evicted := h.askedPorts.Put(end)
	if evicted != nil {
		h.evicted++
	}
	if *p == (askedPort{}) {
		p.age = never
	}
	return p
}

// addUnheardQuery adds a query of a protocol whose servers answer at another port than the
// game's, if nobody answered it, or nobody has so far.
func (h *Hosts) addUnheardQuery(f *Fact) {
	p := h.openAskedPort(EndOf(f.Server))
	if p.age == never {
		p.first, p.age, p.client = f.Frame, f.Age, EndOf(f.Client)
	}
	if f.Step == Silence || f.Age-p.age > int64(answerWait) {
		h.checkAskedPort(f, f.Server.Port(), p)
	}
}

// addHeardQuery adds an answer of such a server: the game's port is below the one that answers by
// the offset of the protocol, or the answer names it.
func (h *Hosts) addHeardQuery(f *Fact) {
	end := EndOf(f.Server)
	h.openAskedPort(end).isReported = true
	for _, port := range [...]uint16{f.Server.Port() - f.Proto.QueryOffset, f.GamePort} {
		if port == 0 || port == end.Port {
			continue
		}
		p := h.openAskedPort(End{end.Host, port})
		p.answering = end.Port
		if f.Age-p.age > int64(answerWait) {
			h.checkAskedPort(f, port, p)
		}
	}
}

// checkAskedPort raises at f that a port was asked in place of the one that answers.
func (h *Hosts) checkAskedPort(f *Fact, port uint16, p *askedPort) {
	if p.isReported || p.age == never || p.answering == 0 {
		return
	}
	p.isReported = true
	at := *f
	at.Server, at.Client = End{HostOf(f.Server), port}.AddrPort(), p.client.AddrPort()
	h.raise(&at, p.first, finding.Expert{Code: pairCodes(f.Proto).WrongPort, A: uint64(port), B: uint64(p.answering)}, h.isUnsure(p.age) || h.isOneSided(f.Server, p.age))
}

// ForeignPort is raised by a message of another protocol at a port B where one of ours usually
// is. A is the protocol's name, its first letter in the lowest byte.
var ForeignPort = finding.Code{ID: "CAP-02", Severity: finding.Note, Fault: finding.Capture,
	Seen:  "messages of another protocol at a port where query servers usually are",
	Means: "another program uses the port: what is there is not decoded, and counts as traffic of other protocols",
	Do:    "leave the port out with a capture filter, or name the right port of the server with -d",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "port "...), e.B, 10)
		dst = append(dst, ", where query servers usually are, has messages of "...)
		for v := e.A; v != 0; v >>= 8 {
			dst = append(dst, byte(v))
		}
		return dst
	}}

// SentBack is raised by a datagram of B bytes that begins with all bytes of the request before it, which
// has A.
var SentBack = finding.Code{ID: "NET-10", Severity: finding.Note, Fault: finding.Server,
	Seen:  "a datagram that begins with the bytes of the request before it",
	Means: "an echo service is at the port, or a server of another engine that puts the request before its reply (Cube 2, AssaultCube): it does not speak the protocol that it was asked in; an attacker who forges addresses gets as many bytes sent there",
	Do:    "ask another port, or in the protocol of that game; switch an echo service off",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "the request of "...), e.A, 10)
		dst = append(dst, " bytes was sent back"...)
		if e.B > e.A {
			dst = strconv.AppendUint(append(dst, " with "...), e.B-e.A, 10)
			dst = append(dst, " bytes of another protocol after it"...)
		}
		dst = append(dst, ": "...)
		dst = strconv.AppendFloat(dst, float64(e.B)/float64(max(e.A, 1)), 'f', 2, 64)
		return append(dst, " times its bytes"...)
	}}

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
