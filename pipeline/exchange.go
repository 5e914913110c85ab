package pipeline

import (
	"qsniff/render"
	"qsniff/track"
)

// place finds the part that the message has in its exchange, and adds what that
// shows to its findings. Of a reply the first packet counts: it is the server's
// answer, and the rest is the way's.
func (p *partition) place(s *source) track.Part {
	m := track.Message{Src: s.src, Dst: s.dst, Proto: p.msg.Proto, Type: p.msg.Type, Key: p.msg.Key,
		Frame: s.frame, Nanos: s.nanos, Conn: s.conn, Reply: s.reply, Expert: p.msg.Expert}
	if s.reply && s.train() > 0 {
		m.Frame, m.Nanos = s.frames[0], s.began
	}
	m.Age = m.Nanos - p.shift
	if s.record != "" {
		return p.exchanges.Joined(&m)
	}
	part := p.exchanges.Place(&m)
	p.msg.Expert = m.Expert
	return part
}

// says is what a message does to a request, by its step.
var says = [...]string{
	track.Again:     "follows unanswered",
	track.Echo:      "brings the challenge for",
	track.Challenge: "challenges",
	track.Answer:    "answers",
	track.Extra:     "also answers",
	track.Late:      "answers late",
	track.Silence:   "",
}

// exchangeOf is what renderers are told of a message's part.
func exchangeOf(s *source, part *track.Part) render.Exchange {
	x := render.Exchange{ID: part.ID, Says: says[part.Step], Request: part.Request, Took: part.Took, Trip: part.Trip}
	if s.record != "" {
		x.Says = says[track.Answer]
	}
	return x
}

// heard remembers that a part of a reply came.
func (p *partition) heard(it *item) {
	if p.judged {
		p.exchanges.Heard(&track.Message{Src: it.Src, Dst: it.Dst, Frame: it.frame, Age: it.age, Reply: true})
	}
}

// silence states that an answer did not come, which is written nowhere.
func (p *partition) silence(f *track.Fact) {
	seg := p.seg
	seg.spans = append(seg.spans, span{index: p.index, part: p.number, key: f.Frame, start: len(seg.buf), end: len(seg.buf),
		nanos: f.Nanos, fact: *f, post: -1})
}
