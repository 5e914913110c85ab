// This file stands in for what other protocols have once they are in the list: captures,
// with what the program makes of them. A copy of the template goes without it.
package example_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/file"
	"qsniff/dissect"
	"qsniff/dissect/example"
	"qsniff/dissect/protocols"
	"qsniff/internal/flood/proof"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
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

// decode runs the conversation through the program's stages, with a registry that has
// the protocol beside all others.
func decode(t *testing.T, w ...track.Watcher) []string {
	t.Helper()
	reg, err := dissect.NewRegistry(append(protocols.All(), example.New())...)
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
