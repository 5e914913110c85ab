package schema

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
)

// shape is a schema of JSON Schema. Shapes are shared: nothing changes one that it did not make.
type shape map[string]any

// The forms of values.
var (
	text     = shape{"type": "string"}
	count    = shape{"type": "integer", "minimum": 0}
	number   = shape{"type": "number"}
	ratio    = shape{"type": "number", "minimum": 0}
	share    = shape{"type": "number", "minimum": 0, "maximum": 1}
	boolean  = shape{"type": "boolean"}
	onlyTrue = shape{"const": true}
	address  = shape{"type": "string", "pattern": `^[0-9a-f:.]+(%.+)?$`}
	// hexDigits are bytes, ** for those of a secret.
	hexDigits = shape{"type": "string", "pattern": `^([0-9a-f]{2}|\*\*)*$`}
	digits    = shape{"type": "string", "pattern": `^[0-9]+$`}
	// letter is one character; none where no byte was there.
	letter = shape{"type": "string", "maxLength": 1}
)

// The forms that are so frequent that they have names in the document.
var (
	timestamp = ref("time")
	end       = ref("end")
	frame     = ref("frame")
	severity  = ref("severity")
	fault     = ref("fault")
)

func ref(name string) shape { return shape{"$ref": "#/$defs/" + name} }

func constant(v any) shape { return shape{"const": v} }

func list(of shape) shape { return shape{"type": "array", "items": of} }

// mapOf is an object whose names are data.
func mapOf(of shape) shape { return shape{"type": "object", "additionalProperties": of} }

// names is an enumeration of what n values are called.
func names[T ~uint8](first, last T, name func(T) string) shape {
	var all []string
	for v := first; v <= last; v++ {
		all = append(all, name(v))
	}
	return shape{"enum": all}
}

// orNull is a value that is null where the capture cut it.
func orNull(s shape) shape {
	s = maps.Clone(s)
	s["type"] = []any{s["type"], "null"}
	return s
}

// with returns s with the entries of more.
func (s shape) with(more shape) shape {
	s = maps.Clone(s)
	maps.Copy(s, more)
	return s
}

// member is a member of an object.
type member struct {
	name           string
	of             shape
	doc            string
	isRequired     bool
	isExperimental bool
}

func must(name string, of shape, doc string) member {
	return member{name: name, of: of, doc: doc, isRequired: true}
}

func may(name string, of shape, doc string) member { return member{name: name, of: of, doc: doc} }

// trial is a member that makes no promise to stay as it is.
func trial(name string, of shape, doc string) member {
	return member{name: name, of: of, doc: doc, isExperimental: true}
}

// What a member promises, as the value of x-stability.
const (
	stable       = "stable"
	experimental = "experimental"
)

// property is the schema of a member.
func (m *member) property() shape {
	s := m.of.with(shape{"x-stability": stable})
	if m.doc != "" {
		s["description"] = m.doc
	}
	if m.isExperimental {
		s["x-stability"] = experimental
	}
	return s
}

// object is an object with these members and no others.
func object(ms ...member) shape {
	properties, required := shape{}, []string{}
	for i := range ms {
		properties[ms[i].name] = ms[i].property()
		if ms[i].isRequired {
			required = append(required, ms[i].name)
		}
	}
	s := shape{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// withBytes adds to the object s what may stand beside its members: NAME_hex, the bytes of the values called so where the value does not
// determine them, and NAME_cut, that the bytes of those values and lists end early.
func withBytes(s shape, values, lists []string) shape {
	beside := shape{}
	for _, m := range []struct {
		names []string
		member
	}{
		{values, must("_hex", hexDigits, "the bytes of the value of that name, where they cannot be told from it")},
		{append(values, lists...), must("_cut", onlyTrue, "the bytes of the value of that name end early")},
	} {
		if len(m.names) > 0 {
			beside["^("+strings.Join(m.names, "|")+")"+m.name+"$"] = m.of.with(shape{"description": m.doc, "x-stability": stable})
		}
	}
	if len(beside) == 0 {
		return s
	}
	return s.with(shape{"patternProperties": beside})
}

// ofStruct is what encoding/json makes of a type.
func ofStruct(t reflect.Type) shape {
	if t == reflect.TypeFor[json.Number]() {
		return number
	}
	switch t.Kind() {
	case reflect.Pointer:
		return orNull(ofStruct(t.Elem()))
	case reflect.Slice:
		return list(ofStruct(t.Elem()))
	case reflect.String:
		return text
	case reflect.Bool:
		return boolean
	case reflect.Struct:
		var ms []member
		for _, f := range reflect.VisibleFields(t) { // those of embedded types, too
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			ms = append(ms, member{name: name, of: ofStruct(f.Type), isRequired: options == ""})
		}
		return object(ms...)
	}
	return shape{"type": "integer"}
}
