package dissect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"

	"qsniff/reassembly/wire"
)

// Registry is the set of protocols that a run dissects. It is built by its caller and
// not by init functions, so that one test can have two.
type Registry struct {
	protos  []*Proto
	all     []Dissector
	ports   portTable // of all
	streams []StreamDissector
	tcp     portTable // of streams
	marks   [][]byte  // what connectionless packets of their engines begin with

	neighbours []Neighbour
	foreign    foreigners
	// foreignStreams are the protocols over TCP that are known by their first bytes alone.
	foreignStreams []*ForeignType
	familiar       []Pattern // of requests and joins that begin with a mark
}

// Protocol is a Dissector, a StreamDissector, or both.
type Protocol interface {
	Proto() *Proto
}

// NewRegistry returns a registry of ps. It returns an error where a name of a
// protocol, a field or a finding is declared twice.
func NewRegistry(ps ...Protocol) (*Registry, error) {
	r := &Registry{ports: newPortTable(), tcp: newPortTable()}
	seen := map[string]bool{}
	for _, d := range Shared {
		seen["field "+d.Name] = true
	}
	completeDefs(Shared)
	for _, c := range Codes {
		seen["finding "+c.ID] = true
	}
	for _, p := range ps {
		proto := p.Proto()
		if err := claimNames(seen, proto); err != nil {
			return nil, err
		}
		if err := r.add(p); err != nil {
			return nil, err
		}
		completeDefs(proto.Defs)
	}
	r.findFamiliar()
	return r, nil
}

// completing is held while definitions are completed: two tests can make registries of the
// same protocols.
var completing sync.Mutex

// completeDefs sets what the definitions of a protocol have once it is in a registry.
func completeDefs(defs []*Def) {
	completing.Lock()
	defer completing.Unlock()
	for _, d := range defs {
		if d.member == "" {
			d.member = d.makeMember()
			if d.Joins != nil {
				d.Joins.isJoined = true
			}
			if d.PartOf != nil {
				d.PartOf.inPieces = true
			}
			if copy(d.start[:], d.member) == len(d.member) {
				d.startLen = uint8(len(d.member))
			}
		}
	}
}

// add registers a protocol under each transport that it is spoken over.
func (r *Registry) add(p Protocol) error {
	proto := p.Proto()
	if max(len(r.all), len(r.streams)) == maxProtos {
		return fmt.Errorf("protocol %q is one more than the limit of %d", proto.Name, maxProtos)
	}
	r.protos = append(r.protos, proto)
	if d, ok := p.(Dissector); ok {
		if err := r.ports.add(len(r.all), proto.Ports); err != nil {
			return err
		}
		r.all = append(r.all, d)
	}
	if d, ok := p.(StreamDissector); ok {
		if err := r.tcp.add(len(r.streams), proto.Ports); err != nil {
			return err
		}
		r.streams = append(r.streams, d)
	}
	if n, ok := p.(Neighbour); ok {
		r.neighbours = append(r.neighbours, n)
	}
	known := func(m []byte) bool { return bytes.Equal(m, proto.Mark) }
	if len(proto.Mark) > 0 && !slices.ContainsFunc(r.marks, known) {
		r.marks = append(r.marks, proto.Mark)
	}
	return nil
}

// claimNames adds the names of p to seen, and returns an error for one that is there.
func claimNames(seen map[string]bool, p *Proto) error {
	names := []string{"protocol " + p.Name}
	for _, d := range p.Defs {
		names = append(names, "field "+d.Name)
	}
	for _, c := range p.Codes {
		names = append(names, "finding "+c.ID)
	}
	for _, name := range names {
		if seen[name] {
			kind, name, _ := strings.Cut(name, " ")
			return fmt.Errorf("%s %q is declared twice", kind, name)
		}
		seen[name] = true
	}
	return nil
}

// Protos lists the protocols in order.
func (r *Registry) Protos() []*Proto { return r.protos }

// ProtoNamed returns the protocol of a name, or nil.
func (r *Registry) ProtoNamed(name string) *Proto {
	if i := slices.IndexFunc(r.protos, func(p *Proto) bool { return p.Name == name }); i >= 0 {
		return r.protos[i]
	}
	return nil
}

