package docgen

import (
	"bytes"
	"fmt"
	"strings"

	"qsniff/filter"
)

// FilterExample is a filter, what it chooses, and a capture in pcapfiles of which it
// chooses something.
type FilterExample struct{ Text, What, Capture string }

// FilterExamples are those of the page about filters. A test runs them.
var FilterExamples = []FilterExample{
	{"a2s", "messages of a protocol", "a2s/full-poll.pcap"},
	{"message == A2S_INFO || message == S2A_INFO_SRC", "two types of message", "a2s/full-poll.pcap"},
	{"a2s.info.players > 2", "a field of a message", "a2s/full-poll.pcap"},
	{"players > 2 and map contains dust", "the same in any protocol", "a2s/full-poll.pcap"},
	{`server_name matches "(?i)test|demo"`, "a regular expression (RE2)", "a2s/full-poll.pcap"},
	{"ip.addr == 198.18.0.0/15 && udp.port in {27000..27050, 28015}", "addresses and ports", "a2s/full-poll.pcap"},
	{"server == 198.18.0.36:27015", "one server", "a2s/full-poll.pcap"},
	{"direction == reply && length > 100", "long replies", "a2s/full-poll.pcap"},
	{"any a2s.player.players.score > 0", "one member of a list", "a2s/players.pcap"},
	{"a2s.rules.count", "messages that have a field", "a2s/full-poll.pcap"},
	{"payload[4:1] == 55", "bytes", "a2s/full-poll.pcap"},
	{"finding.severity >= warn", "something is wrong", "stories/players-unanswered.pcap"},
	{"exchange && !exchange.answered", "requests without answer, and their challenges", "stories/players-unanswered.pcap"},
	{"exchange.rtt > 10ms", "exchanges with a slow answer, request included", "a2s/full-poll.pcap"},
	{"rtt > 10ms", "replies that came late, each for itself", "a2s/full-poll.pcap"},
	{"incident.level >= warn", "floods, among the messages of read and live", "floods/spoofed.pcap"},
	{"frame.number in {3..5}", "some packets", "a2s/full-poll.pcap"},
}

const filtersIntro = "`-Y EXPR` (`--filter`) chooses messages, findings and incidents in `read`, `live`, `follow`, `stats` and `proven`. The language is\n" +
	"that of Wireshark's display filters; what follows the captures on the command line can be an expression too, also a simple one of\n" +
	"tcpdump (`qsniff FILE udp port 27015`). `--frame N` is short for `-Y frame.number==N`. An error shows its place:\n\n" +
	"```\nqsniff: -Y: no field is called a2s.info.playerz: did you mean a2s.info.players?\n  a2s.info.playerz > 10\n  ^~~~~~~~~~~~~~~~\n```\n"

const filtersGrammar = `
## Grammar

| form | holds if |
|---|---|
| ` + "`field`" + ` | the message has the field; of a yes or no, if it is yes |
| ` + "`field == value`, `!=`, `<`, `<=`, `>`, `>=`" + ` (` + "`eq ne lt le gt ge`" + `) | one of its values compares so; with ` + "`!=`" + ` all of them differ |
| ` + "`any field == value`, `all field == value`" + ` | one of the values does, or all do |
| ` + "`field in {a, b, c..d}`" + ` | a value is in the set; ` + "`..`" + ` is a range with both ends |
| ` + "`field contains text`" + ` | the text, or the bytes, are in it |
| ` + "`field matches \"pattern\"`" + ` (` + "`~`" + `) | the regular expression (RE2) fits somewhere in it |
| ` + "`field[0:4]`" + ` | the bytes from 0, four of them; ` + "`[4]`, `[2-3]`, `[:2]`, `[-4:]`" + ` |
| ` + "`not a`, `a and b`, `a or b`, `a xor b`, `(a)`" + ` (` + "`! && \\|\\| ^^`" + `) | as in Wireshark, "and" binds tighter than "or" |

Texts need no quotes if they are one word. Names of messages, findings and values are words whose case does not matter. Durations have
units (` + "`100ms`" + `); numbers without one are seconds. A secret can be tested for presence only, unless --show-secrets is given.

## What is known later

Whether and how fast an exchange is answered is not known at its request. Fields that depend on it are marked "later" below. A file is
read twice for them. Of a stream (standard input, --follow, live) messages, and what follows them, are held until the exchange is over: mostly
until the answer, or 3 s after the last request; 50 s and 32 MiB at most. What could not wait longer counts as unanswered, and standard error
says how much that was. What is in no exchange has no answer either: ` + "`exchange && !exchange.answered`" + ` leaves it out.

In ` + "`follow`" + ` a dialogue is printed as a whole if one of its messages matches. In ` + "`stats`" + ` only matching messages count; a request counts as
unanswered if a request of its exchange matches. In ` + "`proven`" + ` only matching requests bring a challenge back, and handshakes prove
nothing, as they are no messages. ` + "`-c N`" + ` counts matches, and ` + "`read -w`" + ` writes their packets. Detection of floods sees all packets.
`

// filtersPage returns the page about the language of filters.
func filtersPage(in *Input) []byte {
	var b bytes.Buffer
	b.WriteString("# Filters\n\n" + notice + filtersIntro + "\n## Examples\n\n")
	writeHead(&b, "filter", "chooses")
	for _, x := range FilterExamples {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.ReplaceAll(code(x.Text), "|", `\|`), escapeCell(x.What))
	}
	b.WriteString(filtersGrammar)
	b.WriteString("\n## Fields\n\nThe fields of messages are listed by `qsniff fields`, and on the pages of the protocols. These come beside them:\n\n")
	writeHead(&b, "field", "type", "known", "meaning")
	for _, f := range filter.Fields(in.Registry, filter.Options{Codes: in.Codes}) {
		known := "at once"
		if f.Late {
			known = "later"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(f.Name), f.Type, known, escapeCell(f.Doc))
	}
	return b.Bytes()
}
