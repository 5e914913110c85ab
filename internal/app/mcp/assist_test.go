package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"qsniff/internal/flood"
	"qsniff/internal/pipeline"
	"qsniff/internal/test/protos"
)

const pcapfiles = "../../../pcapfiles"

// newReader returns a reader of the captures in a folder.
func newReader(t testing.TB, dir string) *reader {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	reg := protos.Registry(t)
	return &reader{in: folder{root}, runs: make(chan struct{}, maxRuns), o: Options{Folder: root,
		Config:   pipeline.Config{Registry: reg, Memory: 16 << 20, Jobs: 1},
		Detector: func() *flood.Detector { return flood.New(flood.Defaults(), 0.1, nil) },
	}}
}

// copyCapture copies a capture of this repository to a folder.
func copyCapture(t testing.TB, name, dir, as string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(pcapfiles, name))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, as), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// lines asks for messages as lines.
func (r *reader) lines(ctx context.Context, capture, cursor string, limit int) (*answer, error) {
	return r.answerMessages(ctx, &messagesArgs{Reading: Reading{Capture: capture, Paging: Paging{Cursor: cursor, Limit: limit}}})
}

// TestFolder: nothing but regular files below the folder is opened or listed, whatever leads
// elsewhere.
func TestFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links take a right there")
	}
	top := t.TempDir()
	dir := filepath.Join(top, "captures")
	if err := os.MkdirAll(filepath.Join(dir, "sub", "deep"), 0o755); err != nil {
		t.Fatal(err)
	}
	copyCapture(t, "a2s/full-poll.pcap", top, "secret.pcap")
	copyCapture(t, "a2s/full-poll.pcap", dir, "in.pcap")
	copyCapture(t, "a2s/full-poll.pcap", dir, ".hidden.pcap")
	copyCapture(t, "a2s/full-poll.pcap", filepath.Join(dir, "sub"), "in \"two\u202e\".pcap")
	for link, target := range map[string]string{
		"out.pcap": "../secret.pcap", "abs.pcap": filepath.Join(top, "secret.pcap"), "own.pcap": "in.pcap", "loop": ".", "up": "..", "sub/deep/null": os.DevNull,
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	makeFifo(t, filepath.Join(dir, "pipe"))
	r := newReader(t, dir)
	for _, name := range []string{
		"out.pcap", "abs.pcap", "own.pcap", "loop/in.pcap", "up/secret.pcap", "../secret.pcap", "sub/../in.pcap", "sub/../../secret.pcap", filepath.Join(top, "secret.pcap"),
		"sub/deep/null", os.DevNull, "pipe", "sub", ".", "", "/", "in.pcap/", "./in.pcap", "in.pcap\x00", `..\secret.pcap`, strings.Repeat("a/", 5000) + "b", "in.pcap/x",
	} {
		a, err := r.lines(t.Context(), name, "", 0)
		if err == nil {
			t.Errorf("%.60q was read: %+v", name, a)
		} else if len(err.Error()) > len(name)+300 {
			t.Errorf("%.60q: %.200q", name, err)
		}
	}
	for _, name := range []string{"in.pcap", "sub/in \"two\u202e\".pcap", ".hidden.pcap"} {
		if a, err := r.lines(t.Context(), name, "", 0); err != nil || len(a.Wire) != 9 {
			t.Errorf("%q: %v", name, err)
		}
	}
	all, err := r.in.list(t.Context())
	if want := []string{"in.pcap", "sub/in \"two\u202e\".pcap"}; err != nil || !slices.Equal(all.files, want) || all.isCut {
		t.Errorf("got  %q, %v\nwant %q", all.files, err, want)
	}
	a, err := r.listCaptures(t.Context(), &listArgs{})
	text, _ := encode(a)
	if err != nil || len(a.Items) != 2 || bytes.ContainsRune(text, '\u202e') || !json.Valid(text) {
		t.Errorf("%s, %v", text, err)
	}
}

