package track

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/reassembly/wire"
)

// What hostKinds add to testKinds: a master server's pages, logins over TCP, and challenges for
// a console.
var hostKinds = map[string]*dissect.Type{
	"M": {Name: "M", Asks: dissect.AskServers},
	"P": {Name: "P", Reply: true, Asks: dissect.AskServers},
	"G": {Name: "G", Asks: dissect.AskLogin},
	"g": {Name: "g", Reply: true, Asks: dissect.AskLogin},
	"C": {Name: "C", Asks: dissect.AskRconChallenge},
	"c": {Name: "c", Reply: true, Asks: dissect.AskRconChallenge},
}

// endNamed is the end of a name: a small letter is a client, a capital one a server,
// and a digit after it another port.
func endNamed(t *testing.T, s string) netip.AddrPort {
	t.Helper()
	port := uint16(0)
	if len(s) == 2 {
		port = uint16(s[1] - '0')
	}
	if s[0] >= 'a' {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 64, 0, s[0]}), 40000+port)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, s[0]}), 27015+port)
}

// tableOf returns the table of h with such keys and values.
func tableOf[K lru.Key, V any](t *testing.T, h *Hosts) *lru.Table[K, V] {
	t.Helper()
	for _, x := range h.tables {
		if table, ok := x.entries.(*lru.Table[K, V]); ok {
			return table
		}
	}
	t.Fatal("there is no such table")
	return nil
}

// tell gives hosts a script: facts with a | between, each the seconds since the
// capture began, the client, > or <, the server, the letter of the kind, the step, and
// a challenge or the number of a password. "refused" is an answer that refuses a login,
// "!" a gap in the capture. A silence is about the last request of its kind between
// its ends. It returns what was raised, with its severity and frames.
func tell(t *testing.T, h *Hosts, script string) (out []string, texts []string) {
	t.Helper()
	h.Raise = func(x *Raised) {
		if x.Expert.Field != -1 {
			t.Errorf("field\ngot  %d\nwant -1", x.Expert.Field)
		}
		out = append(out, fmt.Sprint(x.Expert.Code.ID, " ", x.Expert.Severity, " ", x.Frames))
		texts = append(texts, string(x.Expert.AppendText(nil)))
	}
	asked := map[string]Fact{}
	frame := uint64(0)
	for _, line := range strings.Split(script, "|") {
		w := strings.Fields(line)
		seconds, err := strconv.ParseFloat(w[0], 64)
		if err != nil {
			t.Fatal(err)
		}
		age := 1e9*1e9 + int64(seconds*1e9)
		if w[1] == "!" {
			h.RecordGap(age)
			continue
		}
		f := Fact{Nanos: age, Age: age, Proto: &testProto, Type: hostKinds[w[2]], Part: Part{Took: -1, Trip: -1}}
		if f.Type == nil {
			f.Type = testKinds[w[2][0]]
		}
		client, server, reply := strings.Cut(w[1], "<")
		if !reply {
			client, server, _ = strings.Cut(w[1], ">")
		}
		f.Client, f.Server, f.Reply = endNamed(t, client), endNamed(t, server), reply
		if len(w) > 4 {
			f.Key, _ = strconv.ParseUint(w[4], 10, 64)
		}
		if f.Type.Asks == dissect.AskLogin {
			f.TCP, f.Secret = true, uint32(f.Key)
		}
		if w[3] == "refused" {
			w[3], f.Refused = "answer", true
		}
		for s, name := range steps {
			if name == w[3] {
				f.Step = Step(s)
			}
		}
		addMeasures(t, &f, w[4:])
		about := w[1] + w[2]
		if f.Step == Silence {
			key := f.Key
			f = asked[about]
			f.Began = f.Age
			f.Step, f.Key = Silence, max(key, f.Key)
		} else {
			frame++
			f.Frame = frame
			if f.ID == 0 {
				f.ID = frame
			}
			asked[about] = f
		}
		h.AddFact(&f)
	}
	return out, texts
}

