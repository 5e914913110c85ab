// Package extract makes test vectors for authors of query libraries: of each exchange in a
// capture the payloads as they were on the wire, and what they decode to. It decodes nothing:
// package pipeline chooses the exchanges, and the caller decodes the payloads again.
//
// A capture is read twice. A Chooser goes through the first run as the renderer of dialogues,
// and keeps the frames of the exchanges that it chooses. ReadPayloads takes the payloads of these
// frames from the capture. Then Write makes a folder for each exchange.
package extract

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"

	"qsniff/dissect"
	"qsniff/internal/render"
)

// Exchange is an exchange of which a fixture is made: the request that was answered, and its
// reply. Where the server demanded a challenge, First is the request that it answered with
// Challenge.
type Exchange struct {
	Message          string // of the request
	Proto, Status    string // of the reply
	First, Challenge []uint64
	Request, Reply   []uint64 // frames, rising
	fields           uint64   // hash of the fields of the reply as JSON
}

// Chooser chooses answered exchanges in datagrams, each set of contents once. It is a
// render.DialogueRenderer that writes nothing.
type Chooser struct {
	max       int
	lines     render.Renderer
	seen      map[contents]struct{}
	exchanges []Exchange
	// Repeats, Unanswered and Incomplete count exchanges that are left out: of contents that were
	// there before, without an answer, with a reply of which bytes are missing.
	Repeats, Unanswered, Incomplete uint64
	// IsFull is set once as many exchanges are chosen as were wanted.
	IsFull bool
}

// contents are hashes of what was asked and answered.
type contents struct{ request, reply uint64 }

// NewChooser returns a Chooser for max exchanges. lines makes a line of JSON of a message, as
// Decoder returns it.
func NewChooser(max int, lines render.Renderer) *Chooser {
	return &Chooser{max: max, lines: lines, seen: map[contents]struct{}{}}
}

// seed is that of all hashes.
var seed = maphash.MakeSeed()

// hashFields returns the hash of the fields in a line of JSON. Findings follow them: some are about
// what came before, and a payload alone does not have them. Quotes in texts are escaped, so that
// no text looks like a member.
func hashFields(line []byte) uint64 {
	_, fields, _ := bytes.Cut(bytes.TrimRight(line, "}\n"), []byte(`,"fields":`))
	if i := bytes.LastIndex(fields, []byte(`,"findings":[`)); i >= 0 {
		fields = bytes.TrimRight(fields[:i], "}")
	}
	return maphash.Bytes(seed, fields)
}

// Exchanges returns the exchanges that were chosen so far.
func (c *Chooser) Exchanges() []Exchange { return c.exchanges }

// turn is what a message becomes as a turn of a dialogue: turnBytes bytes, its protocol's name,
// a NUL, and its frames.
type turn struct {
	verb    verb
	frame   uint64 // that completed it
	request uint64 // that a reply answers
	hash    uint64 // of the bytes
	fields  uint64 // of a reply
	proto   string
	frames  []byte // 8 bytes each
}

type verb byte

const (
	asks verb = iota
	answers
	challenges
)

var verbs = map[string]verb{"answers": answers, "challenges": challenges}

// turnBytes is the length of a turn without the name and the frames.
const turnBytes = 1 + 4*8

// Append appends what the Chooser needs of a message. Workers call it.
func (c *Chooser) Append(dst []byte, e *render.Event) []byte {
	if e.Record != "" {
		return dst
	}
	v, fields := verbs[e.Exchange.Verb], uint64(0)
	if v == answers {
		line := c.lines.Append(dst, e)
		fields, dst = hashFields(line[len(dst):]), line[:len(dst)]
	}
	dst = append(dst, byte(v))
	for _, n := range [...]uint64{e.Frame, e.Exchange.Request, maphash.Bytes(seed, e.Msg.Data), fields} {
		dst = binary.LittleEndian.AppendUint64(dst, n)
	}
	dst = append(append(dst, e.Msg.Proto.Name...), 0)
	if e.Frames == nil {
		return binary.LittleEndian.AppendUint64(dst, e.Frame)
	}
	for _, frame := range e.Frames {
		dst = binary.LittleEndian.AppendUint64(dst, frame)
	}
	return dst
}

// AppendRecord appends nothing: a finding is no part of a fixture.
func (c *Chooser) AppendRecord(dst []byte, _ *render.Record) []byte { return dst }

func parseTurn(b []byte) turn {
	number := func(i int) uint64 { return binary.LittleEndian.Uint64(b[1+8*i:]) }
	proto, frames, _ := bytes.Cut(b[turnBytes:], []byte{0})
	return turn{verb: verb(b[0]), frame: number(0), request: number(1), hash: number(2), fields: number(3), proto: string(proto), frames: frames}
}

func (t *turn) listFrames() (frames []uint64) {
	for b := t.frames; len(b) > 0; b = b[8:] {
		frames = append(frames, binary.LittleEndian.Uint64(b))
	}
	return frames
}

// AppendDialogue chooses d, or counts why not. It appends nothing.
func (c *Chooser) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	switch {
	case c.IsFull || d.IsStream || d.Type == nil || d.Outcome == render.OneWay:
	case d.Outcome != render.Answered:
		c.Unanswered++
	case d.Answer != dissect.Complete && d.Answer != dissect.Malformed:
		c.Incomplete++
	default:
		c.choose(d)
	}
	return dst
}

// choose adds d, unless an exchange with the same contents is there.
func (c *Chooser) choose(d *render.Dialogue) {
	answer := findTurn(d, func(t *turn) bool { return t.verb == answers })
	if answer == nil {
		c.Unanswered++
		return
	}
	request := findTurn(d, func(t *turn) bool { return t.verb == asks && t.frame == answer.request })
	if request == nil { // it came before the capture
		c.Incomplete++
		return
	}
	k := contents{request.hash, answer.hash}
	if _, ok := c.seen[k]; ok {
		c.Repeats++
		return
	}
	c.seen[k] = struct{}{}
	x := Exchange{Message: d.Type.Name, Proto: answer.proto, Status: d.Answer.String(), fields: answer.fields, Request: request.listFrames(), Reply: answer.listFrames()}
	challenge := findTurn(d, func(t *turn) bool { return t.verb == challenges && t.request != request.frame })
	if challenge != nil {
		first := findTurn(d, func(t *turn) bool { return t.verb == asks && t.frame == challenge.request })
		if first != nil {
			x.First, x.Challenge = first.listFrames(), challenge.listFrames()
		}
	}
	c.exchanges = append(c.exchanges, x)
	c.IsFull = len(c.exchanges) == c.max
}

// findTurn returns the last turn for which is returns true, or nil.
func findTurn(d *render.Dialogue, is func(*turn) bool) (found *turn) {
	for i := range d.Turns {
		if d.Turns[i].IsRecord {
			continue
		}
		if t := parseTurn(d.Turns[i].Text); is(&t) {
			found = &t
		}
	}
	return found
}
