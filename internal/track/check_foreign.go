package track

import (
	"strconv"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// ForeignPort is raised by a message of another protocol at a port B where one of ours usually
// is. A is the protocol's name, its first letter in the lowest byte.
var ForeignPort = finding.Code{ID: "CAP-02", Severity: finding.Note, Fault: finding.Capture,
	Seen:   "messages of another protocol at a port where query servers usually are",
	Means:  "another program uses the port: what is there is not decoded, and counts as traffic of other protocols",
	Owner:  "leave the port out with a capture filter, or name the right port of the server with -d",
	Client: "query another port, if this one was asked: what is there is no query server",
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
	Seen:   "a datagram that begins with the bytes of the request before it",
	Means:  "an echo service is at the port, or a server of another engine that puts the request before its reply (Cube 2, AssaultCube): it does not speak the protocol that it was asked in; an attacker who forges addresses gets as many bytes sent there",
	Owner:  "switch an echo service off",
	Client: "ask another port, or in the protocol of that game",
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

// foreign finds what is spoken at the ports of servers, and is not ours.
type foreign struct {
	*Hosts
	ports      *lru.Table[foreignKey, struct{}]
	handshakes *lru.Table[hostPair, struct{}]
}

func newForeign(h *Hosts) check {
	c := &foreign{Hosts: h, ports: newTable[foreignKey, struct{}](h, maxForeign), handshakes: newTable[hostPair, struct{}](h, maxForeign)}
	return check{
		finds: []*finding.Code{&ForeignPort, &SentBack},
		wants: []want{{foreignMessage, c.checkPort}, {echoed, c.checkEcho}, {handshake, c.checkHandshake}},
	}
}

// isFirst reports whether nothing was raised about the port of the server yet.
func (c *foreign) isFirst(f *view) bool {
	k := foreignKey{EndOf(f.Server), f.TCP}
	if c.ports.Get(k) != nil {
		return false
	}
	c.ports.Put(k)
	return true
}

// checkPort raises that another protocol is spoken at a port where one of ours usually is.
func (c *foreign) checkPort(f *view) {
	if !c.isFirst(f) {
		return
	}
	name := uint64(0)
	for i := min(len(f.family), maxFamily) - 1; i >= 0; i-- {
		name = name<<8 | uint64(f.family[i])
	}
	c.Report(serverOnly(f.Fact), f.Frame, finding.Expert{Code: &ForeignPort, A: name, B: uint64(f.Server.Port())}, false)
}

// checkEcho raises that a request was sent back, once for each server.
func (c *foreign) checkEcho(f *view) {
	if c.isFirst(f) {
		c.Report(f.Fact, f.Frame, finding.Expert{Code: &SentBack, A: f.Key, B: uint64(f.Bytes)}, false)
	}
}

// checkHandshake raises that a connection failed, once for two hosts: a client tries again, and a scan tries all
// ports. Of resets and silence towards addresses that may be forged nothing is kept but the pair.
func (c *foreign) checkHandshake(f *view) {
	k := hostPair{HostOf(f.Server), HostOf(f.Client)}
	if c.handshakes.Get(k) != nil {
		return
	}
	c.handshakes.Put(k)
	c.Report(f.Fact, f.Frame, finding.Expert{Code: pairCodes(f.Proto).Handshake, A: uint64(f.how), B: uint64(f.Server.Port())}, c.isUnsure(f.Age-int64(aliveFor)))
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

// hostPair is the hosts of a server and of a client.
type hostPair struct{ server, client Host }

// Hash mixes the key.
func (k hostPair) Hash(seed uint64) uint64 {
	return lru.Mix16(lru.Mix16(seed, (*[16]byte)(&k.server)), (*[16]byte)(&k.client))
}

const (
	// limit: maxForeign is how many servers are kept at whose ports other protocols are spoken, and how many pairs
	// of hosts whose connections failed. Chosen: hosts have some hundred servers.
	maxForeign = 256
)
