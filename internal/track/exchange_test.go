package track

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/a2s"
	"qsniff/dissect/finding"
	"qsniff/dissect/goldsource"
	"qsniff/dissect/master"
	"qsniff/dissect/rcon"
	"qsniff/internal/test/race"
)

const ms = int64(1e6)

// The kinds of message that scripts name by a letter, as protocols have them.
var (
	testProto = dissect.Proto{Name: "test", Limited: true, Types: slices.Collect(maps.Values(tokenKinds)), Pairs: testCodes()}
	testKinds = map[byte]*dissect.Type{
		'T': tokenKinds['T'],
		'U': tokenKinds['U'],
		'V': tokenKinds['V'],
		'W': {Name: "W", Asks: dissect.AskChallenge},
		'N': {Name: "N", Asks: dissect.Queries},
		'R': {Name: "R", Asks: dissect.AskRcon},
		'L': {Name: "L"},
		'A': tokenKinds['A'],
		'I': {Name: "I", Reply: true, Asks: dissect.AskInfo},
		'm': {Name: "m", Reply: true, Asks: dissect.AskInfo},
		'D': {Name: "D", Reply: true, Asks: dissect.AskPlayers},
		'E': {Name: "E", Reply: true, Asks: dissect.AskRules},
		'X': {Name: "X", Reply: true, Asks: dissect.Queries},
		'l': {Name: "l", Reply: true, Asks: dissect.AskRcon},
		'?': nil,
	}
	tokenKinds = map[byte]*dissect.Type{
		'T': {Name: "T", Asks: dissect.AskInfo, Token: &testToken},
		'U': {Name: "U", Asks: dissect.AskPlayers, Token: &testToken},
		'V': {Name: "V", Asks: dissect.AskRules, Token: &testToken},
		'A': {Name: "A", Reply: true, Asks: dissect.Queries | dissect.AskChallenge, Token: &testToken},
	}
	testToken  = dissect.Token{FromEnd: 4, Len: 4}
	testClient = netip.MustParseAddrPort("10.64.0.1:40001")
)

// testCodes are the findings of all protocols in one.
func testCodes() dissect.PairCodes {
	c, console := a2s.New().Proto().Pairs, rcon.New().Proto().Pairs
	m := master.New().Proto().Pairs
	c.Budget, c.Chain, c.Silent = m.Budget, m.Chain, m.Silent
	c.Guessing, c.Stale = console.Guessing, console.Stale
	c.OldConsole = goldsource.New(a2s.New()).Proto().Pairs.OldConsole
	return c
}

