package dialogue

import (
	"bytes"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/internal/render"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

var (
	server = netip.MustParseAddrPort("198.18.0.1:27015")
	client = netip.MustParseAddrPort("10.64.0.1:40001")
)

var game = dissect.Proto{Name: "a2s"}

const ms = int64(time.Millisecond)

// start is when the captures of these tests begin.
const start = 1_700_000_000_000 * ms

// scribe writes a dialogue as a line: its id, what it is, and its turns.
type scribe struct{ render.Renderer }

func (scribe) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	dst = strconv.AppendUint(dst, d.ID, 10)
	if d.IsStream {
		dst = append(dst, " stream"...)
	} else {
		dst = append(append(dst, ' '), d.Outcome.String()...)
	}
	if d.RTT >= 0 {
		dst = strconv.AppendInt(append(dst, " took "...), d.RTT/ms, 10)
	}
	if d.ChallengeRTT >= 0 {
		dst = strconv.AppendInt(append(dst, " trip "...), d.ChallengeRTT/ms, 10)
	}
	if d.HasEarlier {
		dst = append(dst, " continues"...)
	}
	if d.IsUnfinished {
		dst = append(dst, " open"...)
	}
	for i := range d.Turns {
		dst = append(append(dst, ' '), d.Turns[i].Text...)
	}
	return append(dst, '\n')
}

// play feeds a collector with a script and returns what it writes. A line is the
// frame, the time in milliseconds and what happens:
//
//	5 0 ask           a message of that step, of the exchange of frame 5
//	6 1 answer of 5   of the exchange of frame 5; also late, extra, challenge, ...
//	7 0 oneway        a message of no exchange
//	8 0 stray         likewise
//	9 0 silence of 5  nobody answered it in time
//	9 0 tcp of 4      a message of the connection of frame 4
//	9 0 close of 4    it was closed
//	9 0 note of 5     a record about frame 5
//	9 0 refused       one about the two ends
//	9 0 damage        one about neither
func play(c *Collector, script string) string {
	var out []byte
	for line := range strings.Lines(script) {
		if strings.TrimSpace(line) != "" {
			out = event(c, out, line)
		}
	}
	return string(c.Finish(out, false))
}

func event(c *Collector, out []byte, line string) []byte {
	words := strings.Fields(line)
	number := func(i int) uint64 {
		n, err := strconv.ParseUint(words[i], 10, 64)
		if err != nil {
			panic(fmt.Sprintf("%v in %q", err, line))
		}
		return n
	}
	frame, nanos, what := number(0), start+int64(number(1))*ms, words[2]
	id := frame
	if len(words) > 4 {
		id = number(4)
	}
	t := Turn{Turn: render.Turn{Text: []byte(what + words[0]), Frame: frame, Nanos: nanos}, First: frame, HasWantedFrame: frame == c.Frame()}
	f := track.Fact{Frame: frame, Nanos: nanos, Proto: &game, Server: server, Client: client, Packets: 1, Part: track.Part{ID: id, Took: -1, Trip: -1}}
	switch what {
	case "silence":
		return c.MarkUnanswered(out, &f, nanos)
	case "close":
		return c.CloseConnection(out, id, nanos)
	case "note", "refused":
		t.IsRecord, t.Server, t.Client = true, server, client
		if what == "note" {
			t.About = id
		}
		return c.AddRecord(out, &t)
	case "damage":
		t.IsRecord = true
		return c.AddRecord(out, &t)
	case "gap":
		t.IsRecord, t.Conn = true, id
		return c.AddRecord(out, &t)
	case "tick":
		return c.AdvanceTime(out, nanos)
	case "tcp":
		t.Conn, f.ID, f.TCP = id, 0, true
		return c.AddMessage(out, &t, &f)
	case "oneway":
		f.ID = 0
		return c.AddMessage(out, &t, &f)
	case "stray":
		f.ID, f.Step, f.Reply = 0, track.Stray, true
		return c.AddMessage(out, &t, &f)
	}
	for s := track.Ask; s <= track.Silence; s++ {
		if s.String() == what {
			f.Step = s
		}
	}
	f.Reply = f.Step >= track.Challenge
	if f.Reply {
		f.Took = int64(frame) * ms
	}
	if f.Step == track.Answer {
		f.Trip = 3 * ms
	}
	return c.AddMessage(out, &t, &f)
}

