package text

import (
	"bytes"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/render"
	"qsniff/internal/test/race"
	"qsniff/reassembly/wire"
)

// start is when dialogues of these tests begin.
const start = 1_700_000_000_000_370_000

// turns makes a dialogue of events, as its collector does.
func turns(r render.DialogueRenderer, events ...*render.Event) *render.Dialogue {
	d := &render.Dialogue{ID: 5, First: start, Last: start, RTT: -1, ChallengeRTT: -1, Packets: uint32(len(events)),
		Server: netip.MustParseAddrPort("198.18.0.1:27015"), Client: netip.MustParseAddrPort("10.64.0.1:40001")}
	for i, e := range events {
		e.Hole, e.Quote = render.Hole{}, render.Quote{}
		text := r.Append(nil, e)
		d.Turns = append(d.Turns, render.Turn{Text: text, Frame: e.Frame, Nanos: start + int64(i)*800_000, Hole: e.Hole, Quote: e.Quote})
	}
	d.Proto, d.Type = events[0].Msg.Proto, events[0].Msg.Type
	return d
}

func TestDialogue(t *testing.T) {
	for _, width := range []int{80, 160} {
		var all []byte
		for form, name := range []string{"dump", "fields", "annotated"} {
			r := NewDialogue(Options{Width: width, UTC: true, Clock: render.Offset}, Form(form), false)
			for _, x := range examples(t) {
				all = append(append(append(all, "== "...), name...), ' ')
				all = append(append(all, x.name...), '\n')
				lo := len(all)
				all = r.AppendDialogue(all, turns(r, x.e))
				checkWidth(t, x.name, all[lo:], width)
			}
		}
		golden(t, "dialogue-"+strconv.Itoa(width)+".txt", all)
	}
}

func TestDialogueEveryWidth(t *testing.T) {
	for _, x := range examples(t) {
		for width := minWidth; width <= 120; width++ {
			for form := Dump; form <= Annotated; form++ {
				r := NewDialogue(Options{Width: width, UTC: true, Clock: render.Offset}, form, true)
				checkWidth(t, x.name, r.AppendDialogue(nil, turns(r, x.e)), width)
			}
		}
	}
}

func TestDialogueColour(t *testing.T) {
	for _, x := range examples(t) {
		make := func(p Palette) string {
			r := NewDialogue(Options{UTC: true, Palette: p, Clock: render.Offset}, Dump, false)
			return string(r.AppendDialogue(nil, turns(r, x.e)))
		}
		plain, coloured := make(Palette{}), make(NewPalette(true))
		if diff := cmp.Diff(plain, sequence.ReplaceAllString(coloured, "")); diff != "" {
			t.Errorf("%s (-plain +coloured):\n%s", x.name, diff)
		}
	}
}

