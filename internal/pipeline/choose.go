package pipeline

import (
	"net/netip"
	"time"

	"qsniff/capture"
	"qsniff/internal/base/lru"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/track"
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

// Outcomes is the track.Listener of a first run over a capture, for a Filter that needs to
// know whether exchanges are answered. After that run it does not change, and may be used
// by several goroutines.
type Outcomes struct {
	program    *filter.Program
	unanswered uint8 // index of an exchange without challenge and answer
	pages      map[uint64]*outcomePage
	unkept     uint64
}

// outcomePage has an outcome for each of as many frames: of the exchange that begins there.
// An entry is 0 if nothing was kept, else 1 + the index, and isAnswered.
type outcomePage [outcomePageFrames]uint8

// isAnswered marks the entry of an exchange that was answered, whose outcome does not change.
const isAnswered = 1 << 7

// NewOutcomes returns what a first run fills in for a program.
func NewOutcomes(p *filter.Program) *Outcomes {
	none := noOutcome
	return &Outcomes{program: p, unanswered: p.Index(&none), pages: make(map[uint64]*outcomePage)}
}

// noOutcome is the outcome of an exchange to which nothing was replied.
var noOutcome = filter.Outcome{RTT: -1, ChallengeRTT: -1}

// outcomeOf returns the outcome of an exchange as of the message of f; ok: f changes it. A late
// answer is one: of those who look for slow answers, most look for it.
func outcomeOf(f *track.Fact) (o filter.Outcome, ok bool) {
	switch f.Step {
	case track.Answer, track.Late:
		return filter.Outcome{Answered: true, RTT: f.Took, ChallengeRTT: f.Trip}, true
	case track.Challenge:
		return filter.Outcome{RTT: -1, ChallengeRTT: f.Took}, true
	}
	return noOutcome, false
}

// AddFact implements track.Listener.
func (o *Outcomes) AddFact(f *track.Fact, _ []track.Found, _ *track.ServerInfo) {
	x, ok := outcomeOf(f)
	if !ok || f.ID == 0 {
		return
	}
	i := o.program.Index(&x)
	p := o.pages[f.ID/outcomePageFrames]
	switch {
	case p == nil && i == o.unanswered: // as without an entry
		return
	case p == nil && len(o.pages) >= maxOutcomePages:
		o.unkept++
		return
	case p == nil:
		p = new(outcomePage)
		o.pages[f.ID/outcomePageFrames] = p
	}
	entry := &p[f.ID%outcomePageFrames]
	if *entry&isAnswered != 0 {
		return
	}
	*entry = i + 1
	if x.Answered {
		*entry |= isAnswered
	}
}

// AddFinding implements track.Listener.
func (o *Outcomes) AddFinding(uint64, int64, netip.AddrPort, netip.AddrPort, track.Found) {}

// indexOf returns the index of the outcome of an exchange.
func (o *Outcomes) indexOf(id uint64) uint8 {
	if p := o.pages[id/outcomePageFrames]; p != nil {
		if entry := p[id%outcomePageFrames]; entry != 0 {
			return entry&^isAnswered - 1
		}
	}
	return o.unanswered
}

// streamOutcomes follows the exchanges of a stream, for a Filter that needs their outcomes.
type streamOutcomes struct {
	program    *filter.Program
	unanswered uint8
	exchanges  *lru.Table[exchangeID, followed]
	now        int64 // latest age
	undecided  uint64
}

// exchangeID is the frame of an exchange's first request.
type exchangeID uint64

// Hash mixes the id with the seed.
func (id exchangeID) Hash(seed uint64) uint64 { return lru.Mix(seed, uint64(id)) }

// followed is what is known of an exchange.
type followed struct {
	lastAge      int64 // of its last request or challenge
	index        uint8 // of its outcome so far
	isFinal      bool  // it does not change any more
	isChallenged bool  // the challenge was the last message
}

func newStreamOutcomes(f *Filter) *streamOutcomes {
	none := noOutcome
	return &streamOutcomes{program: f.Program, unanswered: f.Program.Index(&none), exchanges: lru.New[exchangeID, followed](maxFollowed)}
}

// addFact records what a message, or a silence, shows of its exchange.
func (v *streamOutcomes) addFact(f *track.Fact) {
	v.now = max(v.now, f.Age)
	if f.ID == 0 {
		return
	}
	x := v.exchanges.Get(exchangeID(f.ID))
	if x == nil {
		if f.Step > track.Answer && f.Step != track.Silence { // it was evicted
			return
		}
		x, _ = v.exchanges.Put(exchangeID(f.ID))
		x.index = v.unanswered
	}
	o, ok := outcomeOf(f)
	switch {
	case x.isFinal:
		if o.Answered && x.index != v.program.Index(&o) { // it came when nobody waited any more
			v.undecided++
			x.index = v.program.Index(&o)
		}
		return
	case ok:
		x.index, x.isFinal = v.program.Index(&o), o.Answered
	case f.Step == track.Silence:
		x.isFinal = true
	}
	if f.Step <= track.Challenge {
		x.lastAge, x.isChallenged = max(x.lastAge, f.Age), f.Step == track.Challenge
	}
}

// decide returns what t comes to for a message of an exchange, as far as that is known; ok:
// the outcome is final.
func (v *streamOutcomes) decide(t filter.Truth, id uint64) (isMatch, ok bool) {
	if isDecided(t) {
		return t == filter.All, true
	}
	x := v.exchanges.Peek(exchangeID(id))
	if x == nil {
		return t.At(v.unanswered), false
	}
	wait := outcomeWait
	if x.isChallenged {
		wait = challengeWait
	}
	if v.now-x.lastAge > int64(wait) {
		x.isFinal = true
	}
	return t.At(x.index), x.isFinal
}

// conclude is decide for a message that is held no longer.
func (v *streamOutcomes) conclude(t filter.Truth, id uint64) (isMatch bool) {
	isMatch, ok := v.decide(t, id)
	if !ok {
		v.undecided++
	}
	return isMatch
}

const (
	// limit: outcomePageFrames and maxOutcomePages bound what a first run over a capture keeps: a byte for
	// each frame, in pages of 4 KiB where exchanges were answered, 64 MiB in all. That is enough for 67
	// million packets.
	outcomePageFrames = 1 << 12
	maxOutcomePages   = 1 << 14
	// limit: maxFollowed is how many exchanges of a stream are followed until they are over, and
	// remembered for replies that come after that: as many as the partitions follow
	// (track.DefaultExchanges), and as many ended ones. They take 2 MiB.
	maxFollowed = 2 * Partitions * track.DefaultExchanges
	// limit: challengeWait is how long after a challenge the request with it is waited for, and
	// outcomeWait how long after a request its answer, if track reports no silence: for 3 s it takes
	// either, but fragments of an answer wait for the others for 30 s. The rest is for the ticks between.
	challengeWait = 4 * time.Second
	outcomeWait   = 35 * time.Second
)
