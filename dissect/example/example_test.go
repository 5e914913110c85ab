package example

import (
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
)

// messages are one of each form.
var messages = map[string]struct {
	hex    string
	typ    *dissect.Type
	fields []*dissect.Def
	finds  string
}{
	"query":       {`"XQi"`, &typeQuery, []*dissect.Def{&defHead}, ""},
	"with token":  {`"XQi" 4ba1d522`, &typeQuery, []*dissect.Def{&defHead, &defToken}, ""},
	"challenge":   {`"XRc" 4ba1d522`, &typeChallenge, []*dissect.Def{&defHead, &defToken}, ""},
	"information": {`"XRi" "Test" 00 "dm1" 00 0310`, &typeInfo, []*dissect.Def{&defHead, &defName, &defMap, &defPlayers, &defMax}, ""},
	"crowded":     {`"XRi" "Test" 00 "dm1" 00 1110`, &typeInfo, []*dissect.Def{&defHead, &defName, &defMap, &defPlayers, &defMax}, "XMP-01"},
	"more after":  {`"XRi" "Test" 00 "dm1" 00 0310 aa`, &typeInfo, []*dissect.Def{&defMax, &dissect.Trailing}, ""},
}

func TestMessages(t *testing.T) {
	d := New()
	for name, tc := range messages {
		t.Run(name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.hex)
			c := dissecttest.Context(len(b))
			m := dissecttest.Run(d, c, b)
			dissecttest.CheckInvariants(t, m)
			dissecttest.CheckFields(t, m, tc.fields, nil)
			if m.Type != tc.typ || m.Status != dissect.Complete || dissecttest.Findings(m) != tc.finds {
				t.Errorf("got  %v %v %q\nwant %v complete %q", m.Type.Name, m.Status, dissecttest.Findings(m), tc.typ.Name, tc.finds)
			}
			// whoever reads the wire alone sees what the fields say
			if hasKey := m.Key != 0; hasKey != (m.Find(&defToken) != nil) {
				t.Errorf("key %#x, token %v", m.Key, m.Find(&defToken))
			}
			dissecttest.CheckTruncations(t, d, c, b, &dissect.Trailing)
			dissecttest.CheckAllocations(t, d, c, b)
		})
	}
}

func FuzzExample(f *testing.F) {
	for _, tc := range messages {
		f.Add(hextest.Bytes(f, tc.hex), uint8(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, missing uint8) {
		dissecttest.CheckInput(t, New(), dissecttest.Context(len(b)+int(missing)), b)
	})
}
