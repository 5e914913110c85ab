// Package manual lists what qsniff can show: its fields, message types, findings and
// limits, as tables for a terminal and as lines of JSON. All of it comes from the
// definitions that the decoder itself uses, so that nothing is written down twice; interfaces, of
// the system. It has
// no commands and makes no pages: cmd/qsniff and internal/tools/docgen do.
package manual

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"qsniff/dissect"
	"qsniff/internal/base/display"
)

// AppendFields appends sections of fields for a terminal of width cells.
func AppendFields(dst []byte, sections []Section[Field], width int) []byte {
	for i, s := range sections {
		t := table{head: []string{"FIELD", "TYPE", "MEANING"}}
		for _, f := range s.Rows {
			t.add(f.Name, f.Kind, f.Meaning())
		}
		dst = appendSection(dst, i, s.Name, s.Doc, &t, width)
	}
	t, done := table{head: []string{"TYPE", "IN FILTERS", "OPERATORS", "VALUES"}}, map[string]bool{}
	for _, f := range Rows(sections) {
		label := f.Kind
		for _, flag := range f.Flags {
			if flag == "secret" || flag == "size" { // filters see another type
				label += " [" + flag + "]"
			}
		}
		if x := f.Filter; x != nil && !done[label] {
			done[label] = true
			t.add(label, x.Name, strings.Join(x.Operators, " "), x.Example)
		}
	}
	if len(t.rows) == 0 {
		return dst
	}
	return appendSection(dst, len(sections), "in filters", "what -Y compares these with", &t, width)
}

// Meaning returns the field's line of documentation with unit, flags and named values.
func (f *Field) Meaning() string {
	var b strings.Builder
	b.WriteString(f.Doc)
	if f.Unit != "" && !strings.HasSuffix(f.Doc, " "+f.Unit) {
		b.WriteString(", in " + f.Unit)
	}
	if len(f.Flags) > 0 {
		b.WriteString(" [" + strings.Join(f.Flags, ", ") + "]")
	}
	if len(f.Values) > 0 {
		b.WriteString("; " + f.ValueList())
	}
	return b.String()
}

// ValueList returns the named values as "0: public; 1: password". Values with the same name
// are one item. Names alone are "one of request, reply".
func (f *Field) ValueList() string {
	var parts []string
	if f.Values[0].Name == f.Values[0].Value {
		for _, v := range f.Values {
			parts = append(parts, v.Name)
		}
		return "one of " + strings.Join(parts, ", ")
	}
	done := map[string]bool{}
	for _, v := range f.Values {
		if done[v.Name] {
			continue
		}
		done[v.Name] = true
		var same []string
		for _, w := range f.Values {
			if w.Name == v.Name {
				same = append(same, w.Value)
			}
		}
		parts = append(parts, strings.Join(same, ", ")+": "+v.Name)
	}
	return strings.Join(parts, "; ")
}

// AppendMessages appends sections of message types.
func AppendMessages(dst []byte, sections []Section[Message], width int) []byte {
	for i, s := range sections {
		t := table{head: []string{"MESSAGE", "DIRECTION", "MEANING"}}
		for _, m := range s.Rows {
			t.add(m.Name, m.Direction, m.Doc)
		}
		dst = appendSection(dst, i, s.Name, s.Doc, &t, width)
	}
	return dst
}

// AppendFindings appends the table of all findings.
func AppendFindings(dst []byte, fs []Finding, width int) []byte {
	t := table{head: []string{"FINDING", "SEVERITY", "FAULT", "SEEN"}}
	for _, f := range fs {
		t.add(f.ID, f.Severity, f.Fault, f.Seen)
	}
	return t.append(dst, width)
}

// AppendFinding appends all that is declared about one finding.
func AppendFinding(dst []byte, f *Finding, width int) []byte {
	dst = append(dst, f.ID+"  "+f.Severity+", fault: "+f.Fault+"\n"...)
	about := [][2]string{{"seen", f.Seen}, {"means", f.Means}, {"owner", f.Owner}, {"client", f.Client}}
	if f.Reference != "" {
		about = append(about, [2]string{"see", f.Reference})
	}
	return appendAbout(dst, width, about)
}

// appendAbout appends pairs of a word and a text, one under the other.
func appendAbout(dst []byte, width int, pairs [][2]string) []byte {
	t := table{head: []string{"", ""}}
	for _, x := range pairs {
		t.add(x[0], x[1])
	}
	starts, at := t.columns()
	for _, r := range t.rows {
		dst = appendRow(dst, r, starts, at, width)
	}
	return dst
}

// AppendKinds appends the table of all kinds of incidents.
func AppendKinds(dst []byte, ks []Kind, width int) []byte {
	t := table{head: []string{"INCIDENT", "ID", "LEVEL", "WHAT"}}
	for _, k := range ks {
		t.add(k.ID, k.Code, k.Level, k.What)
	}
	return t.append(dst, width)
}

