// Package wireshark writes a plugin for Wireshark and tshark that reads the protocols of
// qsniff: one file of Lua. It reads no packets itself.
//
// What a field, a type or a finding is called, what it means and which values have names is
// generated from what the protocols declare, so that filters have qsniff's names:
// a2s.info.players > 10, qsniff.finding == "A2S-S07". How messages are recognised and read is Go in
// qsniff, which no generator can translate, and a layout that is data would have to express what
// a probe weighs and where a count lies. So each protocol has its reader twice: in Go, and beside
// it in the same folder in Lua, with a cursor of the same words (dissect.Plugin). A new
// protocol adds its own and changes nothing here; TestPluginAgrees in cmd/qsniff holds every Lua
// reader to the Go one on all captures of pcapfiles, field by field.
//
// The order of the file, of which the first five are the runtime:
//
//	base        numbers and texts in byte strings
//	console     which texts hold secrets (internal/base/console)
//	message     the cursor, and the message that it fills
//	flows       which protocol a payload is, by bytes, flow and port
//	tree, split what Wireshark shows; the engines' split messages
//	protocols   declarations, and each protocol's reader
//	copies      which connections have bytes that contradict each other
//	start       dissectors, heuristics, "Decode As"
package wireshark

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/console"
	"qsniff/reassembly/wire"
)

var (
	//go:embed lua/base.lua
	base string
	//go:embed lua/message.lua
	message string
	//go:embed lua/flows.lua
	flows string
	//go:embed lua/tree.lua
	tree string
	//go:embed lua/split.lua
	split string
	//go:embed lua/copies.lua
	copies string
	//go:embed lua/start.lua
	start string
)

// maxValue is up to which number the names of values are looked for: those of 16 bits.
const maxValue = 1<<16 - 1

// Append appends the plugin for the protocols of reg, which version of qsniff writes.
func Append(dst []byte, reg *dissect.Registry, version string) []byte {
	w := writer{dst}
	w.writeHead(reg, version)
	w.printf("local maxFields = %d\nlocal engineNames = {", dissect.MaxFields)
	for _, e := range []wire.Engine{wire.GoldSource, wire.Source, wire.SourceOld} {
		w.printf("[%d] = %s, ", e.HeaderLen(), quote(e.String()))
	}
	w.printf("}\n\n")
	for _, piece := range []string{base, console.Lua, message, flows, tree, split} {
		w.printf("%s\n", piece)
	}
	w.printf("local sharedDefs = {\n")
	for _, d := range dissect.Shared {
		w.writeDef(d, "")
	}
	w.printf("}\nfor _, d in ipairs(sharedDefs) do shared[d.name] = d end\n")
	w.printf("local sharedCodes = {\n")
	for _, c := range dissect.Codes {
		w.writeCode(c)
	}
	w.printf("}\n\n")
	for _, p := range reg.Protos() {
		if p.Plugin.Lua != "" {
			w.writeProto(p)
		}
	}
	w.printf("%s\n%s", copies, start)
	return w.dst
}

type writer struct{ dst []byte }

func (w *writer) printf(format string, args ...any) { w.dst = fmt.Appendf(w.dst, format, args...) }

// writeHead writes what the plugin is, and what it does not read.
func (w *writer) writeHead(reg *dissect.Registry, version string) {
	w.printf("-- Dissectors for Wireshark and tshark, written by qsniff %s: qsniff wireshark-plugin.\n", version)
	w.printf("--\n--   tshark -X lua_script:qsniff.lua -2 -r FILE -Y qsniff.finding\n--\n")
	w.printf("-- or put this file into Wireshark's folder of personal Lua plugins (Help, About, Folders).\n")
	w.printf("-- With -2, as in the window of Wireshark, a request of one byte is shown once its reply came.\n")
	w.printf("-- Output after lost segments is hidden, for it may be the rest of a password; but where exactly whole\n-- messages were lost, Wireshark says so too late, unless it is tshark without -2.\n--\n")
	w.printf("-- Left to qsniff: messages that were compressed, or that lack parts; findings that several\n-- messages show together; and these fields:\n")
	for _, p := range reg.Protos() {
		for _, u := range p.Plugin.Unread {
			w.printf("--   %s, %s: %s\n", p.Name, u.Why, commonPrefix(u.Defs))
		}
	}
	w.printf("\n")
}

