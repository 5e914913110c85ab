package track

import (
	"slices"

	"qsniff/dissect/finding"
)

// OpenAmplifier is raised by answers to requests without a challenge, from addresses that had
// proven nothing: A is how many << 8 and the index of their kind, B a hundred times the bytes that
// went out for each byte of the requests.
var OpenAmplifier = finding.Code{ID: "DOS-A01", Severity: finding.Error, Fault: finding.Server,
	Seen:   "at least 20 full answers of one kind to at least 3 addresses that had brought no challenge back, with more bytes than the requests",
	Means:  "whoever forges an address can have these answers sent there: the server can be used against others",
	Owner:  "demand a challenge for this kind of query, in the server or in a cache before it; qsniff floods has the rules that limit the answers until then",
	Client: "expect a challenge in answer to each query, so that owners can demand one",
	Format: "{a.above} answers with {a.byte?information|players|rules} went to at least 3 addresses that had proven nothing, {b.hundredths} times the bytes of the requests"}

// ObsoleteAmplifier is OpenAmplifier for answers to obsolete requests.
var ObsoleteAmplifier = finding.Code{ID: "DOS-A02", Severity: finding.Error, Fault: finding.Server,
	Seen:   "at least 20 answers to obsolete requests of at least 3 addresses, with more bytes than the requests",
	Means:  "these requests cannot bring a challenge: whoever forges an address can have the answers sent there",
	Owner:  "update the server or proxy, or drop such requests before it: clients of today do not send them",
	Client: "send no obsolete requests: owners have to block them",
	Format: "{a.above} answers to obsolete requests went to at least 3 addresses that had proven nothing, {b.hundredths} times the bytes of the requests"}

// amplifiers finds servers that can be used against others: they answer at length whoever asks.
type amplifiers struct {
	*Hosts
	open *states[openAnswers] // by server
}

func newAmplifiers(h *Hosts) check {
	c := &amplifiers{Hosts: h, open: newServerStates[openAnswers](h)}
	return check{finds: []*finding.Code{&OpenAmplifier, &ObsoleteAmplifier}, wants: []want{{answer, c.countOpen}}}
}

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
func (c *amplifiers) countOpen(f *view) {
	if f.proven() != nil {
		return
	}
	o := c.open.at(f.server.slot)
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
	c.Report(serverOnly(f.Fact), o.first, finding.Expert{Code: code, A: uint64(x.answers)<<8 | uint64(kind), B: 100 * out / in}, false)
}

const (
	// limit: A server is open to abuse if openAnswered answers of one kind went to openSources addresses
	// or more that had proven nothing, and had more bytes than the requests.
	openAnswered = 20
	openSources  = 3
)
