package notify

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"qsniff/internal/test/timing"
)

// partVariable has the part that the test program plays as the other process.
const partVariable = "QSNIFF_TEST_PART"

func TestMain(m *testing.M) {
	if part := os.Getenv(partVariable); part != "" {
		play(part)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play is the other process: it counts what it gets.
func play(part string) {
	in, out := bufio.NewScanner(os.Stdin), json.NewEncoder(os.Stdout)
	in.Buffer(nil, 1<<20)
	if part == "silent" {
		return
	}
	in.Scan()
	if part == "refuses" {
		_ = out.Encode(Report{Failed: "file a: permission denied"})
		return
	}
	_ = out.Encode(Report{Ready: true, Sandbox: "all", Sinks: []SinkCounts{{Name: "x"}}})
	if part == "dies" {
		return
	}
	if part == "stalls" { // until the pipe's writer has gone
		_, _ = io.Copy(io.Discard, &lazy{os.Stdin})
		return
	}
	c := SinkCounts{Name: "x"}
	for in.Scan() {
		var o Order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			_ = out.Encode(Report{Log: err.Error()})
		}
		if o.Note != nil {
			c.Sent++
			c.Lost += o.Lost
			_ = out.Encode(Report{Log: string(o.Note.Line), Sinks: []SinkCounts{c}})
		}
		if o.Reopen || o.Report != "" {
			_ = out.Encode(Report{Log: fmt.Sprint("asked ", o.Reopen, o.Report)})
		}
	}
}

// lazy reads nothing until the file of a name is there.
type lazy struct{ from io.Reader }

func (l *lazy) Read(p []byte) (int, error) {
	for {
		if _, err := os.Stat(os.Getenv("GO_ON")); err == nil {
			return l.from.Read(p)
		}
		time.Sleep(time.Millisecond)
	}
}

// startPart starts the other process.
func startPart(t *testing.T, part string, log func(string)) (*Messenger, error) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), partVariable+"="+part)
	cmd.Stderr = os.Stderr
	return Start(cmd, &Config{File: "a"}, log)
}

// TestMessenger: lines arrive byte for byte, and counts come back.
func TestMessenger(t *testing.T) {
	var mu sync.Mutex
	var log []string
	m, err := startPart(t, "counts", func(s string) { mu.Lock(); log = append(log, s); mu.Unlock() })
	if err != nil {
		t.Fatal(err)
	}
	if m.Sandbox() != "all" {
		t.Errorf("sandbox %q", m.Sandbox())
	}
	line := json.RawMessage(`{"text":"<b>&\u2028</b>","n":1.50}`)
	m.Put(&Note{Thread: "1", Event: Begins, Line: line})
	m.Reopen()
	if !m.MakeReport("a.pcapng") {
		t.Error("no report")
	}
	for i := range 100 {
		m.Put(&Note{Thread: fmt.Sprint(i), Event: Begins, Line: line})
	}
	timing.Await(t, "all notes", func() bool { _, sinks := m.Counts(); return sinks[0].Sent == 101 })
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	<-m.ended
	mu.Lock()
	defer mu.Unlock()
	all := "\n" + strings.Join(log, "\n") + "\n"
	if strings.Count(all, string(line)) != 101 || !strings.Contains(all, "\nasked true\n") || !strings.Contains(all, "\nasked falsea.pcapng\n") || !m.Gone() {
		t.Errorf("log %s", all)
	}
	if way, _ := m.Counts(); way != (QueueCounts{}) {
		t.Errorf("%+v", way)
	}
}

// TestMessengerFails: what cannot be opened is the error of Start.
func TestMessengerFails(t *testing.T) {
	if _, err := startPart(t, "refuses", nil); err == nil || err.Error() != "file a: permission denied" {
		t.Errorf("refuses: %v", err)
	}
	if _, err := startPart(t, "silent", nil); err == nil {
		t.Error("one that ends at once was taken")
	}
	if _, err := Start(exec.Command("/nonexistent"), &Config{}, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no program: %v", err)
	}
}

