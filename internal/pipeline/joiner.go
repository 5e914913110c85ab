package pipeline

import (
	"slices"

	"qsniff/dissect"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// joiner is the first stage of a datagram: it joins what engines and protocols cut into
// several, and passes on what is whole or given up.
type joiner struct {
	now        *current
	identifier *identifier
	tracker    *tracker
	split      *split.Assembler
	protocols  []dissect.Assembler // of those that cut replies in a way of their own
	part       split.Datagram
	piece      dissect.Datagram
	ctx        dissect.Context
	frames     []uint64
}

// newJoiner returns a joiner whose tables are size times as large as usual.
func newJoiner(now *current, size float64, d *identifier, t *tracker) *joiner {
	j := &joiner{now: now, identifier: d, tracker: t}
	j.split = split.New(splitLimits(size))
	j.split.Deliver = j.deliverSet
	for _, p := range d.reg.Joiners() {
		j.protocols = append(j.protocols, p.NewAssembler(j.deliverJoined))
	}
	return j
}

// join passes on a datagram, or keeps it if it is a part or a fragment of a message.
// first is what sightMaker found out about it, or nil.
func (j *joiner) join(it *item, first *look) {
	if wire.IsSplit(it.Payload) && len(it.Payload) >= wire.MinSplitLen {
		j.recall(it)
		j.part = split.Datagram{Src: it.Src, Dst: it.Dst, Data: it.Payload, Wire: it.Wire,
			Pieces: it.origins(), Frame: it.frame, Nanos: it.age, Hint: j.ctx.FromServer.Engine}
		j.split.Add(&j.part)
		j.tracker.notePart(it)
		return
	}
	if it.kind == kindDatagram && j.joinFragment(it, first) {
		return
	}
	s := payload{src: it.Src, dst: it.Dst, data: it.Payload, run: len(it.Payload), wire: it.Wire,
		frame: it.frame, nanos: it.nanos, pieces: it.pieces, origin: it.origins(), ipPieces: len(it.pieces),
		isIncomplete: it.kind == kindAbandoned, why: it.why, ways: it.ways, from: it.from, first: first,
		isMisfit: it.Misfit}
	s.frames = j.framesOf(it.pieces)
	j.identifier.identifyOrCount(&s)
}

// framesOf lists the frames of pieces, in order, without repeats; nil where one brought all.
func (j *joiner) framesOf(pieces []reassembly.Piece) []uint64 {
	if len(pieces) < 2 {
		return nil
	}
	j.frames = j.frames[:0]
	for i := range pieces {
		j.frames = append(j.frames, pieces[i].Frame)
	}
	slices.Sort(j.frames)
	return slices.Compact(j.frames)
}

// joinFragment offers a datagram to the protocols that cut replies in a way of their own.
// It reports whether one took it as a fragment.
func (j *joiner) joinFragment(it *item, first *look) bool {
	for _, p := range j.protocols {
		if !p.MayTake(it.Payload) {
			continue
		}
		j.recall(it)
		j.piece = dissect.Datagram{Data: it.Payload, Frame: it.frame, Pieces: it.origins(), Nanos: it.age}
		if !p.Take(&j.ctx, &j.piece) {
			continue
		}
		j.identifier.identifyFragment(it, first)
		j.tracker.notePart(it)
		return true
	}
	return false
}

// mayTake reports whether b may be a fragment of a protocol that cuts replies in a way of its own.
func (j *joiner) mayTake(b []byte) bool {
	for _, p := range j.protocols {
		if p.MayTake(b) {
			return true
		}
	}
	return false
}

// recall fills j.ctx with what is known of the flow of a datagram that may be a part of a
// reply.
func (j *joiner) recall(it *item) {
	j.ctx = dissect.Context{Src: it.Src, Dst: it.Dst, Wire: it.Wire}
	j.identifier.recallServer(&j.ctx)
}

// deliverJoined passes on a set of a protocol's fragments.
func (j *joiner) deliverJoined(set *dissect.Joined) {
	s := payload{src: set.Src, dst: set.Dst, data: set.Data, run: set.Run, wire: set.Run,
		frame: set.Frames[len(set.Frames)-1], nanos: set.Last + j.now.shift, joined: set, pieces: set.Parts, origin: set.Parts, why: set.Lost, cut: set.Cut}
	if len(set.Frames) > 1 {
		s.frames, s.began = set.Frames, set.First+j.now.shift
	}
	if s.why != "" {
		s.isIncomplete = true
		s.wire++ // what precedes the first gap is not the whole
	}
	j.identifier.identifyOrCount(&s)
}

// deliverSet passes on a set of parts of a split message.
func (j *joiner) deliverSet(set *split.Set) {
	s := payload{src: set.Src, dst: set.Dst, data: set.Data, run: set.Run, wire: set.Wire,
		frame: set.Frames[len(set.Frames)-1], nanos: set.Last + j.now.shift, set: set, origin: set.Pieces}
	if len(set.Frames) > 1 {
		s.frames, s.began = set.Frames, set.First+j.now.shift
	}
	if !set.Compressed {
		s.pieces = set.Pieces
	}
	switch set.Outcome {
	case split.Complete:
		s.ways, s.from = j.now.item.ways, j.now.item.from
		switch j.identifier.identify(&s) {
		case unclaimed:
			j.now.n.game++
		case doubtful:
			j.now.n.unbelieved++
		}
	case split.Truncated, split.Incomplete:
		j.deliverPartial(&s)
	case split.Refused, split.Unsupported: // not decompressed, so no fault is known
		j.identifier.identifyUnread(&s, dissect.Complete)
	default:
		if set.Outcome == split.BadBzip2 && s.run > 0 && j.identifier.identify(&s) == reported {
			return
		}
		j.identifier.identifyUnread(&s, dissect.Malformed)
	}
}

// deliverPartial passes on a set of which something is missing, because parts did not
// come or because the capture cut them.
func (j *joiner) deliverPartial(s *payload) {
	status := dissect.Truncated
	if s.set.Outcome == split.Incomplete {
		status, s.isIncomplete = dissect.Fragment, true
	}
	if isGame(s.set) {
		j.now.n.game++
		return
	}
	if s.run > 0 {
		s.wire = max(s.wire, s.run+1) // what precedes the first gap is not the whole
		if j.identifier.identify(s) == reported {
			return
		}
	}
	j.identifier.identifyUnread(s, status)
}

// isGame reports whether a set is game traffic: not compressed, and its start is no
// message. Engines split large packets of the running game in the same way.
func isGame(set *split.Set) bool {
	return !set.Compressed && set.Run >= 4 && !wire.IsSingle(set.Data)
}

// expire delivers the sets that have waited for their other parts too long.
func (j *joiner) expire(age int64) {
	j.split.Tick(age)
	for _, p := range j.protocols {
		p.Tick(age)
	}
}

// flush delivers the other sets at the end of the capture.
func (j *joiner) flush(age int64) {
	j.split.Flush(age)
	for _, p := range j.protocols {
		p.Flush(age)
	}
}

// counters returns the counters of split sets, and of the protocols' own fragments.
func (j *joiner) counters() (sets split.Counters, joined reassembly.JoinCounters) {
	for _, p := range j.protocols {
		c := p.Counters()
		joined.Add(&c)
	}
	return j.split.Counters, joined
}

// splitLimits returns the limits of an assembler of a size. What is kept about parts shrinks
// with their bytes, and does not grow: by default there is one of each for every block.
func splitLimits(size float64) split.Limits {
	part := func(n int) int { return max(int(float64(n)*min(size, 1)), 1) }
	return split.Limits{Bytes: int(split.DefaultBytes * size), Sets: part(split.DefaultSets),
		Parts: part(split.DefaultParts), Pieces: part(split.DefaultPieces)}
}
