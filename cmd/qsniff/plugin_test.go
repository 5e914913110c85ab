package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/dissect/protocols"
	"qsniff/internal/render/wireshark"
)

// pluginCannot lists captures in which Wireshark puts together something else than
// qsniff does, with the reason. The plugin has to raise no error and to leak nothing there
// either.
var pluginCannot = map[string]string{
	"net/udp-length":               "Wireshark marks the length of UDP itself",
	"net/merged-by-offload":        "Wireshark divides no datagrams that offload merged",
	"net/mirrors-and-hosters":      "Wireshark reads no GUE, and tags of switches by a preference",
	"net/proxy-headers":            "Wireshark shows the proxy, and reads no header of Spectrum",
	"net/echo":                     "what sends a request back is a request by its bytes",
	"ase/fragments-missing-first":  "fragments without their first are shown by a clock",
	"ase/fragments-missing-middle": "a query of one byte is believed once its whole reply came",
	"ase/fragments-missing-last":   "the same",
	"ase/fragments-missing-secret": "the same",
	"rcon/cut-in-size":             "heuristics of TCP see one segment, and the first has no whole header",
	"rcon/one-byte-segments":       "the same",
	"rcon/sequence-wrap":           "the same",
	"rcon/reset":                   "what a reset cuts is never handed to a dissector",
	"rcon/fin-in-answer":           "what the end of a connection cuts is never handed to a dissector",
	"rcon/snaplen":                 "Wireshark joins no segments that the capture cut",
	"rcon/gap-before-answer":       "bytes are missing, and Wireshark waits for them",
	"rcon/reply-gap":               "the same",
	"rcon/reply-reordered":         "Wireshark puts segments in order by a preference only",
	"rcon/impossible-size":         "the rest of a segment after an impossible size is not searched for a packet",
	"rcon/body-cut":                "what follows a packet whose size is wrong is found by looking on, which the plugin does not",
	"rcon/banned-with-text":        "that a login was refused for a ban is known by the text in the packet before",
	"rcon/mid-stream":              "the connection begins within a packet",
	"hostile/fragments-overlap":    "Wireshark joins fragments of IP that contradict each other",
	"hostile/fragments-two-ends":   "the same",
	"hostile/rcon-overlap":         "all that follows segments that contradict each other is hidden",
	"rcon/rewritten-name":          "the same",
	"hostile/rcon-holes":           "bytes are missing, and Wireshark reads on within a packet",
	"hostile/rcon-lengths":         "as impossible-size",
	"split/bare-opcode":            "the first part proves no form of the header",
	"split/one-part":               "the same",
	"split/number-past-total":      "a message with a part that cannot be is shown by a clock",
	"split/total-lies":             "parts disagree about how many there are",
	"split/interleaved-engines":    "two messages with one id, in two forms",
}

// decoded is a message as tshark with the plugin shows it.
type decoded struct {
	proto, message, direction, status string
	fields                            []shown
	findings                          []string
}

// shown is a field with bytes: where it lies, and its value as tshark prints it.
type shown struct {
	name        string
	off, length int
	value       string
	isCut       bool
}

// TestPluginAgrees holds the plugin to qsniff: on every capture tshark has to show, of each
// message that the plugin can read, the same type, direction and status, the same fields in the
// same places with the same values, and the same findings of one message.
func TestPluginAgrees(t *testing.T) {
	tshark := needTshark(t)
	plugin := writePlugin(t)
	check := func(t *testing.T, _ int, name string) {
		got, log := tshark.decode(t, plugin, name)
		if strings.Contains(log, "Lua") {
			t.Errorf("tshark: %s", log)
		}
		base := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(name), pcapfiles+"/"), ".pcap")
		jsonl, _, _ := output(t, "read", "-o", "json", "--layout", name)
		for line := range strings.Lines(jsonl) {
			checkPlugin(t, line, got, base)
		}
		for frame, rest := range got {
			if len(rest) > 0 && pluginCannot[base] == "" {
				t.Errorf("frame %d: the plugin alone shows %s %s", frame, rest[0].proto, rest[0].message)
			}
		}
	}
	if testing.Short() { // a run of tshark takes half a second, most of it to start
		for i, name := range captures(t) {
			if i%80 == 0 {
				oneCapture(t, i, name, check)
			}
		}
		return
	}
	eachCapture(t, check)
}

