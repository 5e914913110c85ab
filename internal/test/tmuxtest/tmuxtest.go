// Package tmuxtest drives programs in a terminal of tmux. Tests are skipped where there is
// no tmux.
package tmuxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// patience is how long a screen may take to show what is waited for. Chosen: far more than it
// takes on a busy machine.
const patience = 10 * time.Second

// Terminal is a terminal in which a shell runs, which started a program.
type Terminal struct {
	t      testing.TB
	socket string
}

// Start opens a terminal of a size and runs a command line of the shell in it, with
// environment variables as NAME=VALUE.
func Start(t testing.TB, width, height int, env []string, command string) *Terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux is not installed")
	}
	x := &Terminal{t, filepath.Join(t.TempDir(), "s")}
	shell := "env " + strings.Join(env, " ") + " PS1='$ ' ENV= sh"
	x.run("-f", "/dev/null", "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), shell)
	t.Cleanup(func() { exec.Command("tmux", "-S", x.socket, "kill-server").Run() })
	x.WaitFor("$")
	x.Type(command)
	x.Keys("Enter")
	return x
}

func (x *Terminal) run(args ...string) string {
	x.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-u", "-S", x.socket}, args...)...).CombinedOutput()
	if err != nil {
		x.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// Type types text.
func (x *Terminal) Type(text string) { x.t.Helper(); x.run("send-keys", "-l", "--", text) }

// Keys presses keys, named as tmux does: Enter, Escape, PageDown, C-z.
func (x *Terminal) Keys(keys ...string) {
	x.t.Helper()
	x.run(append([]string{"send-keys"}, keys...)...)
}

// Signal sends a signal to the process that has the terminal: the last of those that started
// each other.
func (x *Terminal) Signal(s os.Signal) {
	x.t.Helper()
	pid := strings.TrimSpace(x.run("display-message", "-p", "#{pane_pid}"))
	for {
		threads, _ := filepath.Glob("/proc/" + pid + "/task/*/children") // the pattern is right
		if len(threads) == 0 {
			x.t.Skip("the system does not list processes in /proc")
		}
		var all []string
		for _, name := range threads {
			out, _ := os.ReadFile(name) // a thread may have ended
			all = append(all, strings.Fields(string(out))...)
		}
		if len(all) == 0 {
			break
		}
		pid = all[len(all)-1]
	}
	n, err := strconv.Atoi(pid)
	if err != nil {
		x.t.Fatal(err)
	}
	p, err := os.FindProcess(n)
	if err == nil {
		err = p.Signal(s)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// Screen returns what is on the screen.
func (x *Terminal) Screen() string { x.t.Helper(); return x.run("capture-pane", "-p") }

// Colored returns it with escape sequences.
func (x *Terminal) Colored() string { x.t.Helper(); return x.run("capture-pane", "-p", "-e") }

// WaitFor waits until all texts are on the screen, and returns it.
func (x *Terminal) WaitFor(texts ...string) string {
	x.t.Helper()
	return x.WaitUntil(fmt.Sprintf("%q", texts), func(screen string) bool {
		for _, s := range texts {
			if !strings.Contains(screen, s) {
				return false
			}
		}
		return true
	})
}

// WaitForScreen waits until a program has the whole screen.
func (x *Terminal) WaitForScreen() {
	x.t.Helper()
	x.WaitUntil("a program with the whole screen", func(string) bool { return strings.HasPrefix(x.run("display-message", "-p", "#{alternate_on}"), "1") })
}

// WaitUntil waits until the screen is as isRight wants it.
func (x *Terminal) WaitUntil(what string, isRight func(screen string) bool) string {
	x.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		screen := x.Screen()
		if isRight(screen) {
			return screen
		}
		if time.Now().After(end) {
			x.t.Fatalf("waited for %s; the screen is:\n%s", what, screen)
		}
	}
}
