package pipeline

import (
	"net/netip"

	"qsniff/capture"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
)

// Filter chooses which messages, findings and incidents of a run are shown, counted and
// written. All packets are decoded, whatever it chooses.
type Filter struct {
	Program *filter.Program
	// Outcomes has the outcomes of exchanges, from an earlier run over the same capture. If
	// it is nil and the program needs them, a message is held until its exchange is over.
	Outcomes *Outcomes
}

// holds reports whether messages are held until their exchanges are over.
func (f *Filter) holds() bool { return f != nil && f.Program.NeedsAnswers() && f.Outcomes == nil }

// wantsPairs reports whether messages are chosen by their exchanges.
func (f *Filter) wantsPairs() bool { return f != nil && f.Program.NeedsPairs() }

// allowsRecords reports whether findings may be chosen that belong to no message.
func (f *Filter) allowsRecords() bool { return f == nil || f.Program.CanMatchRecords() }

// AllowsIncidents reports whether incidents may be chosen.
func (f *Filter) AllowsIncidents() bool { return f == nil || f.Program.CanMatchIncidents() }

// chooser evaluates a Filter in one goroutine. A nil one chooses everything.
type chooser struct {
	matcher  *filter.Matcher
	outcomes *Outcomes // nil: unknown
}

func newChooser(f *Filter) *chooser {
	if f == nil {
		return nil
	}
	return &chooser{f.Program.Matcher(), f.Outcomes}
}

// choose returns whether a message is chosen; neither filter.All nor filter.None if that
// depends on the outcome of its exchange, which is unknown.
func (c *chooser) choose(e *render.Event) filter.Truth {
	if c == nil {
		return filter.All
	}
	t := c.matcher.Match(e)
	if c.outcomes == nil || isDecided(t) {
		return t
	}
	return truthOf(t.At(c.outcomes.indexOf(e.Exchange.ID)))
}

// chooseRecord reports whether a finding is chosen that belongs to no message.
func (c *chooser) chooseRecord(r *render.Record) bool { return c == nil || c.matcher.MatchRecord(r) }

// chooseIncident reports whether an event of an incident is chosen.
func (c *chooser) chooseIncident(x *render.IncidentEvent) bool {
	return c == nil || c.matcher.MatchIncident(x)
}

// isDecided reports whether no outcome changes t.
func isDecided(t filter.Truth) bool { return t == filter.All || t == filter.None }

func truthOf(b bool) filter.Truth {
	if b {
		return filter.All
	}
	return filter.None
}

// PacketSink gets the packets of messages. For each message a worker calls AppendNote;
// then, in packet order, the fold calls AddMessage with those notes, and after the last
// message of a batch AddPackets with all its packets. A message belongs to the packet that
// decided it: packets that it came in may have been given before.
type PacketSink interface {
	// AppendNote appends what AddMessage is to know about a message besides its frames.
	// isChosen: Config.Filter may choose it. If it returns false, AddMessage is not called.
	// Workers call it, several at a time.
	AppendNote(dst []byte, e *render.Event, isChosen bool) (out []byte, ok bool)
	AddMessage(*Pick)
	AddPackets(*capture.Batch) error
}

// Pick is a message for a PacketSink, valid during the call.
type Pick struct {
	Frame    uint64   // that completed it
	Frames   []uint64 // all that it came in, in order
	IsLate   bool     // a later packet than Frame decided it
	IsChosen bool     // Config.Filter chose it
	IsJoined bool     // it is no message but a reply that was joined from several
	Note     []byte   // what AppendNote appended

	// Of a message over TCP: its ends, the sequence number of its first byte, its length.
	IsTCP    bool
	Src, Dst netip.AddrPort
	Seq      uint32
	Len      int
}

// pick is a Pick in a segment, whose lists it gives as ranges.
type pick struct {
	frame            uint64
	isLate, isJoined bool
	frames, notes    [2]int
	isTCP            bool
	src, dst         netip.AddrPort
	seq              uint32
	n                int
}

// pick adds to the span of a message what its packets are chosen by.
func (e *emitter) pick(x *span, ev *render.Event) {
	seg := e.now.seg
	from := len(seg.notes)
	notes, ok := e.picker.AppendNote(seg.notes, ev, x.truth != filter.None)
	seg.notes = notes
	if !ok {
		return
	}
	p := pick{frame: ev.Frame, isLate: ev.Origin.IsLate, isJoined: ev.Record != "", notes: [2]int{from, len(notes)}}
	p.isTCP, p.src, p.dst, p.seq, p.n = ev.TCP, ev.Src, ev.Dst, ev.Origin.Seq, len(ev.Msg.Data)
	p.frames[0] = len(seg.frames)
	if len(ev.Frames) > 0 {
		seg.frames = append(seg.frames, ev.Frames...)
	} else {
		seg.frames = append(seg.frames, ev.Frame)
	}
	p.frames[1] = len(seg.frames)
	seg.picks = append(seg.picks, p)
	x.pick = int32(len(seg.picks))
}

// pickOf returns the pick of a span that has one. isChosen: Config.Filter chose it.
func (s *segment) pickOf(x *span, isChosen bool) *Pick {
	p := &s.picks[x.pick-1]
	s.picked = Pick{Frame: p.frame, IsLate: p.isLate, IsChosen: isChosen, IsJoined: p.isJoined,
		IsTCP: p.isTCP, Src: p.src, Dst: p.dst, Seq: p.seq, Len: p.n,
		Frames: s.frames[p.frames[0]:p.frames[1]], Note: s.notes[p.notes[0]:p.notes[1]]}
	return &s.picked
}
