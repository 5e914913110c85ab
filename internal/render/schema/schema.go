// Package schema makes the JSON Schema of what qsniff writes with -o json. It is made of the definitions that
// the renderer uses: fields and types of messages from their protocols, the counters from their list, the names of
// severities, kinds and outcomes from their types, records from the structs of internal/render/jsonl. Records that
// jsonl writes member by member are named here once more; a test compares every
// output of every capture with the schema, and the schema with these outputs, so that neither has a name that the
// other has not.
package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"qsniff/dissect"
)

// Version is that of the document. The first number is raised where a stable member is renamed, removed or takes another
// form, the second where members are added.
const Version = "1.0"

// dialect is the version of JSON Schema.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// Record is one form of a line.
type Record struct {
	Name     string
	Doc      string
	Commands string // that write it, with -o json
	of       shape
}

// Schema is the schema of all records.
type Schema struct {
	Records []Record
	defs    map[string]shape
}

// Row is a form of lines that encoding/json writes: rows of a reference.
type Row struct {
	Name, Doc, Commands string
	Type                reflect.Type
}

// New returns the schema of what qsniff writes of the messages of a registry, and of rows.
func New(reg *dissect.Registry, rows ...Row) *Schema {
	s := &Schema{defs: commonShapes()}
	s.Records = slices.Concat(s.messageRecords(reg), otherRecords())
	for _, r := range rows {
		s.Records = append(s.Records, Record{r.Name, r.Doc, r.Commands, ofStruct(r.Type)})
	}
	for _, r := range s.Records {
		s.defs[r.Name] = r.of.with(shape{"title": r.Name, "description": r.Doc + "; " + r.Commands})
	}
	return s
}

// Names lists the names of the records.
func (s *Schema) Names() (all []string) {
	for i := range s.Records {
		all = append(all, s.Records[i].Name)
	}
	return all
}

// Has reports whether there is a record of that name.
func (s *Schema) Has(name string) bool { return slices.Contains(s.Names(), name) }

// Document returns the schema of a line of any form.
func (s *Schema) Document() ([]byte, error) {
	var all []shape
	for _, name := range s.Names() {
		all = append(all, ref(name))
	}
	return encode(s.head("", "a line that qsniff writes with -o json"), shape{"anyOf": all, "$defs": s.defs})
}

// RecordDocument returns the schema of one record. Its name is one of Names.
func (s *Schema) RecordDocument(name string) ([]byte, error) {
	used := map[string]shape{}
	s.use(name, used)
	return encode(s.head("/"+name, "a record of qsniff"), shape{"$ref": "#/$defs/" + name, "$defs": used})
}

func (s *Schema) head(name, title string) shape {
	return shape{"$schema": dialect, "$id": "urn:qsniff:schema:" + Version + name, "title": title}
}

// use adds the definition of a name, and those that it refers to.
func (s *Schema) use(name string, used map[string]shape) {
	if used[name] != nil {
		return
	}
	used[name] = s.defs[name]
	each(s.defs[name], func(o shape) {
		if r, ok := o["$ref"].(string); ok {
			s.use(strings.TrimPrefix(r, "#/$defs/"), used)
		}
	})
}

// each calls f with the shapes in v.
func each(v any, f func(shape)) {
	switch v := v.(type) {
	case shape:
		f(v)
		for _, x := range v {
			each(x, f)
		}
	case map[string]any:
		each(shape(v), f)
	case []any:
		for _, x := range v {
			each(x, f)
		}
	case []shape:
		for _, x := range v {
			each(x, f)
		}
	}
}

func encode(head, body shape) ([]byte, error) {
	out, err := json.MarshalIndent(head.with(body), "", " ")
	return append(out, '\n'), err
}
