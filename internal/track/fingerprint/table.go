package fingerprint

import (
	"strconv"
	"strings"

	"qsniff/dissect"
)

// Fingerprint is what Programs show, and others do not as far as is known.
type Fingerprint struct {
	Programs   []Program
	Confidence dissect.Confidence
	// Needs are the signs by which the programs are recognised. Shows has all that they show:
	// a client that shows any other is none of them.
	Needs, Shows Signs
	Why          string // what makes them different, a sentence without a full stop
}

// Program is one of those that a fingerprint cannot tell apart.
type Program struct {
	Name string
	// Source is where it can be read what the program sends, or which version was recorded.
	Source string
	// IsRecorded is set if the fingerprint was made of recorded packets of the program; the
	// others are claimed by their published source.
	IsRecorded bool
}

// ports are the signs of what programs do alike with one question and with more.
const ports = OnePort | ManyPorts

// anyQuestion are the signs of one question, whatever it is.
const anyQuestion = InfoBare | InfoOnes | InfoZero | PageBare | PageOnes | PageZero | BytesAfter | Padded | WordNUL | WordBare

// Table lists the fingerprints. The first that fits counts.
var Table = []Fingerprint{
	{Programs: []Program{{"zmap", "Debian, zmap 2.1.1; until zmap/zmap, pull request 798 of 2024", true}},
		Needs: StartTTL | FixedID, Shows: StartTTL | FixedID | anyQuestion, Confidence: dissect.Likely,
		Why: "packets of its own making: IP ID 54321, and a time to live of 255; it asks one question and brings no challenge back"},
	{Programs: []Program{
		{"masscan", "Debian, masscan 1.3.2", true},
		{"zmap", "zmap/zmap, pull request 798: since 2024 the IP ID is random", false}},
		Needs: StartTTL, Shows: StartTTL | anyQuestion, Confidence: dissect.Maybe,
		Why: "packets set out with a time to live of 255, which no usual system gives to datagrams; it asks one question and brings no challenge back"},
	{Programs: []Program{{"steam-server-query", "npm, 1.1.3, at a server that answers without a challenge", true}},
		Needs: OddToken, Shows: OddToken | PageOnes | InfoBare | ManyPorts | Anew | RulesFirst, Confidence: dissect.Likely,
		Why: "the whole reply goes back as the challenge where the server did not ask for one"},
	{Programs: []Program{{"source-server-query", "npm, 3.0.3", true}},
		Needs: BytesAfter, Shows: BytesAfter | InfoOnes | PageOnes | ports | RulesFirst, Confidence: dissect.Likely,
		Why: "FF FF FF FF follows the challenge that it brings back, each time from a new port"},
	{Programs: []Program{{"GameQ", "Austinb/GameQ, src/GameQ/Protocols/Source.php: one challenge, asked for with 56 00 00 00 00, is put into all requests", false}},
		Needs: InfoToken | PageZero, Shows: InfoToken | PageZero | PageToken | ports | RulesFirst, Confidence: dissect.Likely,
		Why: "it asks for a challenge with zeros before it asks for information, which has that challenge"},
	{Programs: []Program{
		{"python-a2s", "Yepoleb/python-a2s, a2s/a2s_sync.py: challenge = 0, a socket for each request", false},
		{"ValvePython steam", "ValvePython/steam, steam/game_servers.py: challenge=0, a socket for each request", false},
		{"Steam's server list", "yourmnbbn/smext-fakequeries, issue 2: the list in games asks for players with challenge 0", false}},
		Needs: PageZero, Shows: PageZero | InfoBare | ManyPorts | Anew | RulesFirst, Confidence: dissect.Likely,
		Why: "00 00 00 00 is in place of the challenge, and each question has a socket of its own"},
	{Programs: []Program{{"quakestat (qstat)", "Debian, qstat 2.17", true}},
		Needs: OnePort | Paused, Shows: OnePort | Paused | InfoBare | PageOnes | PageToken | RulesFirst, Confidence: dissect.Likely,
		Why: "it waits half a second between questions, and asks for players after rules with the same challenge"},
	{Programs: []Program{{"quakestat (qstat)", "Debian, qstat 2.17", true}},
		Needs: OnePort | WordNUL, Shows: OnePort | WordNUL | Paused | RulesFirst, Confidence: dissect.Maybe,
		Why: "words end with a NUL"},
	{Programs: []Program{{"gamedig", "npm, 5.3.3", true}},
		Needs: OnePort | WordBare, Shows: OnePort | WordBare, Confidence: dissect.Maybe,
		Why: "words end with nothing"},
	{Programs: []Program{{"@fabricio-191/valve-server-query", "npm, 4.1.9", true}},
		Needs: InfoTwice | OnePort | PageOnes, Shows: InfoTwice | OnePort | PageOnes | InfoBare | Anew | RulesFirst, Confidence: dissect.Likely,
		Why: "it asks for information when it connects, and again when the caller does"},
	{Programs: []Program{
		{"gamedig", "npm, 5.3.3", true},
		{"PHP-Source-Query", "xPaw/PHP-Source-Query, SourceQuery/SourceQuery.php: a challenge is kept for all questions of a socket", false}},
		Needs: OnePort | PageToken, Shows: OnePort | PageToken | InfoBare | PageOnes | RulesFirst, Confidence: dissect.Likely,
		Why: "a challenge is kept and brought again for the next question, without a pause"},
	{Programs: []Program{
		{"go-a2s", "github.com/rumblefrog/go-a2s, v1.0.2", true},
		{"woozymasta/a2s", "github.com/woozymasta/a2s, v0.3.0", true},
		{"a2s-rs", "rumblefrog/a2s-rs, src/lib.rs: do_challenge_request begins with -1 on one socket", false}},
		Needs: OnePort | PageOnes | Anew, Shows: OnePort | PageOnes | Anew | InfoBare | RulesFirst, Confidence: dissect.Maybe,
		Why: "one socket, and each question asks for a challenge of its own with FF FF FF FF"},
	{Programs: []Program{{"steam-server-query", "npm, 1.1.3", true}},
		Needs: ManyPorts | PageOnes, Shows: ManyPorts | PageOnes | Anew | InfoBare | RulesFirst, Confidence: dissect.Maybe,
		Why: "a socket for each question, and FF FF FF FF in place of the challenge"},
}

