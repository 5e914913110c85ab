//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"qsniff/internal/test/tmuxtest"
)

// browseIn opens a capture of pcapfiles in a terminal of tmux, from a shell that says the exit
// status and whether the terminal is as before.
func browseIn(t *testing.T, env []string, args string) *tmuxtest.Terminal {
	t.Helper()
	folder, err := filepath.Abs(pcapfiles)
	if err != nil {
		t.Fatal(err)
	}
	return tmuxtest.Start(t, 80, 24, env, "cd "+folder+"; clear; qsniff browse --utc "+args+"; echo exit $?")
}

// isUsual waits until the program has ended and the terminal echoes lines again.
func isUsual(t *testing.T, x *tmuxtest.Terminal, exit string) {
	t.Helper()
	x.WaitFor(exit)
	x.Type("stty -a | tr ' ' '\\n' | grep -x -e echo -e icanon | tr '\\n' +; echo")
	x.Keys("Enter")
	screen := x.WaitFor("icanon+echo+")
	if strings.Contains(screen, "? keys") {
		t.Errorf("the screen of the program is left:\n%s", screen)
	}
}

// isPlain checks that the screen has neither letters beyond ASCII nor colours.
func isPlain(t *testing.T, x *tmuxtest.Terminal) {
	t.Helper()
	for _, r := range x.Screen() {
		if r >= 0x80 {
			t.Fatalf("%U on a terminal without UTF-8", r)
		}
	}
	if screen := x.Colored(); regexp.MustCompile(`\x1b\[[0-9;]*[34][0-7]m`).MatchString(screen) {
		t.Errorf("colours with NO_COLOR: %q", screen)
	}
}

// isRefused checks that a command line is answered with want, and the status of wrong usage.
func isRefused(t *testing.T, args, want string) {
	t.Helper()
	cmd := exec.Command("qsniff", strings.Fields(args)...)
	out, err := cmd.CombinedOutput()
	if status := cmd.ProcessState.ExitCode(); err == nil || status != exitUsage || !strings.Contains(string(out), want) {
		t.Errorf("%s: exit status %d, %s; want %d, %s", args, status, out, exitUsage, want)
	}
}

// TestBrowse drives the program in a terminal.
func TestBrowse(t *testing.T) {
	t.Parallel()
	x := browseIn(t, []string{"LANG=C.UTF-8"}, "-Y a2s a2s/full-poll.pcap")
	x.WaitFor("1 of 8 messages", "filter: a2s", "payload", "|ff ff ff ff|")
	x.Keys("G")
	x.WaitFor("8 of 8", "answers frame 7")
	x.Keys("/", "C-u")
	x.Type("message == S2A_INFO_S")
	x.Keys("Tab", "Enter")
	x.WaitFor("1 of 1 message", "S2A_INFO_SRC")
	x.Keys("Escape")
	x.WaitFor("of 8 messages")
	x.Type(":6\r")
	x.WaitFor("6 of 8", "players")
	x.Keys("C-z")
	isUsual(t, x, "exit 148")
	x.Type("fg; echo exit $?\r")
	x.WaitFor("6 of 8 messages")
	out := filepath.Join(t.TempDir(), "out.pcapng")
	x.Keys("w", "C-u")
	x.Type(out + "\r")
	x.WaitFor("wrote 8 packets of 8 messages")
	if info, err := os.Stat(out); err != nil || info.Size() == 0 {
		t.Errorf("nothing was written: %v", err)
	}
	x.Keys("q")
	isUsual(t, x, "exit 0")
}

// TestBrowsePlain: a terminal that has neither UTF-8 nor colours, a pipe, and hostile names.
func TestBrowsePlain(t *testing.T) {
	x := browseIn(t, []string{"LC_ALL=C", "NO_COLOR=1"}, "- < hostile/name-ansi.pcap")
	x.WaitFor("of 4 messages", "? keys")
	x.Keys("G")
	x.WaitFor("4 of 4")
	isPlain(t, x)
	x.Keys("w")
	x.WaitFor("put it into a file first")
	x.Keys("C-c")
	isUsual(t, x, "exit 0")
}

// TestBrowseEnds: whatever ends the program, the terminal is as it was before.
func TestBrowseEnds(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		signal syscall.Signal
		exit   string
	}{
		"crash": {syscall.SIGABRT, "exit 1"},
		"kill":  {syscall.SIGKILL, "exit 1"},
		"term":  {syscall.SIGTERM, "exit 130"},
	} {
		t.Run(name, func(t *testing.T) {
			term := browseIn(t, []string{"LANG=C.UTF-8"}, "a2s/full-poll.pcap")
			term.WaitFor("1 of 9 messages")
			term.Signal(x.signal)
			isUsual(t, term, x.exit)
		})
	}
}

// TestBrowseRefuses: without a terminal, and with a mistake.
func TestBrowseRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"a2s/full-poll.pcap": "browse needs a terminal",
		"":                   "no capture given",
		"a b":                "takes one capture",
	} {
		isRefused(t, "browse "+args, want)
	}
	x := browseIn(t, []string{"LANG=C.UTF-8"}, "-Y a2s.x a2s/full-poll.pcap")
	isUsual(t, x, fmt.Sprint("exit ", exitUsage))
	x.WaitFor("no field is called a2s.x")
	x = browseIn(t, []string{"LANG=C.UTF-8"}, "absent.pcap")
	isUsual(t, x, "exit 1")
	x.WaitFor("absent.pcap: no such file")
}