// addMeasures adds to f what words as ttl=60 say: the time since the request in ms (took)
// and since the equal request before (gap), whether it is the third of a second, the exchange (id), the
// print, the map and the form of what a server says of itself, bytes, and the size of parts.
func addMeasures(t *testing.T, f *Fact, words []string) {
	t.Helper()
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			continue
		}
		v, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if f.Said == nil && (name == "print" || name == "map" || name == "form") {
			f.Said = &Said{Form: -1}
		}
		switch name {
		case "brought":
			f.BroughtChallenge = v > 0
		case "gap":
			f.Gap = v * 1e6
		case "third":
			f.IsThird = v > 0
		case "id":
			f.ID = uint64(v)
		case "ttl":
			f.TTL = uint8(v)
		case "asked":
			f.Asked = queryRoles[v]
		case "trip":
			f.Trip = v * 1e6
		case "took":
			f.Took = v * 1e6
		case "print":
			f.Said.Print = uint64(v)
		case "map":
			f.Said.Map = uint64(v)
		case "form":
			f.Said.Form = int32(v)
		case "bytes":
			f.Bytes = uint32(v)
		case "at":
			f.Page.At = uint64(v)
		case "list":
			f.Page.List = uint32(v)
		case "size":
			f.IsSplit, f.Engine, f.PartSize = true, wire.Source, uint16(v)
		default:
			t.Fatalf("what is %s?", w)
		}
	}
}

// repeat writes a script for every i below n, with % for i and @ for the i-th small
// letter.
func repeat(n int, script string) string {
	var all []string
	for i := range n {
		s := strings.ReplaceAll(script, "%", strconv.Itoa(i))
		all = append(all, strings.ReplaceAll(s, "@", string(rune('a'+i))))
	}
	return strings.Join(all, " | ")
}

type hostsCase struct{ name, in, want string }

func checkHosts(t *testing.T, cases []hostsCase) {
	t.Helper()
	for _, tc := range cases {
		got, _ := tell(t, NewHosts(1), tc.in)
		if s := strings.Join(got, ", "); s != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, s, tc.want)
		}
	}
}

func TestElsewhere(t *testing.T) {
	const before = "0 z>Z T ask | "
	checkHosts(t, []hostsCase{
		{"another address", before + "9 a>A T ask | 9.1 a<B I stray", "NET-01 error [2 3]"},
		{"another port", before + "9 a>A T ask | 9.1 a<A1 I stray", "NET-01 error [2 3]"},
		{"another port and address", before + "9 a>A T ask | 9.1 a<B1 I stray", "NET-01 error [2 3]"},
		{"challenge", before + "9 a>A U ask | 9.1 a<B A stray 7", "NET-01 error [2 3]"},
		{"once for a client", before + "9 a>A T ask | 9.1 a<B I stray | 12 a1>A T ask | 12.1 a1<B I stray | 13 b>A T ask | 13.1 b<B I stray",
			"NET-01 error [2 3], NET-01 error [6 7]"},
		{"the capture began shortly before", "0 a>A T ask | 0.1 a<B I stray", "NET-01 warn [1 2]"},
		{"gap", before + "8 ! | 9 a>A T ask | 9.1 a<B I stray", "NET-01 warn [2 3]"},
		{"another question", before + "9 a>A T ask | 9.1 a<B D stray", ""},
		{"answered", before + "9 a>A T ask | 9.1 a<A I answer | 9.2 a<B I stray", ""},
		{"challenged", before + "9 a>A T ask | 9.1 a<A A challenge 7 | 9.2 a<B I stray", ""},
		{"asked again since", before + "9 a>A T ask | 9.1 a<A A challenge 7 | 9.2 a>A T echo 7 | 9.3 a<B I stray", "NET-01 error [4 5]"},
		{"too late", before + "9 a>A T ask | 14.1 a<B I stray", ""},
		{"another socket", before + "9 a>A T ask | 9.1 a1<B I stray", ""},
		{"both were asked", before + "9 a>A T ask | 9 a>B T ask | 9.1 a<B I stray", ""},
		{"which of two", before + "9 a>A T ask | 9 a>B1 T ask | 9.1 a<C2 I stray", ""},
		{"two, one has the address", before + "9 a>A T ask | 9 a>B1 T ask | 9.1 a<B2 I stray", "NET-01 error [3 4]"},
		{"a browser asks many", before + "9 a>A T ask | 9 a>B1 T ask | 9 a>C2 T ask | 9 a>D3 T ask | 9 a>E4 T ask | 9.1 a<F1 I stray", ""},
		{"four, one has the port", before + "9 a>A T ask | 9 a>B1 T ask | 9 a>C2 T ask | 9 a>D3 T ask | 9.1 a<F1 I stray", "NET-01 error [3 6]"},
		{"the asked server itself", before + "9 a>A T ask | 9.1 a<A I stray", ""},
	})
}

