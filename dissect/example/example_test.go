package example

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/file"
	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/flood/proof"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/hextest"
	"qsniff/internal/test/testpcap"
	"qsniff/pipeline"
	"qsniff/render/jsonl"
	"qsniff/track"
)

// conversation is a capture: a client that brings its token back, then one that asks
// again as before.
const conversation = `# Constructed: two clients of a server that gives tokens.
@ client 10.64.0.1:40001
@ server 198.18.0.1:4040
> "XQi"
< "XRc" 4b a1 d5 22
> "XQi" 4b a1 d5 22
< "XRi" "Test server\0" "dm1\0" 03 10
@ client 10.64.0.2:40001
> "XQi"
< "XRc" 4c a1 d5 22
@ step 500ms
> "XQi"
`

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
	"more behind": {`"XRi" "Test" 00 "dm1" 00 0310 aa`, &typeInfo, []*dissect.Def{&defMax, &dissect.Trailing}, ""},
}

func TestMessages(t *testing.T) {
	d := New()
	for name, tc := range messages {
		t.Run(name, func(t *testing.T) {
			b := hextest.Bytes(t, tc.hex)
			c := dissecttest.Context(len(b))
			m := dissecttest.Run(d, c, b)
			dissecttest.Invariants(t, m)
			dissecttest.Fields(t, m, tc.fields, nil)
			if m.Type != tc.typ || m.Status != dissect.Complete || dissecttest.Findings(m) != tc.finds {
				t.Errorf("got  %v %v %q\nwant %v complete %q", m.Type.Name, m.Status, dissecttest.Findings(m), tc.typ.Name, tc.finds)
			}
			// whoever reads the wire alone sees what the fields say
			if hasKey := m.Key != 0; hasKey != (m.Find(&defToken) != nil) {
				t.Errorf("key %#x, token %v", m.Key, m.Find(&defToken))
			}
			dissecttest.Truncations(t, d, c, b, &dissect.Trailing)
			dissecttest.Allocations(t, d, c, b)
		})
	}
}

func FuzzExample(f *testing.F) {
	for _, tc := range messages {
		f.Add(hextest.Bytes(f, tc.hex), uint8(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, missing uint8) {
		dissecttest.Fuzz(t, New(), dissecttest.Context(len(b)+int(missing)), b)
	})
}

// decode runs the conversation through the program's stages, with a registry that has
// the protocol beside all others.
func decode(t *testing.T, w ...track.Watcher) []string {
	t.Helper()
	reg, err := dissect.NewRegistry(append(protocols.All(), New())...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := testpcap.Parse("conversation", []byte(conversation))
	if err != nil {
		t.Fatal(err)
	}
	var packets, out bytes.Buffer
	if err := c.WritePcap(&packets); err != nil {
		t.Fatal(err)
	}
	src, err := file.NewReader(&packets, "conversation")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pipeline.Run(context.Background(), pipeline.Config{Source: src, Registry: reg, Out: &out, Jobs: 1,
		Renderer: jsonl.New(jsonl.Options{}), Watchers: w}); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// TestInTheProgram: requests find their replies, and who ignores its token is told so.
func TestInTheProgram(t *testing.T) {
	lines := decode(t)
	want := [][]string{
		{`"message":"EXAMPLE_QUERY"`}, {`"message":"EXAMPLE_CHALLENGE"`, `"token":584425803`}, {`"message":"EXAMPLE_QUERY"`, `"token":584425803`},
		{`"message":"EXAMPLE_INFO"`, `"name":"Test server"`, `"players":3`, `"request_frame":3`},
		{`"message":"EXAMPLE_QUERY"`}, {`"message":"EXAMPLE_CHALLENGE"`}, {`"message":"EXAMPLE_QUERY"`, `"XMP-02"`},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d messages, want %d:\n%s", len(lines), len(want), strings.Join(lines, "\n"))
	}
	for i, words := range want {
		for _, w := range words {
			if !strings.Contains(lines[i], w) {
				t.Errorf("message %d has no %s: %s", i+1, w, lines[i])
			}
		}
	}
}

// TestProven: whoever brings a token back is proven, and nobody else.
func TestProven(t *testing.T) {
	c := proof.New(proof.Options{Scale: 1})
	decode(t, c)
	var got []string
	for _, s := range c.Summary().Sources {
		got = append(got, s.Addr.String())
	}
	if diff := cmp.Diff([]string{"10.64.0.1"}, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// TestNoPartOfTheProgram: it is a template.
func TestNoPartOfTheProgram(t *testing.T) {
	for _, p := range protocols.All() {
		if p.Proto() == New().Proto() || p.Proto().Name == New().Proto().Name {
			t.Error("the template is in the list of protocols")
		}
	}
}
