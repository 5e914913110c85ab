package messenger

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"qsniff/internal/base/display"
	"qsniff/internal/monitor/notify"
)

// programSink starts a program for each note, without a shell. The program has the note in its
// environment, as variables has it, and its line on standard input.
type programSink struct {
	path    string
	timeout time.Duration
	log     func(string)
}

// openProgram returns the sink of a program. One that cannot be started is an error.
func openProgram(c *notify.Config, log func(string)) (*programSink, error) {
	path, err := filepath.Abs(c.Exec)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Mode()&0o111 == 0:
		return nil, fmt.Errorf("%s: is no program: chmod +x", path)
	}
	return &programSink{path, c.ExecTimeout, log}, nil
}

func (s *programSink) name() string { return "program " + s.path }
func (s *programSink) close() error { return nil }

// send runs the program once. The start of its output is logged, as far as there is room.
func (s *programSink) send(ctx context.Context, n *notify.Note, lost uint64) error {
	cmd := exec.Command(s.path)
	for _, v := range variables(n, lost) {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Stdin = bytes.NewReader(append(append([]byte(nil), n.Line...), '\n'))
	out, err := runProgram(ctx, cmd, s.timeout)
	if len(out) > 0 {
		s.log(fmt.Sprintf("%s: printed: %s", s.name(), out))
	}
	if err != nil {
		return &failure{err: err, isFinal: true}
	}
	return nil
}

// runProgram runs cmd with this process's environment besides its own, for so long at most, and
// returns the beginning of what it printed.
func runProgram(ctx context.Context, cmd *exec.Cmd, timeout time.Duration) (string, error) {
	cmd.Env = append(os.Environ(), cmd.Env...)
	out := &head{most: execOutput}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = time.Second // what it started may keep its output open
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return "", err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var err error
	select {
	case err = <-ended:
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil
		}
	case <-timer.C:
		killGroup(cmd)
		<-ended
		err = fmt.Errorf("it was killed: it ran for %v", timeout)
	case <-ctx.Done():
		killGroup(cmd)
		<-ended
		err = errors.New("it was killed: the run has ended")
	}
	return out.String(), err
}

// head keeps the beginning of what is written to it.
type head struct {
	kept []byte
	most int
	more bool
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.most-len(h.kept))
	h.kept = append(h.kept, p[:n]...)
	h.more = h.more || n < len(p)
	return len(p), nil
}

// String returns what was kept as one line.
func (h *head) String() string {
	s := string(display.AppendVisible(nil, bytes.TrimSpace(h.kept)))
	if h.more {
		s += " ..."
	}
	return s
}

// variables returns a note as variables: of the environment of programs, and fields of the
// journal.
func variables(n *notify.Note, lost uint64) []notify.Fact {
	all := []notify.Fact{
		{Name: "QSNIFF_EVENT", Value: string(n.Event)}, {Name: "QSNIFF_THREAD", Value: n.Thread}, {Name: "QSNIFF_RECORD", Value: n.Record},
		{Name: "QSNIFF_KIND", Value: n.Kind}, {Name: "QSNIFF_LEVEL", Value: n.Level}, {Name: "QSNIFF_TARGET", Value: n.Target},
		{Name: "QSNIFF_NAME", Value: n.Name}, {Name: "QSNIFF_TEXT", Value: n.Text}, {Name: "QSNIFF_ADVICE", Value: n.Advice},
		{Name: "QSNIFF_TIME", Value: time.Unix(0, n.Nanos).UTC().Format(time.RFC3339)}, {Name: "QSNIFF_LOST", Value: fmt.Sprint(lost)},
	}
	_, end, hasTransport := strings.Cut(n.Target, "/")
	if !hasTransport {
		end = n.Target
	}
	if at, err := netip.ParseAddrPort(end); err == nil {
		all = append(all, notify.Fact{Name: "QSNIFF_ADDRESS", Value: at.Addr().String()}, notify.Fact{Name: "QSNIFF_PORT", Value: fmt.Sprint(at.Port())})
	}
	for _, f := range n.Facts {
		all = append(all, notify.Fact{Name: "QSNIFF_" + strings.ToUpper(f.Name), Value: f.Value})
	}
	return all
}
