package pipeline

import (
	"qsniff/dissect"
	"qsniff/internal/track"
)

// tracker pairs the messages of one partition: it finds the exchange that each belongs
// to and the findings that follow from it, and passes them to the emitter.
type tracker struct {
	now       *current
	exchanges *track.Exchanges
	emitter   *emitter
	request   track.Message // of a usual form, is used again
	brief     brief         // of a request that the fold does not get
	isOn      bool          // see Config.wantsPairs; if not, messages pass unpaired
}

func newTracker(now *current, size int, flows *track.Flows, e *emitter, cfg *Config) *tracker {
	t := &tracker{now: now, exchanges: track.NewExchanges(size, flows), emitter: e, isOn: cfg.wantsPairs()}
	if t.isOn { // also where nobody wants silences: pairing depends on which were reported
		t.exchanges.ReportSilence = e.emitSilence
	}
	return t
}

// trackMessage pairs m, which was made of s, and passes it on.
func (t *tracker) trackMessage(s *payload, m *dissect.Message) {
	var part track.Part
	if t.isOn {
		part = t.findPart(s, m)
	}
	t.emitter.emitMessage(s, m, &part)
}

// findPart returns the part that m has in its exchange, and adds the findings that follow
// from it to m. The time of a reply in several packets is that of the first: the server
// answered then, and the time up to the last one is the network's.
func (t *tracker) findPart(s *payload, m *dissect.Message) track.Part {
	var x track.Message
	x.Src, x.Dst, x.Proto, x.Type, x.Key, x.Form, x.Bytes = s.src, s.dst, m.Proto, m.Type, m.Key, m.Form, uint32(m.Wire)
	x.Frame, x.Nanos, x.Conn, x.Reply, x.Expert = s.frame, s.nanos, s.conn, s.isReply, m.Expert
	if s.isReply && s.train() > 0 {
		x.Frame, x.Nanos = s.frames[0], s.began
	}
	if s.from != nil {
		x.TTL, x.IPID = t.now.item.TTL, t.now.item.IPID
	}
	x.Age = x.Nanos - t.now.shift
	if s.record != "" {
		return t.exchanges.PlaceJoined(&x)
	}
	part := t.exchanges.Place(&x)
	m.Expert = x.Expert
	return part
}

// notePart records that a part of a reply came, so that its exchange waits on: the other
// parts may take long.
func (t *tracker) notePart(it *item) {
	if !t.isOn {
		return
	}
	if asks := t.exchanges.RecordPart(&track.Message{Src: it.Src, Dst: it.Dst, Frame: it.frame, Age: it.age, Reply: true}); asks != 0 {
		t.emitter.emitBegun(it, asks)
	}
}

// noteGap records that a stretch of the capture is missing: answers may have been in it.
func (t *tracker) noteGap(age int64) { t.exchanges.RecordGap(age) }

// expire ends the exchanges that have waited for an answer too long.
func (t *tracker) expire(age int64) { t.exchanges.Tick(age) }