func TestDialogues(t *testing.T) {
	for _, tc := range []struct{ name, script, want string }{
		{"challenge and answer", "1 0 ask\n2 1 challenge of 1\n3 2 echo of 1\n4 3 answer of 1", "1 answered took 4 trip 3 ask1 challenge2 echo3 answer4\n"},
		{"further replies", "1 0 ask\n2 1 answer of 1\n3 2 extra of 1\n4 900 extra of 1\n9 5000 ask",
			"1 answered took 2 trip 3 ask1 answer2 extra3 extra4\n9 undecided ask9\n"},
		{"challenge alone", "1 0 ask\n2 1 challenge of 1", "1 challenged trip 2 ask1 challenge2\n"},
		{"challenge brought back, then nothing", "1 0 ask\n2 1 challenge of 1\n3 2 echo of 1", "1 undecided trip 2 ask1 challenge2 echo3\n"},
		{"echo unanswered", "1 0 ask\n2 1 challenge of 1\n3 2 echo of 1\n3 3000 silence of 1", "1 unanswered trip 2 ask1 challenge2 echo3\n"},
		{"asked again", "1 0 ask\n2 1000 again of 1\n3 2000 again of 1", "1 undecided ask1 again2 again3\n"},
		{"late", "1 0 ask\n1 3000 silence of 1\n2 4000 late of 1", "1 late took 2 ask1 late2\n"},
		{"much too late", "1 0 ask\n1 3000 silence of 1\n8 20000 oneway\n9 30000 late of 1",
			"1 unanswered ask1\n8 one_way oneway8\n1 late took 9 continues late9\n"},
		{"one way and unasked", "1 0 oneway\n2 0 stray\n", "1 one_way oneway1\n2 unsolicited stray2\n"},
		{"in the order of first requests", "1 0 ask\n2 1 ask\n3 2 answer of 2\n4 5000 oneway\n5 5001 answer of 1",
			"1 answered took 5 trip 3 ask1 answer5\n2 answered took 3 trip 3 ask2 answer3\n4 one_way oneway4\n"},
		{"the wait for the first ends", "1 0 ask\n2 1 ask\n3 2 answer of 2\n1 3000 silence of 1\n4 14000 tick\n5 14001 answer of 1",
			"1 unanswered ask1\n2 answered took 3 trip 3 ask2 answer3\n1 answered took 5 trip 3 continues answer5\n"},
		{"nobody says that it is over", "1 0 ask\n2 61000 oneway", "1 undecided ask1\n2 one_way oneway2\n"},
		{"clock steps back", "1 0 ask\n2 90000 oneway\n3 10 ask\n4 11 answer of 3", "1 undecided ask1\n2 one_way oneway2\n3 answered took 4 trip 3 ask3 answer4\n"},
		{"records", "1 0 ask\n2 1 ask\n3 2 note of 1\n4 3 refused\n5 4 note of 9", "1 undecided ask1 note3\n2 undecided ask2 refused4 note5\n"},
		{"a record alone", "3 0 note of 1\n4 1 ask", "3 one_way note3\n4 undecided ask4\n"},
		{"two records about one packet", "3 0 refused\n3 0 refused", "3 one_way refused3\n3 one_way refused3\n"},
		{"connection", "4 0 tcp of 4\n5 1 ask\n6 2 tcp of 4\n7 3 gap of 4\n8 4 tcp of 4", "4 stream tcp4 tcp6 gap7 tcp8\n5 undecided ask5\n"},
		{"a message that was found late", "4 0 tcp of 4\n8 1 tcp of 4\n9 2 gap of 4\n6 3 tcp of 4\n9 4 tcp of 4", "4 stream tcp4 gap9 tcp6 tcp8 tcp9\n"},
		{"closed after an exchange", "3 0 ask\n4 1 tcp of 4\n6 2 close of 4\n7 3 oneway", "3 undecided ask3\n4 stream tcp4\n7 one_way oneway7\n"},
		{"closed before an exchange", "3 0 tcp of 3\n4 1 ask\n5 2 close of 3\n6 3 tick", "3 stream tcp3\n4 undecided ask4\n"},
		{"an open connection holds nothing up", "3 0 tcp of 3\n4 1 ask\n5 2 answer of 4\n6 3000 tick\n7 3001 tcp of 3", "4 answered took 5 trip 3 ask4 answer5\n3 stream tcp3 tcp7\n"},
		{"closed and nothing said", "5 2 close of 3", ""},
	} {
		got := play(New(Options{Renderer: scribe{}}), tc.script)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
	}
}