// play runs a script: steps with a | between, each the milliseconds since the
// capture began, > for a request or < for a reply, the letter of its kind, and :n
// where it carries challenge n. =n after that is the frame; else frames count from
// 1. "." is time that passes, "~" a part of a reply, "!" a gap in the capture. It
// returns what became of each message, and of what nobody answered.
func play(t *testing.T, x *Exchanges, script string) string {
	t.Helper()
	var out []string
	x.ReportSilence = func(f *Fact) {
		out = append(out, fmt.Sprintf("silence %d at %d", f.ID, f.Frame))
		if f.Step != Silence || f.Server != server || f.Client != testClient || f.Proto != &testProto || f.Type == nil {
			t.Errorf("silence\ngot  %+v", *f)
		}
	}
	frame := uint64(0)
	for _, s := range strings.Split(script, "|") {
		s, at, numbered := strings.Cut(strings.TrimSpace(s), "=")
		when, what, _ := strings.Cut(s, " ")
		n, err := strconv.ParseInt(when, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		x.Tick(n * ms)
		switch what {
		case ".":
			continue
		case "!":
			x.RecordGap(n * ms)
			continue
		}
		frame++
		m := message(t, what)
		m.Frame, m.Nanos, m.Age = frame, n*ms, n*ms
		if numbered {
			m.Frame, _ = strconv.ParseUint(at, 10, 64)
		}
		if what == "~" {
			m.Reply, m.Src, m.Dst = true, server, testClient
			x.RecordPart(&m)
			continue
		}
		out = append(out, said(x.Place(&m), m.Expert))
	}
	return strings.Join(out, " | ")
}

func message(t *testing.T, what string) (m Message) {
	if len(what) < 2 {
		return m
	}
	kind, challenge, _ := strings.Cut(what[1:], ":")
	typ, ok := testKinds[kind[0]]
	if !ok {
		t.Fatalf("no kind %q", kind)
	}
	m = Message{Src: testClient, Dst: server, Proto: &testProto, Type: typ, Reply: what[0] == '<'}
	if m.Reply {
		m.Src, m.Dst = m.Dst, m.Src
	}
	if challenge != "" {
		c, _ := strconv.ParseUint(challenge, 10, 32)
		m.Key = 1<<32 | c
	}
	return m
}

func said(p Part, found []finding.Expert) string {
	s := p.Step.String()
	if p.Step == NoStep {
		s = "none"
	}
	if p.ID != 0 {
		s += fmt.Sprint(" ", p.ID)
	}
	if p.Request != 0 {
		s += fmt.Sprint(" to ", p.Request)
	}
	if p.Took >= 0 {
		s += fmt.Sprint(" after ", p.Took/ms)
	}
	if p.Trip >= 0 {
		s += fmt.Sprint(" trip ", p.Trip/ms)
	}
	for i := range found {
		s += " " + found[i].Code.ID
	}
	return s
}

func TestExchanges(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", "0 >T | 12 <I", "ask 1 | answer 1 to 1 after 12"},
		{"challenge", "0 >T | 20 <A:7 | 30 >T:7 | 55 <I",
			"ask 1 | challenge 1 to 1 after 20 | echo 1 | answer 1 to 3 after 25 trip 20"},
		{"the old way to ask for a challenge", "0 >W | 20 <A:7 | 30 >U:7 | 55 <D",
			"ask 1 | answer 1 to 1 after 20 | ask 3 | answer 3 to 3 after 25"},
		{"challenge of another kind", "0 >T | 20 <A:7 | 30 >T:7 | 40 <I | 50 >U:7 | 60 <D",
			"ask 1 | challenge 1 to 1 after 20 | echo 1 | answer 1 to 3 after 10 trip 20 | ask 5 | answer 5 to 5 after 10"},
		{"reply that nobody asked for", "0 <I | 5 >U | 6 <I", "stray | ask 2 | stray"},
		{"one way", "0 >L", "none"},
		{"two polls of one socket", "0 >T | 10 <I | 1000 >T | 1030 <I",
			"ask 1 | answer 1 to 1 after 10 | ask 3 | answer 3 to 3 after 30"},

		{"repeated", "0 >T | 1000 >T | 1010 <I", "ask 1 | again 1 | answer 1 to 2 after 10"},
		{"repeated with the challenge", "0 >T | 20 <A:7 | 30 >T:7 | 1030 >T:7 | 1050 <I",
			"ask 1 | challenge 1 to 1 after 20 | echo 1 | again 1 | answer 1 to 4 after 20 trip 20"},
		{"plain repetition after the right challenge", "0 >T | 20 <A:7 | 30 >T:7 | 40 >T | 50 <I",
			"ask 1 | challenge 1 to 1 after 20 | echo 1 | again 1 | answer 1 to 3 after 20 trip 20"},
		{"started again", "0 >T | 20 <A:7 | 30 >T:7 | 1030 >T | 1050 <A:7 | 1060 >T:7 | 1070 <I",
			"ask 1 | challenge 1 to 1 after 20 | echo 1 | again 1 | challenge 1 to 4 after 20 | echo 1 | answer 1 to 6 after 10 trip 20"},
		{"polling is not repeating", "0 >T | 2000 >T | 4000 >T | 6000 >T | 8000 >T | 10001 >T | 12000 >T",
			"ask 1 | again 1 | again 1 | again 1 | again 1 | again 1 | silence 1 at 6 | ask 7"},

		{"two forms", "0 >T | 10 <m | 12 <I | 13 <I", "ask 1 | answer 1 to 1 after 10 | extra 1 to 1 after 12 A2S-S08 | extra 1 to 1 after 13 A2S-S08"},
		{"copy of the answer", "0 >T | 10 <I | 11 <I", "ask 1 | answer 1 to 1 after 10 | extra 1 to 1 after 11"},
		{"copy of the challenge", "0 >T | 10 <A:7 | 11 <A:7 | 20 >T:7 | 25 <I",
			"ask 1 | challenge 1 to 1 after 10 | extra 1 to 1 after 11 | echo 1 | answer 1 to 4 after 5 trip 10"},
		{"further reply after a new question", "0 >T | 10 <I | 20 >T | 30 <I",
			"ask 1 | answer 1 to 1 after 10 | ask 3 | answer 3 to 3 after 10"},
		{"further reply, too late to tell", "0 >T | 10 <I | 15011 <I", "ask 1 | answer 1 to 1 after 10 | stray"},

		{"late", "0 >T | 3001 . | 3100 <I | 3101 <I",
			"ask 1 | silence 1 at 1 | late 1 to 1 after 3100 NET-05 | extra 1 to 1 after 3101"},
		{"late, with no tick between", "0 >T | 3001 <I", "ask 1 | silence 1 at 1 | late 1 to 1 after 3001 NET-05"},
		{"just in time", "0 >T | 3000 <I", "ask 1 | answer 1 to 1 after 3000"},
		{"late challenge", "0 >T | 4000 <A:7", "ask 1 | silence 1 at 1 | late 1 to 1 after 4000 NET-05"},
		{"late while a new question waits", "0 >T | 3500 >T | 3510 <I",
			"ask 1 | silence 1 at 1 | ask 2 | answer 2 to 2 after 10"},

		{"silence once", "0 >T | 4000 . | 8000 . | 30000 .", "ask 1 | silence 1 at 1"},
		{"the capture ends within the wait", "0 >T | 3000 .", "ask 1"},
		{"the challenge alone is left unanswered", "0 >T | 10 <A:7 | 20 >T:7 | 4000 .",
			"ask 1 | challenge 1 to 1 after 10 | echo 1 | silence 1 at 3"},
		{"the client leaves", "0 >T | 10 <A:7 | 4000 .", "ask 1 | challenge 1 to 1 after 10"},
		{"gap in the capture", "0 >T | 10 ! | 4000 .", "ask 1"},
		{"after the gap", "0 ! | 10 >T | 4000 .", "ask 1 | silence 1 at 1"},

		{"three kinds at once", "0 >T | 1 >U | 2 >V | 10 <A:7 | 11 <A:7 | 12 <A:7 | 20 >T:7 | 21 >U:7 | 22 >V:7 | 30 <E | 31 <I | 32 <D",
			"ask 1 | ask 2 | ask 3 | challenge 1 to 1 after 10 | challenge 2 to 2 after 10 | challenge 3 to 3 after 10 | " +
				"echo 1 | echo 2 | echo 3 | answer 3 to 9 after 8 trip 10 | answer 1 to 7 after 11 trip 10 | answer 2 to 8 after 11 trip 10"},
		{"challenge and answer of two kinds", "0 >T | 1 >U | 5 <I | 6 <A:7", "ask 1 | ask 2 | answer 1 to 1 after 5 | challenge 2 to 2 after 5"},
		{"asked for all in one", "0 >N | 10 <X", "ask 1 | answer 1 to 1 after 10"},
		{"reply for all, one asked for", "0 >V | 10 <X", "ask 1 | answer 1 to 1 after 10"},

		{"request between the parts of the reply", "0 >V | 20 >V=7 | 40 <E=5", "ask 1 | again 1 | answer 1"},
		{"parts before the request", "10 >V=9 | 40 <E=5", "ask 9 | stray"},
		{"parts that never become whole", "0 >V | 10 ~ | 5100 <?=2", "ask 1 | answer 1 to 1 after 5100"},
		{"parts, and silence about something else", "0 >V | 10 ~ | 9000 .", "ask 1"},
		{"a part that is given up for long", "0 >V | 4000 . | 34000 . | 20 <E=2", "ask 1 | silence 1 at 1 | extra 1 to 1 after 20"},
		{"a part that is given up when the silence was told", "0 >V | 4000 . | 20 <E=2", "ask 1 | silence 1 at 1 | extra 1 to 1 after 20"},
		{"unreadable, one question", "0 >V | 10 <?", "ask 1 | answer 1 to 1 after 10"},
		{"unreadable, two questions", "0 >V | 1 >U | 10 <?", "ask 1 | ask 2 | none"},
		{"the request with the challenge is not in the capture", "0 >T | 10 <A:7 | 40 <I",
			"ask 1 | challenge 1 to 1 after 10 | answer 1 trip 10"},
		{"clock set back", "5000 >T | 4000 <I", "ask 1 | answer 1 to 1"},
		{"several prints", "0 >R | 5 <l | 6 <l", "ask 1 | answer 1 to 1 after 5 | extra 1 to 1 after 6"},
	} {
		if got := play(t, NewExchanges(100, NewFlows(100)), tc.in); got != tc.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", tc.name, tc.in, got, tc.want)
		}
	}
}

