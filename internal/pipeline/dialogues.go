package pipeline

import (
	"slices"

	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/track"
)

// dialogues passes the spans of a run to the collector, and writes the dialogues that are
// over.
type dialogues struct {
	out       *textOutput
	collector *dialogue.Collector
}

// newDialogues returns dialogues. outcomes decide about messages that depend on that of
// their exchange; nil: there are none.
func newDialogues(o *textOutput, c *dialogue.Collector, outcomes *streamOutcomes) *dialogues {
	d := &dialogues{out: o, collector: c}
	c.Flush = d.flush
	if outcomes != nil {
		c.IsChosen = func(late, exchange uint64) bool {
			isChosen, _ := outcomes.decide(filter.Truth(late), exchange)
			return isChosen
		}
	}
	return d
}

// flush writes dst and returns it emptied. textOutput keeps the error, which its next flush
// returns.
func (d *dialogues) flush(dst []byte) []byte {
	d.out.buf = dst
	_ = d.out.flush()
	return d.out.buf
}

// addSpan adds a span.
func (d *dialogues) addSpan(seg *segment, s *span) {
	c, o := d.collector, d.out
	if s.fact.Step == track.Silence {
		o.buf = c.MarkUnanswered(o.buf, &s.fact, s.nanos)
	}
	if s.turn == 0 {
		return
	}
	t := &seg.turns[s.turn-1]
	if t.isEnd {
		o.buf = c.CloseConnection(o.buf, t.conn, s.nanos)
		return
	}
	if s.start == s.end { // it has no text
		return
	}
	x := dialogue.Turn{First: s.key, Conn: t.conn, About: t.about, Server: t.server, Client: t.client, HasWantedFrame: t.isWanted}
	if x.IsUnmatched = s.truth != filter.All; !isDecided(s.truth) {
		x.Late, x.Exchange = uint64(s.truth), s.fact.ID
	}
	x.Turn = render.Turn{Text: seg.buf[s.start:s.end], Frame: s.fact.Frame, Nanos: s.nanos, IsRecord: !s.isMessage, Quote: t.said}
	if s.hole > 0 {
		x.Hole = render.Hole{IsSet: true, At: int(s.hole) - 1, Width: int(s.width)}
	}
	if s.isMessage {
		o.buf = c.AddMessage(o.buf, &x, &s.fact)
		return
	}
	x.Frame = s.key
	o.buf = c.AddRecord(o.buf, &x)
}

// place is where a record belongs: the key of its span, and its connection.
type place struct {
	key  uint64
	conn uint64 // of TCP, the first frame of the connection's first message
}

// addRecord adds a record with its text, which was decided at a place. isChosen: the filter
// chooses it.
func (d *dialogues) addRecord(r *render.Record, text []byte, at place, isChosen bool) {
	c := d.collector
	t := dialogue.Turn{First: at.key, Conn: at.conn, About: r.Frames[len(r.Frames)-1], Server: r.Server, Client: r.Client, IsUnmatched: !isChosen,
		HasWantedFrame: c.Frame() != 0 && slices.Contains(r.Frames, c.Frame())}
	t.Turn = render.Turn{Text: text, Frame: at.key, Nanos: r.Nanos, IsRecord: true, Hole: r.Hole}
	d.out.buf = c.AddRecord(d.out.buf, &t)
}

// passTime advances time to nanos: dialogues that have been silent too long are written.
func (d *dialogues) passTime(nanos int64) { d.out.buf = d.collector.AdvanceTime(d.out.buf, nanos) }

// hasWanted reports whether the one dialogue that is wanted was written.
func (d *dialogues) hasWanted() bool {
	return d != nil && d.collector.Frame() != 0 && d.collector.Found()
}

// finish appends the dialogues that the end of the run leaves open. isStopped: it has as
// many messages as were wanted.
func (d *dialogues) finish(isStopped bool) { d.out.buf = d.collector.Finish(d.out.buf, isStopped) }
