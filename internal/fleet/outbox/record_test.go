package outbox

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"qsniff/internal/fleet"
)

// message returns the message of a number of a run of the sensor that tests have.
func message(run string, seq int) *Message {
	return &Message{fleet.KindServer, fmt.Sprintf("web-1/%s/%d", run, seq), fmt.Appendf(nil, `{"run":%q,"seq":%d}`, run, seq)}
}

func TestCheckMessage(t *testing.T) {
	good := *message("a", 1)
	if err := good.check("web-1"); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(m *Message){
		"without a number": func(m *Message) { m.ID = "web-1/a" },
		"a number":         func(m *Message) { m.ID = "web-1/a/0" },
		`of "web-2"`:       func(m *Message) { m.ID = "web-2/a/1" },
		`kind "other"`:     func(m *Message) { m.Kind = "other" },
		"of 0 bytes":       func(m *Message) { m.Line = nil },
		"of 65537 bytes":   func(m *Message) { m.Line = make([]byte, fleet.MaxMessage+1) },
	} {
		m := good
		change(&m)
		if err := m.check("web-1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// FuzzScan: whatever is in a file, records lie in it one after the other, are no longer than records
// are, and those read are what would be written.
func FuzzScan(f *testing.F) {
	file := []byte(magic)
	for i := range 3 {
		file = appendRecord(file, message("run", i+1))
	}
	f.Add(file)
	f.Add(file[:len(file)-1])
	f.Add(append(bytes.Clone(file), make([]byte, 100)...))
	f.Add([]byte(magic))
	f.Add([]byte("qsni"))
	f.Fuzz(func(t *testing.T, file []byte) {
		next, again := len(magic), []byte(magic)
		end, err := scan(file, func(m *Message, state byte, at, length int) {
			if at != next || length < recordHead || length > maxRecord || at+length > len(file) {
				t.Fatalf("a record from %d on, %d bytes long; want from %d on, of %d", at, length, next, len(file))
			}
			next = at + length
			again = appendRecord(again, m)
			again[at] = state
		})
		switch {
		case (err == nil) != (end > 0 && end == len(file)): // a file without its first bytes is none of records
			t.Fatalf("%d of %d bytes were read: %v", end, len(file), err)
		case end > 0 && (end != next || !bytes.Equal(again, file[:end])):
			t.Fatalf("%q\nis read as\n%q", file[:end], again)
		}
	})
}