// The second line says how an exchange ended.
func TestDialogueOutcome(t *testing.T) {
	a2s := &dissect.Proto{Name: "a2s"}
	for _, tc := range []struct {
		d    render.Dialogue
		want string
	}{
		{render.Dialogue{Outcome: render.Answered, Answer: dissect.Malformed, RTT: 20_000_000, ChallengeRTT: -1, Requests: 1, Replies: 1, Packets: 2},
			"answered with a malformed reply after 20 ms, 2 packets"},
		{render.Dialogue{Outcome: render.Answered, Answer: dissect.Fragment, RTT: -1, ChallengeRTT: -1, Requests: 1, Replies: 1, Packets: 2},
			"answered in part, which clients cannot read, 2 packets"},
		{render.Dialogue{Outcome: render.LateAnswer, RTT: -1, ChallengeRTT: -1, Requests: 1, Replies: 1, Packets: 2},
			"answered too late, 2 packets"},
		{render.Dialogue{Outcome: render.Answered, RTT: 1_240_000, ChallengeRTT: 800_000, Requests: 2, Challenges: 1, Replies: 1, Packets: 4},
			"answered after 1.24 ms, challenge before that 800 µs, 2 requests, 4 packets"},
		{render.Dialogue{Outcome: render.Answered, RTT: 12_000_000, ChallengeRTT: -1, Requests: 1, Replies: 3, Packets: 1004},
			"answered after 12 ms, 3 replies, 1,004 packets"},
		{render.Dialogue{Outcome: render.Unanswered, RTT: -1, ChallengeRTT: 20_000_000, Requests: 2, Challenges: 2, Packets: 4},
			"not answered, challenged after 20 ms, 2 requests, 2 challenges, 4 packets"},
		{render.Dialogue{Outcome: render.LateAnswer, RTT: 3_200_000_000, ChallengeRTT: -1, Requests: 1, Replies: 1, Packets: 2}, "answered too late, after 3.2 s, 2 packets"},
		{render.Dialogue{Outcome: render.Unsolicited, RTT: -1, ChallengeRTT: -1, Replies: 1, Packets: 1}, "a reply to no known request, 1 packet"},
		{render.Dialogue{Outcome: render.Challenged, RTT: -1, ChallengeRTT: 20_000_000, Requests: 1, Challenges: 1, Packets: 2},
			"challenged after 20 ms, not asked again with the challenge, 2 packets"},
		{render.Dialogue{Outcome: render.Challenged, RTT: -1, ChallengeRTT: 20_000_000, Requests: 2, Challenges: 2, Packets: 4, IsUnfinished: true},
			"challenged after 20 ms, not asked again with the last challenge so far, 2 requests, 2 challenges, 4 packets"},
		{render.Dialogue{Outcome: render.Challenged, RTT: -1, ChallengeRTT: -1, Challenges: 1, Packets: 1}, "challenged, not asked again with the challenge, 1 packet"},
		{render.Dialogue{Outcome: render.OneWay, RTT: -1, ChallengeRTT: -1, Requests: 1, Packets: 1}, "one way, 1 packet"},
		{render.Dialogue{RTT: -1, ChallengeRTT: -1, Requests: 1, Packets: 1}, "no answer in the capture, 1 packet"},
		{render.Dialogue{RTT: -1, ChallengeRTT: -1, Requests: 1, Packets: 1, IsUnfinished: true}, "no answer so far, 1 packet"},
		{render.Dialogue{RTT: -1, ChallengeRTT: 20_000_000, Requests: 1, Challenges: 1, Packets: 2, IsStopped: true},
			"no answer so far, challenged after 20 ms, 2 packets"},
		{render.Dialogue{RTT: -1, ChallengeRTT: -1, Replies: 2, Packets: 2, HasEarlier: true},
			"a further reply, 2 replies, 2 packets; earlier turns are further up, or before the capture"},
		{render.Dialogue{IsStream: true, Last: 1_500_000_000, RTT: -1, ChallengeRTT: -1, Requests: 1, Packets: 3, HasEarlier: true},
			"over 1.5 s, 1 request, 0 replies, 3 packets; earlier turns are further up, or before the capture"},
	} {
		tc.d.ID, tc.d.Proto = 5, a2s
		out := string(NewDialogue(Options{Width: 200}, Dump, false).AppendDialogue(nil, &tc.d))
		if got := strings.TrimSpace(strings.Split(out, "\n")[1]); got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.d.Outcome, got, tc.want)
		}
		if early := strings.Contains(out, "written before it was over"); early != tc.d.IsUnfinished {
			t.Errorf("%s: says that it was written early: %t, want %t", tc.d.Outcome, early, tc.d.IsUnfinished)
		}
	}
}

// Times count from the start, or from the turn before, and long ones make room.
func TestDialogueTimes(t *testing.T) {
	e := examples(t)[0].e
	for _, tc := range []struct {
		clock render.Clock
		want  []string
	}{
		{render.Offset, []string{"+0.000000", "+0.000800", "+12.000000123"}},
		{render.Delta, []string{"+0.000000", "+0.000800", "+11.999200123"}},
		{render.Absolute, []string{"22:13:20.000370Z", "22:13:20.000370Z", "22:13:20.000370Z"}},
		{render.Epoch, []string{"1700000000.000370", "1700000000.000370", "1700000000.000370"}},
	} {
		r := NewDialogue(Options{UTC: true, Clock: tc.clock}, Dump, false)
		d := turns(r, e, e, e)
		d.Turns[2].Nanos = start + 12_000_000_123
		var got []string
		for _, m := range regexp.MustCompile(`(?m)^  (\S+)  < `).FindAllStringSubmatch(string(r.AppendDialogue(nil, d)), -1) {
			got = append(got, m[1])
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("clock %d: want -, got +\n%s", tc.clock, diff)
		}
	}
}

// hexRow matches the bytes of a row of a dump.
var hexRow = regexp.MustCompile(`(?m)^ {6}((?:[0-9a-f]{2} {1,2}){1,16}) `)