// Where the question has no number, nobody is told that the server is silent: its
// answer, with a clock that was set back meanwhile, is one.
func TestSilenceOfManyKinds(t *testing.T) {
	for _, tc := range []struct {
		kinds int
		want  string
	}{
		{0, "ask 1 | silence 1 at 1 | extra 1 to 1 after 1000"},
		{maxKinds, "ask 1 | answer 1 to 1 after 1000"},
	} {
		x := NewExchanges(100, NewFlows(100))
		x.kinds = make([]messageKind, tc.kinds)
		if got := play(t, x, "0 >T | 3500 . | 1000 <I"); got != tc.want {
			t.Errorf("%d kinds before\ngot  %s\nwant %s", tc.kinds, got, tc.want)
		}
	}
}

// Each finding has a sequence beside it that is almost the same and shows nothing.
func TestChallengeFindings(t *testing.T) {
	const swapped = "117440512" // 7 with its bytes in the opposite order
	for _, tc := range []struct{ name, in, want string }{
		{"ignored", "0 >T | 10 <A:7 | 1000 >T", "again 1 A2S-C01"},
		{"ignored by a patient client", "0 >T | 10 <A:7 | 3040 >T", "ask 3 A2S-C01"},
		{"ignored by a poll", "0 >T | 10 <A:7 | 5000 . | 10000 >T", "ask 3 A2S-C01"},
		{"ignored, too long ago to tell", "0 >T | 10 <A:7 | 15300 . | 15400 >T", "ask 3"},
		{"a poll that knows the challenge", "0 >T | 10 <A:7 | 5000 >T:7", "ask 3"},
		{"a poll after the right one", "0 >T | 10 <A:7 | 20 >T:7 | 30 <I | 5000 >T", "ask 5"},
		{"a poll after the right one, unanswered", "0 >T | 10 <A:7 | 20 >T:7 | 5000 >T", "ask 4"},
		{"a poll after a gap in the capture", "0 >T | 10 <A:7 | 20 ! | 5000 >T", "ask 3"},
		{"a poll after a gap that began with the challenge", "0 >T | 10 <A:7 | 10 ! | 5000 >T", "ask 3"},
		{"another than the one asked for", "0 >W | 10 <A:7 | 20 >T:8", "ask 3 A2S-C03"},
		{"another than the one asked for, after a gap", "0 >W | 10 <A:7 | 10 ! | 20 >T:8", "ask 3"},
		{"another than the one asked for, too long ago to tell", "0 >W | 10 <A:7 | 15010 >T:8", "ask 3 A2S-C03"},
		{"and longer", "0 >W | 10 <A:7 | 15011 >T:8", "ask 3"},
		{"a poll after a challenge that was asked for", "0 >W | 10 <A:7 | 5000 >W", "ask 3"},
		{"sent before the challenge came", "0 >T | 10 <A:7 | 300 >T", "again 1"},
		{"started again after the right one", "0 >T | 10 <A:7 | 20 >T:7 | 1020 >T", "again 1"},
		{"the server was silent", "0 >T | 1000 >T", "again 1"},
		{"foreign", "0 >T | 10 <A:7 | 20 >T:8", "again 1 A2S-C03"},
		{"of another exchange", "0 >U | 10 <A:8 | 11 >T | 20 <A:7 | 30 >T:8", "echo 3"},
		{"the one before", "0 >T | 10 <A:7 | 20 >T:7 | 30 <A:9 | 40 >T:7", "again 1"},
		{"no challenge was given", "0 >T | 20 >T:8", "again 1"},
		{"the capture cut the challenge", "0 >T | 10 <A | 20 >T:8", "again 1"},
		{"swapped", "0 >T | 10 <A:7 | 20 >T:" + swapped, "again 1 A2S-C04"},
		{"right", "0 >T | 10 <A:7 | 20 >T:7", "echo 1"},
		{"rotates", "0 >T | 10 <A:7 | 20 >T:7 | 30 <A:9", "challenge 1 to 3 after 10 A2S-S03"},
		{"rotates, and the request was repeated before", "0 >T | 5 >T | 10 <A:7 | 20 >T:7 | 30 <A:9", "challenge 1 to 4 after 10"},
		{"rotates again after that", "0 >T | 5 >T | 10 <A:7 | 20 >T:7 | 30 <A:9 | 40 >T:9 | 50 <A:8", "challenge 1 to 6 after 10 A2S-S03"},
		{"rotates, and the repeated request has its reply", "0 >T | 5 >T | 10 <A:7 | 12 <A:7 | 20 >T:7 | 30 <A:9", "challenge 1 to 5 after 10 A2S-S03"},
		{"new one for a plain request after the right one", "0 >T | 10 <A:7 | 20 >T:7 | 1020 >T | 1030 <A:9", "challenge 1 to 4 after 10"},
		{"the same again", "0 >T | 10 <A:7 | 20 >T:7 | 30 <A:7", "challenge 1 to 3 after 10"},
		{"new one for a plain request", "0 >T | 10 <A:7 | 20 >T | 30 <A:9", "challenge 1 to 3 after 10"},
	} {
		got := play(t, NewExchanges(100, NewFlows(100)), tc.in)
		if got = got[strings.LastIndex(got, "| ")+2:]; got != tc.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", tc.name, tc.in, got, tc.want)
		}
	}
}

