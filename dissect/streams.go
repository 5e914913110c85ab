package dissect

import "slices"

// Claim is what a registry makes of the bytes where a message may begin in a
// connection that no protocol has claimed yet.
type Claim struct {
	Dissector StreamDissector // nil if nobody claims them
	Record
}

// PickStream asks every protocol over TCP about b and takes the most confident,
// the first of equals.
func (r *Registry) PickStream(c *Context, b []byte) Claim {
	var v Claim
	for _, d := range r.streams {
		if rec := d.Frame(c, b); rec.Conf > v.Conf {
			v = Claim{d, rec}
		}
	}
	return v
}

// Seek is Resync for a connection that no protocol has claimed yet: it returns the
// first place where one of the protocols may have a message.
func (r *Registry) Seek(c *Context, b []byte) (skip, need int) {
	skip = len(b)
	for _, d := range r.streams {
		if s, n := d.Resync(c, b, false); s < skip {
			skip, need = s, n
		}
	}
	return skip, need
}

// OnPort reports whether servers of d are usually met at a port.
func (r *Registry) OnPort(d StreamDissector, port uint16) bool {
	for i := range r.streams {
		if r.streams[i] == d {
			return r.tcp.at(port).has(i)
		}
	}
	return false
}

// OnStreamPort reports whether servers of any protocol over TCP are usually met at a port.
func (r *Registry) OnStreamPort(port uint16) bool { return r.tcp.at(port) != 0 }

// ServerSide guesses from the ports of a connection which of its two ends is the
// server's: the one with a protocol's port, or the lower one, because clients
// take theirs from the upper range.
func (r *Registry) ServerSide(ports [2]uint16) int {
	known := [2]bool{r.tcp.at(ports[0]) != 0, r.tcp.at(ports[1]) != 0}
	switch {
	case known[0] != known[1] && known[0], known[0] == known[1] && ports[0] < ports[1]:
		return 0
	}
	return 1
}

// IsStream reports whether p is spoken over TCP only.
func (r *Registry) IsStream(p *Proto) bool {
	return r.StreamOf(p) != nil && !slices.ContainsFunc(r.all, func(d Dissector) bool { return d.Proto() == p })
}

// StreamOf returns the dissector of p, or nil if p is not spoken over TCP.
func (r *Registry) StreamOf(p *Proto) StreamDissector {
	for _, d := range r.streams {
		if d.Proto() == p {
			return d
		}
	}
	return nil
}
