package dissect

import (
	"net/netip"

	"qsniff/reassembly"
)

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
