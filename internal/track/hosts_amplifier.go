package track

import (
	"slices"

	"qsniff/dissect/finding"
)

// openAnswers counts the answers of a server to those who had not proven their address: one
// count for each kind of query, and one for obsolete requests of any kind.
type openAnswers struct {
	kinds      [queryKinds + 1]openCount
	first      uint64 // frame of the first of them
	isReported [2]bool
}

// obsoleteKind is the index of obsolete requests in openAnswers.
const obsoleteKind = queryKinds

// openCount is such answers of one kind.
type openCount struct {
	answers, in, out uint32              // in and out are bytes of payload; further answers count in out alone
	last             uint32              // the exchange of the last answer, the lower bits
	lastIn, lastOut  uint32              // of that
	hasFurther       bool                // a request had more than one answer
	clients          [openSources]uint32 // hashes of addresses
	numClients       uint8
}

// countOpen counts an answer that whoever forges the client's address has sent to it: nothing in
// the capture proves that the client is at its address, and its request brought no challenge.
func (h *Hosts) countOpen(f *Fact, o *openAnswers) {
	kind, code := queryKind(f.Type.Asks), &OpenAmplifier
	if f.IsObsolete {
		kind, code = obsoleteKind, &ObsoleteAmplifier
	}
	report := &o.isReported[kind/obsoleteKind]
	if kind >= 0 && f.Step == Extra && uint32(f.ID) == o.kinds[kind].last {
		x := &o.kinds[kind]
		x.out, x.lastOut, x.hasFurther = x.out+f.Bytes, x.lastOut+f.Bytes, true
		return
	}
	if kind < 0 || f.Step != Answer || f.Request == 0 || f.RequestBytes == 0 || f.BroughtChallenge || *report {
		return
	}
	if o.first == 0 {
		o.first = f.Frame
	}
	x := &o.kinds[kind]
	x.answers++
	x.in += uint32(f.RequestBytes)
	x.out += f.Bytes
	x.last, x.lastIn, x.lastOut = uint32(f.ID), uint32(f.RequestBytes), f.Bytes
	client := HostOf(f.Client)
	hash := uint32(client.Hash(0))
	if n := int(x.numClients); n < len(x.clients) && !slices.Contains(x.clients[:n], hash) {
		x.clients[n] = hash
		x.numClients++
	}
	if x.answers < openAnswered || int(x.numClients) < openSources || x.out <= x.in {
		return
	}
	*report = true
	in, out := uint64(x.in), uint64(x.out)
	if x.hasFurther { // the last request may get more answers yet
		in, out = in-uint64(x.lastIn), out-uint64(x.lastOut)
	}
	h.raise(serverOnly(f), o.first, finding.Expert{Code: code, A: uint64(x.answers)<<8 | uint64(kind), B: 100 * out / in}, false)
}
