package pipeline

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/display"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
)

// alignment compares the clocks of inputs, and of the interfaces of one, by exchanges that were captured
// with two of them, as by one card what comes in and by another one what goes out. A client asks (by one
// clock), the server gives a challenge (by the other one), the client brings it back (by the first one).
// The challenge was given after the request, and before it was brought back: each exchange bounds by how
// much the second clock is ahead. If no difference of zero fits nearly all exchanges, one of the two is
// shifted by what fits, near to the end of the bounds at which servers answer at once.
//
// First the interfaces of each input are compared, then whole inputs: the interfaces of a host share its
// clock as a rule.
type alignment struct {
	sights sightMaker
	packet packet.Packet
	n      int
	clocks map[clockID]bool
	echoes []echoedChallenge
	asked  map[exchangeEnds]stamp
	given  map[givenChallenge]stamp
	bounds map[clockPair][]clockBounds
}

// clockID names a clock: an interface of an input.
type clockID struct{ file, iface uint16 }

func (c clockID) compare(d clockID) int {
	return cmp.Or(cmp.Compare(c.file, d.file), cmp.Compare(c.iface, d.iface))
}

// clockPair are two clocks, the lesser one first.
type clockPair struct{ first, second clockID }

type exchangeEnds struct{ client, server netip.AddrPort }

type givenChallenge struct {
	exchangeEnds
	key uint32
}

// stamp is when a packet was captured, and by which clock.
type stamp struct {
	clock        clockID
	nanos, asked int64 // asked: of a challenge that was brought back, when its request came
	askedBy      clockID
	hasAsked     bool
}

// clockBounds are by how much the first clock of a pair is ahead of the second one, at least and at most.
// isGivenFirst is set if the challenge was given by the first one: then most is right if the server
// answers at once, else least.
type clockBounds struct {
	least, most  int64
	isGivenFirst bool
}

const (
	// maxAligned is how many packets are remembered (chosen: all that capture.Aligner shows).
	maxAligned = 1 << 14
	// limit: maxWatched is how many packets are looked at of an input that is read as it comes (chosen: a minute
	// of a busy host; each is decoded twice).
	maxWatched = 1 << 20
	// minAligned is how many exchanges it takes to correct a clock (chosen).
	minAligned = 8
	// alignedPercent of the exchanges must fit a correction (chosen).
	alignedPercent = 90
	// maxSkew is the most by which a clock is corrected: exchanges that are further apart are others.
	maxSkew = 10 * time.Minute
	// answerTime is how long servers take to give a challenge, at least (chosen).
	answerTime = 50 * time.Microsecond
)

// newAlignment returns an alignment that has looked at nothing.
func newAlignment(reg *dissect.Registry, as []DecodeAs) *alignment {
	return &alignment{sights: sightMaker{reg: reg, decodeAs: as, msg: new(dissect.Message)}, clocks: map[clockID]bool{},
		asked: map[exchangeEnds]stamp{}, given: map[givenChallenge]stamp{}}
}

// alignClocks corrects the stamps of packets, and returns by how much.
func alignClocks(src capture.Source, reg *dissect.Registry, as []DecodeAs) []tally.Skew {
	inputs, ok := src.(capture.Aligner)
	if !ok || reg == nil {
		return nil
	}
	a := newAlignment(reg, as)
	inputs.Look(a.add)
	return a.findSkews(src, inputs.Shift)
}

// clockWatch compares the clocks of an input that is read as it comes, as standard input is: by then nothing
// can be corrected any more.
type clockWatch struct {
	alignment
	source capture.Describer
	judged int // exchanges that findSkews last saw
	looked int // packets
	skews  []tally.Skew
}

// newClockWatch returns nil if the clocks of a source are aligned, or not known.
func newClockWatch(src capture.Source, reg *dissect.Registry, as []DecodeAs) *clockWatch {
	source, ok := src.(capture.Describer)
	if _, isAligned := src.(capture.Aligner); isAligned || !ok || reg == nil {
		return nil
	}
	return &clockWatch{alignment: *newAlignment(reg, as), source: source}
}

