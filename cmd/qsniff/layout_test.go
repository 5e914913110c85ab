package main

import (
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"qsniff/capture/packet"
	"qsniff/internal/test/testpcap"
)

// TestLayoutFrom checks that --layout leads from a byte of a joined message back to the packet
// that brought it: the bytes at each place are those of the field, and every byte has a place. What a
// packet carries is as package packet has it: the payload, or of a fragment what follows its IP header.
func TestLayoutFrom(t *testing.T) {
	checked := 0
	for _, name := range captures(t) {
		if folder := filepath.Base(filepath.Dir(name)); folder != "split" && folder != "ase" && folder != "net" && folder != "goldsource" {
			continue
		}
		c, err := testpcap.ReadFile(strings.TrimSuffix(name, ".pcap") + ".hex")
		if err != nil {
			continue
		}
		jsonl, _, _ := output(t, "read", "-o", "json", "--layout", name)
		for line := range strings.Lines(jsonl) {
			if !strings.Contains(line, `"from":[`) {
				continue
			}
			var m struct {
				Layout []struct {
					Name, Hex string
					Length    int
					Aux       bool
					From      []struct{ Frame, Offset, Length int }
				}
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatal(err)
			}
			for _, f := range m.Layout {
				got := ""
				for _, place := range f.From {
					var p packet.Packet
					frame := c.Packets[place.Frame-1].Frame
					p.Decode(c.Link.Type, frame, len(frame))
					got += hex.EncodeToString(p.Payload[place.Offset:][:place.Length])
				}
				if strings.Contains(f.Hex, "*") || f.Aux && got == "" {
					continue
				}
				checked++
				if got != f.Hex {
					t.Errorf("%s: %s\ngot  %s from %v\nwant %s", name, f.Name, got, f.From, f.Hex)
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d fields have places", checked)
	}
}
