package pipeline

import (
	"qsniff/render"
	"qsniff/render/dialogue"
	"qsniff/report"
	"qsniff/track"
)

// converse gives a span to the dialogues, and takes those that are over.
func (f *fold) converse(seg *segment, s *span) {
	if s.fact.Step == track.Silence {
		f.buf = f.dialogues.Silence(f.buf, &s.fact, s.nanos)
	}
	if s.turn == 0 {
		return
	}
	t := &seg.turns[s.turn-1]
	if t.over {
		f.buf = f.dialogues.Close(f.buf, t.conn, s.nanos)
		return
	}
	if s.start == s.end { // nothing is shown of it
		return
	}
	x := dialogue.Turn{First: s.key, Conn: t.conn, About: t.about, Server: t.server, Client: t.client, Wanted: t.wanted}
	x.Turn = render.Turn{Text: seg.buf[s.start:s.end], Frame: s.fact.Frame, Nanos: s.nanos, Record: !s.message, Said: t.said}
	if s.hole > 0 {
		x.Hole = render.Hole{Open: true, At: int(s.hole) - 1, Width: int(s.width)}
	}
	if s.message {
		f.buf = f.dialogues.Message(f.buf, &x, &s.fact)
		return
	}
	x.Frame = s.key
	f.buf = f.dialogues.Record(f.buf, &x)
}

// heard tells whether the one dialogue that is wanted was written.
func (f *fold) heard() bool {
	return f.dialogues != nil && f.dialogues.Frame() != 0 && f.dialogues.Found()
}

// flushed writes dst and returns an empty one. What became of that is known at the next
// flush.
func (f *fold) flushed(dst []byte) []byte {
	f.buf = dst
	_ = f.flush()
	return f.buf
}

// conclude writes the dialogues that the end of the run leaves open, unless the
// writer failed, and returns err or what became of that.
func (f *fold) conclude(err error, ending func([]byte, report.Run) []byte) error {
	if f.failed != nil {
		return err
	}
	if ending != nil {
		f.buf = ending(f.buf, f.summary())
	}
	f.buf = f.dialogues.Finish(f.buf, f.full())
	if failed := f.flush(); err == nil {
		err = failed
	}
	return err
}