func TestOneDialogue(t *testing.T) {
	const script = "1 0 ask\n2 1 answer of 1\n5 2000 ask\n6 2001 answer of 5\n9 4000 ask\n"
	for _, tc := range []struct {
		frame, before, after uint64
		want                 string
	}{
		{5, 1, 9, "5 answered took 6 trip 3 ask5 answer6\n"},
		{6, 1, 9, "5 answered took 6 trip 3 ask5 answer6\n"},
		{7, 5, 9, ""},
		{99, 9, 0, ""},
	} {
		c := New(Options{Renderer: scribe{}, Frame: tc.frame})
		got := play(c, script)
		before, after := c.Nearest()
		if got != tc.want || before != tc.before || after != tc.after || c.Found() != (tc.want != "") {
			t.Errorf("frame %d\ngot  %q, found %t, near %d and %d\nwant %q, near %d and %d", tc.frame,
				got, c.Found(), before, after, tc.want, tc.before, tc.after)
		}
	}
}

// Where there is no room the oldest dialogue is written as far as it got, and what
// comes of it later says that it continues.
func TestRoom(t *testing.T) {
	for _, tc := range []struct {
		name, script, want string
		open, bytes        int
		early, frame       uint64
	}{
		{"places", "1 0 ask\n2 1 ask\n3 2 ask\n4 3 answer of 1", "1 undecided open ask1\n2 undecided open ask2\n3 undecided ask3\n1 answered took 4 trip 3 continues answer4\n", 2, 1 << 20, 2, 0},
		{"what is over makes room without a word", "1 0 ask\n1 1 silence of 1\n2 2 ask\n3 3 ask", "1 unanswered ask1\n2 undecided ask2\n3 undecided ask3\n", 2, 1 << 20, 0, 0},
		{"bytes", "1 0 ask\n2 1 again of 1\n3 2 ask\n4 3 ask", "1 undecided open ask1 again2\n3 undecided ask3\n4 undecided ask4\n", 10, 3*turnBytes + 20, 1, 0},
		{"a long transcript", "1 0 tcp of 1\n2 1 tcp of 1\n3 2 tcp of 1\n4 3 close of 1", "1 stream open tcp1 tcp2\n1 stream continues tcp3\n", 10, turnBytes + 10, 1, 0},
		{"a connection's place", "1 0 tcp of 1\n2 1 ask\n3 2 ask\n4 3 tcp of 1", "1 stream open tcp1\n2 undecided open ask2\n3 undecided ask3\n1 stream continues tcp4\n", 2, 1 << 20, 2, 0},
		{"those that nobody asked for are not written, and not counted", "1 0 ask\n2 1 ask\n3 2 ask\n4 3 answer of 3", "3 answered took 4 trip 3 ask3 answer4\n", 2, 1 << 20, 0, 3},
	} {
		c := New(Options{Renderer: scribe{}, Frame: tc.frame})
		c.maxOpen, c.maxBytes = tc.open, tc.bytes
		got := play(c, tc.script)
		if diff := cmp.Diff(tc.want, got); diff != "" || c.WrittenEarly() != tc.early {
			t.Errorf("%s: %d early, want %d; want -, got +\n%s", tc.name, c.WrittenEarly(), tc.early, diff)
		}
	}
}