// look looks at a batch, and returns how clocks were seen to differ so far. isLast is set at the end of the
// input. Exchanges are judged whenever there are twice as many.
func (w *clockWatch) look(b *capture.Batch, isLast bool) []tally.Skew {
	if w.n < maxAligned && w.looked < maxWatched && len(w.source.Interfaces()) > 1 {
		w.looked += len(b.Packets)
		for i := range b.Packets {
			w.add(&b.Packets[i])
		}
	}
	n := len(w.echoes)
	if n <= w.judged || n < 2*w.judged && !isLast && w.n < maxAligned {
		return w.skews
	}
	w.judged = n
	w.skews = w.findSkews(w.source, nil)
	for i := range w.skews {
		w.skews[i].IsOnlyTold = true
	}
	return w.skews
}

// findSkews returns how the clocks of what was looked at differ, and corrects them by shift, which may be nil.
func (a *alignment) findSkews(src any, shift func(file uint16, iface int, nanos int64)) []tally.Skew {
	if len(a.clocks) < 2 {
		return nil
	}
	if shift == nil {
		shift = func(uint16, int, int64) {}
	}
	a.bounds = map[clockPair][]clockBounds{}
	for _, e := range a.echoes {
		a.bound(e)
	}
	names := clockNames{severalFiles: isSeveralFiles(a.clocks)}
	if d, ok := src.(capture.Describer); ok {
		names.interfaces = d.Interfaces()
	}
	within, between := map[clockPair][]clockBounds{}, map[clockPair][]clockBounds{}
	for pair, bounds := range a.bounds {
		if pair.first.file == pair.second.file {
			within[pair] = bounds
		}
	}
	shifts, list := findShifts(within, names.ofInterface)
	for clock, by := range shifts {
		shift(clock.file, int(clock.iface), by)
	}
	for pair, bounds := range a.bounds {
		if pair.first.file == pair.second.file {
			continue
		}
		by := shifts[pair.second] - shifts[pair.first]
		files := clockPair{clockID{file: pair.first.file}, clockID{file: pair.second.file}}
		for _, x := range bounds {
			between[files] = append(between[files], clockBounds{x.least - by, x.most - by, x.isGivenFirst})
		}
	}
	shifts, ofFiles := findShifts(between, clockID.inWords)
	for clock, by := range shifts {
		shift(clock.file, capture.EveryInterface, by)
	}
	return append(list, ofFiles...)
}

func isSeveralFiles(clocks map[clockID]bool) bool {
	for c := range clocks {
		if c.file > 0 {
			return true
		}
	}
	return false
}

// findShifts returns what must be added to the stamps of clocks so that they agree with those that they
// are compared with, directly or by others. named returns the name of a clock.
func findShifts(bounds map[clockPair][]clockBounds, named func(clockID) string) (shifts map[clockID]int64, list []tally.Skew) {
	shifts = map[clockID]int64{}
	pairs := slices.SortedFunc(maps.Keys(bounds), func(x, y clockPair) int {
		return cmp.Or(x.first.compare(y.first), x.second.compare(y.second))
	})
	for _, pair := range pairs {
		_, hasFirst := shifts[pair.first]
		_, hasSecond := shifts[pair.second]
		if hasFirst && hasSecond {
			continue
		}
		by, isKnown := skewOf(bounds[pair])
		x := tally.Skew{Clock: named(pair.second), Other: named(pair.first), Nanos: by}
		switch {
		case !isKnown:
			list = append(list, x)
			continue
		case hasSecond:
			shifts[pair.first] = shifts[pair.second] - by
			x.Clock, x.Other, x.Nanos = x.Other, x.Clock, -by
		default:
			shifts[pair.first] += 0
			shifts[pair.second] = shifts[pair.first] + by
		}
		if by != 0 {
			list = append(list, x)
		}
	}
	return shifts, list
}

// clockNames names clocks for people.
type clockNames struct {
	interfaces   []capture.Interface
	severalFiles bool
}

