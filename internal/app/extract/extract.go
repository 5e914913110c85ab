// Package extract makes test vectors for authors of query libraries: of each exchange in a
// capture the payloads as they were on the wire, and what they decode to.
//
// A capture is read twice. A Chooser goes through the first run as the renderer of dialogues,
// and keeps the frames of the exchanges that it chooses. ReadPayloads takes the payloads of these
// frames from the capture. Then Write makes a folder for each exchange, whose payloads a Decoder
// decodes again.
package extract

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/render"
	"qsniff/reassembly/ipfrag"
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

// Payloads are the UDP payloads of frames. That of a fragmented datagram is at the frame that
// completed it.
type Payloads struct {
	byFrame map[uint64][]byte
	wanted  map[uint64]struct{}
	held    int
	// Lost counts payloads for which there was no room.
	Lost uint64
}

// ReadPayloads reads a capture to its end, or to the damage at which the first run ended, and
// returns the payloads of the frames of exchanges.
func ReadPayloads(src capture.Source, exchanges []Exchange) (*Payloads, error) {
	p := &Payloads{byFrame: map[uint64][]byte{}, wanted: map[uint64]struct{}{}}
	for i := range exchanges {
		x := &exchanges[i]
		for _, frames := range [...][]uint64{x.First, x.Challenge, x.Request, x.Reply} {
			for _, frame := range frames {
				p.wanted[frame] = struct{}{}
			}
		}
	}
	frags := ipfrag.New(fragmentBytes)
	var b capture.Batch
	for {
		err := src.Read(&b)
		for i := range b.Packets {
			p.add(frags, &b.Packets[i])
		}
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return p, err
		}
	}
}

// add adds the payload of a packet, if it is wanted.
func (p *Payloads) add(frags *ipfrag.Table, c *capture.Packet) {
	if _, ok := p.wanted[c.No]; !ok {
		return
	}
	var x packet.Packet
	x.Decode(c.Link, c.Data, int(c.Wire))
	if x.Stop == packet.OK && x.Frag.Set {
		d := frags.Add(&x, c.No, c.Nanos)
		if d == nil {
			return
		}
		d.Decode(&x)
	}
	switch {
	case x.Stop != packet.OK:
	case p.held+len(x.Payload) > maxHeld:
		p.Lost++
	default:
		p.held += len(x.Payload)
		p.byFrame[c.No] = bytes.Clone(x.Payload)
	}
}

// of returns the payloads of frames, in their order.
func (p *Payloads) of(frames []uint64) (list [][]byte) {
	for _, frame := range frames {
		if b, ok := p.byFrame[frame]; ok {
			list = append(list, b)
		}
	}
	return list
}

// Write makes a folder in dir for each exchange, and a README.md that lists them. It returns how
// many it made: it leaves out exchanges whose payloads alone decode to something else than in the
// capture, where earlier messages were known.
func Write(dir string, exchanges []Exchange, p *Payloads, decode Decoder) (made int, err error) {
	var index strings.Builder
	for i := range exchanges {
		x := &exchanges[i]
		request, reply := p.of(x.Request), p.of(x.Reply)
		if len(request) != 1 || len(reply) == 0 {
			continue
		}
		expected, err := decode(x, append(request, reply...))
		if err != nil {
			return made, err
		}
		if expected == nil || hashFields(expected) != x.fields {
			continue
		}
		made++
		name := fmt.Sprintf("%03d-%s-%s", made, x.Proto, x.Message)
		files := map[string][]byte{"expected.json": expected}
		addPayload(files, "request", request[0])
		for n, b := range reply {
			addPayload(files, fmt.Sprintf("reply-%d", n+1), b)
		}
		hasChallenge := "no"
		if first, challenge := p.of(x.First), p.of(x.Challenge); len(first) == 1 && len(challenge) == 1 {
			addPayload(files, "first-request", first[0])
			addPayload(files, "challenge", challenge[0])
			hasChallenge = "yes"
		}
		if err := writeFolder(filepath.Join(dir, name), files); err != nil {
			return made, err
		}
		fmt.Fprintf(&index, "| [%s](%s) | %s | %s | %d | %s |\n", name, name, x.Proto, x.Message, len(reply), hasChallenge)
	}
	return made, os.WriteFile(filepath.Join(dir, "README.md"), []byte(readme+index.String()), 0o600)
}