func TestUnheeded(t *testing.T) {
	const given = "0 a>A T ask | 0.1 a<A A challenge 7 | 0.2 a>A T echo 7 | 3.3 a>A T silence 7 | "
	const twice = given + "3.4 a>A T ask 7 | "
	checkHosts(t, []hostsCase{
		{"another is served", twice + "5 b>A T ask | 5.1 b<A I answer | 6.6 a>A T silence 7", "A2S-S02 error [3 4]"},
		{"another question is served", twice + "5 a>A U ask 7 | 5.1 a<A D answer | 6.6 a>A T silence 7", "A2S-S02 error [3 4]"},
		{"once", twice + "5 b>A T ask | 5.1 b<A I answer | 6.6 a>A T silence 7 | 7 a>A T ask 7 | 10.1 a>A T silence 7", "A2S-S02 error [3 4]"},
		{"gap", twice + "4 ! | 5 b>A T ask | 5.1 b<A I answer | 6.6 a>A T silence 7", "A2S-S02 warn [3 4]"},
		{"nobody is served", twice + "6.6 a>A T silence 7", ""},
		{"another is challenged", twice + "5 b>A T ask | 5.1 b<A A challenge 8 | 6.6 a>A T silence 7", ""},
		{"served before only", "0 b>A T ask | 0 b<A I answer | " + twice + "6.6 a>A T silence 7", ""},
		{"served long before", given + "4 b<A I answer | 25 a>A T ask 7 | 28.1 a>A T silence 7", ""},
		{"unanswered once", "0 a>A T ask | 0.1 a<A A challenge 7 | 0.2 a>A T echo 7 | 1 b>A T ask | 1.1 b<A I answer | 3.3 a>A T silence 7", ""},
		{"answered in between", given + "4 a>A T ask 7 | 4.1 a<A I answer | 5 a>A T ask 7 | 8.1 a>A T silence 7", ""},
		{"another challenge", given + "3.4 a>A T ask 9 | 5 b>A T ask | 5.1 b<A I answer | 6.6 a>A T silence 9", ""},
		{"an old challenge", given + "40 a>A T ask 7 | 41 b>A T ask | 41.1 b<A I answer | 43.1 a>A T silence 7", ""},
		{"rules, which nobody gets", "0 a>A V ask | 0.1 a<A A challenge 7 | 0.2 a>A V echo 7 | 3.3 a>A V silence 7 | 3.4 a>A V ask 7 | " +
			"5 b>A T ask | 5.1 b<A I answer | 6.6 a>A V silence 7", ""},
	})
}