// AppendKind appends all that explains one kind of incidents.
func AppendKind(dst []byte, k *Kind, width int) []byte {
	dst = append(dst, k.ID+"  "+k.Code+"  "+k.Level+", incident of qsniff floods\n"...)
	dst = appendAbout(dst, width, [][2]string{{"what", k.What}, {"apart", k.Apart}, {"do", k.Do}})
	return append(dst, "  rules and thresholds: qsniff floods --explain\n"...)
}

// AppendLimits appends the limits by package.
func AppendLimits(dst []byte, ls []Limit, width int) []byte {
	for i := 0; i < len(ls); {
		t := table{head: []string{"LIMIT", "VALUE", "REASON"}}
		first := i
		for ; i < len(ls) && ls[i].Package == ls[first].Package; i++ {
			t.add(ls[i].Name, ls[i].Value, ls[i].Why)
		}
		dst = appendSection(dst, first, ls[first].Package, "", &t, width)
	}
	return dst
}

// appendSection appends a heading and the table under it, after an empty line unless it is
// the first section.
func appendSection(dst []byte, i int, name, doc string, t *table, width int) []byte {
	if i > 0 {
		dst = append(dst, '\n')
	}
	if doc != "" {
		name += ": " + doc
	}
	for _, line := range wrap(name, min(width, mostProse)) {
		dst = append(append(dst, line...), '\n')
	}
	return t.append(dst, width)
}

// common lists the members that a line of JSON has whatever the protocol. The renderer
// writes them and no dissector declares them, so there is no definition to take them
// from; a test compares them with what the renderer writes. The name of an object's
// member comes after that of the object and a dot.
var common = []Field{
	newMember("schema", dissect.Uint, "", "version of the output format: 1"),
	newMember("record", dissect.Text, "", "what kind of line it is; a line without it is a message"),
	newMember("frame", dissect.Uint, "", "number of the packet that completed the message, from 1 over all inputs"),
	newMember("frames", dissect.List, "", "numbers of all packets it came in, where there are several"),
	newMember("frames_ms", dissect.Float, "ms", "time from the first of them to the last"),
	newMember("file", dissect.Uint, "", "which of several inputs it came from, from 0"),
	newMember("interface", dissect.Uint, "", "interface number, where the capture names any"),
	newMember("interface_name", dissect.Text, "", "name of that interface"),
	newMember("time", dissect.Text, "", "time of that packet in UTC, RFC 3339"),
	newMember("transport", dissect.Text, "", "udp or tcp"),
	newMember("src", dissect.Addr, "", "sender's address and port"),
	newMember("dst", dissect.Addr, "", "receiver's address and port"),
	newMember("community_id", dissect.Text, "", "Community ID 1 of the flow, as other tools write it"),
	newMember("protocol", dissect.Text, "", "protocol of the message"),
	newMember("message", dissect.Text, "", "type of the message, or null: qsniff fields --messages lists them"),
	newMember("direction", dissect.Text, "", "request or reply; one-way messages are requests"),
	newMember("status", dissect.Text, "", "complete; truncated by the capture; malformed by the sender; or fragment: a set that stayed incomplete"),
	newMember("weak", dissect.Text, "", "true where nothing but the payload's own few bytes says what it is"),
	newMember("length", dissect.Uint, "bytes", "length of the message as it was sent, after joining and decompression"),
	newMember("captured", dissect.Uint, "bytes", "how much of it is in the capture, where that is less"),
	newMember("stopped", dissect.Group, "", "where decoding ended early"),
	newMember("stopped.field", dissect.Text, "", "name of the first field that could not be read"),
	newMember("stopped.offset", dissect.Uint, "bytes", "where in the message it should be"),
	newMember("incomplete", dissect.Text, "", "what became of the rest of a fragment"),
	newMember("split", dissect.Group, "", "how the engine split the message"),
	newMember("split.engine", dissect.Text, "", "source or goldsource; empty where the parts do not tell"),
	newMember("split.id", dissect.Uint, "", "number that the parts share, without the compression bit"),
	newMember("split.total", dissect.Uint, "", "how many parts there are"),
	newMember("split.received", dissect.Uint, "", "how many of them are in the capture"),
	newMember("split.size_field", dissect.Uint, "bytes", "the header's part size, where it has one"),
	newMember("split.compressed", dissect.Text, "", "true where the parts hold a bzip2 stream"),
	newMember("split.declared_size", dissect.Uint, "bytes", "length of the message that the stream holds, as declared"),
	newMember("split.crc32", dissect.Uint, "", "CRC-32 of that message, as declared"),
	newMember("exchange", dissect.Group, "", "the request and the replies that the message belongs to, where the capture shows them"),
	newMember("exchange.id", dissect.Uint, "", "frame of its first request"),
	newMember("exchange.request_frame", dissect.Uint, "", "of a reply: frame of the request that it replies to"),
	newMember("exchange.rtt_ms", dissect.Float, "ms", "of a reply: time from that request to its first packet"),
	newMember("exchange.challenge_ms", dissect.Float, "ms", "of an answer: round trip of the challenge before it"),
	newMember("client", dissect.Group, "", "of a request or an answer: the program that asks, as far as the client's visit shows up to there"),
	newMember("client.name", dissect.Text, "", "of the program, or of several that ask alike, with or between them; only of those in docs/clients.md"),
	newMember("client.confidence", dissect.Text, "", "of a known one: maybe, likely or certain"),
	newMember("via", dissect.List, "", "tags, labels and tunnels around the packet, outermost first"),
	newMember("via.kind", dissect.Text, "", "kind of tag, label or tunnel"),
	newMember("via.id", dissect.Uint, "", "its number, where it has one"),
	newMember("via.src", dissect.Addr, "", "where a tunnel begins"),
	newMember("via.dst", dissect.Addr, "", "where it ends"),
	newMember("comments", dissect.List, "", "what somebody wrote about the packet in a pcapng file"),
	newMember("fields", dissect.Group, "", "the fields of the protocol, by the last part of their names; beside one whose value does not show its bytes, NAME_hex has them, and beside one whose bytes end early, NAME_cut is true"),
	newMember("findings", dissect.List, "", "what is not as it should be, as known when the message completed"),
	newMember("findings.id", dissect.Text, "", "stable id: qsniff explain ID"),
	newMember("findings.severity", dissect.Text, "", "error, warn, note or chat"),
	newMember("findings.fault", dissect.Text, "", "client, server, path, middlebox or capture"),
	newMember("findings.text", dissect.Text, "", "the finding in a sentence, with its numbers"),
	newMember("layout", dissect.List, "", "with --layout: every captured byte with its field"),
	newMember("layout.name", dissect.Text, "", "name of the field"),
	newMember("layout.offset", dissect.Uint, "bytes", "where it begins in the message"),
	newMember("layout.length", dissect.Uint, "bytes", "how long it is"),
	newMember("layout.hex", dissect.Text, "", "its bytes; ** for those of a secret"),
	newMember("layout.value", dissect.Text, "", "its value"),
	newMember("layout.note", dissect.Text, "", "what the value means"),
	newMember("layout.aux", dissect.Text, "", "true where it was decoded from unescaped bytes: not a byte of the message"),
	newMember("layout.cut", dissect.Text, "", "true where its bytes end early: the value is not whole"),
	newMember("layout.from", dissect.List, "", "where its bytes came from, in order, where the message came in several frames"),
	newMember("layout.from.frame", dissect.Uint, "", "frame that brought them"),
	newMember("layout.from.offset", dissect.Uint, "bytes", "where they begin in what the frame carries: its payload, or of an IP fragment, the first one too, what follows its IP header"),
	newMember("layout.from.length", dissect.Uint, "bytes", "how many there are"),
}