// TestPages: pages of any size give the same records, with one run for all of them.
func TestPages(t *testing.T) {
	const capture = "floods/spoofed.pcap"
	r := newReader(t, pcapfiles)
	var want []string
	for _, limit := range []int{500, 7} {
		var got []string
		for cursor := ""; ; {
			a, err := r.lines(t.Context(), capture, cursor, limit)
			if err != nil {
				t.Fatal(err)
			}
			text, err := encode(a)
			if err != nil || len(text) > MaxAnswer || len(a.Wire) > limit || len(a.Wire) == 0 {
				t.Fatalf("%d records in %d bytes, %v", len(a.Wire), len(text), err)
			}
			for _, w := range a.Wire {
				got = append(got, string(w.(json.RawMessage)))
			}
			if cursor = a.Page.Next; cursor == "" {
				break
			}
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) || len(got) < 1500 {
			t.Errorf("limit %d: %d records, want %d", limit, len(got), len(want))
		}
	}
	if len(r.cache.all) != 1 {
		t.Errorf("%d runs", len(r.cache.all))
	}
}

// TestStretches: what does not fit into a stretch is read again from where it ended, and the
// cache keeps a few stretches only.
func TestStretches(t *testing.T) {
	dir := t.TempDir()
	data := copyCapture(t, "floods/other-dns.pcap", dir, "long.pcap")
	flood := copyCapture(t, "floods/spoofed.pcap", dir, "x.pcap")
	const header = 24
	for range 12 {
		data = append(data, flood[header:]...)
	}
	if err := os.WriteFile(filepath.Join(dir, "long.pcap"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	r := newReader(t, dir)
	seen, runs, last := 0, map[*stretch]bool{}, ""
	for cursor := ""; ; {
		a, err := r.answerMessages(t.Context(), &messagesArgs{Reading: Reading{Capture: "long.pcap", Paging: Paging{Cursor: cursor, Limit: maxPage}}, Form: formJSON})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range a.Wire {
			if text := string(w.(json.RawMessage)); text == last {
				t.Fatalf("twice: %s", text)
			} else {
				last = text
			}
		}
		seen += len(a.Wire)
		runs[r.cache.all[0].stretch] = true
		if n := len(r.cache.all[0].text); n > maxStretch+MaxAnswer {
			t.Fatalf("a stretch of %d bytes", n)
		}
		if cursor = a.Page.Next; cursor == "" {
			if *a.Page.Total != seen {
				t.Errorf("%d records, total %d", seen, *a.Page.Total)
			}
			break
		}
	}
	if len(runs) < 3 || len(runs) > 12 || seen < 12*1900 {
		t.Errorf("%d records in %d runs", seen, len(runs))
	}
	for i := range 2 * maxStretches {
		if _, err := r.answerMessage(t.Context(), &messageArgs{Capture: "x.pcap", Frame: uint64(i) + 1}); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.cache.all) != maxStretches {
		t.Errorf("%d stretches are kept", len(r.cache.all))
	}
}

// TestChanged: a file that changed is read anew, and cursors of before are refused.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	data := copyCapture(t, "floods/spoofed.pcap", dir, "x.pcap")
	r := newReader(t, dir)
	a, err := r.lines(t.Context(), "x.pcap", "", 5)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.pcap"), data[:len(data)-1000], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := r.lines(t.Context(), "x.pcap", a.Page.Next, 5); err == nil || !strings.Contains(err.Error(), "has changed") {
		t.Errorf("got %v", err)
	}
	b, err := r.lines(t.Context(), "x.pcap", "", 5)
	if err != nil || b.Page.Next == a.Page.Next {
		t.Errorf("%v, cursor %s", err, b.Page.Next)
	}
}