// An answer says whether a request of its exchange brought a challenge.
func TestKeyed(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     bool
	}{
		{"plain", "0 >T", false},
		{"plain, though one was given for another question", "0 >U | 10 <A:7 | 20 >U:7 | 30 <D | 40 >T", false},
		{"known from before", "0 >T:7", true},
		{"brought back", "0 >T | 10 <A:7 | 20 >T:7", true},
	} {
		x := NewExchanges(100, NewFlows(100))
		play(t, x, tc.in)
		m := message(t, "<I")
		m.Frame, m.Nanos, m.Age = 100, 100*ms, 100*ms
		if p := x.Place(&m); p.Step != Answer || p.BroughtChallenge != tc.want {
			t.Errorf("%s: %s\ngot  %s, keyed %t\nwant answer, keyed %t", tc.name, tc.in, p.Step, p.BroughtChallenge, tc.want)
		}
	}
}

// Messages of a connection are paired by their numbers, however long it takes.
func TestCalls(t *testing.T) {
	login := &dissect.Type{Name: "login", Asks: dissect.AskLogin}
	welcome := &dissect.Type{Name: "welcome", Asks: dissect.AskLogin, Reply: true}
	x := NewExchanges(100, NewFlows(100))
	got := ""
	place := func(conn, key uint64, typ *dissect.Type, frame uint64, at int64) {
		x.Tick(at * ms)
		m := Message{Src: testClient, Dst: server, Proto: &testProto, Type: typ, Conn: conn, Key: key, Frame: frame, Nanos: at * ms, Age: at * ms, Reply: typ.Reply}
		got += said(x.Place(&m), m.Expert) + " | "
	}
	x.ReportSilence = func(f *Fact) { t.Errorf("silence\ngot  %+v", *f) }
	run, output := testKinds['R'], testKinds['l']
	place(1, 1, login, 1, 0)
	place(1, 1, output, 2, 5) // stands before the answer
	place(1, 1, welcome, 3, 6)
	place(1, 2, run, 4, 10)
	place(1, 3, run, 5, 11)
	place(2, 3, run, 6, 12)
	place(1, 3, output, 7, 20)
	place(1, 2, output, 8, 60_010)
	place(1, 2, output, 9, 60_020)
	place(1, 4, output, 10, 60_030)
	place(1, 0, output, 11, 60_040)
	want := "ask 1 | extra 1 to 1 after 5 | answer 1 to 1 after 6 | ask 4 | ask 5 | ask 6 | answer 5 to 5 after 9 | " +
		"answer 4 to 4 after 60000 | extra 4 to 4 after 60010 | stray | none | "
	if got != want {
		t.Errorf("\ngot  %s\nwant %s", got, want)
	}
	joined := Message{Conn: 1, Key: 2, Nanos: 60_020 * ms, Frame: 9, Reply: true}
	if p := x.PlaceJoined(&joined); p.ID != 4 || p.Took != 60_010*ms {
		t.Errorf("joined\ngot  %+v\nwant exchange 4 after 60010 ms", p)
	}
}

