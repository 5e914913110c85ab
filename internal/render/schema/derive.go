package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"qsniff/internal/render/jsonl"
)

// ofRecord is the schema of a record that internal/render/jsonl has a struct for.
func ofRecord(name string, version int) shape {
	s := ofType(jsonl.Types[name])
	properties := s["properties"].(map[string]any)
	for _, m := range []member{
		must("schema", constant(version), "version of the output format"),
		must("record", constant(name), "what kind of line it is"),
	} {
		if properties[m.name] != nil {
			properties[m.name] = m.property()
		}
	}
	return s
}

// ofType is the schema of what encoding/json makes of a type.
func ofType(t reflect.Type) (s shape) {
	derived, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: jsonl.Forms})
	if err != nil {
		panic(err) // a type for which there is none: a mistake that every start shows
	}
	adapt(derived)
	text, err := json.Marshal(derived)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		panic(err)
	}
	return s
}

// adapt gives the properties of s their promise, as only stable ones are required, and takes from lists and optional members the null that
// jsonschema gives them: these are empty or absent instead.
func adapt(s *jsonschema.Schema) {
	for name, p := range s.Properties {
		promise := stable
		if doc, ok := strings.CutPrefix(p.Description, experimental+": "); ok {
			p.Description, promise = doc, experimental
			s.Required = slices.DeleteFunc(s.Required, func(x string) bool { return x == name })
		}
		p.Extra = map[string]any{"x-stability": promise}
		if !slices.Contains(s.Required, name) {
			dropNull(p)
		}
		adapt(p)
	}
	if s.Items != nil {
		dropNull(s)
		adapt(s.Items)
	}
	if s.AdditionalProperties != nil {
		adapt(s.AdditionalProperties)
	}
}

// dropNull removes the null that jsonschema puts first.
func dropNull(s *jsonschema.Schema) {
	if len(s.Types) == 0 || s.Types[0] != "null" {
		return
	}
	switch s.Types = s.Types[1:]; len(s.Types) {
	case 0: // of a reference
		s.Types = nil
	case 1:
		s.Type, s.Types = s.Types[0], nil
	}
}
