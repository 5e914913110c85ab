package terminal

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/term"
)

// restore takes a terminal that a program did not give back to its usual state: not the other screen,
// a cursor, no mouse, no bracketed paste, no protocol of keys, no colours.
const restore = "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[<u\x1b[>4;0m\x1b[0m\r\n"

// Guard runs a program that takes the terminal, which is standard output, as another process,
// and waits for it. However that ends, the terminal is as it was before; what it wrote to
// standard error, of which the first part is kept, is returned, for no screen has a place for
// it. crashed is set where it ended by a signal, or as programs in Go do that crash. Once ctx
// ends the program gets SIGTERM.
func Guard(ctx context.Context, cmd *exec.Cmd) (status int, stderr []byte, crashed bool, err error) {
	fd := int(os.Stdout.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return 0, nil, false, err
	}
	var kept head
	cmd.Stderr = &kept
	if err := cmd.Start(); err != nil {
		return 0, nil, false, err
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // it may be over
	defer stop()
	defer followStops(cmd.Process.Pid)()
	err = cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, kept, false, err
	}
	status = cmd.ProcessState.ExitCode()
	const crash = 2 // of the runtime of Go
	if crashed = status < 0 || status == crash && kept.isDump(); crashed {
		_, _ = os.Stdout.WriteString(restore)
	}
	return status, kept, crashed, term.Restore(fd, before)
}

// head keeps the first part of what is written to it.
type head []byte

// keptError is how much is kept of standard error. Chosen: what a crash prints first, with the
// goroutines at work.
const keptError = 64 << 10

// Write implements io.Writer: of more than is kept, the first part stays.
func (t *head) Write(b []byte) (int, error) {
	*t = append(*t, b[:min(len(b), keptError-len(*t))]...)
	return len(b), nil
}

// isDump reports whether it is what Go writes of a crash.
func (t head) isDump() bool {
	for _, lead := range []string{"panic: ", "fatal error: ", "SIG", "runtime: "} {
		if len(t) >= len(lead) && string(t[:len(lead)]) == lead {
			return true
		}
	}
	return false
}
