package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"qsniff/internal/render"
	"qsniff/internal/render/tally"
)

var (
	serverA = netip.MustParseAddrPort("198.18.0.1:27015")
	serverB = netip.MustParseAddrPort("198.18.0.2:27015")
	client  = netip.MustParseAddrPort("10.64.0.1:40001")
)

// message returns the turn of a message.
func message(flags turnFlags, derived, name, fields string, more string) render.Turn {
	return render.Turn{Text: fmt.Appendf([]byte{byte(flags | isMessage)}, "%s\n"+`{"protocol":"p","message":%q,"transport":"udp","status":"complete","length":9,"fields":%s%s}`, derived, name, fields, more)}
}

// compared compares exchanges: a request of which one of each list of replies comes from each server.
func compared(t *testing.T, a, b []render.Turn) *render.Comparison {
	t.Helper()
	sides, err := Servers("198.18.0.1", "198.18.0.2")
	if err != nil {
		t.Fatal(err)
	}
	c := New(sides, false)
	for i, turns := range [...][]render.Turn{a, b} {
		d := &render.Dialogue{ID: 1, Server: []netip.AddrPort{serverA, serverB}[i], Client: client, Outcome: render.Answered, RTT: 1e6, ChallengeRTT: -1}
		d.Turns = append([]render.Turn{message(0, "", "ASK", `{}`, "")}, turns...)
		c.AppendDialogue(nil, d)
	}
	return c.Result(tally.Run{})
}

// TestFields compares fields of replies: what one side lacks, has as another kind, or by derivation only.
func TestFields(t *testing.T) {
	const all = `{"name":"x","port":27015,"list":[{"name":"ann","score":3}],"rules":[{"name":"gravity","value":"800"}],"tags":{"mode":"x"}}`
	for _, tc := range [...]struct {
		name, b string
		want    []string // aspects and what the sentences have
	}{
		{"equal", all, nil},
		{"a field", strings.Replace(all, `"port":27015,`, "", 1), []string{"fields: P of B has no port"}},
		{"a further field", strings.Replace(all, `"port"`, `"extra":1,"port"`, 1), []string{"fields: P of A has no extra"}},
		{"a kind", strings.Replace(all, `27015`, `"27015"`, 1), []string{"fields: port (number, text)"}},
		{"an empty list", strings.Replace(all, `{"name":"ann","score":3}`, "", 1), nil},
		{"a number that is none", strings.Replace(all, `27015`, `null`, 1), []string{"fields: port (number, no value)", "values: port"}},
		{"of elements", strings.Replace(all, `,"score":3`, "", 1), []string{"fields: P of B has no list[].score"}},
		{"no rule", strings.Replace(all, `{"name":"gravity","value":"800"}`, "", 1), []string{"optional_fields: P of B has an empty list, that of A 1 name"}},
		{"a rule", strings.Replace(all, `gravity`, "speed", 1), []string{"names: 1 name of A only, and 1 name of B only"}},
		{"the value of a rule", strings.Replace(all, `800`, "900", 1), []string{"values: 900"}},
		{"derived", strings.Replace(all, `,"tags":{"mode":"x"}`, "", 1), []string{"names: P of B has no tags"}},
		{"bytes beside a value", strings.Replace(all, `"port"`, `"name_hex":"00","port"`, 1), nil},
	} {
		x := compared(t, []render.Turn{message(isReply, "tags", "P", all, "")}, []render.Turn{message(isReply, "tags", "P", tc.b, "")})
		if len(x.Differences) != len(tc.want) {
			t.Errorf("%s: %+v, want %q", tc.name, x.Differences, tc.want)
			continue
		}
		for i, want := range tc.want {
			aspect, words, _ := strings.Cut(want, ": ")
			if d := &x.Differences[i]; d.Aspect.String() != aspect || !strings.Contains(d.Text, words) {
				t.Errorf("%s: %s: %s, want %q", tc.name, d.Aspect, d.Text, want)
			}
		}
	}
}

// TestTimes compares how long answers take: a client gives up only after leastWait.
func TestTimes(t *testing.T) {
	for _, tc := range [...]struct {
		a, b int64
		want string // the aspect
	}{
		{1e6, 1e6 + leastDelay - 1, ""},
		{1e6, 1e6 + leastDelay, "notes"},
		{leastDelay, 2*leastDelay - 1, ""},
		{1e6, leastWait - 1, "notes"},
		{1e6, leastWait, "times"},
		{leastWait, 2 * leastWait, "times"},
	} {
		f := &finder{labels: [2]string{"A", "B"}, verbs: ofServers}
		f.compareTimes(&[2]*question{{took: times{[]int64{tc.a}}}, {took: times{[]int64{tc.b}}}})
		got := ""
		if len(f.all) > 0 {
			got = f.all[0].Aspect.String()
		}
		if got != tc.want || f.unequal[render.TimeAspect] != (got != "") {
			t.Errorf("%d and %d ns: %q, want %q", tc.a, tc.b, got, tc.want)
		}
	}
}

