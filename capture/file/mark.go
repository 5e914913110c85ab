package file

import (
	"io"
	"slices"
)

// Mark is a place between two packets of a capture, from which it can be read again: see
// Reader.Mark. It takes about 60 bytes. Marks after the same descriptions of interfaces in
// pcapng share these.
type Mark struct {
	Offset  int64  // in the expanded input, of what follows
	Packets uint64 // that precede it

	clock     clock
	lastNanos int64
	section   *markedSection // nil for classic pcap
}

// markedSection is what marks share that lie in one section of pcapng, after the same
// interfaces.
type markedSection struct {
	state     sectionState
	described description
}

// maxMarkedInterfaces is how many interfaces a section may have for a Mark in it. Chosen: a
// machine has hundreds, and a file with more, made to take memory, is read again from further
// up.
const maxMarkedInterfaces = 1024

// Mark returns the place after the packets that were read. ok is false where reading cannot
// begin: where the input is malformed, or in a block that is being skipped.
func (r *Reader) Mark() (m Mark, ok bool) {
	if r.err != nil || r.damage != nil || r.section.skipLeft > 0 || len(r.section.ifaces) > maxMarkedInterfaces {
		return m, false
	}
	m = Mark{Offset: r.offset, Packets: r.stats.Received, clock: r.clock, lastNanos: r.section.lastNanos}
	if !r.isPcapng {
		return m, true
	}
	s := r.marked
	if s == nil || s.state.nextNumber != r.section.nextNumber || len(s.state.ifaces) != len(r.section.ifaces) || s.state.bigEndian != r.section.bigEndian ||
		s.state.isUnknown != r.section.isUnknown || s.state.hasTime != r.section.hasTime {
		s = &markedSection{r.section, description{slices.Clone(r.described.sections), slices.Clone(r.described.interfaces)}}
		s.state.ifaces = slices.Clone(r.section.ifaces)
		r.marked = s
	}
	m.section = s
	return m, true
}

// Resume returns a Reader of what follows a mark of r, which may be in use meanwhile. in
// delivers the expanded input from m.Offset on; the caller owns it. Packets have the numbers
// that r gave them.
func (r *Reader) Resume(m Mark, in io.Reader) *Reader {
	c := &Reader{in: in, name: r.name, regular: r.regular, chunk: minChunk, isPcapng: r.isPcapng, format: r.format, clock: m.clock, offset: m.Offset}
	c.stats.Received = m.Packets
	if s := m.section; s != nil {
		c.section, c.described = s.state, description{slices.Clone(s.described.sections), slices.Clone(s.described.interfaces)}
		c.section.ifaces, c.section.lastNanos = slices.Clone(s.state.ifaces), m.lastNanos
	}
	return c
}
