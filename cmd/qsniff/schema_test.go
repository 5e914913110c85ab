package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checkedSchema is the schema of the output with what a validator makes of it, and what of it was met.
type checkedSchema struct {
	defs  map[string]any // as JSON
	forms map[string]*jsonschema.Schema
	any   *jsonschema.Schema

	mu   sync.Mutex
	seen map[string]bool // places of properties
}

// compiledSchema is compiled once for all tests.
var compiledSchema = sync.OnceValues(func() (*checkedSchema, error) {
	s := outputSchema()
	text, err := s.Document()
	if err != nil {
		return nil, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	const url = "urn:qsniff:test"
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	x := &checkedSchema{defs: doc.(map[string]any)["$defs"].(map[string]any), forms: map[string]*jsonschema.Schema{}, seen: map[string]bool{}}
	for _, name := range s.Names() {
		if x.forms[name], err = c.Compile(url + "#/$defs/" + name); err != nil {
			return nil, err
		}
	}
	x.any, err = c.Compile(url)
	return x, err
})

func newCheckedSchema(t testing.TB) *checkedSchema {
	t.Helper()
	x, err := compiledSchema()
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// formOf returns the record that a line is.
func formOf(line map[string]any) string {
	if name, ok := line["record"].(string); ok {
		return name
	}
	for _, f := range []struct{ member, form string }{{"frame", "message"}, {"thresholds", "rules"}, {"skipped", "stats"}, {"class", "difference"},
		{"link_type", "interface_row"}, {"readers", "version"}, {"summary", "message_type"}, {"kind", "field"}, {"seen", "explained_finding"}, {"apart", "explained_kind"}} {
		if line[f.member] != nil {
			return f.form
		}
	}
	return ""
}

// failer is a test, or a script in one.
type failer interface {
	Errorf(format string, args ...any)
	Helper()
}

// check fails t where lines of JSON are not as the schema says. It remembers what they have.
func (x *checkedSchema) check(t failer, from, lines string) (n int) {
	t.Helper()
	for line := range strings.Lines(lines) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Errorf("%s: %v in %.200s", from, err, line)
			continue
		}
		name := formOf(v.(map[string]any))
		form := x.forms[name]
		if form == nil {
			t.Errorf("%s: a line of no record: %.200s", from, line)
			continue
		}
		if err := form.Validate(v); err != nil {
			t.Errorf("%s: %s: %v\nin %.300s", from, name, err, line)
			continue
		}
		x.mu.Lock()
		x.see(name, x.defs[name], v)
		x.mu.Unlock()
		n++
	}
	return n
}

// see marks the properties of s, at a place in the schema, that v has.
func (x *checkedSchema) see(place string, s, v any) {
	o, ok := s.(map[string]any)
	if !ok {
		return
	}
	if r, ok := o["$ref"].(string); ok {
		name := strings.TrimPrefix(r, "#/$defs/")
		x.see(name, x.defs[name], v)
	}
	if cond, ok := o["if"]; ok && holds(cond, v) {
		x.see(place, o["then"], v)
	}
	for _, key := range []string{"allOf", "anyOf"} {
		all, _ := o[key].([]any)
		for _, sub := range all {
			x.see(place, sub, v)
		}
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			x.see(place+"[]", o["items"], e)
		}
	case map[string]any:
		properties, _ := o["properties"].(map[string]any)
		for name, inner := range v {
			if of, ok := properties[name].(map[string]any); ok {
				at := placeOf(place+"."+name, of)
				x.seen[at] = true
				x.see(at, of, inner)
			} else {
				x.see(place+".*", o["additionalProperties"], inner)
			}
		}
	}
}

// holds reports whether v has the constants that a condition wants.
func holds(cond, v any) bool {
	object, _ := v.(map[string]any)
	for name, of := range cond.(map[string]any)["properties"].(map[string]any) {
		if value, ok := object[name]; !ok || value != of.(map[string]any)["const"] {
			return false
		}
	}
	return true
}

// placeOf returns the name of a property: of a field its own, for it is the same in messages of all types.
func placeOf(place string, of map[string]any) string {
	if field, ok := of["x-field"].(string); ok {
		return field
	}
	return place
}

// properties returns the places of all properties of the schema, with what they promise. Those of fields of any message of a protocol are those of its types once more.
func (x *checkedSchema) properties() map[string]string {
	all := map[string]string{}
	var walk func(place string, s any)
	walk = func(place string, s any) {
		o, _ := s.(map[string]any)
		for key, sub := range o {
			switch key {
			case "properties":
				for name, of := range sub.(map[string]any) {
					of := of.(map[string]any)
					at := placeOf(place+"."+name, of)
					if of["x-stability"] != nil { // else it belongs to a condition
						all[at] = of["x-stability"].(string)
					}
					walk(at, of)
				}
			case "items":
				walk(place+"[]", sub)
			case "additionalProperties":
				walk(place+".*", sub)
			case "then":
				walk(place, sub)
			case "allOf", "anyOf":
				for _, of := range sub.([]any) {
					walk(place, of)
				}
			}
		}
	}
	for name, s := range x.defs {
		if strings.Count(name, ".") != 1 { // fields.PROTOCOL
			walk(name, s)
		}
	}
	return all
}

