package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"qsniff/internal/base/display"
)

// FuzzArguments: whatever arguments a tool gets, it answers with a result of the declared form
// and of at most MaxAnswer bytes, or with an error; it opens nothing outside of the folder, shows
// no secret, and leads on to another place than the one that was asked for.
func FuzzArguments(f *testing.F) {
	top := f.TempDir()
	dir := filepath.Join(top, "captures")
	if err := os.Mkdir(dir, 0o755); err != nil {
		f.Fatal(err)
	}
	copyCapture(f, "rcon/srcds-login-status.pcap", dir, "rcon.pcap")
	copyCapture(f, "hostile/name-instructs.pcap", dir, "names.pcap")
	copyCapture(f, "stories/bridge-hides-clients.pcap", top, "outside.pcap") // has addresses that no other has
	if err := os.Symlink("../outside.pcap", filepath.Join(dir, "link.pcap")); err != nil {
		f.Fatal(err)
	}
	r := newReader(f, dir)
	tools := r.tools()
	output, err := schemaOf[answer]().Resolve(&jsonschema.ResolveOptions{})
	if err != nil {
		f.Fatal(err)
	}
	for i := range tools {
		for _, args := range []string{
			``, `{}`, `null`, `[]`, `{"capture":"rcon.pcap"}`, `{"capture":"names.pcap","limit":2,"form":"json"}`, `{"capture":"link.pcap"}`, `{"capture":"../outside.pcap"}`,
			`{"capture":"rcon.pcap","filter":"exchange && !exchange.answered","cursor":"1-0"}`, `{"capture":"rcon.pcap","frame":5}`, `{"id":"a2s-s07"}`,
			`{"pattern":"in*.map","limit":500}`, `{"capture":"rcon.pcap","severity":"warn"}`, `{"capture":"rcon.pcap","level":"info"}`,
			`{"capture":"rcon.pcap","filter":"payload contains \"Secret\" || frame.number matches \"(\""}`,
		} {
			f.Add(uint8(i), args)
		}
	}
	f.Fuzz(func(t *testing.T, i uint8, args string) {
		result := tools[int(i)%len(tools)].respond(t.Context(), json.RawMessage(args))
		text := result.Content[0].(*mcp.TextContent).Text
		if strings.Contains(text, "172.18.0.") && !strings.Contains(args, "172") {
			t.Errorf("outside of the folder: %s", text)
		}
		for _, word := range []string{"Secret", "geheim", "open sesame", "s3cr3t"} {
			if strings.Contains(text, word) && !strings.Contains(args, word[:2]) {
				t.Errorf("%s is shown: %s", word, text)
			}
		}
		for _, c := range text {
			if c < ' ' && c != '\n' || c >= utf8.RuneSelf && !display.Visible(c) {
				t.Fatalf("%U is not escaped: %q", c, text)
			}
		}
		if result.IsError {
			if text == "" || len(text) > 3*maxRequest {
				t.Errorf("an error of %d bytes", len(text))
			}
			return
		}
		checkAnswer(t, output, args, text)
	})
}

// checkAnswer holds an answer against what all of them promise.
func checkAnswer(t *testing.T, output *jsonschema.Resolved, args, text string) {
	t.Helper()
	var x any
	var a answer
	if err := json.Unmarshal([]byte(text), &x); err != nil || len(text) > MaxAnswer {
		t.Fatalf("%d bytes, %v: %s", len(text), err, text)
	}
	if err := output.Validate(x); err != nil {
		t.Error(err)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	if (a.Wire != nil) != (a.Warning != "") || (a.Wire != nil) == (a.Items != nil) {
		t.Errorf("data of packets without a warning, or of two kinds: %s", text)
	}
	var given struct{ Cursor string }
	if err := json.Unmarshal([]byte(args), &given); a.Page != nil && a.Page.Next != "" && err == nil && a.Page.Next == given.Cursor {
		t.Errorf("the page leads to itself: %s", text)
	}
}