// TestMessengerDies: without the other process nothing blocks, and what is not told is counted.
func TestMessengerDies(t *testing.T) {
	m, err := startPart(t, "dies", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	timing.Await(t, "its end", m.Gone)
	for i := range 100 {
		m.Put(&Note{Thread: fmt.Sprint(i), Event: Begins, Line: json.RawMessage("{}")})
	}
	timing.Await(t, "all to be counted", func() bool { way, _ := m.Counts(); return way.Lost == 100 && way.Waiting == 0 })
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// TestMessengerStalls: the fold goes on while the other process reads nothing; of what has no room
// it learns how much.
func TestMessengerStalls(t *testing.T) {
	goOn := t.TempDir() + "/go"
	t.Setenv("GO_ON", goOn)
	m, err := startPart(t, "stalls", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	line := json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)
	for i := range 2000 { // 20 MB, where a pipe takes 64 KiB
		m.Put(&Note{Thread: fmt.Sprint(i), Event: Begins, Line: line})
	}
	if way, _ := m.Counts(); way.Lost < 2000-queued-20 || way.Waiting < queued {
		t.Errorf("%+v", way)
	}
	if err := m.Close(); err != nil { // does not wait for it
		t.Error(err)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-m.ended
}

// TestFleetStalls: messages of a fleet never wait for a process that reads nothing; what has no room is
// counted at the sink that they are for, and notes have room all the same.
func TestFleetStalls(t *testing.T) {
	goOn := t.TempDir() + "/go"
	t.Setenv("GO_ON", goOn)
	m, err := startPart(t, "stalls", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	m.sinks = []SinkCounts{{Name: "x"}, {Name: FleetSink + "hub", QueueCounts: QueueCounts{Waiting: 5}}}
	m.mu.Unlock()
	line := json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)
	const all = 2000 // 20 MB, where a pipe takes 64 KiB
	for i := range all {
		m.PutFleet(&FleetMessage{Kind: "server", ID: fmt.Sprintf("a/b/%d", i+1), Line: line})
	}
	m.Put(&Note{Thread: "1", Event: Begins, Line: line})
	way, sinks := m.Counts()
	// The pipe took the first few, and may have taken more since the last one was put.
	const inPipe = 20
	if x := sinks[1]; x.Lost < all-maxFleet-inPipe || x.Waiting > maxFleet+5 || uint64(x.Waiting)+x.Lost < all+5-inPipe || sinks[0].Lost != 0 || way.Lost != 0 {
		t.Errorf("%+v %+v", way, sinks)
	}
	if err := m.Close(); err != nil { // does not wait for it
		t.Error(err)
	}
	if err := os.WriteFile(goOn, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-m.ended
}

// TestFleetDies: without the other process what is put is counted as lost.
func TestFleetDies(t *testing.T) {
	m, err := startPart(t, "dies", func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	timing.Await(t, "its end", m.Gone)
	for range 100 {
		m.PutFleet(&FleetMessage{Line: json.RawMessage("{}")})
	}
	timing.Await(t, "all to be counted", func() bool { return m.fleet.lost.Load() == 100 })
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

func TestParseHooks(t *testing.T) {
	_, err := ParseHooks("# mine\n\ndiscord https://discord.com/api/webhooks/1/SECRET\n matrix  https://m.example:8448/_matrix/client/v3/rooms/!r:m SECRET # \r\nntfy http://[::1]/alerts\n")
	if err == nil {
		t.Error("four words were taken")
	}
	hooks, err := ParseHooks("# mine\n\ndiscord https://discord.com/api/webhooks/1/SECRET\n matrix  https://m.example:8448/_matrix/client/v3/rooms/!r:m SECRET\r\nntfy http://[::1]/alerts\n")
	if err != nil || len(hooks) != 3 {
		t.Fatal(err, hooks)
	}
	for i, want := range []struct {
		host string
		port uint16
	}{{"discord.com", 443}, {"m.example", 8448}, {"::1", 80}} {
		if h := hooks[i]; h.Host() != want.host || h.Port() != want.port {
			t.Errorf("%d: %s, %d, want %+v", i, h.Host(), h.Port(), want)
		}
	}
	if hooks[1].Token != "SECRET" {
		t.Errorf("token %q", hooks[1].Token)
	}
	for _, tc := range []struct{ text, want string }{
		{"discord", "line 1: it has 1 words"},
		{"\nirc https://x.example/SECRET", `line 2: "irc" is no service: one of discord, json, matrix, ntfy, slack`},
		{"slack SECRET", "line 1: the second word is no address"},
		{"slack https://%SECRET", "line 1: the second word is no address"},
		{"slack ftp://x/SECRET", "line 1: the second word is no address"},
		{"slack https://x:99999/SECRET", "line 1: the second word is no address"},
		{"slack https:///SECRET", "line 1: the second word is no address"},
		{"matrix https://x/_matrix/client/v3/rooms/SECRET", "line 1: matrix takes"},
		{"ntfy https://x/", "line 1: ntfy takes"},
		{strings.Repeat("slack https://x/SECRET\n", maxHooks+1), "line 17: more than 16 services"},
	} {
		if _, err := ParseHooks(tc.text); err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%q\ngot  %v\nwant %s", tc.text, err, tc.want)
		}
	}
}
