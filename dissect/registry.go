package dissect

import (
	"fmt"
	"slices"

	"qsniff/internal/splithdr"
)

// Registry is the set of protocols that a run knows. Explicit: there are no init
// functions, so two registries can live in one test.
type Registry struct {
	all   []Dissector
	ports [1 << 16]uint8 // bit i: all[i] is usually met there

	neighbours []Neighbour
}

// maxProtos is the width of a port's bit set.
const maxProtos = 8

// NewRegistry reports duplicate names of protocols, fields and findings.
func NewRegistry(ds ...Dissector) (*Registry, error) {
	if len(ds) > maxProtos {
		return nil, fmt.Errorf("%d protocols, the limit is %d", len(ds), maxProtos)
	}
	r := &Registry{all: ds}
	seen := map[string]bool{}
	claim := func(kind, name string) error {
		if seen[kind+" "+name] {
			return fmt.Errorf("%s %q is declared twice", kind, name)
		}
		seen[kind+" "+name] = true
		return nil
	}
	for _, d := range Shared {
		seen["field "+d.Name] = true
	}
	for i, dis := range ds {
		p := dis.Proto()
		if err := claim("protocol", p.Name); err != nil {
			return nil, err
		}
		for _, d := range p.Defs {
			if err := claim("field", d.Name); err != nil {
				return nil, err
			}
		}
		for _, c := range p.Codes {
			if err := claim("finding", c.ID); err != nil {
				return nil, err
			}
		}
		for _, port := range p.Ports {
			r.ports[port] |= 1 << i
		}
		if n, ok := dis.(Neighbour); ok {
			r.neighbours = append(r.neighbours, n)
		}
	}
	return r, nil
}

// Protos lists the protocols in order.
func (r *Registry) Protos() []*Proto {
	ps := make([]*Proto, len(r.all))
	for i, d := range r.all {
		ps[i] = d.Proto()
	}
	return ps
}

// SplitProto returns the protocol that parts of split format e belong to while
// nothing tells the message in them, or nil.
func (r *Registry) SplitProto(e splithdr.Engine) *Proto {
	for _, d := range r.all {
		if p := d.Proto(); slices.Contains(p.Splits, e) {
			return p
		}
	}
	return nil
}

// Verdict is what a registry makes of bytes.
type Verdict struct {
	Dissector Dissector // nil if nobody claims them
	Type      *Type
	Conf      Confidence
	Why       string // what the confidence rests on; a constant
}

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

// Force is the verdict that p's dissector reads b, whatever it thinks of it: decode
// as. It reports false if p knows no such message, or if it sees none in b and
// another protocol does: passwords in that are hidden by whom they belong to.
func (r *Registry) Force(c *Context, b []byte, p *Proto) (Verdict, bool) {
	for _, d := range r.all {
		if d.Proto() != p {
			continue
		}
		k, t := d.Probe(c, b)
		if t == nil || k == No && r.Pick(c, b).Conf > No {
			return Verdict{}, false
		}
		return Verdict{Dissector: d, Type: t, Conf: max(k, Likely), Why: "as told"}, true
	}
	return Verdict{}, false
}

// Believe decides whether a verdict stands, and completes it. A weak one needs
// one more item: the flow's earlier messages, for a reply the question it
// answers, or the protocol's port on the server's side.
//
// Where another game speaks with our bytes nothing is believed, except
// information that no other game has: an address can be forged to hide a server.
func (r *Registry) Believe(c *Context, v *Verdict) bool {
	if c.Flow(v.Type).Foreign && (v.Conf < Certain || v.Type.Asks&AskInfo == 0) {
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
	case r.ports[server]&(1<<i) != 0:
		v.Why = "port"
	default:
		return false
	}
	v.Conf = Likely
	return true
}

// Foreign tells whether b, which nobody claims, shows that its flow belongs to
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
func (r *Registry) ToServer(src, dst uint16) bool { return r.ports[dst] != 0 && r.ports[src] == 0 }

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