// from is a client with an invented address.
func from(n int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{11, byte(n >> 16), byte(n >> 8), byte(n)}), uint16(n))
}

// flood sends n plain requests from invented addresses, which the server answers as
// reply says: with nothing, a challenge or data.
func flood(x *Exchanges, n int, frame uint64, at int64, reply byte) {
	for i := range n {
		m := Message{Src: from(i), Dst: server, Proto: &testProto, Type: testKinds['T'], Frame: frame + uint64(2*i), Nanos: at, Age: at}
		x.Place(&m)
		if reply == 0 {
			continue
		}
		m.Src, m.Dst, m.Type, m.Reply, m.Frame = m.Dst, m.Src, testKinds[reply], true, m.Frame+1
		if reply == 'A' {
			m.Key = 1<<32 | uint64(i+1)
		}
		x.Place(&m)
	}
}

// A flood from invented addresses pushes out none of the exchanges that it has
// nothing in common with, however many tables it fills.
func TestFlood(t *testing.T) {
	const many = 50_000
	for _, tc := range []struct {
		name   string
		before string
		reply  byte
		after  string
		want   string
	}{
		{"unanswered, challenge on its way back", "0 >T | 10 <A:7", 0, "20 >T:7 | 30 <I", "echo 1 | answer 1 to 1 after 10 trip 10"},
		{"answered, challenge on its way back", "0 >T | 10 <A:7", 'I', "20 >T:7 | 30 <I", "echo 1 | answer 1 to 1 after 10 trip 10"},
		{"answered, question on its way", "0 >T", 'I', "20 <I", "answer 1 to 1 after 20"},
		{"challenged, challenge was brought back", "0 >T | 10 <A:7 | 15 >T:7", 'A', "30 <I", "answer 1 to 3 after 15 trip 10"},
		{"challenged, question on its way", "0 >T", 'A', "20 <A:7", "challenge 1 to 1 after 20"},
	} {
		x := NewExchanges(DefaultExchanges, NewFlows(100))
		play(t, x, tc.before)
		flood(x, many, 1000, 16*ms, tc.reply)
		got := ""
		for i, s := range strings.Split(tc.after, " | ") {
			got += " | " + play(t, x, s+"="+strconv.Itoa(1_000_000+i))
		}
		want := strings.ReplaceAll(tc.want, "to 1 after 10 ", "to 1000000 after 10 ")
		if got = strings.TrimPrefix(got, " | "); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, want)
		}
		if room := x.ring.Cap(); tc.reply == 0 && x.Evicted() < uint64(many-room) {
			t.Errorf("%s: room for %d, %d evicted", tc.name, room, x.Evicted())
		}
	}
}