func TestUnbrought(t *testing.T) {
	// A client asks for information from a new port each time, and is given a challenge.
	const each = "@ a%>A T ask | @ a%<A A challenge 7 asked=0"
	polls := func(at ...string) string {
		var all []string
		for i, s := range at {
			all = append(all, strings.NewReplacer("@", s, "%", strconv.Itoa(i)).Replace(each))
		}
		return strings.Join(all, " | ")
	}
	one := polls("0", "20", "40")
	for _, tc := range []hostsCase{
		{"two not brought back", one, "A2S-C01 error [2 6]"},
		{"told once", polls("0", "20", "40", "60", "80"), "A2S-C01 error [2 6]"},
		{"at one port, long after", strings.NewReplacer("a1", "a0", "a2", "a0").Replace(one), "A2S-C01 error [2 6]"},
		{"with a gap", polls("0", "20") + " | 30 ! | " + polls("40"), "A2S-C01 warn [2 6]"},
		{"players use one", polls("0") + " | 1 a7>A U ask | 1 a7<A A challenge 7 asked=1 | 1 a7>A U echo 7 | 1 a7<A D answer | " + polls("20", "40"), "A2S-C01 error [2 10]"},
		{"one, as a request may get lost", polls("0", "20"), ""},
		{"not so long", polls("0", "1", "2"), ""},
		{"brought back from another port", polls("0", "20") + " | 21 a8>A T ask 7 | " + polls("40"), ""},
		{"answered without", polls("0", "20") + " | 21 a1<A I answer trip=20 | " + polls("40"), ""},
		{"several addresses", polls("0") + " | " + strings.ReplaceAll(polls("20"), "a0", "b0") + " | " + strings.ReplaceAll(polls("40"), "a0", "c0"), ""},
		{"players' challenge used for rules", repeat(3, "%0 a1>A U ask | %0 a1<A A challenge 7 asked=1 | %0 a2>A V ask 7"), ""},
		{"players, never used", repeat(3, "%0 a%>A U ask | %0 a%<A A challenge 7 asked=1"), "A2S-C01 error [2 6]"},
		{"a flood in its name", repeat(4, "%0 a%>A T ask | %0 a%<A A challenge 7 asked=0 | %1 a%<A A challenge 7 asked=0 | %1 a%<A A challenge 7 asked=0 | "+
			"%1 a%<A A challenge 7 asked=0 | %1 a%<A A challenge 7 asked=0 | %1 a%<A A challenge 7 asked=0"), ""},
		{"a flood from many", repeat(3, strings.ReplaceAll(repeat(17, "#0 @%>A T ask | #0 @%<A A challenge 7 asked=0"), "#", "%")), "A2S-S04 warn [2 32]"},
	} {
		got, _ := tell(t, NewHosts(1), tc.in)
		got = slices.DeleteFunc(got, func(s string) bool { return strings.HasPrefix(s, "A2S-S01 ") }) // that the server demands one
		if s := strings.Join(got, ", "); s != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, s, tc.want)
		}
	}
}

func TestPartial(t *testing.T) {
	// One client asks for what the letter says, three times in vain.
	const three = "% @>A K ask | % @<A A challenge 7 | % @>A K echo 7 | % @>A K again 7 | % @>A K again 7 | % @>A K silence 7"
	ask := func(kind string, clients int) string {
		return strings.ReplaceAll(repeat(clients, three), "K", kind)
	}
	const info = "0 z>A T ask | 0 z<A I answer | "
	checkHosts(t, []hostsCase{
		{"players", info + ask("U", 2), "A2S-S05 note [12]"},
		{"rules", info + ask("V", 2), "A2S-S06 note [12]"},
		{"players and rules", info + ask("U", 2) + " | " + ask("V", 2), "A2S-S05 note [12], A2S-S05 note [22]"},
		{"once", info + ask("U", 4), "A2S-S05 note [12]"},
		{"gap", info + "0 ! | " + ask("U", 2), "A2S-S05 chat [12]"},
		{"one client", info + ask("U", 1) + " | " + ask("U", 1), ""},
		{"no information", ask("U", 2), ""},
		{"information too long ago", "-61 z>A T ask | -61 z<A I answer | " + ask("U", 2), ""},
		{"somebody is told", info + ask("U", 1) + " | 0 z>A U ask | 0 z<A D answer | " + strings.ReplaceAll(ask("U", 2), "a>A", "c>A"), ""},
		{"without a challenge", info + repeat(6, "% @>A U ask | % @>A U silence"), ""},
		{"four requests", info + repeat(2, "% @>A U ask | % @<A A challenge 7 | % @>A U echo 7 | % @>A U again 7 | % @>A U silence 7"), ""},
	})
}

func TestShared(t *testing.T) {
	give := func(n int, key string) string { return repeat(n, "% @>A T ask | % @<A A challenge "+key) }
	checkHosts(t, []hostsCase{
		{"one for all", give(16, "7"), "A2S-S04 warn [2 32]"},
		{"once", give(16, "7") + " | " + give(16, "7"), "A2S-S04 warn [2 32]"},
		{"after others", give(3, "1%") + " | " + give(24, "7"), "A2S-S04 warn [8 38]"},
		{"15 challenges", give(15, "7"), ""},
		{"one for each", give(26, "1%"), ""},
		{"7 addresses", give(7, "7") + " | " + give(7, "7") + " | " + give(7, "7"), ""},
		{"88 percent", give(14, "7") + " | " + give(2, "1%") + " | " + give(1, "7"), ""},
		{"nobody asked", repeat(20, "% @<A A stray 7"), ""},
	})
}

