// Package child runs a part of a test in a process of its own, for tests that kill it or
// cannot undo what it does. The test program starts itself again, with orders in its
// environment. The package is not part of qsniff, tests alone import it, and it starts
// no other programs.
package child

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// variable is where a child finds its orders.
const variable = "QSNIFF_TEST_ORDERS"

// patience is how long a child lives at most, so that its parent does not wait forever
// for its first line. Chosen: longer than any child takes on a busy machine.
const patience = time.Minute

// Main is the whole body of a TestMain. In a process that Start started it calls serve with
// the orders, anywhere else it runs the tests of m; then it ends the process. An error
// of serve goes to standard error and makes the child fail.
func Main[Orders any](m *testing.M, serve func(Orders) error) {
	text, ordered := os.LookupEnv(variable)
	if !ordered {
		os.Exit(m.Run())
	}
	var o Orders
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		err = serve(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// AwaitParent blocks a child that has printed its line until its parent calls End or has
// ended.
func AwaitParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// Process is a child at work. It belongs to the test that started it and does not
// outlive it.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
}

// Start starts a child with orders, which are JSON on their way, and with env added to
// its environment. It returns the child with its first line of standard output, without
// the end of the line; what follows it is not read. A child that ends without a line
// ends t, and one that lives for a minute is killed.
func Start(t testing.TB, orders any, env ...string) (p *Process, line string) {
	t.Helper()
	text, err := json.Marshal(orders)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := context.WithTimeout(context.Background(), patience)
	c := exec.CommandContext(ctx, exe)
	t.Cleanup(func() { kill(); _ = c.Wait() }) // an error is that it was killed, or had ended
	c.Env = append(append(os.Environ(), variable+"="+string(text)), env...)
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the child said nothing: %v, %v", err, c.Wait())
	}
	return &Process{c, stdin}, strings.TrimSuffix(line, "\n")
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// End makes AwaitParent return in the child, and waits for its end. An error is that the
// child failed.
func (p *Process) End() error {
	p.stdin.Close()
	return p.cmd.Wait()
}

// Kill kills the child and waits until it has gone. A child that had ended before is an
// error.
func (p *Process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil {
		return err
	}
	_ = p.cmd.Wait() // the error is that it was killed
	return nil
}