// inWords names the clock of a whole input.
func (c clockID) inWords() string { return "file " + strconv.Itoa(int(c.file)+1) }

func (n *clockNames) ofInterface(c clockID) string {
	name := "interface " + strconv.Itoa(int(c.iface))
	for _, x := range n.interfaces {
		if x.File == c.file && x.Index == c.iface && x.Name != "" {
			name += " (" + string(display.AppendVisible(nil, []byte(x.Name))) + ")"
		}
	}
	if n.severalFiles {
		name += " of " + c.inWords()
	}
	return name
}

// echoedChallenge is a challenge that was brought back.
type echoedChallenge struct {
	givenChallenge
	stamp
}

// add looks at a packet.
func (a *alignment) add(p *capture.Packet) {
	a.clocks[clockID{p.File, p.Iface}] = true
	it := &a.packet
	it.Decode(p.Link, p.Data, int(p.Wire))
	if it.Stop != packet.OK || it.Frag.Set || a.n >= maxAligned {
		return
	}
	var s track.Sighting
	a.sights.ctx.Src, a.sights.ctx.Dst, a.sights.ctx.Wire = it.Src, it.Dst, it.Wire
	a.sights.identifyPayload(&s, it.Payload)
	hasKey := s.Flags&track.HasKey != 0
	at := stamp{clock: clockID{p.File, p.Iface}, nanos: p.Nanos}
	switch {
	case s.What == track.IsRequest && !hasKey:
		a.asked[exchangeEnds{it.Src, it.Dst}] = at
	case s.What == track.IsRequest:
		a.echoes = append(a.echoes, echoedChallenge{givenChallenge{exchangeEnds{it.Src, it.Dst}, s.Key}, at})
		if x, ok := a.asked[exchangeEnds{it.Src, it.Dst}]; ok {
			e := &a.echoes[len(a.echoes)-1]
			e.asked, e.askedBy, e.hasAsked = x.nanos, x.clock, true
			delete(a.asked, exchangeEnds{it.Src, it.Dst})
		}
	case s.What == track.IsChallenge && hasKey:
		k := givenChallenge{exchangeEnds{it.Dst, it.Src}, s.Key}
		if _, ok := a.given[k]; !ok {
			a.given[k] = at
		}
	default:
		return
	}
	a.n++
}

// bound adds what an exchange shows of two clocks.
func (a *alignment) bound(e echoedChallenge) {
	g, ok := a.given[e.givenChallenge]
	if !ok || !e.hasAsked || g.clock == e.clock || e.askedBy != e.clock {
		return
	}
	least, most := e.asked-g.nanos, e.nanos-g.nanos
	if most < least || least < -int64(maxSkew) || most > int64(maxSkew) {
		return
	}
	pair, x := clockPair{e.clock, g.clock}, clockBounds{least, most, false}
	if e.clock.compare(g.clock) > 0 {
		pair, x = clockPair{g.clock, e.clock}, clockBounds{-most, -least, true}
	}
	a.bounds[pair] = append(a.bounds[pair], x)
}

// skewOf returns what must be added to the stamps of the second clock of a pair, 0 if they agree.
// isKnown is false if they do not, and nothing fits nearly all exchanges.
func skewOf(bounds []clockBounds) (by int64, isKnown bool) {
	if len(bounds) < minAligned || fits(bounds, 0) {
		return 0, true
	}
	var least, most []int64
	for _, x := range bounds {
		if x.isGivenFirst {
			most = append(most, -x.most)
		} else {
			least = append(least, x.least)
		}
	}
	if len(most) > len(least) {
		by = -answerAtOnce(most)
	} else {
		by = answerAtOnce(least)
	}
	if !fits(bounds, by) {
		return 0, false
	}
	return by, true
}

// answerAtOnce returns the shift at which nearly all challenges were given right after their request.
func answerAtOnce(least []int64) int64 {
	slices.Sort(least)
	return least[(len(least)-1)*(alignedPercent+100)/200] + int64(answerTime)
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