func newMember(name string, kind dissect.Kind, unit, doc string) Field {
	return Field{Name: name, Kind: kinds[kind], Flags: []string{}, Unit: unit, Doc: doc}
}

// Interface is a network interface of this host.
type Interface struct {
	Name      string   `json:"name"`
	State     string   `json:"state"` // up, down
	Addresses []string `json:"addresses"`
	Link      string   `json:"link"`
	LinkType  uint16   `json:"link_type"`
	MTU       int      `json:"mtu,omitempty"`
	Loopback  bool     `json:"loopback"`
	Permitted bool     `json:"permitted"`
	IsAll     bool     `json:"-"` // it stands for all interfaces
}

// AppendInterfaces appends a table of interfaces.
func AppendInterfaces(dst []byte, rows []Interface) []byte {
	b := bytes.NewBuffer(dst)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  name\tstate\tMTU\tlink\taddresses")
	for i := range rows {
		r := &rows[i]
		mtu := "-"
		if r.MTU > 0 {
			mtu = strconv.Itoa(r.MTU)
		}
		where := strings.Join(r.Addresses, " ")
		if r.IsAll {
			where = "all interfaces, also later ones"
		}
		name := display.AppendVisible(nil, []byte(r.Name)) // anyone who starts a container can choose it
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", name, r.State, mtu, r.Link, where)
	}
	_ = t.Flush() // a bytes.Buffer takes all
	return b.Bytes()
}

// AppendJSON appends rows as lines of JSON, an object each.
func AppendJSON[T any](dst []byte, rows []T) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	for i := range rows {
		if err := enc.Encode(&rows[i]); err != nil {
			return dst, fmt.Errorf("row %d: %w", i, err)
		}
	}
	return b.Bytes(), nil
}

// Rows returns the rows of all sections.
func Rows[T any](sections []Section[T]) []T {
	var all []T
	for _, s := range sections {
		all = append(all, s.Rows...)
	}
	return all
}