// SplitProto returns the protocol that parts of split format e belong to while
// the protocol of the message in them is unknown, or nil.
func (r *Registry) SplitProto(e wire.Engine) *Proto {
	for _, d := range r.all {
		if p := d.Proto(); slices.Contains(p.Splits, e) {
			return p
		}
	}
	return nil
}

// IsSplitPort reports whether servers that split messages are usually at a port.
func (r *Registry) IsSplitPort(port uint16) bool {
	return slices.ContainsFunc(r.protos, func(p *Proto) bool {
		return len(p.Splits) > 0 && p.SplitPorts[0] <= port && port <= p.SplitPorts[1]
	})
}

// Keyer is a Dissector that can find the Key of common messages without building
// their fields, for those who read nothing else of them: the flood detector, statistics.
type Keyer interface {
	// Key returns what Message.Key and Message.Form would be after Dissect. It returns false
	// where only Dissect can find them, or finds more: something wrong in b, or what teaches of
	// its flow anything but that a request asks for t.Asks. t is the type that Probe returned for
	// b, and Proto.Usual has all fields of such messages.
	Key(c *Context, t *Type, b []byte) (key uint64, form Form, ok bool)
}

// Verdict is which dissector claims a datagram, and how surely.
type Verdict struct {
	Dissector Dissector // nil if no protocol claims them
	Type      *Type
	Conf      Confidence
	Why       string // what the confidence rests on; a constant
}

// WhyDecodeAs is why a message is one of the protocol that decode-as names.
const WhyDecodeAs = "as told"

// Pick asks every dissector about b and takes the most confident, the first of
// equals. It does not look at ports; Believe does.
func (r *Registry) Pick(c *Context, b []byte) Verdict {
	v := Verdict{Why: "structure"}
	for _, d := range r.all {
		if k, t := d.Probe(c, b); k > v.Conf {
			v.Dissector, v.Type, v.Conf = d, t, k
			if k == Certain {
				break
			}
		}
	}
	return v
}

// PickAs returns the verdict that p's dissector reads b, whatever it thinks of it: decode
// as. It reports false if p has no such message, or if p does not recognise b and
// another protocol does: only that protocol's dissector hides the passwords in b.
func (r *Registry) PickAs(c *Context, b []byte, p *Proto) (Verdict, bool) {
	for _, d := range r.all {
		if d.Proto() != p {
			continue
		}
		k, t := d.Probe(c, b)
		if t == nil || k == No && r.Pick(c, b).Conf > No {
			return Verdict{}, false
		}
		return Verdict{Dissector: d, Type: t, Conf: max(k, Likely), Why: WhyDecodeAs}, true
	}
	return Verdict{}, false
}

// Believe decides whether a verdict stands, and completes it. A weak one needs
// one more item: the flow's earlier messages, for a reply the question it
// answers, or the protocol's port on the server's side.
//
// In a flow of another game that uses our bytes only a message that no other game has
// is believed. That one is, because otherwise a forged packet of the other game would
// hide a server.
func (r *Registry) Believe(c *Context, v *Verdict) bool {
	if c.Flow(v.Type).Foreign && (v.Conf < Certain || !v.Type.Unmistakable) {
		return false
	}
	if v.Conf != Maybe {
		return v.Conf > Maybe
	}
	server := c.Dst.Port()
	if v.Type.FromServer() {
		server = c.Src.Port()
	}
	flow := c.Flow(v.Type)
	asked := flow.Asked
	if v.Type.OnlyAsked {
		asked |= c.Waiting
	}
	i := r.index(v.Dissector)
	switch {
	case v.Type.Reply && asked&v.Type.Asks != 0:
		v.Why = "answers a question of this flow"
	case v.Type.OnlyAsked:
		return false
	case flow.Proto == uint8(i)+1:
		v.Why = "earlier messages of this flow"
	case r.ports.at(server).has(i):
		v.Why = "port"
	default:
		return false
	}
	v.Conf = Likely
	return true
}

// IsJunk reports whether b, which no protocol claims, begins like a connectionless packet
// of one of the engines and has more after that.
func (r *Registry) IsJunk(b []byte) bool {
	for _, m := range r.marks {
		if len(b) > len(m) && bytes.HasPrefix(b, m) {
			return true
		}
	}
	return false
}

