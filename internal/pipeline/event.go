package pipeline

import (
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/render"
	"qsniff/internal/track"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
)

// eventMaker makes the events of messages, which renderers get. Its memory is used again
// for the next one.
type eventMaker struct {
	hasManyInputs bool // messages name theirs
	event         render.Event
	split         render.Split
	pieces        []render.Piece
	wantsOrigin   bool // Event.Origin is wanted
	origin        []render.Piece
	ways          []render.Way
}

// makeEvent fills in the event of m, which was made of s at the item that now has.
func (e *eventMaker) makeEvent(s *payload, m *dissect.Message, part *track.Part, now *current) *render.Event {
	ev := &e.event
	*ev = render.Event{}
	ev.Frame, ev.Frames, ev.Nanos, ev.Start, ev.File, ev.Iface = s.frame, s.frames, s.nanos, now.start, -1, -1
	ev.Src, ev.Dst, ev.TCP, ev.Reply, ev.Msg = s.src, s.dst, s.isTCP, s.isReply, m
	ev.WhyIncomplete, ev.Record, ev.JoinedFrom = s.why, s.record, s.cut
	fillExchange(&ev.Exchange, s, part)
	ev.Train = s.train()
	if s.from != nil {
		e.addOrigin(s.from)
	}
	if s.set != nil {
		e.addSplit(s.set)
	}
	e.addWays(s.ways)
	if len(s.pieces) > 1 {
		e.addPieces(s.pieces)
	}
	if e.wantsOrigin {
		e.addOriginOf(s, now.item)
	}
	return ev
}

// addOrigin adds the file, the interface and the comments of the message's packet.
func (e *eventMaker) addOrigin(from *origin) {
	ev := &e.event
	if e.hasManyInputs {
		ev.File = int(from.file)
	}
	if from.known {
		ev.Iface, ev.IfName = int(from.iface), from.name
	}
	ev.Comments = from.comments
}

func (e *eventMaker) addSplit(set *split.Set) {
	e.split = render.Split{Engine: set.Engine, ID: set.ID, Total: set.Total, Received: set.Received,
		Size: int(set.Size), Compressed: set.Compressed}
	if set.Prefix > 0 {
		e.split.Declared, e.split.CRC = set.Declared, set.CRC
		e.split.Packed = len(set.Joined) - set.Prefix
	}
	e.event.Split = &e.split
}

func (e *eventMaker) addWays(ways []packet.Way) {
	if len(ways) == 0 {
		return
	}
	e.ways = e.ways[:0]
	for i := range ways {
		w := &ways[i]
		e.ways = append(e.ways, render.Way{Kind: w.Kind.String(), ID: w.ID, Src: w.Src, Dst: w.Dst})
	}
	e.event.Ways = e.ways
}

func (e *eventMaker) addPieces(pieces []reassembly.Piece) {
	e.pieces = e.pieces[:0]
	for i := range pieces {
		e.pieces = append(e.pieces, render.Piece(pieces[i]))
	}
	e.event.Pieces = e.pieces
}

// addOriginOf adds where in the packets s is, which was made at item it.
func (e *eventMaker) addOriginOf(s *payload, it *item) {
	o := &e.event.Origin
	o.IsLate = it.kind != kindDatagram && it.kind != kindSegment || it.frame != s.frame
	o.HasNoPlace = it.rare != nil && it.isSample
	o.Seq, o.IsNone = s.seq, s.record != ""
	if s.set != nil && s.set.Compressed {
		o.Packed, o.PrefixLen = s.set.Joined, s.set.Prefix
	}
	if s.isTCP {
		return
	}
	e.origin = e.origin[:0]
	for i := range s.origin {
		e.origin = append(e.origin, render.Piece(s.origin[i]))
	}
	if len(s.origin) == 0 {
		e.origin = append(e.origin, render.Piece{Frame: s.frame, Len: uint32(len(s.data))})
	}
	o.Pieces = e.origin
}

// steps is what a message does to a request, in words.
var steps = [...]string{
	track.Again:     "follows unanswered",
	track.Echo:      "brings the challenge for",
	track.Challenge: "challenges",
	track.Answer:    "answers",
	track.Extra:     "also answers",
	track.Late:      "answers late",
	track.Silence:   "",
	track.Refusal:   "refuses",
}

// fillExchange fills in what renderers show of a message's part in its exchange. Each member is
// written in place, see brief.fill.
func fillExchange(x *render.Exchange, s *payload, part *track.Part) {
	x.ID, x.Verb, x.Request, x.RTT, x.ChallengeRTT, x.Signs = part.ID, steps[part.Step], part.Request, part.Took, part.Trip, part.Signs
	if s.record != "" {
		x.Verb = steps[track.Answer]
	}
}
