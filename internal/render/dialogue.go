package render

import (
	"bytes"
	"net/netip"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/base/hostset"
	"qsniff/internal/track/fingerprint"
)

// DialogueRenderer renders an exchange or a connection as one. Append and AppendRecord
// render its turns as they come, and AppendDialogue puts them together once it is over.
// An event for which Append appends nothing is no turn.
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
	First    int64         // Unix nanoseconds of the first message
	Last     int64         // and of the last one

	Outcome      Outcome        // of an exchange
	RTT          int64          // nanoseconds from the request to its answer, -1 if there is none
	ChallengeRTT int64          // and to the challenge before it, -1 if there is none
	Answer       dissect.Status // of the answer: whether it is complete

	Signs fingerprint.Signs // of its client, as far as exchanges with this server show

	Requests   uint32
	Challenges uint32
	Replies    uint32 // without challenges
	Packets    uint32

	// HasEarlier reports whether there were turns before these: written earlier, to make
	// room, or sent before the capture began.
	HasEarlier bool
	// IsUnfinished reports whether it was written before it was over, to make room.
	IsUnfinished bool
	// Omitted is how many of its messages are not among Turns, because a report has no room.
	Omitted int
	// IsStopped reports whether it was not over when the run was ended before the end of
	// the capture: an answer may be in the rest.
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
	Quote    Quote // in Text
}

// Quote is the part of a turn that quotes the text which one end sent, in lines. The last
// line has no line break where the sent text has none.
type Quote struct {
	From, To int // offsets in the slice that the renderer appended to; To is 0 where nothing is quoted
	// Continues reports whether the text goes on in the middle of what the same end sent
	// in its message before.
	Continues bool
}

// Outcome is how an exchange ended.
type Outcome uint8

// The outcomes.
const (
	Undecided   Outcome = iota // the run, or the room for it, ended before
	Answered                   // in time
	Unanswered                 // though the whole wait lies in the capture
	LateAnswer                 // answered after the wait
	Unsolicited                // a reply to no known request
	OneWay                     // a message of a type that has no answer
	Challenged                 // and the client did not ask again with the challenge
)

var outcomeNames = [...]string{"undecided", "answered", "unanswered", "late", "unsolicited", "one_way", "challenged"}

// String is the outcome's name in output.
func (o Outcome) String() string { return outcomeNames[o] }

// TurnsOnly returns a DialogueRenderer that writes the turns which r renders and nothing
// around them: rows of a table have no place for headings.
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

// Headline is the part that renderers share which write a dialogue as one line: the text of a
// turn is the ids of its findings. Dialogues of other servers than Ours are not written.
type Headline struct {
	Ours *hostset.Set // nil: all
}

// Append appends the ids of the findings in a message, each with a space before it, and a space
// if there are none: a message without text would be no turn.
func (Headline) Append(dst []byte, e *Event) []byte {
	if e.Record != "" { // joined from messages, which are turns
		return dst
	}
	if len(e.Msg.Expert) == 0 {
		return append(dst, ' ')
	}
	for i := range e.Msg.Expert {
		dst = append(append(dst, ' '), e.Msg.Expert[i].Code.ID...)
	}
	return dst
}

// AppendRecord appends the id of a finding.
func (Headline) AppendRecord(dst []byte, r *Record) []byte {
	return append(append(dst, ' '), r.Expert.Code.ID...)
}

// Shows reports whether a dialogue is a line: one that has messages or is a connection, of
// one of Ours.
func (h *Headline) Shows(d *Dialogue) bool {
	return (d.IsStream || d.Requests+d.Challenges+d.Replies > 0) && h.Ours.Has(d.Server)
}

// AppendFindings appends the ids of the findings in a dialogue, each once, with a separator
// between them and quote around each.
func (Headline) AppendFindings(dst []byte, d *Dialogue, separator, quote string) []byte {
	lo := len(dst)
	for i := range d.Turns {
		for id := range bytes.FieldsSeq(d.Turns[i].Text) {
			if isListed(dst[lo:], id, separator, quote) {
				continue
			}
			if len(dst) > lo {
				dst = append(dst, separator...)
			}
			dst = append(append(append(dst, quote...), id...), quote...)
		}
	}
	return dst
}

// isListed reports whether id is in a list that AppendFindings made.
func isListed(list, id []byte, separator, quote string) bool {
	for one := range bytes.SplitSeq(list, []byte(separator)) {
		if slices.Equal(bytes.Trim(one, quote), id) {
			return true
		}
	}
	return false
}
