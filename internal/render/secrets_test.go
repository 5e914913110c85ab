package render_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"qsniff/dissect"
	"qsniff/dissect/a2s"
	"qsniff/dissect/goldsource"
	"qsniff/dissect/rcon"
	"qsniff/internal/base/console"
	"qsniff/internal/render"
	"qsniff/internal/render/csv"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/text"
	"qsniff/internal/test/consoletest"
	"qsniff/internal/test/dissecttest"
)

// appenders are all that make text of a message, with every column there is.
func appenders(tb testing.TB) map[string]func(*render.Event) []byte {
	var columns []csv.Column
	protos := []*dissect.Proto{rcon.New().Proto(), goldsource.New(a2s.New()).Proto()}
	for _, p := range protos {
		for _, d := range p.Defs {
			if d.Kind == dissect.Group || d.Kind == dissect.List {
				continue
			}
			c, ok := csv.ColumnNamed(d.Name, protos)
			if !ok {
				tb.Fatalf("no column %s", d.Name)
			}
			columns = append(columns, c)
		}
	}
	o := text.Options{Width: 160, UTC: true}
	line, tree, dump := text.NewLine(o), text.NewTree(o), text.NewHex(o)
	json, table := jsonl.New(jsonl.Options{Layout: true}), csv.New(csv.Options{Columns: columns})
	return map[string]func(*render.Event) []byte{
		"line": func(e *render.Event) []byte { return line.Append(nil, e) },
		"tree": func(e *render.Event) []byte { return tree.Append(nil, e) },
		"hex":  func(e *render.Event) []byte { return dump.Append(nil, e) },
		"json": func(e *render.Event) []byte { return json.Append(nil, e) },
		"csv":  func(e *render.Event) []byte { return table.Append(nil, e) },
	}
}

// packet is one of RCON.
func packet(id, kind uint32, body string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(body))+10)
	b = binary.LittleEndian.AppendUint32(b, id)
	b = binary.LittleEndian.AppendUint32(b, kind)
	return append(append(b, body...), 0, 0)
}

// messages are those in which a text can come: a command, an answer in one packet and
// in two, with the joined one, and as an answer over UDP.
func messages(tb testing.TB, s string) []*dissect.Message {
	v := dissecttest.NewConversation(tb, rcon.New(), 1<<20)
	v.Send(dissect.ToServer, packet(1, 3, "hunter2"))
	v.Send(dissect.ToClient, packet(1, 2, ""))
	v.Send(dissect.ToServer, packet(2, 2, s))
	v.Send(dissect.ToClient, packet(2, 0, s))
	v.Send(dissect.ToServer, packet(3, 2, "cvarlist"))
	half := len(s) / 2
	v.Send(dissect.ToClient, packet(3, 0, strings.Repeat("x", 4000)+"\n"+s[:half]))
	v.Send(dissect.ToClient, packet(3, 0, s[half:]))
	v.End()
	return append(slices.Clone(v.Messages), printed(s, nil))
}

// printed is an answer over UDP to a client that sent passwords before.
func printed(s string, said *console.Passwords) *dissect.Message {
	b := []byte("\xff\xff\xff\xffl" + s + "\n\x00\x00")
	c := dissecttest.Context(len(b))
	c.FromServer.Asked, c.Passwords = dissect.AskRcon, said
	return dissecttest.Run(goldsource.New(a2s.New()), c, b)
}

// shows fails t where an output of a message has word, as text or as bytes.
func shows(t *testing.T, m *dissect.Message, all map[string]func(*render.Event) []byte, word, why string) {
	t.Helper()
	if m.Type == nil { // nobody takes it for a message
		return
	}
	e := &render.Event{Frame: 7, Msg: m, Src: dissecttest.Server, Dst: dissecttest.Client}
	for name, appendTo := range all {
		out := string(appendTo(e))
		for _, w := range []string{word, hex.EncodeToString([]byte(word)), fmt.Sprintf("% x", word)} {
			if i := strings.Index(out, w); i >= 0 {
				t.Errorf("%s of %s: %q shows %q", name, m.Type.Name, why, out[max(0, i-40):i+len(w)])
			}
		}
	}
}

// TestFormsRendered: no output has the value of any form.
func TestFormsRendered(t *testing.T) {
	all, sizes := appenders(t), consoletest.Sizes()
	for _, plain := range []bool{false, true} {
		for part := range sizes {
			for i := range sizes[part] {
				n := [consoletest.Parts]int{0, 0, 0, 0, 0, 1}
				n[part] = i
				s := consoletest.Form(plain, n)
				for _, m := range messages(t, s) {
					shows(t, m, all, consoletest.Mark, s)
				}
			}
		}
	}
}

// FuzzForms chooses forms, and what is hidden because the server repeats it.
func FuzzForms(f *testing.F) {
	f.Add(false, []byte{0, 1, 2, 0, 4, 5})
	f.Add(true, []byte{3, 1, 2, 0, 4, 30})
	f.Add(true, []byte("#b0007")) // the name ends a part, with a NUL
	all := appenders(f)
	f.Fuzz(func(t *testing.T, plain bool, choice []byte) {
		var n [consoletest.Parts]int
		for i := range min(len(n), len(choice)) {
			n[i] = int(choice[i])
		}
		s := consoletest.Form(plain, n)
		for _, m := range messages(t, s) {
			shows(t, m, all, consoletest.Mark, s)
		}
	})
}

// TestRepeatedRendered: a password that the connection showed is in no output, however
// the server writes it.
func TestRepeatedRendered(t *testing.T) {
	all := appenders(t)
	for _, said := range []string{"Zq8-Zq", `Zq"Zq`, "a Zq b", "Zq%&\\Zq"} {
		var known console.Passwords
		known.Add([]byte(said), false)
		for _, s := range []string{said, "Invalid login " + said + "!", strings.ToUpper("x" + said), strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(said)} {
			v := dissecttest.NewConversation(t, rcon.New(), 1<<20)
			v.Send(dissect.ToServer, packet(1, 3, said))
			v.Send(dissect.ToClient, packet(1, 0, s))
			v.Send(dissect.ToClient, packet(0xffffffff, 2, s))
			v.Send(dissect.ToServer, packet(2, 3, said))
			v.Send(dissect.ToClient, packet(2, 2, ""))
			v.Send(dissect.ToServer, packet(3, 2, "say "+s))
			v.Send(dissect.ToClient, packet(3, 0, "x\n"+s+"\n"))
			v.Send(dissect.ToClient, packet(9, 1, "event: "+s))
			v.End()
			for _, m := range append(v.Messages, printed("refused: "+s, &known)) {
				shows(t, m, all, "Zq", s)
				shows(t, m, all, "ZQ", s)
			}
		}
	}
}