// Whatever comes, the limits hold, each turn is written once, and nothing is left.
func TestBooks(t *testing.T) {
	c := New(Options{Renderer: scribe{}})
	c.maxOpen, c.maxBytes = 8, 12*turnBytes
	steps := []string{"ask", "tcp", "damage", "again of 3", "answer of 7", "close of 6", "note of 5", "refused", "gap of 6", "silence of 9", "stray", "extra of 2", "oneway", "tcp of 6"}
	var out []byte
	turns, seed := 0, uint32(1)
	for i := uint64(1); i < 5000; i++ {
		seed = seed*1664525 + 1013904223
		what, of, has := strings.Cut(steps[seed>>16%uint32(len(steps))], " of ")
		line := fmt.Sprintf("%d %d %s", i, i*uint64(seed>>28), what)
		if n, _ := strconv.ParseUint(of, 10, 64); has && n < i {
			line += fmt.Sprintf(" of %d", i-n)
		}
		if what != "close" && what != "silence" {
			turns++
		}
		out = event(c, out, line)
		if c.count > c.maxOpen || c.bytes > c.maxBytes || len(c.index) > c.count || len(c.ends) > c.count {
			t.Fatalf("%s: %d dialogues, %d bytes, %d in the index, %d pairs", line, c.count, c.bytes, len(c.index), len(c.ends))
		}
	}
	out = c.Finish(out, false)
	if c.count != 0 || c.bytes != 0 || len(c.index) != 0 || len(c.frames) != 0 || len(c.ends) != 0 {
		t.Errorf("left: %d dialogues, %d bytes, %d in the index, %d frames, %d pairs", c.count, c.bytes, len(c.index), len(c.frames), len(c.ends))
	}
	got := 0
	for _, word := range strings.Fields(string(out)) {
		if last := word[len(word)-1]; last >= '0' && last <= '9' && word[0] > '9' {
			got++
		}
	}
	if got != turns {
		t.Errorf("%d turns written, want %d", got, turns)
	}
}

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	c := New(Options{Renderer: scribe{}})
	c.maxOpen = 64
	var out []byte
	text := []byte(strings.Repeat("x", 700))
	frame := uint64(0)
	exchange := func() {
		frame++
		id := frame
		for _, step := range []track.Step{track.Ask, track.Challenge, track.Echo, track.Answer} {
			nanos := start + int64(frame)*ms
			f := track.Fact{Frame: frame, Nanos: nanos, Server: server, Client: client, Part: track.Part{Step: step, ID: id}}
			x := Turn{Turn: render.Turn{Text: text, Frame: frame, Nanos: nanos}, First: frame}
			out = c.AddMessage(out[:0], &x, &f)
			frame++
		}
	}
	for range 1000 {
		exchange()
	}
	if n := testing.AllocsPerRun(1000, exchange); n != 0 {
		t.Errorf("%v allocations for an exchange", n)
	}
}

// namer writes the id of a dialogue, what it is about and its turns.
type namer struct{ render.Renderer }

func (namer) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	name := "nothing"
	if d.Proto != nil {
		name = d.Proto.Name
	}
	dst = fmt.Appendf(dst, "%d %s %v", d.ID, name, d.Server)
	for i := range d.Turns {
		dst = append(append(dst, ' '), d.Turns[i].Text...)
	}
	return append(dst, '\n')
}