type tsharkPath string

func needTshark(t *testing.T) tsharkPath {
	t.Helper()
	path, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed: the plugin is not compared")
	}
	if out, err := exec.Command(path, "-v").Output(); err != nil || !bytes.Contains(out, []byte("with Lua")) {
		t.Skip("this tshark has no Lua")
	}
	return tsharkPath(path)
}

func writePlugin(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "qsniff.lua")
	out, stderr, status := output(t, "wireshark-plugin")
	if status != exitOK {
		t.Fatal(stderr)
	}
	if err := os.WriteFile(file, []byte(out), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// pdmlNode is an element of PDML, tshark's XML.
type pdmlNode struct {
	Name  string     `xml:"name,attr"`
	Show  string     `xml:"show,attr"`
	Pos   int        `xml:"pos,attr"`
	Size  int        `xml:"size,attr"`
	Nodes []pdmlNode `xml:",any"`
}

// decode runs tshark on a capture and returns the messages by frame, in order.
func (path tsharkPath) decode(t *testing.T, plugin, capture string) (map[int][]decoded, string) {
	t.Helper()
	cmd := exec.Command(string(path), "-X", "lua_script:"+plugin, "-2", "-n", "-T", "pdml", "-r", capture,
		"-o", "udp.try_heuristic_first:TRUE", "-o", "tcp.try_heuristic_first:TRUE")
	var log bytes.Buffer
	cmd.Stderr = &log
	out, _ := cmd.Output() // a capture that ends within a packet is an error to tshark
	var all struct {
		Packets []pdmlNode `xml:"packet"`
	}
	d := xml.NewDecoder(bytes.NewReader(out))
	d.Strict = false
	if err := d.Decode(&all); err != nil {
		t.Fatalf("tshark's XML: %v\n%s", err, log.String())
	}
	got := map[int][]decoded{}
	for _, p := range all.Packets {
		frame := 0
		for _, n := range p.Nodes {
			switch {
			case n.Name == "geninfo":
				frame, _ = strconv.Atoi(n.Nodes[0].Show)
			case protoOf(n.Name) != nil:
				m := decoded{proto: n.Name}
				m.add(n.Nodes, n.Pos)
				got[frame] = append(got[frame], m)
			case strings.Contains(n.Show, "Lua Error"):
				t.Errorf("frame %d: %s", frame, n.Show)
			}
		}
	}
	return got, log.String()
}

// plugged lists the protocols.
var plugged = sync.OnceValue(func() []*dissect.Proto {
	reg := protocols.NewRegistry()
	return reg.Protos()
})

// protoOf returns the protocol with a name that has a plugin, or nil.
func protoOf(name string) *dissect.Proto {
	for _, p := range plugged() {
		if p.Name == name && p.Plugin.Lua != "" {
			return p
		}
	}
	return nil
}

// add adds what nodes and those in them show. base is where the message starts.
func (m *decoded) add(nodes []pdmlNode, base int) {
	for _, n := range nodes {
		switch name := strings.TrimPrefix(n.Name, "qsniff."); {
		case n.Name == "qsniff.message":
			m.message = n.Show
		case n.Name == "qsniff.direction":
			m.direction = n.Show
		case n.Name == "qsniff.status":
			m.status = n.Show
		case n.Name == "qsniff.finding":
			m.findings = append(m.findings, n.Show)
		case n.Name == "_ws.lua.text":
			m.fields = append(m.fields, shown{off: n.Pos - base, length: n.Size, isCut: true})
		case strings.HasPrefix(n.Name, "_ws."), n.Name == "qsniff.frame", strings.HasPrefix(name, "finding."), isOuter(n.Name):
		default:
			m.fields = append(m.fields, shown{name: name, off: n.Pos - base, length: n.Size, value: n.Show})
		}
		m.add(n.Nodes, base)
	}
}

// isOuter reports whether a field is a group or a list, which have no value.
func isOuter(name string) bool {
	proto := protoOf(name[:max(strings.IndexByte(name, '.'), 0)])
	return proto != nil && slices.ContainsFunc(proto.Defs, func(d *dissect.Def) bool {
		return d.Name == name && (d.Kind == dissect.Group || d.Kind == dissect.List)
	})
}

// wanted is a message as qsniff prints it.
type wanted struct {
	Frame                               int
	Record, Protocol, Direction, Status string
	Message                             *string
	Split                               struct{ Compressed bool }
	Findings                            []struct{ ID string }
	Layout                              []wantedField
}

type wantedField struct {
	Name           string
	Offset, Length int
	Value          any
	Aux            bool
}

// checkPlugin compares a line of JSON with what tshark shows of its frame, and removes that from
// got. In captures of pluginCannot hiding is all that counts.
func checkPlugin(t *testing.T, line string, got map[int][]decoded, capture string) {
	t.Helper()
	mayDiffer := pluginCannot[capture] != ""
	var w wanted
	d := json.NewDecoder(strings.NewReader(line))
	d.UseNumber()
	if err := d.Decode(&w); err != nil {
		t.Fatal(err)
	}
	isJoined := w.Message != nil && len(w.Layout) > 0 && strings.HasPrefix(w.Layout[0].Name, "rcon.reply.")
	if w.Record != "" || w.Split.Compressed || w.Status == "fragment" || isJoined {
		return // the plugin says itself that it leaves these to qsniff
	}
	if len(got[w.Frame]) == 0 {
		if !mayDiffer && w.Message != nil { // bytes of no message are left to qsniff, too
			t.Errorf("frame %d: %s %v is not there", w.Frame, w.Protocol, *w.Message)
		}
		return
	}
	g := got[w.Frame][0]
	got[w.Frame] = got[w.Frame][1:]
	checkHidden(t, &w, &g)
	if mayDiffer || w.Message == nil {
		return
	}
	head := fmt.Sprintln(w.Protocol, *w.Message, w.Direction, w.Status)
	if is := fmt.Sprintln(g.proto, g.message, g.direction, g.status); is != head {
		t.Errorf("frame %d\ngot  %swant %s", w.Frame, is, head)
	}
	checkFields(t, &w, &g)
	checkFindings(t, &w, &g)
}

// checkHidden checks that every byte which qsniff hides is hidden. The plugin hides more.
func checkHidden(t *testing.T, w *wanted, g *decoded) {
	t.Helper()
	hidden := map[int]bool{}
	for _, f := range g.fields {
		for i := range f.length {
			hidden[f.off+i] = f.value == "<redacted>"
		}
	}
	for _, f := range w.Layout {
		for i := range f.Length {
			if f.Value == "<redacted>" && !f.Aux && len(g.fields) > 0 && !hidden[f.Offset+i] {
				t.Errorf("frame %d: byte %d of %s is shown", w.Frame, f.Offset+i, f.Name)
				return
			}
		}
	}
}

// checkFields compares the fields, but for those of texts with passwords, which the plugin
// cuts in other places, and those that it does not read.
func checkFields(t *testing.T, w *wanted, g *decoded) {
	t.Helper()
	p := protoOf(w.Protocol)
	var want []wantedField
	for _, f := range w.Layout {
		if isPieceOfText(f.Name) {
			return
		}
		if !isUnreadByPlugin(f.Name) {
			want = append(want, f)
		}
	}
	if slices.ContainsFunc(g.fields, func(f shown) bool { return isPieceOfText(f.name) }) {
		return
	}
	for i := range max(len(want), len(g.fields)) {
		if i >= len(want) || i >= len(g.fields) {
			t.Errorf("frame %d, %s: %d fields, want %d", w.Frame, p.Name, len(g.fields), len(want))
			return
		}
		x, is := want[i], g.fields[i]
		if x.Aux {
			x.Offset, x.Length = is.off, 0
		}
		samePlace := is.length == x.Length && (is.length == 0 || is.off == x.Offset)
		if !samePlace || is.isCut && x.Value != nil || !is.isCut && (is.name != x.Name || !sameValue(is.value, x.Value)) {
			t.Errorf("frame %d\ngot  %+v\nwant %+v", w.Frame, is, x)
			return
		}
	}
}

// findDef returns the definition with a name, and the protocol that has it.
func findDef(name string) (*dissect.Proto, *dissect.Def) {
	proto := protoOf(name[:max(strings.IndexByte(name, '.'), 0)])
	if proto == nil {
		return nil, nil
	}
	i := slices.IndexFunc(proto.Defs, func(d *dissect.Def) bool { return d.Name == name })
	if i < 0 {
		return nil, nil
	}
	return proto, proto.Defs[i]
}

// isPieceOfText reports whether a field is a password in a text or in an unread part, or what
// follows a text with one.
func isPieceOfText(name string) bool {
	_, d := findDef(name)
	return name == dissect.HiddenPart.Name || d != nil && d.Flags&dissect.Secret != 0 && (d.PartOf != nil || d.Kind == dissect.Bytes)
}

func isUnreadByPlugin(name string) bool {
	proto, d := findDef(name)
	return d != nil && wireshark.IsUnread(proto, d)
}

// controls matches what tshark prints in another way in XML.
var controls = regexp.MustCompile(`[\x01-\x1f\x7f]`)

// sixDigits is how exactly tshark prints a float of 32 bits.
const sixDigits = 1e-5

// sameValue reports whether tshark's is the value that qsniff prints.
func sameValue(shown string, v any) bool {
	switch v := v.(type) {
	case nil: // a number that JSON cannot hold
		return strings.Contains(shown, "inf") || strings.Contains(shown, "nan")
	case json.Number:
		f, err := v.Float64()
		is, err2 := strconv.ParseFloat(strings.Fields(shown + " x")[0], 64)
		return shown == v.String() || err == nil && err2 == nil && math.Abs(is-f) <= sixDigits*math.Abs(f)
	case string:
		v = strings.ReplaceAll(v, "\r\n", "\n") // as every reader of XML has it
		escaped := controls.ReplaceAllStringFunc(strings.ReplaceAll(v, "\x00", "␀"), func(s string) string {
			if strings.Contains("\t\n\r", s) {
				return " "
			}
			return fmt.Sprintf(`\x%x`, []rune(s)[0])
		})
		flat := strings.NewReplacer("\t", " ", "\n", " ", "\r", " ").Replace(shown)
		return flat == escaped || shown == v || strings.ReplaceAll(shown, ":", "") == v
	}
	return false
}

// checkFindings compares the findings that one message shows.
func checkFindings(t *testing.T, w *wanted, g *decoded) {
	t.Helper()
	var want []string
	for _, f := range w.Findings {
		if slices.ContainsFunc(dissect.Codes, func(c *finding.Code) bool { return c.ID == f.ID }) || slices.ContainsFunc(plugged(), func(p *dissect.Proto) bool { return strings.Contains(p.Plugin.Lua, strconv.Quote(f.ID)) }) {
			want = append(want, f.ID)
		}
	}
	slices.Sort(want)
	slices.Sort(g.findings)
	if !slices.Equal(want, g.findings) {
		t.Errorf("frame %d\ngot  findings %v\nwant %v", w.Frame, g.findings, want)
	}
}

// storeCheck is Lua that fills a table of 100 entries, in the plugin's own scope, while it uses one
// entry all the time.
const storeCheck = `
local store = newStore(100)
store.set("used", 0)
for i = 1, 1000 do
	store.set(i, i)
	assert(store.get("used") == 0, "an entry in use was dropped")
end
for i = 1, 900 do assert(not store.get(i), "an old entry stayed") end
for i = 960, 1000 do assert(store.get(i) == i, "a new entry was dropped") end
store.set("used", nil)
assert(store.get("used") == nil, "a removed entry stayed")
io.stderr:write("checked\n")
`

// TestPluginForgets checks that tables of the plugin stay at their limits, and drop what was used
// the longest time ago.
func TestPluginForgets(t *testing.T) {
	tshark := needTshark(t)
	plugin := writePlugin(t)
	text, err := os.ReadFile(plugin)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(plugin, append(text, storeCheck...), 0o644); err != nil {
		t.Fatal(err)
	}
	capture := filepath.Join(pcapfiles, "a2s", "asked-by-scanner.pcap")
	out, err := exec.Command(string(tshark), "-X", "lua_script:"+plugin, "-r", capture, "-c", "1").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "checked\n") {
		t.Errorf("%v: %s", err, out)
	}
}
