package recorded

import (
	_ "embed"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// printedTable has where a client prints what: the start of the client's name, or the name of a recording, the path in what it prints, the
// path in what the server sent, and how it is printed. A path with [] goes through a list, one that ends
// with {} is an object with the names and values of a list.
//
//go:embed testdata/printed.tsv
var printedTable string

// row is a line of printedTable.
type row struct {
	client, printed, sent, how string
	isUsed                     bool
}

func rows() (all []*row) {
	for line := range strings.Lines(printedTable) {
		if c := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); !strings.HasPrefix(line, "#") {
			all = append(all, &row{client: c[0], printed: c[1], sent: c[2], how: c[3]})
		}
	}
	return all
}

// forms are the ways in which clients print a value that was sent. One that begins with "misread" is no way but a
// mistake of the client: what it prints must not be what was sent.
var forms = map[string]func(sent string) string{
	"same":     func(s string) string { return s },
	"word":     func(s string) string { return words[s] },
	"bool":     func(s string) string { return map[string]string{"0": "false", "1": "true"}[s] },
	"hex":      func(s string) string { return strconv.FormatInt(integer(s), 16) },
	"unsigned": func(s string) string { return fmt.Sprint(uint32(integer(s))) },
	"latin1":   latin1,
	"chomp":    func(s string) string { return strings.TrimSuffix(s, "\n") },
	"minutes":  func(s string) string { return minutes(number(s)) },
	"ns":       func(s string) string { return fmt.Sprint(int64(math.Round(float64(float32(number(s))) * 1e9))) },
	"ascii":    ascii,
	"kind":     func(s string) string { return map[string]string{"d": "1", "l": "2", "p": "3"}[s] },
	"isdedicated": func(s string) string {
		return map[bool]string{true: "1", false: "0"}[s == "d"]
	},
	"visibility": func(s string) string { return map[string]string{"0": "public", "1": "private"}[s] },
}

// words are the letters for kinds of servers and systems as clients write them out.
var words = map[string]string{"d": "dedicated", "l": "linux", "w": "windows", "p": "sourcetv"}

// latin1 is a text whose UTF-8 was taken for ISO 8859-1.
func latin1(s string) string {
	var out []rune
	for _, b := range []byte(s) {
		out = append(out, rune(b))
	}
	return string(out)
}

// ascii is a text without the characters that are not ASCII.
func ascii(s string) string {
	return strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII {
			return -1
		}
		return r
	}, s)
}

// minutes is a time as quakestat prints it.
func minutes(seconds float64) string {
	s := int(seconds)
	switch {
	case s >= 3600:
		return fmt.Sprintf("%dh%02dm%02ds", s/3600, s/60%60, s%60)
	case s >= 60:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	}
	return fmt.Sprintf("%ds", s)
}