// All bytes are shown where that is asked for, and else the first of them.
func TestDialogueBytes(t *testing.T) {
	for _, x := range examples(t) {
		for _, full := range []bool{false, true} {
			r := NewDialogue(Options{UTC: true}, Dump, full)
			out := string(r.AppendDialogue(nil, turns(r, x.e)))
			var got strings.Builder
			for _, m := range hexRow.FindAllStringSubmatch(out, -1) {
				got.WriteString(strings.ReplaceAll(m[1], " ", ""))
			}
			b, left := x.e.Msg.Data, 0
			if !full && len(b) > briefDump+16 {
				b, left = b[:briefDump], len(b)-briefDump
			}
			if want := fmt.Sprintf("%x", b); got.String() != want {
				t.Errorf("%s\ngot  %s\nwant %s", x.name, got.String(), want)
			}
			if more := fmt.Sprintf("… %d more bytes; --full shows them", left); strings.Contains(out, more) != (left > 0) {
				t.Errorf("%s: wants %q:\n%s", x.name, more, out)
			}
		}
	}
}

// What a console and its user say, in a protocol of these tests.
var (
	defSaid   = dissect.Def{Name: "t.said", Kind: dissect.Text}
	defUnsaid = dissect.Def{Name: "t.secret", Kind: dissect.Text, Flags: dissect.Secret, PartOf: &defSaid}
	defNext   = dissect.Def{Name: "t.next", Kind: dissect.Uint}
	talk      = dissect.Speech{Text: &defSaid, Part: &defNext}
	typeSay   = dissect.Type{Name: "SAY", Speech: &talk}
	typeReply = dissect.Type{Name: "REPLY", Reply: true, Speech: &talk, Summary: []*dissect.Def{&defNext, &defSaid}}
	typeLogin = dissect.Type{Name: "LOGIN", Speech: &dissect.Speech{Text: &defUnsaid,
		Gist: func(*dissect.Message) string { return "login" }}}
	refused = finding.Code{ID: "T-01", Text: func(dst []byte, _ *finding.Expert) []byte { return append(dst, "refused"...) }}
)

// say makes an event of a text. What stands between stars is a secret.
func say(frame uint64, typ *dissect.Type, text string, more ...func(*dissect.Message)) *render.Event {
	m := new(dissect.Message)
	m.Reset(&dissect.Proto{Name: "t"}, []byte(strings.ReplaceAll(text, "*", "")))
	m.Type = typ
	off := uint32(0)
	for i, piece := range strings.Split(text, "*") {
		d := &defSaid
		if i%2 == 1 || typ == &typeLogin {
			d = &defUnsaid
		}
		m.Append(d, off, uint32(len(piece)), "")
		off += uint32(len(piece))
	}
	for _, f := range more {
		f(m)
	}
	return &render.Event{Frame: frame, Nanos: start, TCP: true, Reply: typ.Reply, Msg: m}
}

func goesOn(m *dissect.Message) {
	m.Fields = append(m.Fields, dissect.Field{Def: &defNext, Num: 2, Flags: dissect.Generated})
}

