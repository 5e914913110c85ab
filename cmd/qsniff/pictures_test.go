package main

import (
	"bytes"
	"context"
	"path"
	"strings"
	"testing"

	"qsniff/internal/tools/shot"
)

// pictures are what the README shows: a command, run in the module's folder, on a
// terminal of so many columns.
var pictures = []struct {
	name, title string
	columns     string
	args        string
	until       string // the first line that is left out, and all after it; empty: none
}{
	{"tree", "every byte of an information reply, with its field", "96",
		"-o tree --utc -c 1 pcapfiles/a2s/reply-only.pcap", ""},
	{"hex", "the bytes of a reply in two parts, with the frame that each part came in", "96",
		"-o hex --utc pcapfiles/split/source-two-parts.pcap", ""},
	{"findings", "a finding at the byte it is about", "96",
		"-o tree --utc -c 3 pcapfiles/a2s/challenge-in-wrong-place.pcap", ""},
	{"stats", "what a capture comes to", "96", "stats --utc --top 4 pcapfiles/a2s/full-poll.pcap", ""},
	{"floods", "a server that is used against others: what is known, and what to do", "96", "floods --utc pcapfiles/floods/reflection.pcap", ""},
	{"follow", "an exchange with its challenge", "96", "follow --utc --exchange 1 pcapfiles/a2s/full-poll.pcap", ""},
}

// TestPictures holds the pictures of the README up to date. make pictures writes
// them.
func TestPictures(t *testing.T) {
	files := map[string][]byte{}
	for _, p := range pictures {
		t.Run(p.name, func(t *testing.T) {
			t.Chdir(module)
			t.Setenv("COLUMNS", p.columns)
			args := strings.Fields(p.args)
			if strings.HasSuffix(p.args, ".pcap") {
				args = append(args, "--color", "always")
			}
			var out, errs bytes.Buffer
			if status := run(context.Background(), args, streams{&out, &errs}); status != exitOK {
				t.Fatalf("exit status %d: %s", status, &errs)
			}
			prompt := "\x1b[2m$\x1b[0m \x1b[1mqsniff " + p.args + "\x1b[0m\n"
			shown := out.Bytes()
			if p.until != "" {
				var found bool
				if shown, _, found = bytes.Cut(shown, []byte("\n"+p.until+"\n")); !found {
					t.Fatalf("no line %q", p.until)
				}
			}
			svg, err := shot.SVG("qsniff: "+p.title, append([]byte(prompt), bytes.TrimRight(shown, "\n")...))
			if err != nil {
				t.Fatal(err)
			}
			files[path.Join("docs", "img", p.name+".svg")] = svg
		})
	}
	t.Run("top", func(t *testing.T) {
		t.Chdir(module)
		files["docs/img/top.svg"] = topMovie(t)
	})
	upToDate(t, files, "docs/img/*.svg")
}
