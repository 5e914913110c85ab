package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// message is a line of qsniff's JSON.
type message struct {
	Frame     int
	Protocol  string
	Message   string
	Direction string
	Status    string
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
const root = "../../.."

// build builds the program and returns its path.
func build(t *testing.T) string {
	t.Helper()
	watch(t)
	bin := filepath.Join(t.TempDir(), "qsniff")
	output(t, "go", "build", "-o", bin, root+"/cmd/qsniff")
	return bin
}

// watch looks at the sources. go test runs a test again where a file changed that the
// test itself opened; what the compiler opens for it does not count.
func watch(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// decode lets the program read a capture.
func decode(t *testing.T, qsniff, capture string, args ...string) []*message {
	t.Helper()
	return messages(t, output(t, qsniff, append(append([]string{"read", "-o", "json"}, args...), capture)...))
}

// messages parses what the program wrote. It must be whole messages.
func messages(t *testing.T, out []byte) (all []*message) {
	t.Helper()
	for line := range bytes.Lines(out) {
		m := new(message)
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(m); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		if m.Status != "complete" {
			t.Errorf("not a whole message: %s", line)
		}
		all = append(all, m)
	}
	return all
}