// A record says neither what a dialogue is about nor, for the most part, between
// whom. A gap bears the frame of the packet after it, with which an exchange may
// begin.
func TestRecordInFront(t *testing.T) {
	for _, tc := range []struct{ name, script, want string }{
		{"a gap before an exchange", "1 0 ask\n5 1 damage\n5 1 ask\n6 2 answer of 5",
			"1 a2s 198.18.0.1:27015 ask1\n5 nothing invalid AddrPort damage5\n5 a2s 198.18.0.1:27015 ask5 answer6\n"},
		{"two gaps at one packet", "1 0 ask\n5 1 damage\n5 1 damage", "1 a2s 198.18.0.1:27015 ask1\n5 nothing invalid AddrPort damage5 damage5\n"},
		{"a connection that a record opens", "1 0 tcp of 1\n2 1 ask\n3 2 ask\n4 3 gap of 1\n5 4 tcp of 1",
			"1 a2s 198.18.0.1:27015 tcp1\n2 a2s 198.18.0.1:27015 ask2\n3 a2s 198.18.0.1:27015 ask3\n1 a2s 198.18.0.1:27015 gap4 tcp5\n"},
	} {
		c := New(Options{Renderer: namer{}})
		c.maxOpen = 2
		if diff := cmp.Diff(tc.want, play(c, tc.script)); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
	}
}

// TestMaxText: where there is no room for the texts of all that is open, a dialogue has those of
// all of its turns or of none, and one that has none is written at the same time and in the
// same words.
func TestMaxText(t *testing.T) {
	const exchanges, stub = 500, 2
	var got render.Dialogue
	whole, cut, withReply := 0, 0, 0
	c := New(Options{Stub: stub, MaxText: 20_000, Renderer: observer(func(d *render.Dialogue) {
		got = *d
		long := 0
		for i := range d.Turns {
			if len(d.Turns[i].Text) > stub {
				long++
			}
		}
		switch {
		case long == 0:
			cut++
		case long == len(d.Turns):
			whole++
		default:
			t.Errorf("exchange %d has %d texts of %d", d.ID, long, len(d.Turns))
		}
		if got.Replies == 1 && got.Outcome == render.Answered {
			withReply++
		}
	})})
	text := bytes.Repeat([]byte("x"), 300)
	for round := range uint64(4) {
		at := start + int64(round)*100_000*ms
		for i := range uint64(exchanges) {
			id := round*10_000 + i + 1
			f := track.Fact{Frame: id, Nanos: at, Server: server, Client: client, Part: track.Part{Step: track.Ask, ID: id}}
			c.AddMessage(nil, &Turn{Turn: render.Turn{Text: text, Frame: id, Nanos: at}, First: id}, &f)
		}
		for i := range uint64(exchanges) {
			id := round*10_000 + i + 1
			f := track.Fact{Frame: id + 5000, Nanos: at + ms, Server: server, Client: client, Reply: true, Part: track.Part{Step: track.Answer, ID: id}}
			c.AddMessage(nil, &Turn{Turn: render.Turn{Text: text, Frame: id + 5000, Nanos: at + ms}, First: id + 5000}, &f)
			if c.textBytes > c.opt.MaxText {
				t.Fatalf("%d bytes of texts", c.textBytes)
			}
		}
		c.AdvanceTime(nil, at+90_000*ms)
	}
	c.Finish(nil, false)
	if whole < 4*10 || whole+cut != 4*exchanges || withReply != 4*exchanges || c.textBytes != 0 || c.bytes != 0 || c.count != 0 {
		t.Errorf("%d whole and %d cut, %d answered; %d and %d bytes, %d dialogues left", whole, cut, withReply, c.textBytes, c.bytes, c.count)
	}
}

// observer is a renderer that passes dialogues on.
type observer func(*render.Dialogue)

func (observer) Append(dst []byte, _ *render.Event) []byte        { return dst }
func (observer) AppendRecord(dst []byte, _ *render.Record) []byte { return dst }
func (o observer) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	o(d)
	return dst
}
