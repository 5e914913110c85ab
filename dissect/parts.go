package dissect

import (
	"net/netip"

	"qsniff/reassembly"
)

// Extent is a stretch of a message's data.
type Extent struct{ Off, Len uint32 }

// Parts adds fields that are decoded from bytes which other fields cover: words of
// a text, data that was escaped or cut into pages. Every field says where on the
// wire its bytes are, and is flagged Aux: it stands outside the rule that every
// byte has one field. Parts may be used where the cursor failed: it reads
// nothing itself.
type Parts struct {
	m        *Message
	stack    [maxDepth]int32 // indices of the open groups
	depth    uint8
	base     uint8 // depth of the cursor
	end      uint32
	ended    bool // a limit was reached
	unopened int  // groups that were opened after it
}

// Parts returns an adder for values in the bytes within, which were read before.
func (c *Cursor) Parts(within Extent) Parts {
	return Parts{m: c.m, base: c.depth, end: within.Off + within.Len, ended: c.limited}
}

// add appends a field, unless the message is full; left is how many bytes then
// stay undecoded.
func (p *Parts) add(d *Def, at Extent, num uint64, left int) *Field {
	if p.ended {
		return nil
	}
	if len(p.m.Fields) >= MaxFields-1 {
		p.stop(left)
		return nil
	}
	p.m.Fields = append(p.m.Fields, Field{Def: d, Num: num, Off: at.Off, Len: at.Len, Depth: p.base + p.depth, Flags: Aux})
	return &p.m.Fields[len(p.m.Fields)-1]
}

func (p *Parts) stop(left int) {
	p.ended = true
	n := len(p.m.Fields)
	p.m.expert(&TooManyFields, TooManyFields.Severity, n-1, uint64(n), uint64(max(left, 0)))
}

// bytesFrom returns how many bytes there are from at on.
func (p *Parts) bytesFrom(at Extent) int { return int(p.end) - int(at.Off) }

// Num adds a number, of which num is the value.
func (p *Parts) Num(d *Def, at Extent, num uint64) { p.add(d, at, num, p.bytesFrom(at)) }

// Text adds a text. value is copied.
func (p *Parts) Text(d *Def, at Extent, value []byte) {
	m := p.m
	if !p.ended && len(m.Aux)+len(value) > maxAux {
		p.stop(p.bytesFrom(at))
	}
	if p.add(d, at, uint64(len(m.Aux))<<32|uint64(len(value)), p.bytesFrom(at)) != nil {
		m.Aux = append(m.Aux, value...)
	}
}

// Bits adds a number that was computed from the field just added.
func (p *Parts) Bits(d *Def, num uint64) {
	last := &p.m.Fields[len(p.m.Fields)-1]
	if f := p.add(d, Extent{last.Off, last.Len}, num, 0); f != nil {
		f.Flags |= Generated
	}
}

// Push opens a Group or a List as Cursor.Push does. at is what it has on the wire
// besides its members: a count, or nothing at the place where they begin.
func (p *Parts) Push(d *Def, num int, at Extent) {
	if p.add(d, at, uint64(num), p.bytesFrom(at)) == nil {
		p.unopened++
		return
	}
	p.stack[p.depth] = int32(len(p.m.Fields) - 1)
	p.depth++
}

// Pop closes what the last Push opened, around all its members.
func (p *Parts) Pop() {
	if p.unopened > 0 {
		p.unopened--
		return
	}
	p.depth--
	i := p.stack[p.depth]
	f := &p.m.Fields[i]
	end := f.Off + f.Len
	for j := range p.m.Fields[i+1:] {
		x := &p.m.Fields[int(i)+1+j]
		f.Off, end = min(f.Off, x.Off), max(end, x.Off+x.Len)
	}
	f.Len = end - f.Off
}

// Note sets the note of the field just added. s is a constant.
func (p *Parts) Note(s string) {
	if !p.ended {
		p.m.Fields[len(p.m.Fields)-1].Note = s
	}
}

// Joiner is implemented by a Dissector whose servers cut long replies into datagrams
// in a way of their own.
type Joiner interface {
	Dissector
	// NewAssembler returns what joins such replies, in fixed memory, and gives each to
	// deliver.
	NewAssembler(deliver func(*Joined)) Assembler
}

// Assembler joins the fragments of any number of flows. It is not fit for concurrent
// use, and has no clock: times are packet times, which do not go back.
type Assembler interface {
	// MayTake reports whether b, a datagram, looks like a fragment at all.
	MayTake(b []byte) bool
	// Take adds a datagram that looks like a fragment and reports whether it is one: if
	// not, it is a message of its own and nothing was kept. c is the datagram's, with
	// what its receiver asked. Replies that become complete, that are evicted for room
	// or that expired are delivered before Take returns.
	Take(c *Context, d *Datagram) bool
	// Tick delivers, incomplete, the replies that have expired at nanos.
	Tick(nanos int64)
	// Flush ends the capture at nanos: it delivers the rest, incomplete.
	Flush(nanos int64)
	Counters() reassembly.JoinCounters
}

// Datagram is one that may be a fragment. What is kept of it is copied.
type Datagram struct {
	Data   []byte
	Frame  uint64
	Pieces []reassembly.Piece // fragments of IP that it came in; nil if that is Frame
	Nanos  int64
}

// Joined is a reply, complete or not. All of it is valid during delivery only.
type Joined struct {
	Src, Dst netip.AddrPort
	Cut      string             // what it was joined from; a constant
	Lost     string             // what became of the rest; a constant, empty if there is all
	Data     []byte             // of the fragments that are there
	Run      int                // bytes of Data before the first gap
	Parts    []reassembly.Piece // what each fragment brought, in the order of Data
	Frames   []uint64           // in order of arrival
	First    int64              // packet time of the first fragment that came
	Last     int64              // and of the last one
}

// Joiners lists the protocols that cut replies in a way of their own.
func (r *Registry) Joiners() (all []Joiner) {
	for _, d := range r.all {
		if j, ok := d.(Joiner); ok {
			all = append(all, j)
		}
	}
	return all
}