func TestOverBudget(t *testing.T) {
	pages := func(n int, each string) string { return repeat(n, each+" a>A M ask | "+each+" a<A P answer") }
	const silent = " | 70 a>A M ask | 70 a>A M silence | 74 a>A M ask | 74 a>A M silence"
	checkHosts(t, []hostsCase{
		{"31 and silence", strings.ReplaceAll(pages(30, "2%.5"), "2", "") + " | 31 a>A M ask | 31 a>A M silence | 35 a>A M ask | 35 a>A M silence", "MST-01 warn [3 62]"},
		{"the limit", pages(29, "%") + " | 29 a>A M ask | 29 a>A M silence | 95 a>A M ask | 95 a>A M silence", ""},
		{"not so fast", repeat(30, "%0 a>A M ask | %0 a<A P answer") + " | 300 a>A M ask | 300 a>A M silence | 304 a>A M ask | 304 a>A M silence", ""},
		{"one is lost", pages(30, "%") + " | 31 a>A M ask | 31 a>A M silence", ""},
		{"several clients", repeat(20, "% a>A M ask | % a<A P answer | % b>A M ask | % b<A P answer") + silent, ""},
		{"answered again", pages(40, "%"), ""},
	})
}

// A master server counts as silent if it never answered a client, or not for five minutes.
func TestSilentMaster(t *testing.T) {
	const answered = "0 a>A M ask | 0 a<A P answer | "
	unanswered := func(at, again string) string {
		return strings.NewReplacer("%", at, "@", again).Replace("% a>A M ask | % a>A M silence | @ a>A M ask | @ a>A M silence")
	}
	checkHosts(t, []hostsCase{
		{"never answered, in a capture without any reply", repeat(40, "% a>A M ask | % a>A M silence"), "MST-02 note [1 2]"},
		{"never answered, others are", "0 b>A M ask | 0 b<A P answer | " + unanswered("1", "2"), "MST-02 warn [3 4]"},
		{"never answered, with a gap", "0 b>A M ask | 0 b<A P answer | 1 ! | " + unanswered("1", "2"), "MST-02 note [3 4]"},
		{"a gap before", "0 b>A M ask | 0 b<A P answer | 0.5 ! | " + unanswered("1", "2"), "MST-02 warn [3 4]"},
		{"one is lost", "0 b>A M ask | 0 b<A P answer | 1 a>A M ask | 1 a>A M silence", ""},
		{"lost one by one", "0 b>A M ask | 0 b<A P answer | " + repeat(3, "% a>A M ask | % a>A M silence | % a>A M ask | % a<A P answer"), ""},
		{"not for five minutes", answered + unanswered("299", "301"), "MST-02 warn [3 4]"},
		{"five minutes ago", answered + unanswered("299", "300"), ""},
		{"lately", answered + unanswered("30", "60"), ""},
		{"once until an answer", answered + unanswered("301", "302") + " | " + unanswered("303", "304"), "MST-02 warn [3 4]"},
		{"again after an answer", answered + unanswered("301", "302") + " | 303 a>A M ask | 303 a<A P answer | " + unanswered("604", "605"),
			"MST-02 warn [3 4], MST-02 warn [7 8]"},
	})
}

// at=N of a page is the address that ended it, of a question the one from which it goes on.
func TestPages(t *testing.T) {
	const first = "0 a>A M ask | 0 a<A P answer at=7 | "
	checkHosts(t, []hostsCase{
		{"from elsewhere", first + "1 a>A M ask at=9", "MST-03 error [2 3]"},
		{"from elsewhere, told once", first + "1 a>A M ask at=9 | 1 a<A P answer at=11 | 2 a>A M ask at=13", "MST-03 error [2 3]"},
		{"after a page that did not come", first + "1 a>A M ask at=7 | 9 a>A M ask at=9", "MST-03 error [2 4]"},
		{"with a gap", first + "0.5 ! | 1 a>A M ask at=9", "MST-03 warn [2 3]"},
		{"from the last one", first + "1 a>A M ask at=7 | 1 a<A P answer at=9 | 2 a>A M ask at=9", ""},
		{"the same page again", first + "1 a>A M ask at=7 | 1 a<A P answer at=9 | 2 a>A M ask at=7", ""},
		{"a page came twice", first + "1 a>A M ask at=7 | 1 a<A P answer at=7 | 1 a<A P extra at=9 | 2 a>A M ask at=9", ""},
		{"from the start again", first + "1 a>A M ask | 2 a>A M ask at=9", ""},
		{"another question", first + "1 a>A M ask at=9 list=1", ""},
		{"another socket", first + "1 a1>A M ask at=9", ""},
		{"another master", first + "1 a>B M ask at=9", ""},
		{"after the end", "0 a>A M ask | 0 a<A P answer at=0 | 1 a>A M ask at=9", ""},
		{"after more than a minute", first + "61 a>A M ask at=9", ""},
		{"no page in the capture", "0 a>A M ask at=7 | 1 a>A M ask at=9", ""},
		{"a page nobody asked for", "0 a>A M ask at=7 | 0 a<A P stray at=8 | 1 a>A M ask at=9", ""},
	})
}

