package render

import (
	"net/netip"

	"qsniff/dissect"
)

// DialogueRenderer shows messages together that belong together. Append and
// AppendRecord make turns of them; the dialogue is made when it is known how it
// ended. An event that a renderer appends nothing for is no turn.
type DialogueRenderer interface {
	Renderer
	AppendDialogue(dst []byte, d *Dialogue) []byte
}

// Dialogue is an exchange or a connection that is over. All of it is valid during
// the call only.
type Dialogue struct {
	ID       uint64 // frame of its first request
	IsStream bool   // a connection: what both ends sent over TCP, in order
	Server   netip.AddrPort
	Client   netip.AddrPort
	Proto    *dissect.Proto
	Type     *dissect.Type // of the first message; nil if unknown
	First    int64         // Unix time of the first message, of the last one
	Last     int64

	Outcome      Outcome // of an exchange
	RTT          int64   // nanoseconds from the request to its answer, -1 if there is none
	ChallengeRTT int64   // and to the challenge before it, -1 if there is none
	// Answer is how far the answer could be read, where there is one.
	Answer dissect.Status

	Requests   uint32
	Challenges uint32
	Replies    uint32 // without challenges
	Packets    uint32

	// HasEarlier says that there were turns before these; they were written
	// earlier, or lie before the capture.
	HasEarlier bool
	// IsUnfinished says that it was not over when it had to make room.
	IsUnfinished bool
	// IsStopped says that the run ended before it was over, and before the capture.
	IsStopped bool
	Turns     []Turn
}

// Turn is one message of a dialogue, or a record about it, as a renderer made it.
type Turn struct {
	Text     []byte
	Frame    uint64
	Nanos    int64
	IsRecord bool  // see Renderer.AppendRecord, and Event.Record
	Hole     Hole  // in Text
	Quote    Quote // likewise
}

// Quote is the part of a turn that is what one end said, in lines. The last one has
// no line break where the sender's has none.
type Quote struct {
	From, To int // offsets in what was appended to; To is 0 where there is no such part
	// Continues says that it goes on where the same end stopped before.
	Continues bool
}

// Outcome is how an exchange ended.
type Outcome uint8

// The outcomes.
const (
	Undecided   Outcome = iota // the run, or the room for it, ended before
	Answered                   // in time
	Unanswered                 // the whole wait lies in the capture
	LateAnswer                 // when the wait was over
	Unsolicited                // a reply that nobody asked for
	OneWay                     // a message that nobody answers
	Challenged                 // and the client did not ask again with the challenge
)

var outcomeNames = [...]string{"undecided", "answered", "unanswered", "late", "unsolicited", "one_way", "challenged"}

// String is the outcome's name in output.
func (o Outcome) String() string { return outcomeNames[o] }

// TurnsOnly makes a DialogueRenderer of r that puts nothing around turns: tables have
// no room for more.
func TurnsOnly(r Renderer) DialogueRenderer { return turnsOnly{r} }

type turnsOnly struct{ Renderer }

func (turnsOnly) AppendDialogue(dst []byte, d *Dialogue) []byte {
	before := d.First
	for i := range d.Turns {
		t := &d.Turns[i]
		at := len(dst)
		dst = append(dst, t.Text...)
		if t.Hole.IsSet {
			dst = FillHole(dst, at+t.Hole.At, t.Hole.Width, t.Nanos-before)
			before = t.Nanos
		}
	}
	return dst
}