// commonPrefix names definitions: all of them, or what the names of many begin with.
func commonPrefix(defs []*dissect.Def) string {
	const few = 9
	if len(defs) <= few {
		var names []string
		for _, d := range defs {
			names = append(names, d.Name)
		}
		return strings.Join(names, " ")
	}
	prefix := defs[0].Name
	for _, d := range defs {
		for !strings.HasPrefix(d.Name, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return prefix + "*"
}

// writeProto writes the declarations of p and its reader.
func (w *writer) writeProto(p *dissect.Proto) {
	w.printf("do\nlocal P = declare({name = %s, doc = %s,\n", quote(p.Name), quote(p.Doc))
	w.printf("ports = {")
	for _, port := range p.Ports {
		w.printf("[%d] = true, ", port)
	}
	w.printf("},\nsplits = {")
	for _, e := range p.Splits {
		if e != wire.None {
			w.printf("[%d] = true, ", e.HeaderLen())
		}
	}
	w.printf("},\nhasConsole = %t,\ndefs = {\n", p.Console)
	for _, d := range p.Defs {
		if !IsUnread(p, d) {
			w.writeDef(d, p.Name+".")
		}
	}
	w.printf("},\nlist = {\n")
	for _, t := range p.Types {
		w.writeType(p, t)
	}
	w.printf("},\ncodes = {\n")
	for _, c := range p.Codes {
		if strings.Contains(p.Plugin.Lua, quote(c.ID)) {
			w.writeCode(c)
		}
	}
	w.printf("}})\n\n%send\n\n", p.Plugin.Lua)
}

// IsUnread reports whether the plugin leaves a field of p to qsniff.
func IsUnread(p *dissect.Proto, d *dissect.Def) bool {
	return slices.ContainsFunc(p.Plugin.Unread, func(u dissect.Omission) bool { return slices.Contains(u.Defs, d) })
}

var kindNames = [...]string{dissect.Group: "Group", dissect.List: "List", dissect.Uint: "Uint", dissect.Int: "Int", dissect.Float: "Float",
	dissect.Char: "Char", dissect.Text: "Text", dissect.Bytes: "Bytes", dissect.Addr: "Addr"}

// writeDef writes a definition. Readers name it without the prefix.
func (w *writer) writeDef(d *dissect.Def, prefix string) {
	w.printf("\t{name = %s, full = %s, label = %s, kind = %s", quote(strings.TrimPrefix(d.Name, prefix)), quote(d.Name), quote(d.Label), quote(kindNames[d.Kind]))
	for _, f := range []struct {
		flag dissect.DefFlags
		name string
	}{{dissect.Hex, "isHex"}, {dissect.Secret, "isSecret"}, {dissect.Size, "isSize"}} {
		if d.Flags&f.flag != 0 {
			w.printf(", %s = true", f.name)
		}
	}
	if d.PartOf != nil {
		w.printf(", partOf = %s", quote(strings.TrimPrefix(d.PartOf.Name, prefix)))
	}
	doc := d.Doc
	if d.Unit != "" {
		doc += ", in " + d.Unit
	}
	w.printf(", doc = %s", quote(doc))
	if d.Values != nil && d.Flags&dissect.AsString == 0 {
		w.writeValues(d)
	}
	w.printf("},\n")
}

// writeValues writes the names of values. A function that names a byte may look at nothing
// else of its argument, and so name numbers beyond a byte: those are not written.
func (w *writer) writeValues(d *dissect.Def) {
	most := int64(maxValue)
	if d.Kind == dissect.Char || d.Values(0x41) == d.Values(0x141) && d.Values(0x10) == d.Values(0x110) {
		most = 0xff
	}
	w.printf(", values = {")
	for v := int64(-1); v <= most; v++ {
		if v < 0 && d.Kind != dissect.Int {
			continue
		}
		if name := d.Values(uint64(v)); name != "" {
			w.printf("[%d] = %s, ", v, quote(name))
		}
	}
	w.printf("}")
}

func (w *writer) writeType(p *dissect.Proto, t *dissect.Type) {
	w.printf("\t{name = %s, asks = %d", quote(t.Name), t.Asks)
	for _, f := range []struct {
		on   bool
		name string
	}{{t.Reply, "isReply"}, {t.Notice, "isNotice"}, {t.OnlyAsked, "onlyAsked"}, {t.Unmistakable, "isUnmistakable"}} {
		if f.on {
			w.printf(", %s = true", f.name)
		}
	}
	w.printf(", summary = {")
	for _, d := range t.Summary {
		if !IsUnread(p, d) {
			w.printf("%s, ", quote(strings.TrimPrefix(d.Name, p.Name+".")))
		}
	}
	w.printf("}},\n")
}

func (w *writer) writeCode(c *finding.Code) {
	w.printf("\t{id = %s, severity = %s, seen = %s},\n", quote(c.ID), quote(c.Severity.String()), quote(c.Seen))
}

// quote returns s as a string of Lua. Declarations are printable ASCII.
func quote(s string) string { return strconv.QuoteToASCII(s) }
