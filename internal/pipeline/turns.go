package pipeline

import (
	"slices"

	"qsniff/internal/render"
)

// turnMaker adds what dialogues need to the spans of a segment.
type turnMaker struct {
	isWanted bool   // the run is for dialogues
	frame    uint64 // a frame of the one dialogue that is wanted, 0 for all
}

// addMessage adds the turn of a message made of s to its span. said is the part of its
// text that has the bytes of the message.
func (t *turnMaker) addMessage(seg *segment, x *span, s *payload, said render.Quote) {
	if t.isWanted {
		seg.addTurn(x, turn{conn: s.stream, said: said, isWanted: t.frame != 0 && s.frame == t.frame || t.hasFrame(s.frames)})
	}
}

// addNote adds the turn of a note about a connection, or about none, to its span.
func (t *turnMaker) addNote(seg *segment, x *span, r *render.Record, conn uint64) {
	if !t.isWanted {
		return
	}
	about := turn{conn: conn, server: r.Server, client: r.Client, isWanted: t.hasFrame(r.Frames)}
	if len(r.Frames) > 0 {
		about.about = r.Frames[0]
	}
	seg.addTurn(x, about)
}

// addEnd adds the end of a connection to its span.
func (t *turnMaker) addEnd(seg *segment, x *span, conn uint64) {
	seg.addTurn(x, turn{conn: conn, isEnd: true})
}

// hasFrame reports whether the wanted frame is one of frames.
func (t *turnMaker) hasFrame(frames []uint64) bool {
	return t.frame != 0 && slices.Contains(frames, t.frame)
}
