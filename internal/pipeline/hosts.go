package pipeline

import (
	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/track"
)

// hostFindings passes the facts of a run to track.Hosts, which finds what
// messages of many address pairs show together, and writes the findings. A nil one does nothing.
type hostFindings struct {
	out       *textOutput
	hosts     *track.Hosts
	listener  track.Listener  // may be nil
	renderer  render.Renderer // nil: findings are not shown
	dialogues *dialogues      // nil: findings are written as lines
	at        place           // of the span at hand
	chooser   *chooser        // nil: all findings are chosen
	hold      *hold           // nil: nothing is held
	record    render.Record
	text      []byte // of record, for dialogues
}

// newHostFindings returns hostFindings with tables size times as large as usual.
func newHostFindings(o *textOutput, size float64, listener track.Listener, renderer render.Renderer, d *dialogues) *hostFindings {
	h := &hostFindings{out: o, hosts: track.NewHosts(size), listener: listener, renderer: renderer, dialogues: d}
	h.hosts.Raise = h.raise
	return h
}

// addSpan passes the fact of a span, or the gap that it reports, to the hosts.
func (h *hostFindings) addSpan(seg *segment, s *span) {
	if h == nil {
		return
	}
	if s.isClue() {
		h.addClue(s)
		return
	}
	if s.fact.Proto == nil {
		for _, x := range seg.found[s.found[0]:s.found[1]] {
			if x.Code == &track.CaptureDamaged {
				h.hosts.RecordGap(s.fact.Age)
			}
		}
		return
	}
	h.at = place{key: s.key}
	if s.turn > 0 {
		h.at.conn = seg.turns[s.turn-1].conn
	}
	f := &s.fact
	if s.said > 0 {
		f.Said = &seg.said[s.said-1]
	}
	h.hosts.AddFact(f)
}

// finish raises what waited for more facts when the run ends.
func (h *hostFindings) finish() {
	if h != nil {
		h.hosts.Finish()
	}
}

// evicted returns how many servers and clients were evicted.
func (h *hostFindings) evicted() uint64 { return h.hosts.Evicted() }

// addClue passes a clue to the hosts.
func (h *hostFindings) addClue(s *span) {
	h.at = place{key: s.key}
	switch {
	case s.foreign == &dissect.Echo:
		h.hosts.AddEcho(&s.fact)
	case s.foreign != nil:
		h.hosts.AddForeign(&s.fact, s.foreign.Family())
	case s.handshake != 0:
		h.hosts.AddHandshake(&s.fact, int(s.handshake-1))
	case s.begun != 0:
		h.hosts.AddBegun(&s.fact, s.begun)
	default:
		h.hosts.AddDoubtful(&s.fact)
	}
}

// raise writes a finding of the hosts after the line of the message that decided
// it, and passes it to the listener.
func (h *hostFindings) raise(x *track.Raised) {
	r := h.makeRecord(x)
	isChosen := h.chooser.chooseRecord(r)
	if h.dialogues != nil {
		h.text = h.renderer.AppendRecord(h.text[:0], r)
		if len(h.text) > 0 {
			h.dialogues.addRecord(r, h.text, h.at, isChosen)
		}
		return
	}
	if !isChosen {
		return
	}
	last, found := x.Frames[len(x.Frames)-1], track.Found{Expert: x.Expert}
	found.Frames = [2]uint64{x.Frames[0], last}
	if h.hold != nil && !h.hold.isEmpty() {
		s := span{key: last, nanos: x.Nanos, post: -1, truth: filter.All, fact: track.Fact{Frame: last, Server: x.Server, Client: x.Client}}
		h.hold.addRecord(s, []track.Found{found}, h.appendRecord)
		return
	}
	if h.listener != nil {
		h.listener.AddFinding(last, x.Nanos, x.Server, x.Client, found)
	}
	var hole render.Hole
	o := h.out
	if o.buf, hole = h.appendRecord(o.buf); hole.IsSet {
		o.fillHole(hole.At, hole.Width, r.Nanos)
	}
}

// appendRecord appends the text of the record at hand, if findings are shown.
func (h *hostFindings) appendRecord(dst []byte) ([]byte, render.Hole) {
	if h.renderer == nil {
		return dst, render.Hole{}
	}
	dst = h.renderer.AppendRecord(dst, &h.record)
	return dst, h.record.Hole
}

// makeRecord returns a finding as a record, valid until the next one.
func (h *hostFindings) makeRecord(x *track.Raised) *render.Record {
	d := h.record.Detail[:0]
	if x.Client.IsValid() {
		d = x.Client.AppendTo(append(d, ": "...))
		d = append(d, " >"...)
	} else {
		d = append(d, ':')
	}
	d = x.Server.AppendTo(append(d, ' '))
	r := &h.record
	*r = render.Record{Nanos: x.Nanos, Start: h.out.start, Expert: &x.Expert, Frames: x.Frames,
		Server: x.Server, Client: x.Client, Detail: d}
	return r
}