func integer(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func number(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

// isSame reports whether two values are the same: numbers may be written differently, and be of 32 bits.
func isSame(printed, sent string) bool {
	if printed == sent {
		return true
	}
	a, err1 := strconv.ParseFloat(printed, 64)
	b, err2 := strconv.ParseFloat(sent, 64)
	if err1 != nil || err2 != nil {
		return strings.EqualFold(printed, sent) && slices.Contains([]string{"dedicated", "linux", "windows"}, sent)
	}
	return strings.ContainsAny(printed, ".e") && float32(a) == float32(b)
}

// TestClientsAgree compares what each client printed with what qsniff reads in the packets that it was sent.
func TestClientsAgree(t *testing.T) {
	t.Parallel()
	table := rows()
	values := 0
	perClient := map[string]int{}
	for _, name := range names(t) {
		client := clientOf(t, name)
		printed, ok := printedBy(t, name)
		if !ok {
			continue // it printed an error
		}
		all := decoded(t, name)
		if len(all) == 0 {
			continue // another protocol
		}
		sent, n := sentIn(all), 0
		hasOwn := slices.ContainsFunc(table, func(r *row) bool { return r.client == name })
		for _, r := range table {
			if r.client == name || !hasOwn && strings.HasPrefix(client, r.client) {
				n += r.compare(t, name, printed, sent)
			}
		}
		values += n
		perClient[client] += n
	}
	for _, r := range table {
		if !r.isUsed {
			t.Errorf("%s: no recording has %s", r.client, r.printed)
		}
	}
	for client, n := range perClient {
		t.Logf("%-70s %5d values", client, n)
		if n == 0 && !strings.HasPrefix(client, "npm source-server-query") {
			t.Errorf("%s: nothing that it printed was compared", client)
		}
	}
	t.Logf("%d values are what the clients printed", values)
	if values < printedValues {
		t.Errorf("%d values compared, want %d", values, printedValues)
	}
}

// compare compares the values of one row, and returns how many are the same.
func (r *row) compare(t *testing.T, name string, printed, sent any) (same int) {
	t.Helper()
	have, ok := at(printed, r.printed)
	if !ok {
		return 0
	}
	want, ok := at(sent, r.sent)
	if !ok && !slices.ContainsFunc(have, func(s string) bool { return s != "" }) {
		return 0
	}
	if !ok {
		t.Errorf("%s: %s is printed as %v, and %s was not sent", name, r.printed, have, r.sent)
		return 0
	}
	r.isUsed = true
	isMisread := strings.HasPrefix(r.how, "misread")
	if len(have) != len(want) && !isMisread {
		t.Errorf("%s: %s\nprinted %d values\nsent    %d", name, r.printed, len(have), len(want))
		return 0
	}
	if isMisread {
		if slices.EqualFunc(have, want, isSame) {
			t.Errorf("%s: %s is printed as it was sent, which the client got wrong once", name, r.printed)
		}
		return 0
	}
	form := forms[r.how]
	if form == nil {
		t.Fatalf("no form %q", r.how)
	}
	for i := range want {
		if !isSame(have[i], form(want[i])) {
			t.Errorf("%s: %s, value %d\nprinted %q\nsent    %q", name, r.printed, i, have[i], want[i])
		} else {
			same++
		}
	}
	return same
}

// at returns the values at a path; ok is false where there is nothing.
func at(v any, path string) (values []string, ok bool) {
	if path == "" {
		switch v.(type) {
		case nil, map[string]any, []any:
			return nil, false
		}
		return []string{fmt.Sprint(v)}, true
	}
	step, rest, _ := strings.Cut(path, ".")
	field, isList := strings.CutSuffix(step, "[]")
	field, isPairs := strings.CutSuffix(field, "{}")
	if object, isObject := v.(map[string]any); isObject && field != "" {
		v = object[field]
	}
	switch x := v.(type) {
	case []any:
		if isPairs { // of names and values, in the order of names
			for _, e := range x {
				m, _ := e.(map[string]any)
				values = append(values, fmt.Sprintf("%v=%v", m["name"], m["value"]))
			}
			slices.Sort(values)
			return values, true
		}
		if !isList {
			return nil, false
		}
		for _, e := range x {
			one, _ := at(e, rest)
			values = append(values, one...)
		}
		return values, len(values) > 0
	case map[string]any:
		if isPairs {
			for k, e := range x {
				values = append(values, fmt.Sprintf("%s=%v", k, e))
			}
			slices.Sort(values)
			return values, true
		}
		if field == "" && !isList {
			return nil, false
		}
		return at(x, rest)
	}
	if v == nil || rest != "" {
		return nil, false
	}
	return at(v, "")
}

// clientOf returns the client of a recording.
func clientOf(t *testing.T, name string) string {
	t.Helper()
	table, err := os.ReadFile(recordings + "/recordings.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		if c := strings.Split(line, "\t"); c[0] == name {
			return c[1]
		}
	}
	t.Fatalf("%s is not in the table", name)
	return ""
}

// printedBy returns what the client of a recording printed; ok is false where that is an error.
func printedBy(t *testing.T, name string) (out any, ok bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(recordings, name+".client.*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%s: %d files of the client, error %v", name, len(files), err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	switch filepath.Ext(files[0]) {
	case ".xml":
		return quakestat(t, text), true
	case ".txt":
		return nil, false
	}
	var all []any // a2s prints several documents
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	for {
		var one any
		if err := d.Decode(&one); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all = append(all, one)
	}
	if strings.HasSuffix(name, "woozymasta") {
		return woozymasta(all), true
	}
	object, _ := all[0].(map[string]any)
	_, isError := object["error"]
	return object, !isError
}

// woozymasta brings the documents that a2s prints together: information and rules are objects, players a list.
func woozymasta(all []any) map[string]any {
	out := map[string]any{}
	for _, one := range all {
		switch x := one.(type) {
		case []any:
			out["players"] = x
		case map[string]any:
			if _, isInfo := x["EDF"]; isInfo {
				out["info"] = x
			} else {
				out["rules"] = x
			}
		}
	}
	return out
}

// quakestat returns what quakestat printed of its servers. Rules that it makes of the information are in rules,
// the others in more.
func quakestat(t *testing.T, text []byte) any {
	t.Helper()
	type pair struct {
		Name  string `xml:"name,attr"`
		Value string `xml:",chardata"`
	}
	var doc struct {
		Servers []struct {
			Type       string `xml:"type,attr"`
			Address    string `xml:"address,attr"`
			Name       string `xml:"name"`
			GameType   string `xml:"gametype"`
			Map        string `xml:"map"`
			Players    string `xml:"numplayers"`
			Max        string `xml:"maxplayers"`
			Rules      []pair `xml:"rules>rule"`
			PlayerList []struct {
				Name  string `xml:"name"`
				Score string `xml:"score"`
				Ping  string `xml:"ping"`
				Time  string `xml:"time"`
			} `xml:"players>player"`
		} `xml:"server"`
	}
	if err := xml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	var servers []any
	for _, s := range doc.Servers {
		if s.Type != "STM" { // which is the master itself
			servers = append(servers, s.Address)
		}
	}
	if len(servers) > 1 {
		out["servers"] = servers
		return out
	}
	s := doc.Servers[0]
	own := map[string]any{}
	var more []any
	for _, r := range s.Rules {
		if slices.Contains(ownRules, r.Name) {
			own[r.Name] = r.Value
		} else {
			more = append(more, map[string]any{"name": r.Name, "value": r.Value})
		}
	}
	var list []any
	for _, p := range s.PlayerList {
		list = append(list, map[string]any{"name": p.Name, "score": p.Score, "ping": p.Ping, "time": p.Time})
	}
	slices.SortFunc(list, func(a, b any) int {
		return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
	})
	out["info"] = map[string]any{"name": s.Name, "gametype": s.GameType, "map": s.Map, "players": s.Players, "max": s.Max}
	out["rules"], out["players"] = own, list
	if more != nil {
		out["more"] = more
	}
	return out
}

// ownRules are rules that quakestat makes of fields of the information.
var ownRules = []string{"protocol", "gamedir", "gamename", "bots", "dedicated", "sv_os", "secure", "version", "game_port",
	"spectator_port", "spectator_server_name", "game_tags", "sv_type", "sv_password", "mod", "hostport", "gametype",
	"_version", "_password"}

// sentIn brings together what servers sent in messages: information, players, rules, servers and answers.
func sentIn(all []message) map[string]any {
	sent := map[string]any{}
	var servers, answers []any
	answerOf := map[int]int{} // by the frame of the command
	for _, m := range all {
		switch m.Message {
		case "S2A_INFO_SRC", "S2A_INFO_DETAILED":
			sent["info"] = m.Fields
		case "S2A_PLAYER":
			sent["players"], sent["playerCount"] = m.Fields["players"], m.Fields["count"]
		case "S2A_RULES":
			sent["rules"], sent["ruleCount"] = m.Fields["rules"], m.Fields["count"]
		case "EYE1":
			sent["eye"] = m.Fields
		case "M2A_SERVER_BATCH":
			list, _ := m.Fields["servers"].([]any)
			servers = append(servers, list...)
		case "SERVERDATA_EXECCOMMAND", "RCON":
			answerOf[m.Frame] = len(answers)
			answers = append(answers, "")
		case "SERVERDATA_RESPONSE_VALUE", "A2A_PRINT":
			if i, ok := answerOf[m.Exchange.Request]; ok && m.Fields["role"] == nil {
				text := m.Fields["body"]
				if m.Message == "A2A_PRINT" {
					text = m.Fields["text"]
				}
				if m.Message != "A2A_PRINT" || answers[i] == "" { // the client takes the first of several
					answers[i] = fmt.Sprint(answers[i], text)
				}
			}
		}
	}
	if n := len(servers); n > 0 && servers[n-1] == "0.0.0.0:0" {
		servers = servers[:n-1] // the end of the list
	}
	if servers != nil {
		sent["servers"] = servers
	}
	if answers != nil {
		sent["answers"] = answers
	}
	sent["byName"] = byName(sent)
	return sent
}

// byName returns the players in the order of their names, as the printed ones of quakestat are.
func byName(sent map[string]any) any {
	list, ok := sent["players"].([]any)
	if eye, isEye := sent["eye"].(map[string]any); isEye {
		list, ok = eye["player_list"].([]any)
	}
	if !ok {
		return nil
	}
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b any) int {
		return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
	})
	return list
}
