package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"testing"

	"qsniff/internal/test/binary"
)

// message is a line of qsniff's JSON.
type message struct {
	Frame     int
	Protocol  string
	Message   string
	Direction string
	Status    string
	Record    string
	Severity  string // of a finding
	Src, Dst  string
	Exchange  *struct{ ID int }
	Fields    map[string]any
}

// text is the value of a field as text; a field that is not there is empty.
func (m *message) text(name string) string {
	if v, ok := m.Fields[name]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

// number is the value of a field; All-Seeing Eye sends numbers as text, and none as
// an empty one.
func (m *message) number(t *testing.T, name string) int {
	t.Helper()
	return atoi(t, m.text(name))
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	if s == "" {
		return 0
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// list returns the elements of a list of groups.
func (m *message) list(t *testing.T, name string) []*message {
	t.Helper()
	elements, ok := m.Fields[name].([]any)
	if !ok {
		t.Fatalf("%s has no list %s", m.Message, name)
	}
	var out []*message
	for _, e := range elements {
		out = append(out, &message{Message: m.Message, Fields: e.(map[string]any)})
	}
	return out
}

// root is the folder of the module.
const root = binary.Root

func TestMain(m *testing.M) { os.Exit(binary.Main(m)) }

// decode lets the program read a capture.
func decode(t *testing.T, qsniff, capture string, args ...string) []*message {
	t.Helper()
	return messages(t, output(t, qsniff, append(append([]string{"read", "-o", "json"}, args...), capture)...))
}

// messages parses what the program wrote. It must be whole messages, and findings which are no
// warnings: these clients and servers do nothing wrong.
func messages(t *testing.T, out []byte) (all []*message) {
	t.Helper()
	for line := range bytes.Lines(out) {
		m := new(message)
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if m.Record == "finding" && (m.Severity == "chat" || m.Severity == "note") {
			continue
		}
		if m.Status != "complete" {
			t.Errorf("not a whole message: %s", line)
		}
		all = append(all, m)
	}
	return all
}
