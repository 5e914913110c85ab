package pipeline

import (
	"cmp"
	"net/netip"
	"slices"
	"time"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
)

// alignment compares the clocks of inputs by exchanges that were captured in two of them, as with one
// file of what comes in and one of what goes out. A client asks (in one input), the server gives a
// challenge (in the other one), the client brings it back (in the first one). The challenge was given
// after the request, and before it was brought back: each exchange bounds by how much the second clock
// is ahead. If no difference of zero fits nearly all exchanges, the second input is shifted by what
// fits, near to the end of the bounds at which servers answer at once.
type alignment struct {
	sights sightMaker
	packet packet.Packet
	n      int
	asked  map[exchangeEnds]stamp
	given  map[givenChallenge]stamp
	bounds map[[2]int][]clockBounds // by the inputs of clients and servers
}

type exchangeEnds struct{ client, server netip.AddrPort }

type givenChallenge struct {
	exchangeEnds
	key uint32
}

// stamp is when a packet was captured, and in which input.
type stamp struct {
	input        int
	nanos, asked int64 // asked: of a challenge, when the request came
	askedIn      int
	hasAsked     bool
}

// clockBounds are by how much the clock of the client's input is ahead, at least and at most.
type clockBounds struct{ least, most int64 }

const (
	// maxAligned is how many packets are remembered (chosen: all that capture.Aligner shows).
	maxAligned = 1 << 14
	// minAligned is how many exchanges it takes to correct a clock (chosen).
	minAligned = 8
	// alignedPercent of the exchanges must fit a correction (chosen).
	alignedPercent = 90
	// maxSkew is the most by which a clock is corrected: exchanges that are further apart are others.
	maxSkew = 10 * time.Minute
	// answerTime is how long servers take to give a challenge, at least (chosen).
	answerTime = 50 * time.Microsecond
)

// alignClocks corrects the stamps of inputs, and returns by how much.
func alignClocks(src capture.Source, reg *dissect.Registry, as []DecodeAs) (list []tally.Skew) {
	inputs, ok := src.(capture.Aligner)
	if !ok || reg == nil {
		return nil
	}
	a := &alignment{sights: sightMaker{reg: reg, decodeAs: as, msg: new(dissect.Message)},
		asked: map[exchangeEnds]stamp{}, given: map[givenChallenge]stamp{}, bounds: map[[2]int][]clockBounds{}}
	var echoes []echoedChallenge
	inputs.Look(func(input int, p *capture.Packet) { echoes = a.add(input, p, echoes) })
	for _, e := range echoes {
		a.bound(e)
	}
	for pair, bounds := range a.bounds {
		if by, isKnown := skewOf(bounds); by != 0 || !isKnown {
			list = append(list, tally.Skew{Input: pair[1], Nanos: by, Other: pair[0]})
		}
	}
	slices.SortFunc(list, func(x, y tally.Skew) int { return cmp.Or(x.Input-y.Input, x.Other-y.Other) })
	list = slices.CompactFunc(list, func(x, y tally.Skew) bool { return x.Input == y.Input }) // against the first
	for _, x := range list {
		inputs.Shift(x.Input, x.Nanos)
	}
	return list
}

// echoedChallenge is a challenge that was brought back.
type echoedChallenge struct {
	givenChallenge
	stamp
}

// add looks at a packet of an input.
func (a *alignment) add(input int, p *capture.Packet, echoes []echoedChallenge) []echoedChallenge {
	it := &a.packet
	it.Decode(p.Link, p.Data, int(p.Wire))
	if it.Stop != packet.OK || it.Frag.Set || a.n >= maxAligned {
		return echoes
	}
	var s track.Sighting
	a.sights.ctx.Src, a.sights.ctx.Dst, a.sights.ctx.Wire = it.Src, it.Dst, it.Wire
	a.sights.identifyPayload(&s, it.Payload)
	hasKey := s.Flags&track.HasKey != 0
	at := stamp{input: input, nanos: p.Nanos}
	switch {
	case s.What == track.IsRequest && !hasKey:
		a.asked[exchangeEnds{it.Src, it.Dst}] = at
	case s.What == track.IsRequest:
		echoes = append(echoes, echoedChallenge{givenChallenge{exchangeEnds{it.Src, it.Dst}, s.Key}, at})
		if x, ok := a.asked[exchangeEnds{it.Src, it.Dst}]; ok {
			e := &echoes[len(echoes)-1]
			e.asked, e.askedIn, e.hasAsked = x.nanos, x.input, true
			delete(a.asked, exchangeEnds{it.Src, it.Dst})
		}
	case s.What == track.IsChallenge && hasKey:
		k := givenChallenge{exchangeEnds{it.Dst, it.Src}, s.Key}
		if _, ok := a.given[k]; !ok {
			a.given[k] = at
		}
	default:
		return echoes
	}
	a.n++
	return echoes
}

// bound adds what an exchange shows of two inputs.
func (a *alignment) bound(e echoedChallenge) {
	g, ok := a.given[e.givenChallenge]
	if !ok || !e.hasAsked || g.input == e.input || e.askedIn != e.input {
		return
	}
	least, most := e.asked-g.nanos, e.nanos-g.nanos
	if most < least || least < -int64(maxSkew) || most > int64(maxSkew) {
		return
	}
	pair := [2]int{e.input, g.input}
	a.bounds[pair] = append(a.bounds[pair], clockBounds{least, most})
}

// skewOf returns what must be added to the stamps of the server's input, 0 if the clocks agree. isKnown
// is false if they do not, and nothing fits nearly all exchanges.
func skewOf(bounds []clockBounds) (by int64, isKnown bool) {
	if len(bounds) < minAligned || fits(bounds, 0) {
		return 0, true
	}
	least := make([]int64, len(bounds))
	for i := range bounds {
		least[i] = bounds[i].least
	}
	slices.Sort(least)
	by = least[(len(least)-1)*(alignedPercent+100)/200] + int64(answerTime)
	if !fits(bounds, by) {
		return 0, false
	}
	return by, true
}

// fits reports whether nearly all exchanges were in order with a shift.
func fits(bounds []clockBounds, by int64) bool {
	n := 0
	for _, x := range bounds {
		if x.least <= by && by <= x.most {
			n++
		}
	}
	return n*100 >= len(bounds)*alignedPercent
}
