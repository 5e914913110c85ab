package filter_test

import (
	"slices"
	"strings"
	"testing"

	"qsniff/internal/pipeline/filter"
	"qsniff/internal/test/protos"
)

// TestTypes: each field takes the operators that its type is listed with, and no others.
func TestTypes(t *testing.T) {
	reg := protos.Registry(t)
	values := map[string]string{"presence": "1", "boolean": "true", "number": "3", "signed number": "-3", "character": "0x6c", "float": "1.5", "duration": "5ms",
		"time": "22:13", "text": `"a"`, "bytes": "ff", "address": "10.0.0.1"}
	for _, s := range filter.Fields(reg, filter.Options{})[filter.Own:] {
		for _, f := range s.Rows {
			value, has := values[f.Filter.Name]
			if !has { // one of its names
				value = "A2S_INFO"
				if len(f.Values) > 0 {
					value = f.Values[0].Name
				}
			}
			if strings.HasPrefix(f.Name, "ipv6.") {
				value = "2001:db8::1"
			}
			for _, op := range []string{"==", "!=", "<", "<=", ">", ">=", "in", "contains", "matches", "&"} {
				text := f.Name + " " + op + " " + value
				switch op {
				case "in":
					text = f.Name + " in {" + value + "}"
				case "contains", "matches":
					text = f.Name + " " + op + ` "ff"`
				}
				_, err := filter.Compile(text, reg, filter.Options{})
				if takes := slices.Contains(f.Filter.Operators, op); takes != (err == nil) {
					t.Errorf("%s: listed %v: %v", text, takes, err)
				}
			}
		}
	}
}