func TestTranscript(t *testing.T) {
	warn := func(m *dissect.Message) {
		m.Expert = append(m.Expert, finding.Expert{Code: &refused, Severity: finding.Warn, Field: -1})
	}
	for _, tc := range []struct {
		name   string
		events []*render.Event
		want   string
	}{
		{"login", []*render.Event{say(1, &typeLogin, "password", warn)},
			"> login <redacted> (frame 1)\n    ! warn T-01  refused\n"},
		{"command and output", []*render.Event{say(1, &typeSay, "status"), say(2, &typeReply, "hostname: x\r\nmap: y")},
			"> status (frame 1)\n  < 19 bytes (frame 2)\n      hostname: x\n      map: y\n"},
		{"nothing said", []*render.Event{say(1, &typeReply, "")}, "< empty packet (frame 1)\n"},
		{"only a line break", []*render.Event{say(1, &typeReply, "\n"), say(2, &typeSay, "x")}, "< 1 byte (frame 1)\n\n  > x (frame 2)\n"},
		{"a command of two lines", []*render.Event{say(1, &typeSay, "say a\nquit\t\x1b[2J")}, `> say a\nquit\t\x1b[2J (frame 1)` + "\n"},
		{"controls", []*render.Event{say(1, &typeReply, "a\x1b]0;t\x07\rb\x00\u202e\n")}, "< 14 bytes (frame 1)\n      " + `a\x1b]0;t\x07\rb\x00\u202e` + "\n"},
		{"secrets", []*render.Event{say(1, &typeSay, "rcon_password *abc*; status"), say(2, &typeReply, "is *abc*\n*def*\n")},
			"> rcon_password <redacted>; status (frame 1)\n  < 11 bytes (frame 2)\n      is <redacted>\n      <redacted>\n"},
		{"joined within a line", []*render.Event{say(1, &typeReply, "one tw"), say(2, &typeReply, "o three\nfo", goesOn), say(3, &typeReply, "ur", goesOn)},
			"< 6 bytes (frame 1)\n      one two three\n      four\n      (joined from 3 messages: frames 1 to 3)\n"},
		{"joined between lines", []*render.Event{say(1, &typeReply, "one\n"), say(2, &typeReply, "\n  two\n", goesOn), say(3, &typeSay, "x")},
			"< 4 bytes (frame 1)\n      one\n\n        two\n      (joined from 2 messages: frames 1 to 2)\n  > x (frame 3)\n"},
		{"joined where a line ends", []*render.Event{say(1, &typeReply, "one"), say(2, &typeReply, "\ntwo", goesOn)},
			"< 3 bytes (frame 1)\n      one\n      two\n      (joined from 2 messages: frames 1 to 2)\n"},
		{"a command between", []*render.Event{say(1, &typeReply, "one tw"), say(2, &typeSay, "x"), say(3, &typeReply, "o", goesOn)},
			"< 6 bytes (frame 1)\n      one tw\n  > x (frame 2)\n  < 1 byte (frame 3)  next=2\n      o\n"},
		{"a finding between", []*render.Event{say(1, &typeReply, "one tw", warn), say(2, &typeReply, "o", goesOn)},
			"< 6 bytes (frame 1)\n      one tw\n    ! warn T-01  refused\n  < 1 byte (frame 2)  next=2\n      o\n"},
		{"a finding about the rest", []*render.Event{say(1, &typeReply, "one tw"), say(2, &typeReply, "o", goesOn, warn), say(3, &typeReply, "three", goesOn)},
			"< 6 bytes (frame 1)\n      one two\n    ! warn T-01  refused\n      (joined from 2 messages: frames 1 to 2)\n  < 5 bytes (frame 3)  next=2\n      three\n"},
		{"cut", []*render.Event{say(1, &typeReply, "one", func(m *dissect.Message) { m.Status, m.Wire = dissect.Truncated, 9 })},
			"< 3 bytes (frame 1) truncated\n      one\n      6f 6e 65                                          one\n" +
				"      stopped at byte 3: the capture cut the message (3 of 9 bytes captured)\n"},
	} {
		r := NewDialogue(Options{UTC: true, Clock: render.Offset}, Dump, false)
		d := turns(r, tc.events...)
		d.IsStream = true
		out := regexp.MustCompile(`(?m)^  \+\d\.\d+  `).ReplaceAllString(string(r.AppendDialogue(nil, d)), "  ")
		_, got, _ := strings.Cut(out, " packet")
		_, got, _ = strings.Cut(got, "\n")
		if diff := cmp.Diff("  "+tc.want+"\n", got); diff != "" {
			t.Errorf("%s: want -, got +\n%s", tc.name, diff)
		}
	}
}