// TestSchemaGoldens: what read writes of the captures, and what stands in the scripts, is as the schema
// says. With -short that is the head which is kept of a golden; TestSchemaOutputs has all of it.
func TestSchemaGoldens(t *testing.T) {
	x := newCheckedSchema(t)
	n := 0
	for _, pattern := range []string{pcapfiles + "/*/*.jsonl", "testdata/*.txtar"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			n += x.check(t, name, scriptLines(string(text)))
		}
	}
	if n < 2000 {
		t.Errorf("only %d lines", n)
	}
}

// scriptLines leaves the lines of a file that are whole records.
func scriptLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, `{"schema":`) && json.Valid([]byte(line)) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestSchemaRefuses: documents that are nearly as the schema says are refused.
func TestSchemaRefuses(t *testing.T) {
	x := newCheckedSchema(t)
	message, _, _ := output(t, "read", "-o", "json", "-c", "4", pcapfiles+"/a2s/full-poll.pcap")
	incident, _, _ := output(t, "floods", "-o", "json", pcapfiles+"/floods/spoofed.pcap")
	finding, _, _ := output(t, "findings", "-o", "json", pcapfiles+"/floods/spoofed.pcap")
	stats, _, _ := output(t, "stats", "-o", "json", pcapfiles+"/a2s/full-poll.pcap")
	lines := map[string]string{"message": lastLine(message), "incident": lastLine(incident), "finding": lastLine(finding), "stats": lastLine(stats)}
	for _, tc := range []struct{ record, old, new string }{
		{"message", `"schema":1`, `"schema":2`},
		{"message", `"schema":1,`, ``},
		{"message", `"frame":4`, `"frame":0`},
		{"message", `"frame":4`, `"frame":"4"`},
		{"message", `"message":"S2A_INFO_SRC"`, `"message":"S2A_INFO"`},
		{"message", `"message":"S2A_INFO_SRC"`, `"message":"S2A_PLAYER"`},
		{"message", `"protocol":"a2s"`, `"protocol":"ase"`},
		{"message", `"direction":"reply"`, `"direction":"answer"`},
		{"message", `"status":"complete"`, `"status":"done"`},
		{"message", `"map":"de_dust2"`, `"map":2`},
		{"message", `"map":"de_dust2"`, `"level":"de_dust2"`},
		{"message", `"map":"de_dust2"`, `"map":"de_dust2","map_hex":"6g"`},
		{"message", `"players":3`, `"players":[]`},
		{"message", `"players":3`, `"players":-3`},
		{"message", `"players":3`, `"players":"3"`},
		{"message", `"server_type":"d"`, `"server_type":"dedicated"`},
		{"message", `"steam_id":"90097713628897284"`, `"steam_id":90097713628897284`},
		{"message", `"time":"2023-11-14T22:13:20.060000Z"`, `"time":"2023-11-14 22:13:20.060000Z"`},
		{"message", `"time":"2023-11-14T22:13:20.060000Z"`, `"time":"2023-13-14T22:13:20.060000Z"`},
		{"message", `"src":"198.18.0.36:27015"`, `"src":"198.18.0.36"`},
		{"message", `"request_frame":3`, `"request_frame":3,"answer_frame":4`},
		{"incident", `"schema":2`, `"schema":1`},
		{"incident", `"kind":"flood_spoofed"`, `"kind":"flood"`},
		{"incident", `"level":"alert"`, `"level":"error"`},
		{"incident", `"verified":false`, `"verified":0`},
		{"incident", `"target":"udp/`, `"target":"sctp/`},
		{"incident", `"advice_words":[`, `"advice_words":[1,`},
		{"incident", `"evidence":[{`, `"evidence":["once a text",{`},
		{"finding", `"severity":"chat"`, `"severity":"info"`},
		{"finding", `"id":"A2S-S01"`, `"id":"A2S-1"`},
		{"finding", `"fault":"server"`, `"fault":"nobody"`},
		{"finding", `"count":1`, `"count":1.5`},
		{"stats", `"servers_forgotten":0,`, ``},
		{"stats", `"skipped":{`, `"skipped":{"TCP":"none"`},
	} {
		line := lines[tc.record]
		wrong := strings.Replace(line, tc.old, tc.new, 1)
		if wrong == line {
			t.Errorf("%s has no %s: %s", tc.record, tc.old, line)
			continue
		}
		for _, text := range []string{line, wrong} {
			v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if err, root := x.forms[tc.record].Validate(v), x.any.Validate(v); (err == nil) != (text == line) || (root == nil) != (text == line) {
				t.Errorf("%s in place of %s: %v, and as a line of any record: %v", tc.new, tc.old, err, root)
			}
		}
	}
}

func lastLine(text string) string {
	text = strings.TrimSuffix(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// TestSchemaStable: what was stable stays: no member that a version promised is renamed, removed or made experimental. -update adds new ones
// to the list; lines go by hand, with schema.Version.
func TestSchemaStable(t *testing.T) {
	const file = "testdata/stable.names"
	x := newCheckedSchema(t)
	now := map[string]bool{}
	for place, of := range x.properties() {
		if of == "stable" {
			now[place] = true
		}
	}
	text, err := os.ReadFile(file)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for place := range strings.Lines(string(text)) {
		place = strings.TrimSuffix(place, "\n")
		if !now[place] {
			t.Errorf("%s was stable", place)
		}
		delete(now, place)
	}
	if *update {
		all := strings.Fields(string(text))
		all = append(all, slices.Collect(maps.Keys(now))...)
		slices.Sort(all)
		if err := os.WriteFile(file, []byte(strings.Join(all, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if len(now) > 0 {
		t.Errorf("new stable members: raise schema.Version, and add them with -update: %v", slices.Sorted(maps.Keys(now)))
	}
}