// TestPolls: a socket that asks the same for ever takes two entries of those that are searched.
func TestPolls(t *testing.T) {
	x := NewExchanges(DefaultExchanges, NewFlows(100))
	for i := range 1000 {
		at := int64(i) * 30 * ms
		m := Message{Src: testClient, Dst: server, Proto: &testProto, Type: testKinds["TU"[i%2]], Frame: uint64(3*i + 1), Nanos: at, Age: at}
		x.Place(&m)
		m.Src, m.Dst, m.Type, m.Reply, m.Frame = server, testClient, testKinds["ID"[i%2]], true, m.Frame+1
		if p := x.Place(&m); p.Step != Answer || p.Request != m.Frame-1 {
			t.Fatalf("poll %d\ngot  %+v", i, p)
		}
		m.Frame++
		if p := x.Place(&m); p.Step != Extra || p.Request != m.Frame-2 {
			t.Fatalf("copy of the answer to poll %d\ngot  %+v", i, p)
		}
	}
	n := 0
	for e := x.get(x.at.newest); e != nil; e = x.get(e.older) {
		n++
	}
	if n != 4 {
		t.Errorf("got  %d exchanges between these ends\nwant 4", n)
	}
}

func TestExchangeAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	x := NewExchanges(64, NewFlows(100))
	x.ReportSilence = func(*Fact) {}
	flood(x, 1, 1, 0, 'A') // the kinds are known
	flood(x, 1, 1, 0, 'I')
	at, frame := int64(0), uint64(10)
	n := testing.AllocsPerRun(200, func() {
		at += 700 * ms
		frame += 1000
		x.Tick(at)
		flood(x, 20, frame, at, 'A')
		flood(x, 20, frame+100, at, 'I')
		flood(x, 20, frame+200, at, 0)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A tick does not look at ended exchanges again: where time jumps, there is one for each packet.
func TestEndedOnce(t *testing.T) {
	x := NewExchanges(64, NewFlows(100))
	flood(x, 40, 1, 0, 0)
	for at := range int64(3) {
		x.Tick((10 + at) * second)
		if x.skipEvicted(); x.tail != x.ring.Next() {
			t.Errorf("the tick after the %d. begins at %d\nwant %d", at+1, x.tail, x.ring.Next())
		}
	}
}

// Which requests are copies of the one before, and after what time: - is none, ! the third.
func TestRepeat(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"three in a second", "0 >T | 400 >T | 1000 >T", "- 400 600!"},
		{"just slower", "0 >T | 400 >T | 1001 >T", "- 400 601"},
		{"slower", "0 >T | 400 >T | 1010 >T", "- 400 610"},
		{"after the time in which copies come", "0 >T | 5 >T", "- 5"},
		{"just before", "0 >T | 4 >T", "- -"},
		{"longer than there is room for", "0 >T | 1300 >T | 1301 >T", "- 1300 -"},
		{"a fourth", "0 >T | 400 >T | 1010 >T | 1300 >T", "- 400 610 290!"},
		{"a copy by the network", "0 >T | 1 >T | 700 >T", "- - 699"},
		{"three at once", "0 >T | 1 >T | 2 >T", "- - 1"},
		{"with the challenge", "0 >T | 10 <A:7 | 20 >T:7 | 220 >T:7 | 420 >T:7", "- - 200 200!"},
		{"another challenge", "0 >T:7 | 200 >T:8 | 400 >T", "- - -"},
		{"a challenge in between", "0 >T | 200 >T | 210 <A:7 | 400 >T", "- 200 -"},
		{"the start of the answer", "0 >V | 100 ~ | 200 >V", "- -"},
		{"a wrong answer in between", "0 >V | 10 <I | 200 >V | 400 >V", "- - 200"},
		{"an unreadable answer in between", "0 >V | 1 >U | 10 <? | 200 >V", "- - -"},
		{"an answer to something else", "0 >V | 1 >T | 10 <I | 200 >V", "- - 200"},
		{"answered", "0 >T | 10 <I | 20 >T | 30 <I", "- -"},
		{"two questions", "0 >T | 10 >U", "- -"},
	} {
		x, got, frame := NewExchanges(100, NewFlows(100)), "", uint64(0)
		for s := range strings.SplitSeq(tc.in, " | ") {
			when, what, _ := strings.Cut(s, " ")
			n, _ := strconv.ParseInt(when, 10, 64)
			frame++
			m := message(t, what)
			m.Frame, m.Nanos, m.Age = frame, n*ms, n*ms
			if what == "~" {
				m.Reply, m.Src, m.Dst = true, server, testClient
				x.RecordPart(&m)
				continue
			}
			p := x.Place(&m)
			switch third := map[bool]string{true: "!"}[p.IsThird]; {
			case m.Reply:
			case p.Gap == 0:
				got += " -"
			default:
				got += fmt.Sprint(" ", p.Gap/ms, third)
			}
		}
		if got = got[1:]; got != tc.want {
			t.Errorf("%s: %s\ngot  %s\nwant %s", tc.name, tc.in, got, tc.want)
		}
	}
}
