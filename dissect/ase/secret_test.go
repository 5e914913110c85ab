package ase

import (
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
)

// EYE1 says whether there is a password, in a field and among the rules; what is more
// than that may be the password.
func TestSecret(t *testing.T) {
	const before, after = `"EYE1" 04 "mta" 06 "22003" 0a "My server" 05 "race" 05 "None" 04 "1.6" `, ` 02 "2" 03 "32"`
	for _, tc := range []struct {
		name, payload string
		hidden, shown *dissect.Def
	}{
		{"a flag", before + `02 "1"` + after + `01`, nil, &defFullPassword},
		{"the password", before + `07 "geheim"` + after + `01`, &defFullSecret, nil},
		{"a rule, a flag", before + `02 "1"` + after + `09 "password" 02 "0" 01`, nil, &defRuleValue},
		{"a rule", before + `02 "1"` + after + `09 "password" 07 "geheim" 01`, &defRuleSecret, nil},
		{"a rule that is cut", before + `02 "1"` + after + `09 "password" 07 "geh"`, &defRuleSecret, nil},
	} {
		b := hextest.Bytes(t, tc.payload)
		m := dissecttest.Run(New(), dissecttest.Context(len(b)), b)
		if tc.hidden != nil && m.Find(tc.hidden) == nil || tc.shown != nil && m.Find(tc.shown) == nil {
			t.Errorf("%s\nhidden: want %v\nshown: want %v", tc.name, tc.hidden, tc.shown)
		}
		if tc.hidden == nil && (m.Find(&defFullSecret) != nil || m.Find(&defRuleSecret) != nil) {
			t.Errorf("%s: hidden", tc.name)
		}
	}
}
