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

// Pick asks every dissector about b and returns the most confident, the first of
// equals, or nil. It does not look at ports or flow; Believe does.
func (r *Registry) Pick(c *Context, b []byte) (Dissector, *Type, Confidence) {
	var (
		best Dissector
		typ  *Type
		conf Confidence
	)
	for _, d := range r.all {
		if k, t := d.Probe(c, b); k > conf {
			best, typ, conf = d, t, k
			if k == Certain {
				break
			}
		}
	}
	return best, typ, conf
}

// Believe decides whether what Pick said stands. A weak verdict needs one more
// item: the protocol's port on the server's side, the flow's earlier messages,
// or for a reply the question it answers.
func (r *Registry) Believe(c *Context, d Dissector, t *Type, conf Confidence) bool {
	if conf != Maybe {
		return conf > Maybe
	}
	server := c.Dst.Port()
	if t.Reply {
		server = c.Src.Port()
	}
	i := r.index(d)
	return r.ports[server]&(1<<i) != 0 || c.Flow.Proto == uint8(i)+1 || t.Reply && c.Flow.Asked&t.Asks != 0
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
