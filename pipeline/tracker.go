package pipeline

import (
	"qsniff/dissect"
	"qsniff/track"
)

// tracker pairs the messages of one partition: it finds the exchange that each belongs
// to, and what that shows, and passes them on.
type tracker struct {
	now       *current
	exchanges *track.Exchanges
	emitter   *emitter
	isOn      bool // somebody wants facts; else messages pass unpaired
}

func newTracker(now *current, size int, e *emitter) *tracker {
	t := &tracker{now: now, exchanges: track.NewExchanges(size), emitter: e, isOn: e.wantsFacts}
	if t.isOn {
		t.exchanges.ReportSilence = e.emitSilence
	}
	return t
}

// trackMessage takes m, which was made of s.
func (t *tracker) trackMessage(s *payload, m *dissect.Message) {
	var part track.Part
	if t.isOn {
		part = t.findPart(s, m)
	}
	t.emitter.emitMessage(s, m, part)
}

// findPart finds the part that m has in its exchange, and adds what that shows to its
// findings. Of a reply the first packet counts: it is the server's answer, and the rest
// is the way's.
func (t *tracker) findPart(s *payload, m *dissect.Message) track.Part {
	x := track.Message{Src: s.src, Dst: s.dst, Proto: m.Proto, Type: m.Type, Key: m.Key,
		Frame: s.frame, Nanos: s.nanos, Conn: s.conn, Reply: s.isReply, Expert: m.Expert}
	if s.isReply && s.train() > 0 {
		x.Frame, x.Nanos = s.frames[0], s.began
	}
	x.Age = x.Nanos - t.now.shift
	if s.record != "" {
		return t.exchanges.PlaceJoined(&x)
	}
	part := t.exchanges.Place(&x)
	m.Expert = x.Expert
	return part
}

// notePart notes that a part of a reply came, whose others may take long.
func (t *tracker) notePart(it *item) {
	if t.isOn {
		t.exchanges.RecordPart(&track.Message{Src: it.Src, Dst: it.Dst, Frame: it.frame, Age: it.age, Reply: true})
	}
}

// noteGap notes that a stretch of the capture is missing, where answers may have been.
func (t *tracker) noteGap(age int64) { t.exchanges.RecordGap(age) }

// expire gives up what waited for an answer too long.
func (t *tracker) expire(age int64) { t.exchanges.Tick(age) }