// Omitted returns lines about the exchanges of which no folder was made, by reason. made is how many were.
func (c *Chooser) Omitted(made int, p *Payloads) (lines []string) {
	for _, left := range []struct {
		n                uint64
		singular, plural string
	}{
		{uint64(len(c.exchanges) - made), "exchange whose reply takes earlier messages to be read", "exchanges whose reply takes earlier messages to be read"},
		{c.Repeats, "repeat of another one", "repeats of others"},
		{c.Unanswered, "exchange without an answer in time", "exchanges without an answer in time"},
		{c.Incomplete, "exchange of which the capture lacks a part", "exchanges of which the capture lacks a part"},
	} {
		if left.n > 0 {
			lines = append(lines, fmt.Sprintf("left out: %d %s", left.n, digits.Noun(left.n, left.singular, left.plural)))
		}
	}
	if c.IsFull {
		lines = append(lines, "there may be more: -c raises the number")
	}
	if p.Lost > 0 {
		lines = append(lines, fmt.Sprintf("no room for %d %s", p.Lost, digits.Noun(p.Lost, "payload")))
	}
	return lines
}

// addPayload adds a payload as bytes and as hexadecimal.
func addPayload(files map[string][]byte, name string, b []byte) {
	files[name+".bin"] = b
	var text []byte
	for line := b; len(line) > 0; line = line[min(len(line), hexWidth):] {
		text = append(hex.AppendEncode(text, line[:min(len(line), hexWidth)]), '\n')
	}
	files[name+".hex"] = text
}

func writeFolder(dir string, files map[string][]byte) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// readme is the README.md of a folder of fixtures, up to the rows of its table.
const readme = `# Recorded exchanges of game-server queries

Each folder is one exchange, as test data for a library that makes such queries. It was made by
qsniff extract --fixtures.

| file | has |
|---|---|
| request.bin | the payload of the UDP datagram that the server answered |
| reply-1.bin, reply-2.bin, ... | the payloads of the answer, in the order in which they came |
| first-request.bin, challenge.bin | where the server demanded a challenge: what was asked first, and the challenge; request.bin brings it back |
| the same as .hex | hexadecimal, 32 bytes a line |
| expected.json | what the answer says once it is joined: protocol, message, status and fields |

In a test, answer the request of your library with the replies, byte by byte, and compare what it
makes of them with "fields". A challenge in request.bin is the recorded server's: give yours
the one in challenge.bin. "frames" numbers the payloads, of which request.bin is the first. In a
folder, this prints expected.json again, after the line of the request:

    qsniff decode --raw -o json --as PROTOCOL request.bin $(ls reply-*.bin | sort -t- -k2n)

| folder | protocol of the reply | request | datagrams of the reply | challenge |
|---|---|---|---|---|
`

const (
	// limit: MaxExchanges is how many exchanges one call makes fixtures of. Chosen: more than any suite
	// of tests has room for.
	MaxExchanges = 1000

	// limit: maxHeld is how many bytes of payloads are held until they are written: 1,000 replies of
	// 16 KiB, or fewer of the longest.
	maxHeld = 16 << 20

	// limit: fragmentBytes is the memory in which fragments of IP are joined: those of a datagram come
	// together, and others are not looked at.
	fragmentBytes = 4 << 20

	// limit: hexWidth is how many bytes a line of hexadecimal has. Chosen: 64 digits fit any screen.
	hexWidth = 32
)
