package extract

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"testing"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/internal/render"
	"qsniff/internal/test/testpcap"
)

// batches is a capture of one batch.
type batches struct {
	packets []capture.Packet
	err     error // after them
}

func (s *batches) Read(b *capture.Batch) error {
	b.Reset()
	b.Packets = append(b.Packets, s.packets...)
	s.packets = nil
	return s.err
}
func (s *batches) Stats() capture.Stats { return capture.Stats{} }
func (s *batches) Close() error         { return nil }

var (
	client = netip.MustParseAddrPort("10.64.0.1:40001")
	server = netip.MustParseAddrPort("198.18.0.1:27015")
)

// packetsOf returns n packets with payloads of size bytes.
func packetsOf(n, size int) (ps []capture.Packet) {
	link := testpcap.Link{Type: testpcap.LinkEthernet}
	for i := range n {
		d := testpcap.Datagram{Src: server, Dst: client, TTL: 64, Payload: bytes.Repeat([]byte{byte(i)}, size)}
		frame := d.Frame(link)
		ps = append(ps, capture.Packet{No: uint64(i + 1), Data: frame, Wire: uint32(len(frame)), Link: testpcap.LinkEthernet})
	}
	return ps
}

// TestReadPayloads: the payloads of wanted frames are taken and those of others are not; what has no
// room is counted, and what precedes damage is there.
func TestReadPayloads(t *testing.T) {
	x := Exchange{First: []uint64{1}, Challenge: []uint64{2}, Request: []uint64{3}, Reply: []uint64{4, 6}}
	p, err := ReadPayloads(&batches{packetsOf(6, 10), io.EOF}, []Exchange{x})
	if err != nil || len(p.byFrame) != 5 || !bytes.Equal(p.of(x.Reply)[1], bytes.Repeat([]byte{5}, 10)) {
		t.Errorf("got %v, %v", p.byFrame, err)
	}
	damaged := errors.New("damaged")
	if p, err := ReadPayloads(&batches{packetsOf(3, 10), damaged}, []Exchange{x}); err != damaged || len(p.of(x.Request)) != 1 {
		t.Errorf("got %v, %v", p.byFrame, err)
	}
	const size, n = 60_000, 300
	var all Exchange
	for i := range uint64(n) {
		all.Reply = append(all.Reply, i+1)
	}
	p, err = ReadPayloads(&batches{packetsOf(n, size), io.EOF}, []Exchange{all})
	if err != nil || p.held > maxHeld || p.Lost != n-maxHeld/size {
		t.Errorf("%d bytes held, %d lost, %v", p.held, p.Lost, err)
	}
}

// fields renders the data of a message as its fields.
type fields struct{ render.Renderer }

func (fields) Append(dst []byte, e *render.Event) []byte {
	return append(append(append(dst, `{"frame":1,"fields":{"text":"`...), e.Msg.Data...), "\"}}\n"...)
}

// TestHashFields: what follows the fields, and what precedes them, makes no difference.
func TestHashFields(t *testing.T) {
	want := hashFields([]byte(`{"frame":1,"fields":{"a":{"b":1}}}` + "\n"))
	for line, same := range map[string]bool{
		`{"frame":2,"fields":{"a":{"b":1}}}`:                         true,
		`{"frame":2,"fields":{"a":{"b":1}},"findings":[{"id":"X"}]}`: true,
		`{"frame":1,"fields":{"a":{"b":2}}}`:                         false,
		`{"frame":1,"fields":{"a":{"b":2}},"findings":[{"id":"X"}]}`: false,
	} {
		if got := hashFields([]byte(line + "\n")); (got == want) != same {
			t.Errorf("%s: same %v", line, got == want)
		}
	}
}

// dialogueOf returns an answered exchange with a challenge, whose answer has the content reply.
func dialogueOf(c *Chooser, reply string) *render.Dialogue {
	toy := &dissect.Proto{Name: "toy"}
	d := &render.Dialogue{Proto: toy, Type: &dissect.Type{Name: "ASK"}, Outcome: render.Answered}
	for _, e := range []render.Event{
		{Frame: 1, Msg: &dissect.Message{Proto: toy, Data: []byte("ask")}},
		{Frame: 2, Msg: &dissect.Message{Proto: toy, Data: []byte("token")}, Exchange: render.Exchange{Verb: "challenges", Request: 1}},
		{Frame: 3, Msg: &dissect.Message{Proto: toy, Data: []byte("ask token")}, Exchange: render.Exchange{Verb: "brings the challenge for", Request: 0}},
		{Frame: 5, Frames: []uint64{4, 5}, Msg: &dissect.Message{Proto: toy, Data: []byte(reply)}, Exchange: render.Exchange{Verb: "answers", Request: 3}},
	} {
		d.Turns = append(d.Turns, render.Turn{Text: c.Append(nil, &e), Frame: e.Frame})
	}
	return d
}

// TestChooser: an exchange is chosen with its challenge; the same contents again, and what is not
// answered or not whole, are counted; the number has a limit.
func TestChooser(t *testing.T) {
	c := NewChooser(2, fields{})
	for _, d := range []*render.Dialogue{dialogueOf(c, "yes"), dialogueOf(c, "yes")} {
		c.AppendDialogue(nil, d)
	}
	unanswered, cut := dialogueOf(c, "no"), dialogueOf(c, "no")
	unanswered.Outcome, cut.Answer = render.Unanswered, dissect.Truncated
	c.AppendDialogue(nil, unanswered)
	c.AppendDialogue(nil, cut)
	if len(c.Exchanges()) != 1 || c.Repeats != 1 || c.Unanswered != 1 || c.Incomplete != 1 || c.IsFull {
		t.Fatalf("got %+v", c)
	}
	x := c.Exchanges()[0]
	if x.Proto != "toy" || x.Message != "ASK" || x.First[0] != 1 || x.Challenge[0] != 2 || x.Request[0] != 3 || len(x.Reply) != 2 || x.Reply[1] != 5 {
		t.Errorf("got %+v", x)
	}
	c.AppendDialogue(nil, dialogueOf(c, "more"))
	c.AppendDialogue(nil, dialogueOf(c, "too much"))
	if len(c.Exchanges()) != 2 || !c.IsFull {
		t.Errorf("%d exchanges", len(c.Exchanges()))
	}
}