func TestGuessing(t *testing.T) {
	try := func(n int, at, password string) string {
		return repeat(n, at+" a>A G ask "+password+" | "+at+" a<A g refused")
	}
	const ok = " | 90 a>A G ask 99 | 90 a<A g answer"
	checkHosts(t, []hostsCase{
		{"five in 30 s", try(5, "%", "1%"), "RCN-07 error [2 10]"},
		{"told once", try(20, "%", "1%"), "RCN-07 error [2 10]"},
		{"in several connections", repeat(5, "% a%>A G ask 1% | % a%<A g refused"), "RCN-07 error [2 10]"},
		{"and gets in", try(5, "%", "1%") + ok, "RCN-07 error [2 10], RCN-07 error [2 12]"},
		{"ten slow ones", try(10, "%0", "1%"), "RCN-07 error [2 20]"},
		{"four", try(4, "%", "1%") + ok, ""},
		{"nine slow ones", try(9, "%0", "1%"), ""},
		{"ten with four passwords", strings.Join([]string{try(4, "0", "1%"), try(4, "10", "1%"), try(4, "20", "1%")}, " | "), ""},
		{"one password", try(5, "%", "7"), "RCN-10 note [2 10]"},
		{"one password, told once", try(20, "%0", "7") + ok, "RCN-10 note [2 10]"},
		{"one password, four times", try(4, "%0", "7"), ""},
		{"passwords that the capture cut", try(5, "%", "0"), "RCN-07 warn [2 10]"},
		{"a success in between", try(4, "%", "1%") + " | 5 a>A G ask 99 | 5 a<A g answer | " + try(4, "9", "1%"), ""},
		{"several clients", repeat(9, "% @>A G ask 1% | % @<A g refused"), ""},
		{"no login in the capture", repeat(9, "% a<A g stray"), ""},
	})
}

func TestHostsTexts(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"elsewhere", "0 z>Z T ask | 9 a>A T ask | 9.1 a<B I stray", "a reply came from 198.18.0.66:27015, which this client did not ask, 100 ms after the request"},
		{"unsure", "9 a>A T ask | 9.1 a<B I stray", "a reply came from 198.18.0.66:27015, which this client did not ask, 100 ms after the request, unless packets that the capture lacks say otherwise"},
		{"shared", repeat(16, "% @>A T ask | % @<A A challenge 7"), "challenge 7 is given to all: 16 of 16 challenges"},
		{"guessing", repeat(5, "% a>A G ask 1% | % a<A g refused"), "5 refused logins from this address, with at least 5 different passwords"},
		{"guessed", repeat(5, "% a>A G ask 1% | % a<A g refused") + " | 9 a>A G ask 99 | 9 a<A g answer", "login accepted after 5 refused logins from this address, with at least 5 different passwords"},
		{"guessing what", repeat(5, "% a>A G ask | % a<A g refused"), "5 refused logins from this address, perhaps with one password: the capture does not have all"},
		{"stale", repeat(5, "% a>A G ask 7 | % a<A g refused"), "5 refused logins from this address, all with the same password"},
	} {
		_, texts := tell(t, NewHosts(1), tc.in)
		if got := texts[len(texts)-1]; got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

// Where packets are missing and nobody knows where, nothing is sure that rests on
// what is not there.
func TestLossy(t *testing.T) {
	h := NewHosts(1)
	h.SetLossy()
	got, _ := tell(t, h, "0 z>Z T ask | 0 z<Z I answer | 9 a>A T ask | 9.1 a<B I stray")
	if want := "NET-01 warn [3 4]"; strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
}
