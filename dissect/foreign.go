package dissect

import (
	"slices"
	"strings"
)

// ForeignType is a message of a protocol that is not decoded, told by its first bytes
// alone: floods of it are named, and nothing is said of its content.
type ForeignType struct {
	Name   string    // as output and filters write it, with its family: "connect_FAMILY"
	Says   string    // in the plural, for people
	Reply  bool      // servers send it
	Joins  bool      // who sends it wants to play: a limit on it keeps players out
	Wire   []Pattern // of its forms; the first byte is the same in every bit
	Source string    // where the bytes are described
}

// Echo is a datagram that begins with the request that it follows: of an echo service, or of a server that
// puts the request before its reply. No bytes show it, so it has no form; its number is Registry.EchoType.
var Echo = ForeignType{Name: "echo", Says: "requests sent back", Reply: true,
	Source: "RFC 862; Cube 2 src/engine/server.cpp (sendserverinforeply)"}

// Family is the name of the protocol, or of its family: the end of Name.
func (t *ForeignType) Family() string { return t.Name[strings.LastIndexByte(t.Name, '_')+1:] }

// foreigners are the messages of other protocols that a registry knows, by first byte.
type foreigners struct {
	types []*ForeignType
	first [256][]foreignForm
}

// foreignForm is a form of the message with a number.
type foreignForm struct {
	number  uint8
	pattern *Pattern
}

// KnowForeign sets the messages of other protocols that ForeignType tells apart, at most
// 254 of them. Echo comes after them.
func (r *Registry) KnowForeign(types []*ForeignType) {
	r.foreign = foreigners{types: append(slices.Clip(types), &Echo)}
	for i, t := range types {
		for j := range t.Wire {
			p := &t.Wire[j]
			r.foreign.first[p.Value[0]] = append(r.foreign.first[p.Value[0]], foreignForm{uint8(i + 1), p})
		}
	}
}

// KnowForeignStreams sets the protocols over TCP that ForeignStream tells apart.
func (r *Registry) KnowForeignStreams(types []*ForeignType) { r.foreignStreams = types }

// ForeignStream returns the protocol of another program that b, the first bytes that a client
// sent, is of, if servers of a protocol of ours are usually met at the port; else nil.
func (r *Registry) ForeignStream(port uint16, b []byte) *ForeignType {
	if r.tcp.at(port) == 0 {
		return nil
	}
	for _, t := range r.foreignStreams {
		if t.Matches(b, len(b)) {
			return t
		}
	}
	return nil
}

// Matches reports whether one of the patterns fits a payload of wire bytes, of which b was
// captured.
func (t *ForeignType) Matches(b []byte, wire int) bool { return matchesAny(t.Wire, b, wire) }

// ForeignReply returns the message of another protocol that b, which nobody claims, is, if it
// comes from a port where servers of a protocol of ours are usually met; else nil.
func (r *Registry) ForeignReply(c *Context, b []byte) *ForeignType {
	if r.ports.at(c.Src.Port()) == 0 {
		return nil
	}
	if n := r.ForeignType(b, max(c.Wire, len(b))); n > 0 && r.foreign.types[n-1].Reply {
		return r.foreign.types[n-1]
	}
	return nil
}

// ForeignTypes lists the messages of other protocols; the number of the first is 1.
func (r *Registry) ForeignTypes() []*ForeignType { return r.foreign.types }

// EchoType returns the number of Echo; 0 if no messages of other protocols are known.
func (r *Registry) EchoType() uint8 { return uint8(len(r.foreign.types)) }

// ForeignType returns the number of the message of another protocol that a payload of
// wire bytes is, of which b was captured; 0 if it is none that is known.
func (r *Registry) ForeignType(b []byte, wire int) uint8 {
	if len(b) == 0 {
		return 0
	}
	for _, f := range r.foreign.first[b[0]] {
		if f.pattern.Match(b, wire) {
			return f.number
		}
	}
	return 0
}

// ServerPorts lists the ports where protocols of ours are usually met.
func (r *Registry) ServerPorts() (ports []uint16) {
	for _, p := range r.protos {
		ports = append(ports, p.Ports...)
	}
	return ports
}
