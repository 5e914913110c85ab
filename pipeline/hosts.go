package pipeline

import (
	"slices"

	"qsniff/render"
	"qsniff/render/dialogue"
	"qsniff/track"
)

// judge gives what a span says to the hosts, and writes what they find.
func (f *fold) judge(seg *segment, s *span) {
	if f.hosts == nil {
		return
	}
	if s.fact.Proto == nil {
		for _, x := range seg.found[s.found[0]:s.found[1]] {
			if x.Code == &track.CaptureDamaged {
				f.hosts.Gap(s.fact.Age)
			}
		}
		return
	}
	f.at = place{key: s.key}
	if s.turn > 0 {
		f.at.conn = seg.turns[s.turn-1].conn
	}
	f.hosts.Fact(&s.fact)
}

// place is where the span at hand belongs.
type place struct {
	key  uint64
	conn uint64 // of TCP, the first frame of the connection's first message
}

// raised writes a finding of the hosts behind the line of the message that decided
// it, and tells the listener.
func (f *fold) raised(x *track.Raised) {
	last := x.Frames[len(x.Frames)-1]
	if f.listener != nil {
		f.listener.Finding(last, x.Nanos, x.Server, x.Client, track.Found{Code: x.Expert.Code, Severity: x.Expert.Severity})
	}
	if f.render == nil {
		return
	}
	f.detail = f.detail[:0]
	if x.Client.IsValid() {
		f.detail = x.Client.AppendTo(append(f.detail, ": "...))
		f.detail = append(f.detail, " >"...)
	} else {
		f.detail = append(f.detail, ':')
	}
	f.detail = x.Server.AppendTo(append(f.detail, ' '))
	r := &f.record
	*r = render.Record{Nanos: x.Nanos, Start: f.start, Expert: &x.Expert, Frames: x.Frames,
		Server: x.Server, Client: x.Client, Detail: f.detail}
	if f.dialogues != nil {
		f.aside(r)
		return
	}
	f.buf = f.render.AppendRecord(f.buf, r)
	if r.Hole.Open {
		f.fill(r.Hole.At, r.Hole.Width, r.Nanos)
	}
}

// aside gives a record to the dialogues.
func (f *fold) aside(r *render.Record) {
	f.text = f.render.AppendRecord(f.text[:0], r)
	if len(f.text) == 0 {
		return
	}
	last := r.Frames[len(r.Frames)-1]
	t := dialogue.Turn{First: f.at.key, Conn: f.at.conn, About: last, Server: r.Server, Client: r.Client,
		Wanted: f.dialogues.Frame() != 0 && slices.Contains(r.Frames, f.dialogues.Frame())}
	t.Turn = render.Turn{Text: f.text, Frame: f.at.key, Nanos: r.Nanos, Record: true, Hole: r.Hole}
	f.buf = f.dialogues.Record(f.buf, &t)
}