// find returns the fingerprint that s fits, nil if there is none.
func (s Signs) find() *Fingerprint {
	for i := range Table {
		f, shown := &Table[i], s
		if f.Needs&header == 0 {
			shown &^= header
		}
		if shown&f.Needs == f.Needs && shown&^f.Shows == 0 {
			return f
		}
	}
	return nil
}

// IsKnown reports whether a program in Table shows the signs.
func (s Signs) IsKnown() bool { return s != 0 && s.find() != nil }

// Name returns the names of the programs, with "or" between them.
func (f *Fingerprint) Name() string {
	var all []string
	for _, p := range f.Programs {
		all = append(all, p.Name)
	}
	return strings.Join(all, " or ")
}

// tableNames are the names of Table, so that none is made for each message.
var tableNames = func() map[*Fingerprint]string {
	all := make(map[*Fingerprint]string, len(Table))
	for i := range Table {
		all[&Table[i]] = Table[i].Name()
	}
	return all
}()

// UnknownPrefix begins the names of clients that show signs of no program in Table.
const UnknownPrefix = "unknown-"

// AppendName appends the name of the program that shows the signs, which must not be empty, and
// returns how sure that is: No for one that is made of the signs. It allocates nothing once dst
// has grown.
func (s Signs) AppendName(dst []byte) ([]byte, dissect.Confidence) {
	if f := s.find(); f != nil {
		return append(dst, tableNames[f]...), f.Confidence
	}
	dst = append(dst, UnknownPrefix...)
	h := s.hash()
	for shift := 12; shift >= 0; shift -= 4 {
		dst = strconv.AppendUint(dst, uint64(h>>shift&0xf), 16)
	}
	return dst, dissect.No
}

// Name is AppendName for a string.
func (s Signs) Name() (string, dissect.Confidence) {
	b, k := s.AppendName(nil)
	return string(b), k
}
