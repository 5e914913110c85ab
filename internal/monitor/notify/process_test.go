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
