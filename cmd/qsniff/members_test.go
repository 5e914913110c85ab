package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qsniff/dissect/protocols"
	"qsniff/internal/render/manual"
	"qsniff/internal/test/testpcap"
)

// TestMembers: what qsniff fields says about all messages is what they have. All
// captures are read, one by one and together; nothing that is written is missing
// from the list, and nothing is listed that is never written.
func TestMembers(t *testing.T) {
	reg := protocols.NewRegistry()
	unseen := map[string]bool{}
	for _, f := range manual.Fields(reg)[0].Rows {
		unseen[f.Name] = true
	}
	listed := map[string]bool{}
	for name := range unseen {
		listed[name] = true
	}
	see := func(name string) {
		delete(unseen, name)
		if !listed[name] {
			t.Errorf("%s is written, and not in the list", name)
			listed[name] = true
		}
	}
	names := captures(t)
	read := []string{"read", "-o", "json", "--layout"}
	for _, args := range [][]string{append(read, names...), append(read, describedCapture(t)), {"decode", "-o", "json", `"s"`}} {
		out, _, _ := output(t, args...)
		for line := range strings.Lines(out) {
			var m map[string]any
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			if m["record"] == "finding" || m["record"] == "incident" {
				continue // lines of other forms
			}
			for key, value := range m {
				see(key)
				if key != "fields" {
					members(value, func(sub string) { see(key + "." + sub) })
				}
			}
		}
	}
	for name := range unseen {
		if name != "record" {
			t.Errorf("%s is in the list, and no message has it", name)
		}
	}
}

// members calls see with the keys of an object, or of the objects in a list, and of those in them.
func members(value any, see func(string)) {
	switch x := value.(type) {
	case map[string]any:
		for key, inner := range x {
			see(key)
			members(inner, func(sub string) { see(key + "." + sub) })
		}
	case []any:
		for _, e := range x {
			members(e, see)
		}
	}
}

// describedCapture writes a pcapng file of one packet, on an interface with a name
// and with a comment.
func describedCapture(t *testing.T) string {
	t.Helper()
	packets, nanos := conversation(t)
	le := binary.LittleEndian
	block := func(typ uint32, body []byte) []byte {
		n := uint32(len(body) + 12)
		b := le.AppendUint32(le.AppendUint32(nil, typ), n)
		return le.AppendUint32(append(b, body...), n)
	}
	padded := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	option := func(code, text string) []byte {
		return padded([]byte(code + "\x00" + string(rune(len(text))) + "\x00" + text))
	}
	const end = "\x00\x00\x00\x00"

	file := block(0x0a0d0d0a, le.AppendUint64([]byte{0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0}, ^uint64(0)))
	iface := append([]byte{byte(testpcap.LinkRaw), 0, 0, 0, 0, 0, 0, 0}, option("\x02", "eth0")...)
	file = append(file, block(1, append(iface, end...))...)
	micros := uint64(nanos[0] / 1000)
	packet := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, 0), uint32(micros>>32)), uint32(micros))
	packet = le.AppendUint32(le.AppendUint32(packet, uint32(len(packets[0]))), uint32(len(packets[0])))
	packet = append(padded(append(packet, packets[0]...)), option("\x01", "a comment")...)
	file = append(file, block(6, append(packet, end...))...)

	name := filepath.Join(t.TempDir(), "described.pcapng")
	if err := os.WriteFile(name, file, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