func TestTranscriptShowsSecrets(t *testing.T) {
	r := NewDialogue(Options{UTC: true, ShowSecrets: true}, Dump, false)
	out := string(r.AppendDialogue(nil, turns(r, say(1, &typeLogin, "password"), say(2, &typeReply, "is *abc*!"))))
	for _, want := range []string{"> login password (", "      is abc!\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// The bytes of secrets are stars in dumps.
func TestDialogueHidesBytes(t *testing.T) {
	typ := dissect.Type{Name: "OTHER"}
	r := NewDialogue(Options{UTC: true}, Dump, true)
	out := r.AppendDialogue(nil, turns(r, say(1, &typ, "rcon *secret* status")))
	if want := "72 63 6f 6e 20 ** ** **  ** ** ** 20 73 74 61 74  rcon ****** stat\n"; !bytes.Contains(out, []byte(want)) {
		t.Errorf("no %q in\n%s", want, out)
	}
}

// A reply that was joined from messages repeats them.
func TestDialogueLeavesJoinedOut(t *testing.T) {
	e := examples(t)[0].e
	e.Record = "reply"
	if got := NewDialogue(Options{}, Dump, false).Append(nil, e); len(got) > 0 {
		t.Errorf("got %q", got)
	}
}

// What is said of a packet stands in the column of its turn's other lines.
func TestDialogueCame(t *testing.T) {
	e := say(1, &dissect.Type{Name: "OTHER"}, "x")
	e.IfName, e.Comments = "eth0", [][]byte{[]byte("a word, and so many more that it takes a second line to say all of them")}
	e.Ways = []render.Way{{Kind: "vlan", ID: 7}}
	out := string(NewDialogue(Options{UTC: true, Width: 60}, Dump, false).Append(nil, e))
	if want := "\n      captured on eth0\n      via vlan 7\n" +
		"      comment: a word, and so many more that it takes a\n        second line to say all of them\n"; !strings.Contains(out, want) {
		t.Errorf("no %q in\n%s", want, out)
	}
}

func TestDialogueRecord(t *testing.T) {
	x := &render.Record{Nanos: start, Frames: []uint64{7}, Detail: []byte(": \x1b[31mred, and so much more that it takes a second line"),
		Expert: &finding.Expert{Code: &refused, Severity: finding.Warn}}
	r := NewDialogue(Options{UTC: true, Clock: render.Offset}, Dump, false)
	text := r.AppendRecord(nil, x)
	want := "  +          ! warn T-01  refused: \\x1b[31mred, and so much more that it takes a\n      second line\n"
	if diff := cmp.Diff(want, string(text)); diff != "" || !x.Hole.IsSet || x.Hole.At != 3 {
		t.Errorf("hole %+v; want -, got +\n%s", x.Hole, diff)
	}
}

func FuzzDialogue(f *testing.F) {
	for _, x := range examples(f) {
		f.Add(x.e.Msg.Data, []byte("\x00\x09\x00\x00\x01\x04\x01\x08\x02\x00\x01\x02\x09\x00\x02\x00\x06\x04\x03\x00"), uint8(40), false)
	}
	f.Add([]byte("a\r\n\x1b[31m\n\nb"), []byte("\x00\x0f\x00\x00\x09\x60\x00\x01"), uint8(0), true)
	palette := NewPalette(true)
	speech := dissect.Speech{Text: fuzzDefs[0], Part: fuzzDefs[1]}
	f.Fuzz(func(t *testing.T, data, layout []byte, wide uint8, spoken bool) {
		if len(data) > 4<<10 || len(layout) > 512 {
			t.Skip("larger than what it takes")
		}
		m := fuzzMessage(data, layout)
		typ := fuzzType
		typ.Reply = len(data)%2 == 0
		if m.Type = &typ; spoken {
			typ.Speech = &speech
		}
		e := &render.Event{Frame: 7, Frames: []uint64{5, 7}, File: -1, Iface: -1, Msg: m, TCP: spoken, Reply: typ.Reply}
		for form := Dump; form <= Annotated; form++ {
			r := NewDialogue(Options{Width: minWidth + int(wide), UTC: true, Palette: palette, Clock: render.Offset}, form, true)
			d := turns(r, e, e)
			out := r.AppendDialogue(nil, d)
			checkPrintable(t, out)
			if !spoken {
				checkWidth(t, "dialogue", out, minWidth+int(wide))
			}
			if !bytes.HasSuffix(out, []byte("\n\n")) {
				t.Errorf("no empty line at the end: %q", out)
			}
		}
	})
}

func TestDialogueAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	r := NewDialogue(Options{Palette: NewPalette(true), Clock: render.Offset}, Dump, false)
	events := []*render.Event{say(1, &typeSay, "rcon_password *abc*"), say(2, &typeReply, "one\ntwo"), say(3, &typeReply, "\nthree", goesOn)}
	for _, x := range examples(t) {
		events = append(events, x.e)
	}
	events = append(events, event(t, []byte("\xff\xff\xff\xff\x57"), 5, wire.None))
	d := turns(r, events...)
	dst := r.AppendDialogue(nil, d)
	if n := testing.AllocsPerRun(100, func() { dst = r.AppendDialogue(dst[:0], d) }); n != 0 {
		t.Errorf("dialogue: %v allocations, want 0", n)
	}
	for i, e := range events {
		dst = r.Append(dst[:0], e)
		if n := testing.AllocsPerRun(100, func() { dst = r.Append(dst[:0], e) }); n != 0 {
			t.Errorf("turn %d: %v allocations, want 0", i, n)
		}
	}
}

func TestAllocs(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	o := Options{Palette: NewPalette(true)} // local time: the zone is looked up for each message
	for name, r := range map[string]render.Renderer{"tree": NewTree(o), "line": NewLine(o), "hex": NewHex(o)} {
		for _, x := range examples(t) {
			dst := r.Append(nil, x.e)
			if n := testing.AllocsPerRun(100, func() { dst = r.Append(dst[:0], x.e) }); n != 0 {
				t.Errorf("%s %s:\n got %v allocations\nwant 0", name, x.name, n)
			}
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	x := examples(b)[0]
	o := Options{UTC: true, Palette: NewPalette(true)}
	for name, r := range map[string]render.Renderer{"tree": NewTree(o), "line": NewLine(o), "hex": NewHex(o)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				dst = r.Append(dst[:0], x.e)
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}
