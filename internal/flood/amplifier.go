package flood

import (
	"cmp"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// amplifier counts what a server answers to requests without a challenge, by what they ask
// for, and reports once that the server can be used against others.
type amplifier struct {
	kinds       [measure.MaxKind + 1]plainAnswers
	split       *plainAnswers // of the answer whose parts come now; nil: none do
	splitTo     uint64        // hash of its receiver
	hasIncident bool
}

// plainAnswers is what became of requests of one kind without a challenge.
type plainAnswers struct {
	firstNanos int64  // time of the first reply with data
	data       uint32 // replies with data: a forged address would have got them as well
	challenges uint32 // challenges in their place
	bytesIn    uint64 // of the requests that got data
	bytesOut   uint64 // of the data
	clients    sketch.Linear256
}

// A server is an open amplifier where openClients sources got openGain times the bytes of
// their requests, and openShare of such requests got data. Chosen: more clients than one
// network's tests, a gain at which an attack is worth its cost, and a share that a server
// which challenges does not reach by mistaken pairs of request and answer.
const (
	openClients = 20
	openGain    = 2
	openShare   = 0.5
)

// isOpen reports whether so many answers without a challenge make an open amplifier.
func (p *plainAnswers) isOpen(lim *Thresholds) bool {
	return p.data >= uint32(lim.AmplifierAnswers) && float64(p.data) >= openShare*float64(p.data+p.challenges) &&
		p.bytesOut >= openGain*p.bytesIn && p.clients.Count() >= openClients
}

// countPart counts a further part of a split answer: servers send the parts one after the other.
func (p *amplifier) countPart(s *track.Sighting) {
	if p.split != nil && p.splitTo == s.ClientHash {
		p.split.bytesOut += uint64(s.Bytes)
	}
}

// A kind is gated where the server gave at least gatedLeast challenges in place of data, and
// data to at most gatedData of those that brought none. Chosen: enough to be no accident, and
// some mistaken pairs of request and answer.
const (
	gatedLeast = 8
	gatedData  = 0.05
)

// gated returns what the server gives only to those who bring a challenge back.
func (p *amplifier) gated() (asks dissect.Asked) {
	for k := 1; k < measure.MaxKind; k++ {
		if x := &p.kinds[k]; x.challenges >= gatedLeast && float64(x.data) <= gatedData*float64(x.data+x.challenges) {
			asks |= 1 << (k - 1)
		}
	}
	return asks
}

// countAnswer counts what the server sends, a challenge or data, to a request that brought no
// challenge. When there is enough data, the server joins the note of its network.
func (p *amplifier) countAnswer(b *book, t *measure.Server, s *track.Sighting, a measure.Answer) {
	if p.hasIncident {
		return
	}
	x := &p.kinds[a.Kind]
	p.split = nil
	switch s.What {
	case track.IsChallenge:
		x.challenges++
		return
	case track.IsPart:
		p.split, p.splitTo = x, s.ClientHash
	}
	if x.data == 0 {
		x.firstNanos = b.Nanos
	}
	x.data++
	x.bytesIn += uint64(a.Bytes)
	x.bytesOut += uint64(s.Bytes)
	x.clients.Add(s.ClientHash)
	if !x.isOpen(&b.lim) {
		return
	}
	n := b.findAmplifiers(t, s.Proto)
	if n == nil {
		if n = b.openAmplifiers(t, s.Proto, x.firstNanos); n == nil {
			*x = plainAnswers{} // try again after as many answers
			return
		}
	}
	p.hasIncident = true
	n.add(b, t, x)
}

// amplifiersNote is an open note about the open amplifiers of a network. All servers of a hoster
// that are set up alike are one note, not one each.
type amplifiersNote struct {
	in        *Incident
	network   track.Host
	known     map[uint64]struct{} // hashes of its servers
	clients   sketch.Linear256
	lastNanos int64 // when a server joined last
	lastSec   int32
}

// amplifiersQuiet is after how many seconds without a further server a note is over. Chosen: by
// then a server with some clients a minute got the answers that it takes.
const amplifiersQuiet = 600

// findAmplifiers returns the open note that a server belongs to, or nil.
func (b *book) findAmplifiers(t *measure.Server, proto *dissect.Proto) *amplifiersNote {
	network := measure.PrefixOf(&t.End.Host)
	for _, n := range b.amplifiers {
		if n.network == network && n.in.Proto == cmp.Or(proto, t.Proto) {
			return n
		}
	}
	return nil
}

// openAmplifiers opens a note that starts with the first reply with data, if there is room for
// one.
func (b *book) openAmplifiers(t *measure.Server, proto *dissect.Proto, first int64) *amplifiersNote {
	in := b.openIncident(Target{End: t.End.AddrPort()}, OpenAmplifier, ofAmplifier, first)
	if in == nil {
		return nil
	}
	if len(b.amplifiers) == sharedNotes {
		b.amplifiers[0].close(b)
		b.amplifiers = slices.Delete(b.amplifiers, 0, 1)
	}
	in.Proto = cmp.Or(proto, t.Proto) // the protocol that answers, whatever most packets have
	in.Detected, in.Answered, in.Weight.Value = b.Nanos, 1, weightMost
	in.SourcesError = sketch.Linear256Error
	n := &amplifiersNote{in: in, network: measure.PrefixOf(&t.End.Host), known: map[uint64]struct{}{}}
	b.amplifiers = append(b.amplifiers, n)
	return n
}

// add adds a server to the note. The note is announced when it has its first, and when it has
// twice as many.
func (n *amplifiersNote) add(b *book, t *measure.Server, x *plainAnswers) {
	n.lastSec, n.lastNanos = b.Now, b.Nanos
	in := n.in
	if _, isKnown := n.known[t.Hash]; isKnown {
		return
	}
	if len(n.known) == amplifierServers {
		in.MoreServers = true
		return
	}
	n.known[t.Hash] = struct{}{}
	if len(n.known) > 1 {
		in.addServer(t.End.AddrPort())
	}
	in.Requests, in.Replies = in.Requests+uint64(x.data), in.Replies+uint64(x.data)
	in.BytesIn, in.BytesOut = in.BytesIn+x.bytesIn, in.BytesOut+x.bytesOut
	in.Start = min(in.Start, x.firstNanos)
	n.clients.Merge(&x.clients)
	in.setSources(float64(n.clients.Count()))
	n.describe()
	switch {
	case len(n.known) == 1:
		b.advisor.Advise(in)
		b.announce(in, Begins)
	case len(n.known)&(len(n.known)-1) == 0:
		b.advisor.Advise(in)
		b.announce(in, Changes)
	}
}

// describe writes the evidence.
func (n *amplifiersNote) describe() {
	who := "open amplifier: it"
	if k := n.in.Servers; k > 0 {
		who = digits.Counted(uint64(k), "open amplifier") + ": they"
	}
	var e sentences
	e.within(span{n.in.Start, n.lastNanos}).add("%s sent %s the bytes that %s got, in %s to sources that proved nothing", who,
		times(n.in.Amplification()), digits.Noun(uint64(max(n.in.Servers, 1)), "it", "they"), digits.Counted(n.in.Replies, "answer"))
	n.in.Evidence = e
}

// close ends the note when its last server joined.
func (n *amplifiersNote) close(b *book) {
	n.in.End = n.lastNanos
	b.advisor.Advise(n.in)
	b.closeIncident(n.in, ofAmplifier)
}

// closeAmplifiers closes the notes that no server joined in the last seconds.
func (b *book) closeAmplifiers(seconds int32) {
	b.amplifiers = slices.DeleteFunc(b.amplifiers, func(n *amplifiersNote) bool {
		isOver := b.Now-n.lastSec >= seconds
		if isOver {
			n.close(b)
		}
		return isOver
	})
}

const (
	// limit: amplifierServers is how many open amplifiers a note counts, 16 KiB each of at most
	// sharedNotes: all ports that the servers of a network use. Of more it has "at least".
	amplifierServers = 1000
)
