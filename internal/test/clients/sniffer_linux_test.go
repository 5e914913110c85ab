package clients

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/netns"
)

// sniffer is qsniff live at work.
type sniffer struct {
	cmd  *exec.Cmd
	out  bytes.Buffer
	told chan string // what came on standard error, when that is at its end
}

// sniff starts qsniff live in a namespace, and waits until it captures.
func sniff(t *testing.T, ns *netns.Namespace, qsniff string, args ...string) *sniffer {
	t.Helper()
	s := &sniffer{cmd: exec.Command(qsniff, append([]string{"live", "-o", "json"}, args...)...), told: make(chan string, 1)}
	s.cmd.Stdout = &s.out
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	ns.Start(t, s.cmd)
	ready := make(chan bool, 1)
	go s.listen(errs, ready)
	select {
	case ok := <-ready:
		if !ok {
			t.Fatalf("qsniff live: %s", <-s.told)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("qsniff live is not ready")
	}
	return s
}

// listen keeps what the program says, the last before it captures that of the sandbox.
func (s *sniffer) listen(errs io.Reader, ready chan<- bool) {
	var all strings.Builder
	for in := bufio.NewScanner(errs); in.Scan(); {
		all.WriteString(in.Text() + "\n")
		if strings.HasPrefix(in.Text(), "qsniff: sandbox: ") {
			ready <- true
		}
	}
	s.told <- all.String()
	ready <- false
}

// end ends the capture, in which nothing may be lost, and returns the messages.
func (s *sniffer) end(t *testing.T) []*message {
	t.Helper()
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	said := <-s.told
	if err := s.cmd.Wait(); err != nil || !strings.Contains(said, "dropped: 0 by the kernel, 0 by network cards") {
		t.Fatalf("qsniff live: %v: %s", err, said)
	}
	return messages(t, s.out.Bytes())
}

// outputIn runs a program in a namespace and returns what it printed.
func outputIn(t *testing.T, ns *netns.Namespace, line ...string) []byte {
	t.Helper()
	cmd := exec.Command(line[0], line[1:]...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	ns.Start(t, cmd)
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, &out, &stderr)
	}
	return out.Bytes()
}