// TestForms compares how replies come.
func TestForms(t *testing.T) {
	plain := message(isReply, "", "P", `{}`, "")
	for _, tc := range [...]struct {
		name, aspect string
		b            []render.Turn
	}{
		{"parts", "parts", []render.Turn{message(isReply, "", "P", `{}`, `,"split":{"engine":"e","total":2,"received":2}`)}},
		{"IP fragments", "sizes", []render.Turn{message(isReply, "", "P", `{}`, `,"frames":[1,2]`)}},
		{"another type", "replies", []render.Turn{message(isReply, "", "Q", `{}`, "")}},
		{"two replies", "order", []render.Turn{plain, plain}},
		{"long", "sizes", []render.Turn{{Text: bytes.Replace(plain.Text, []byte(`"length":9`), []byte(`"length":4097`), 1)}}},
		{"a warning", "findings", []render.Turn{message(isReply, "", "P", `{}`, `,"findings":[{"id":"X-1","severity":"warn","text":"x"}]`)}},
		{"an error of no client's concern", "findings", []render.Turn{message(isReply, "!X-2", "P", `{}`, `,"findings":[{"id":"X-1","severity":"error","text":"x"}]`)}},
		{"a warning to clients", "faults", []render.Turn{message(isReply, "!X-1", "P", `{}`, `,"findings":[{"id":"X-1","severity":"warn","fault":"server","text":"x"}]`)}},
		{"a challenge", "challenges", []render.Turn{message(isReply|isChallenge, "", "C", `{}`, ""), message(bringsToken, "", "ASK", `{}`, ""), plain}},
	} {
		for _, isSwapped := range []bool{false, true} {
			a, b := []render.Turn{plain}, tc.b
			if isSwapped {
				a, b = b, a
			}
			x := compared(t, a, b)
			if len(x.Differences) == 0 || x.Differences[0].Aspect.String() != tc.aspect {
				t.Errorf("%s, swapped %t: %+v, want %s first", tc.name, isSwapped, x.Differences, tc.aspect)
			}
		}
	}
}

// TestHarderFirst compares a server that demands a challenge and is else in order with one whose replies come in
// parts: the client works with the first one, so that its challenge comes last.
func TestHarderFirst(t *testing.T) {
	plain := message(isReply, "", "P", `{}`, "")
	x := compared(t, []render.Turn{message(isReply|isChallenge, "", "C", `{}`, ""), message(bringsToken, "", "ASK", `{}`, ""), plain},
		[]render.Turn{message(isReply, "", "P", `{}`, `,"split":{"engine":"e","total":2,"received":2}`)})
	if len(x.Differences) != 2 || x.Differences[0].Aspect != render.PartAspect || !x.Differences[1].IsOfFirst {
		t.Errorf("%+v", x.Differences)
	}
}

// TestBounds fills the tables: what has no room is counted.
func TestBounds(t *testing.T) {
	s := newTable()
	for i := range maxTypes + 5 {
		tn, _ := newTurn(message(isReply, "", fmt.Sprint("P", i), `{}`, "").Text)
		s.addTurn(tn)
	}
	if len(s.types) != maxTypes || s.unkept != 5 {
		t.Errorf("%d types, %d unkept", len(s.types), s.unkept)
	}
	s = newTable()
	for i := range maxPaths + 7 {
		tn, _ := newTurn(message(isReply, "", "P", fmt.Sprintf(`{"rules":[{"name":"%d%s","value":"1"}]}`, i, strings.Repeat("x", 300)), "").Text)
		s.addTurn(tn)
	}
	if m := s.types[0]; len(m.names)+len(m.paths) != maxPaths || s.unkept != 8 { // one path is "rules"
		t.Errorf("%d names, %d paths, %d unkept", len(m.names), len(m.paths), s.unkept)
	}
	for name := range s.types[0].names {
		if len(name) > maxSample+len("…") {
			t.Fatalf("name of %d bytes", len(name))
		}
	}
}

// TestSides refuses sides that have something in common, and finds the side of a dialogue.
func TestSides(t *testing.T) {
	for _, pair := range [][2]string{{"198.18.0.1", "198.18.0.1"}, {"198.18.0.1:1", "198.18.0.0/24"}, {"198.18.0.0/15", "198.18.0.0/24"}, {"198.18.0.0/24", "198.18.0.1"}, {"x", "198.18.0.1"}, {"198.18.0.1", ""}} {
		if _, err := Servers(pair[0], pair[1]); err == nil {
			t.Errorf("%q is accepted", pair)
		}
	}
	s, err := Times("198.18.0.1", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int64]int{999: 0, 1000: 1} {
		if got := s.of(&render.Dialogue{Server: serverA, Client: client, First: at}); got != want {
			t.Errorf("at %d: side %d, want %d", at, got, want)
		}
	}
	if got := s.of(&render.Dialogue{Server: serverB, Client: client}); got != -1 {
		t.Errorf("another server is side %d", got)
	}
}

// FuzzTurns has tables of whatever a turn may hold: nothing panics, and each difference has a sentence.
func FuzzTurns(f *testing.F) {
	f.Add("tags", "P", `{"a":1,"b":[{"name":"x","value":"y"}],"c":{"d":null}}`, `{"a":"1","b":[1,[2]],"c":{"d":true}}`, byte(2))
	f.Add("", "", `{"":{"":{"":[{"":[]}]}}}`, `{"a_hex":1,"a[].b":2,".":3}`, byte(7))
	f.Fuzz(func(t *testing.T, derived, name, a, b string, flags byte) {
		if !json.Valid([]byte(a)) || !json.Valid([]byte(b)) || strings.ContainsRune(derived, '\n') {
			return
		}
		x := compared(t, []render.Turn{message(turnFlags(flags)&^ofOtherHosts, derived, name, a, "")}, []render.Turn{message(isReply, derived, name, b, "")})
		for i := range x.Differences {
			if d := &x.Differences[i]; len(d.Text) < len("P of A.") || d.Aspect >= render.Aspect(render.NumAspects) {
				t.Errorf("%+v", d)
			}
		}
	})
}
