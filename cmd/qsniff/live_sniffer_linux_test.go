package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// The cable between a server and its clients.
const (
	serverEnd = "server0"
	serverIP  = "198.18.0.1"
	gameAddr  = serverIP + ":27015"
)

// cable makes two namespaces joined by a cable, that of a server and that of its
// clients.
func cable(t *testing.T) (server, clients *netns.Namespace) {
	t.Helper()
	return netns.NewCable(t, netns.End{Name: serverEnd, IP: serverIP}, netns.End{Name: "client0", IP: "198.18.0.2"})
}

// sniffer is qsniff live at work.
type sniffer struct {
	cmd    *exec.Cmd
	out    io.ReadCloser
	mu     sync.Mutex
	errs   bytes.Buffer
	ready  chan struct{}
	told   chan struct{} // standard error is at its end
	lines  []line        // what collect has made of the output
	output chan []line   // all of it
	read   chan struct{} // collect is at the end of the output; nil: it was not called
}

// line is a line of output, and when it came.
type line struct {
	text string
	at   time.Time
}

// sniff starts qsniff live in the namespace, and waits until it captures.
func sniff(t *testing.T, ns *netns.Namespace, args ...string) *sniffer {
	t.Helper()
	return sniffWith(t, ns, "live", args...)
}

// sniffWith does the same with another command that captures.
func sniffWith(t *testing.T, ns *netns.Namespace, command string, args ...string) *sniffer {
	t.Helper()
	s := &sniffer{cmd: exec.Command("qsniff", append([]string{command, "-i", serverEnd}, args...)...),
		ready: make(chan struct{}), told: make(chan struct{}), output: make(chan []line, 1)}
	var err error
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	ns.Start(t, s.cmd)
	go s.listen(errs)
	select {
	case <-s.ready:
	case <-s.told:
	case <-time.After(timing.Patience):
		t.Fatalf("not ready: %s", s.said())
	}
	return s
}

func (s *sniffer) listen(errs io.Reader) {
	defer close(s.told)
	for in := bufio.NewScanner(errs); in.Scan(); {
		s.mu.Lock()
		s.errs.WriteString(in.Text() + "\n")
		s.mu.Unlock()
		if strings.HasPrefix(in.Text(), "qsniff: sandbox: ") {
			close(s.ready)
		}
	}
}

// said is what came on standard error.
func (s *sniffer) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errs.String()
}

// collect reads the output to its end, beside the test.
func (s *sniffer) collect() *sniffer {
	s.read = make(chan struct{})
	go func() {
		defer close(s.read)
		in := bufio.NewScanner(s.out)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			s.mu.Lock()
			s.lines = append(s.lines, line{in.Text(), time.Now()})
			s.mu.Unlock()
		}
		s.output <- s.lines
	}()
	return s
}

// watch returns what reports whether one of the lines that collect has read so far is
// the one that a test waits for: then all that was sent before has been decoded, however
// busy the machine is.
func (s *sniffer) watch(is func(n int, text string) bool) (came func() bool) {
	next := 0
	return func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		for ; next < len(s.lines); next++ {
			if is(next+1, s.lines[next].text) {
				return true
			}
		}
		return false
	}
}

// untilLines waits for so many lines.
func (s *sniffer) untilLines(t *testing.T, want int) {
	t.Helper()
	timing.Await(t, strconv.Itoa(want)+" lines", s.watch(func(n int, _ string) bool { return n == want }))
}

// end sends a signal, and returns the exit status and how long that took.
func (s *sniffer) end(t *testing.T, sig os.Signal) (status int, took time.Duration) {
	t.Helper()
	start := time.Now()
	if sig != nil {
		if err := s.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	late := time.AfterFunc(timing.Patience, func() { _ = s.cmd.Process.Signal(syscall.SIGKILL) })
	defer late.Stop()
	<-s.told
	if s.read != nil {
		<-s.read // Wait closes the pipe, also with output in it
	}
	_ = s.cmd.Wait() // the status says it
	return s.cmd.ProcessState.ExitCode(), time.Since(start)
}

// seen is what a test wants of a line of JSON.
type seen struct {
	Record    string
	Frame     int
	Time      time.Time
	Src, Dst  string
	Message   *string
	Direction string
	Status    string
	Length    int
	Exchange  *struct {
		ID  int
		RTT float64 `json:"rtt_ms"`
	}
	Fields map[string]any
}

func parse(t *testing.T, lines []line) (all []seen) {
	t.Helper()
	for _, l := range lines {
		var s seen
		if err := json.Unmarshal([]byte(l.text), &s); err != nil {
			t.Fatalf("%v: %s", err, l.text)
		}
		all = append(all, s)
	}
	return all
}
