package replay

import (
	"bytes"
	"context"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"testing"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
	"qsniff/internal/test/protos"
	"qsniff/reassembly/ipfrag"
)

// client is a client on this machine, to which everything is sent.
var client = netip.MustParseAddrPort("127.0.0.1:40000")

func open(t testing.TB, name string) capture.Source {
	t.Helper()
	src, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// collect reads a capture and returns the books of its servers, most asked first.
func collect(t testing.TB, reg *dissect.Registry, name string) []*Book {
	t.Helper()
	c := NewCollector(reg)
	src := open(t, name)
	defer src.Close()
	if _, err := pipeline.Run(context.Background(), pipeline.Config{Source: src, Registry: reg, Jobs: 1, Memory: 16 << 20, Packets: c}); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	books := c.Servers()
	for _, b := range books {
		src := open(t, name)
		if err := b.Fetch(src); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		src.Close()
	}
	return books
}

// exchange is a request of a capture and the frames of a reply to it.
type exchange struct {
	server  netip.AddrPort
	typ     *dissect.Type
	request []byte
	replies [][]byte // the datagrams of each reply, one after the other
	isWhole bool
}

// witness collects exchanges from the verbs of render.Event, which Collector does not use.
type witness struct {
	catalog   catalog
	requests  map[uint64]*exchange
	answered  []*exchange
	datagrams map[uint64][]byte // of all frames
}

func (w *witness) AppendNote(dst []byte, e *render.Event, _ bool) ([]byte, bool) {
	if e.TCP || e.Exchange.ID == 0 || e.Msg.Type == nil {
		return dst, false
	}
	if !e.Reply {
		w.requests[e.Frame] = &exchange{server: e.Dst, typ: e.Msg.Type, request: bytes.Clone(e.Msg.Data), isWhole: true}
		return dst, false
	}
	x := w.requests[e.Exchange.Request]
	if x == nil || e.Exchange.Verb != "answers" {
		return dst, false
	}
	x.isWhole = e.Msg.Status != dissect.Truncated && e.Msg.Status != dissect.Fragment
	frames := e.Frames
	if frames == nil {
		frames = []uint64{e.Frame}
	}
	for _, f := range frames {
		if b, ok := w.datagrams[f]; ok {
			x.replies = append(x.replies, b)
		}
	}
	w.answered = append(w.answered, x)
	return dst, false
}
func (w *witness) AddMessage(*pipeline.Pick)       {}
func (w *witness) AddPackets(*capture.Batch) error { return nil }

// payloads returns the payloads of all datagrams of a capture, by the frame that completed
// them.
func payloads(t *testing.T, name string) map[uint64][]byte {
	t.Helper()
	src := open(t, name)
	defer src.Close()
	all := map[uint64][]byte{}
	frags := ipfrag.New(1 << 20)
	for {
		var b capture.Batch
		err := src.Read(&b)
		for i := range b.Packets {
			var p packet.Packet
			raw := &b.Packets[i]
			p.Decode(raw.Link, raw.Data, int(raw.Wire))
			if p.Stop == packet.OK && p.Frag.Set {
				d := frags.Add(&p, raw.No, 0)
				if d == nil {
					continue
				}
				p = packet.Packet{}
				d.Decode(&p)
			}
			if p.Stop == packet.OK {
				all[raw.No] = bytes.Clone(p.Payload)
			}
		}
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// captures lists the captures of groups.
func captures(t testing.TB, groups ...string) (names []string) {
	t.Helper()
	for _, g := range groups {
		found, err := filepath.Glob("../../../pcapfiles/" + g + "/*.pcap")
		if err != nil || len(found) == 0 {
			t.Fatalf("no captures in %s: %v", g, err)
		}
		names = append(names, found...)
	}
	return names
}

// TestCaptures plays the requests of captures that were answered. The answer has the
// recorded bytes: those of the first reply to the same request of that server.
func TestCaptures(t *testing.T) {
	reg := protos.Registry(t)
	played := 0
	for _, name := range captures(t, "a2s", "goldsource", "ase", "master", "split") {
		w := &witness{catalog: newCatalog(reg), requests: map[uint64]*exchange{}, datagrams: payloads(t, name)}
		src := open(t, name)
		if _, err := pipeline.Run(context.Background(), pipeline.Config{Source: src, Registry: reg, Jobs: 1, Memory: 16 << 20, Packets: w}); err != nil {
			continue // damaged on purpose
		}
		src.Close()
		if len(w.answered) == 0 {
			continue
		}
		books := collect(t, reg, name)
		for _, x := range w.answered {
			if x.isWhole && len(x.replies) > 0 {
				playOne(t, name, reg, books, w.answered, x)
				played++
			}
		}
	}
	t.Logf("%d requests were played", played)
	if played < 60 {
		t.Errorf("%d requests were played", played)
	}
}

// playOne plays the request of x, with the challenge if one is demanded.
func playOne(t *testing.T, name string, reg *dissect.Registry, books []*Book, all []*exchange, x *exchange) {
	t.Helper()
	i := slices.IndexFunc(books, func(b *Book) bool { return b.Server == x.server })
	if i < 0 {
		t.Errorf("%s: %s has no book", name, x.server)
		return
	}
	s := NewServer(reg, books[i])
	request := x.request
	r := s.Answer(client, request)
	if r.Outcome == Challenged {
		if len(r.Datagrams) != 1 {
			t.Fatalf("%s: %d challenges", name, len(r.Datagrams))
		}
		request = answerChallenge(t, s, request)
		r = s.Answer(client, request)
	}
	if r.Outcome != Answered && x.typ.Number != nil { // the challenge of another request
		r = s.Answer(client, answerChallenge(t, s, request))
	}
	if r.Outcome != Answered {
		t.Errorf("%s: %s %q\ngot  %s\nwant an answer", name, x.typ.Name, x.request, r.Outcome)
		return
	}
	for _, y := range all { // the first reply may have another form
		if y.server == x.server && y.typ == x.typ && hasAll(r.Datagrams, y.replies) {
			return
		}
	}
	t.Errorf("%s: %s\ngot  %x\nwant %x", name, x.typ.Name, r.Datagrams, x.replies)
}

// hasAll reports whether want is among got, where numbers that a server gives out are as
// long as those recorded.
func hasAll(got, want [][]byte) bool {
	for _, b := range want {
		if !slices.ContainsFunc(got, func(x []byte) bool { return sameButNumber(x, b) }) {
			return false
		}
	}
	return len(want) > 0
}

// sameButNumber reports whether two datagrams are equal, or are short and differ from a digit
// on, as challenges do.
func sameButNumber(x, y []byte) bool {
	if bytes.Equal(x, y) {
		return true
	}
	const words = "\xff\xff\xff\xffchallenge rcon "
	return bytes.HasPrefix(x, []byte(words)) && bytes.HasPrefix(y, []byte(words)) ||
		len(x) == 9 && len(y) == 9 && bytes.HasPrefix(x, []byte("\xff\xff\xff\xffA")) && bytes.HasPrefix(y, x[:5])
}

// answerChallenge returns request with the number that s gave to the client.
func answerChallenge(t *testing.T, s *Server, request []byte) []byte {
	t.Helper()
	number := s.numberOf(client.Addr())
	if !s.read(client, number, request) {
		t.Fatalf("%q is not read", request)
	}
	old, at := numberOf(&s.msg)
	if at.hi > 0 {
		return withNumber(request, at, old, uint64(number))
	}
	return append(bytes.Clone(request), byte(number), byte(number>>8), byte(number>>16), byte(number>>24))
}