// TestDamaged: of a capture that was cut, what precedes the cut is answered, and the damage is
// said; one without a packet is an error.
func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	data := copyCapture(t, "a2s/full-poll.pcap", dir, "x.pcap")
	for cut, want := range map[int]int{len(data) - 10: 8, 24 + 16 + 20: -1, 10: -1} {
		if err := os.WriteFile(filepath.Join(dir, "x.pcap"), data[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		r := newReader(t, dir)
		for _, ask := range []func() (*answer, error){
			func() (*answer, error) { return r.lines(t.Context(), "x.pcap", "", 0) },
			func() (*answer, error) { return r.answerExchanges(t.Context(), &Reading{Capture: "x.pcap"}) },
			func() (*answer, error) {
				return r.answerFindings(t.Context(), &findingsArgs{Reading: Reading{Capture: "x.pcap"}})
			},
			func() (*answer, error) { return r.answerIncidents(t.Context(), &incidentsArgs{Capture: "x.pcap"}) },
		} {
			a, err := ask()
			switch {
			case want < 0 && (err == nil || !strings.HasPrefix(err.Error(), `capture "x.pcap": `)):
				t.Errorf("%d bytes: %v", cut, err)
			case want >= 0 && (err != nil || !strings.Contains(strings.Join(a.Notes, "\n"), "the capture is damaged")):
				t.Errorf("%d bytes: %v, %+v", cut, err, a)
			}
		}
		if a, err := r.lines(t.Context(), "x.pcap", "", 0); want >= 0 && (err != nil || len(a.Wire) != want) {
			t.Errorf("%d records, %v", len(a.Wire), err)
		}
	}
}

// TestCancelled: a question that is cancelled ends its run, waiting or reading, and leaves room
// for the next one.
func TestCancelled(t *testing.T) {
	r := newReader(t, pcapfiles)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.lines(ended, "floods/spoofed.pcap", "", 0); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	r.runs <- struct{}{} // somebody reads
	waiting, cancel := context.WithCancel(t.Context())
	got := make(chan error)
	go func() {
		_, err := r.lines(waiting, "floods/spoofed.pcap", "", 0)
		got <- err
	}()
	cancel()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-r.runs

	reading, cancel := context.WithCancel(t.Context())
	how := messages(formLine)
	prepare := how.prepare
	how.prepare = func(cfg *pipeline.Config, q *question) finisher {
		cancel() // as the run begins
		return prepare(cfg, q)
	}
	if _, err := r.ask(reading, question{tool: "messages", capture: "floods/spoofed.pcap"}, how, "", 5); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if a, err := r.lines(t.Context(), "floods/spoofed.pcap", "", 5); err != nil || len(a.Wire) != 5 || len(r.runs) != 0 {
		t.Errorf("%v", err)
	}
}

// TestCancelledBySession: the library's notice of a cancellation ends a run.
func TestCancelledBySession(t *testing.T) {
	r := newReader(t, pcapfiles)
	server := mcp.NewServer(&mcp.Implementation{Name: "test"}, nil)
	addTools(server, r)
	here, there := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), there, nil); err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	r.runs <- struct{}{} // so that the question waits
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	ask := &mcp.CallToolParams{Name: "messages", Arguments: map[string]any{"capture": "a2s/full-poll.pcap"}}
	if _, err := session.CallTool(ctx, ask); err == nil {
		t.Error("it was answered")
	}
	<-r.runs
	if got, err := session.CallTool(t.Context(), ask); err != nil || got.IsError {
		t.Errorf("%v, %v", got, err)
	}
}

// TestShrink: a record that is larger than an answer is cut in the middle of texts and lists,
// and says so.
func TestShrink(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	for _, tc := range []struct {
		record string
		room   int
		want   string // its begin
	}{
		{`{"frame":1,"list":[1,2,3,4,5,6,7,8,9,{"x":[{}]}],"text":"` + long + `"}`, 1000, `{"frame":1,"list":[1,2,3,4,5,6,7,8],"text":"ääää`},
		{`{"a":{"b":[[],[1],{"c":null}],"d":18446744073709551615}}`, 100, `{"a":{"b":[[],[1],{"c":null}],"d":18446744073709551615},"cut_from_bytes":56}`},
		{`"` + long + `"`, 300, `"ääää`},
		{`{` + strings.TrimSuffix(strings.Repeat(`"k":"0123456789",`, 100), ",") + `}`, 300, `{"cut_from_bytes":1701}`},
		{`{}`, 30, `{"cut_from_bytes":2}`},
		{`{"x":"a` + "\u202e" + `"}`, 100, `{"x":"a\u202e","cut_from_bytes":12}`},
		{`{"x":`, 100, `{"cut_from_bytes":5}`},
	} {
		got := shrink([]byte(tc.record), tc.room)
		if !strings.HasPrefix(string(got), tc.want) || len(got) > tc.room || !json.Valid(got) || strings.HasPrefix(tc.record, "{") && !strings.Contains(string(got), "cut_from_bytes") {
			t.Errorf("%.80s\ngot  %s\nwant %s", tc.record, got, tc.want)
		}
	}
}

