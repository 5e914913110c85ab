package wireshark

import (
	"regexp"
	"strings"
	"testing"

	"qsniff/internal/test/protos"
)

// names matches what can be the name of a field.
var names = regexp.MustCompile(`"([a-z0-9_]+(?:\.[a-z0-9_]+)*)"`)

// TestEveryFieldIsRead checks that a reader names each field of its protocol, unless it is listed
// as left to qsniff, and that the list has none that it reads.
func TestEveryFieldIsRead(t *testing.T) {
	reg := protos.Registry(t)
	for _, p := range reg.Protos() {
		named := map[string]bool{}
		for _, m := range names.FindAllStringSubmatch(p.Plugin.Lua, -1) {
			named[m[1]] = true
		}
		for _, d := range p.Defs {
			name := strings.TrimPrefix(d.Name, p.Name+".")
			last := name[strings.LastIndexByte(name, '.')+1:]
			// readers of many like fields join the names: "info." .. name
			is := named[name] || named[last] && strings.Contains(p.Plugin.Lua, `"`+strings.TrimSuffix(name, last)+`" ..`)
			if is == IsUnread(p, d) {
				t.Errorf("%s: named by the reader %v, listed as unread %v", d.Name, is, !is)
			}
		}
	}
}

// TestPlainASCII checks that no escape of Go that Lua does not know is in the plugin.
func TestPlainASCII(t *testing.T) {
	reg := protos.Registry(t)
	out := string(Append(nil, reg, "test"))
	if i := strings.Index(out, `\u`); i >= 0 {
		t.Errorf("an escape of Go: %s", out[max(0, i-60):i+20])
	}
}