// Familiar returns the patterns of all requests that begin with a mark of their engine, and
// of what else clients send that does, as to join. None covers another.
func (r *Registry) Familiar() []Pattern { return r.familiar }

// IsFamiliar reports whether a payload of wire bytes, of which b was captured, has one of
// these patterns.
func (r *Registry) IsFamiliar(b []byte, wire int) bool {
	for i := range r.familiar {
		if r.familiar[i].Match(b, wire) {
			return true
		}
	}
	return false
}

// findFamiliar finds the patterns that Familiar returns.
func (r *Registry) findFamiliar() {
	var all []Pattern
	for _, p := range r.protos {
		for _, t := range p.Types {
			if !t.FromServer() && t.Asks != 0 {
				all = append(all, t.Wire...)
			}
		}
	}
	for _, p := range r.protos {
		all = append(all, p.Neighbours...)
	}
	all = slices.DeleteFunc(all, func(w Pattern) bool {
		for _, m := range r.marks {
			if mark := Begins(string(m)); w.HasBytesOf(&mark) {
				return w.IsMistake
			}
		}
		return true
	})
	r.familiar = Needed(all)
}

// Marks lists what datagrams of the protocols begin with, as far as they all do:
// connectionless packets, and parts of split messages.
func (r *Registry) Marks() [][]byte {
	all := slices.Clone(r.marks)
	if slices.ContainsFunc(r.protos, func(p *Proto) bool { return len(p.Splits) > 0 }) {
		all = append(all, wire.SplitMark)
	}
	return all
}

// Foreign reports whether b, which no protocol claims, shows that its flow belongs to
// another game which shares bytes with a protocol of ours, and whether it came
// from the server.
func (r *Registry) Foreign(c *Context, b []byte) (reply, ok bool) {
	for _, n := range r.neighbours {
		if reply, ok = n.Foreign(c, b); ok {
			return reply, true
		}
	}
	return false, false
}

// ToServer guesses by ports alone whether a datagram goes to a server.
func (r *Registry) ToServer(src, dst uint16) bool {
	return r.ports.at(dst) != 0 && r.ports.at(src) == 0
}

func (r *Registry) index(d Dissector) int {
	for i := range r.all {
		if r.all[i] == d {
			return i
		}
	}
	return -1
}

// FlowProto is the value of FlowFacts.Proto that stands for d.
func (r *Registry) FlowProto(d Dissector) uint8 { return uint8(r.index(d) + 1) }

// maxProtos is how many protocols a registry holds over either transport: as many as
// a set has bits.
const maxProtos = 64

// protoSet is a set of protocols, by their index in the registry.
type protoSet uint64

// has reports whether protocol i is in the set.
func (s protoSet) has(i int) bool { return s&(1<<i) != 0 }

// portTable holds the protocols that are usually met at each port. Few ports have
// any, and most of those have the same: a port has the number of its set.
type portTable struct {
	number [1 << 16]uint8
	sets   []protoSet // 0 is the empty one
}

func newPortTable() portTable { return portTable{sets: []protoSet{0}} }

// add adds protocol i to the sets of ports.
func (t *portTable) add(i int, ports []uint16) error {
	for _, port := range ports {
		s := t.sets[t.number[port]] | 1<<i
		n := slices.Index(t.sets, s)
		if n < 0 {
			n = len(t.sets)
			t.sets = append(t.sets, s)
		}
		if n > 255 {
			return fmt.Errorf("port %d: protocols share ports in more than 255 ways", port)
		}
		t.number[port] = uint8(n)
	}
	return nil
}

// at returns the protocols that are usually met at a port.
func (t *portTable) at(port uint16) protoSet { return t.sets[t.number[port]] }

// Joiners lists the protocols that cut replies in a way of their own.
func (r *Registry) Joiners() (all []Joiner) {
	for _, d := range r.all {
		if j, ok := d.(Joiner); ok {
			all = append(all, j)
		}
	}
	return all
}

// ForeignType is a message of a protocol that is not decoded, identified by its first bytes
// alone: floods of it are named, and its content is not shown.
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

// KnowForeign sets the messages of other protocols that ForeignType distinguishes, at most
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

// KnowForeignStreams sets the protocols over TCP that ForeignStream distinguishes.
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

// ForeignReply returns the message of another protocol that b, which no protocol claims, is, if it
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