// TestLargeRecord: a message whose record is larger than an answer is one record all the same,
// and the tree of it leads through all of it.
func TestLargeRecord(t *testing.T) {
	r := newReader(t, pcapfiles)
	const capture = "hostile/many-empty-rules.pcap"
	var cut struct {
		Frame uint64
		From  int `json:"cut_from_bytes"`
	}
	for cursor := ""; cut.From == 0; {
		a, err := r.answerMessages(t.Context(), &messagesArgs{Reading: Reading{Capture: capture, Paging: Paging{Cursor: cursor}}, Form: formJSON})
		if err != nil || cursor != "" && a.Page.From == 0 {
			t.Fatalf("no record was cut: %v", err)
		}
		if text, err := encode(a); err != nil || len(text) > MaxAnswer {
			t.Errorf("%d bytes, %v", len(text), err)
		}
		if err := json.Unmarshal(a.Wire[len(a.Wire)-1].(json.RawMessage), &cut); err != nil {
			t.Fatal(err)
		}
		cursor = a.Page.Next
	}
	if cut.From < MaxAnswer || cut.Frame == 0 {
		t.Errorf("%+v", cut)
	}
	lines := 0
	for cursor := ""; lines == 0 || cursor != ""; {
		a, err := r.answerMessage(t.Context(), &messageArgs{Capture: capture, Frame: cut.Frame, Paging: Paging{Cursor: cursor, Limit: maxPage}})
		if err != nil || len(a.Wire) == 0 {
			t.Fatal(err)
		}
		lines += len(a.Wire)
		cursor = a.Page.Next
	}
	if lines < 1000 {
		t.Errorf("a tree of %d lines", lines)
	}
}

// TestWithout: members are dropped, the others stay as they are.
func TestWithout(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":[1.50,{"c":2}],"d":"x"}`: `{"b":[1.50,{"c":2}],"d":"x"}`,
		`{"a":1}`:                            `{}`,
		`[1]`:                                `[1]`,
		`{"b":`:                              `{"b":`,
	} {
		if got := string(without([]byte(in), "a", "c")); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// TestPlain: what only HTML needs escaped is written as it is, and nothing else is.
func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		`"\u003cb\u003e \u0026"`: `"<b> &"`,
		`"\\u003c"`:              `"\\u003c"`,
		`"\\\u003c"`:             `"\\<"`,
		`"\u0022\u003"`:          `"\u0022\u003"`,
		`\`:                      `\`,
		``:                       ``,
	} {
		if got := string(appendPlain(nil, []byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// TestManyFiles: a folder with more than the list takes says so, and a page looks into a bounded
// number of files.
func TestManyFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range maxPeeks + 5 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("note%04d", i)), []byte("no capture"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	copyCapture(t, "a2s/full-poll.pcap", dir, "z.pcap")
	deep := dir
	for range maxDepth + 1 {
		deep = filepath.Join(deep, "d")
	}
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	r := newReader(t, dir)
	a, err := r.listCaptures(t.Context(), &listArgs{})
	if err != nil || len(a.Items) != 0 || a.Page.Next == "" || !strings.Contains(strings.Join(a.Notes, "\n"), "not listed") {
		t.Fatalf("%+v, %v", a, err)
	}
	a, err = r.listCaptures(t.Context(), &listArgs{Paging{Cursor: a.Page.Next}})
	if err != nil || len(a.Items) != 1 || a.Page.Next != "" {
		t.Errorf("%+v, %v", a, err)
	}
}
