//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"qsniff/internal/app/cli"
	"qsniff/internal/app/terminal"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/test/tmuxtest"
)

// topIn opens a capture of pcapfiles in a terminal of tmux, with settings in a folder of its own.
func topIn(t *testing.T, env []string, args string) (x *tmuxtest.Terminal, settings string) {
	t.Helper()
	folder, err := filepath.Abs(pcapfiles)
	if err != nil {
		t.Fatal(err)
	}
	settings = t.TempDir()
	env = append(env, "XDG_CONFIG_HOME="+settings)
	return tmuxtest.Start(t, 100, 30, env, "cd "+t.TempDir()+"; clear; qsniff top --utc "+strings.ReplaceAll(args, "@", folder)+"; echo exit $?"), settings
}

// TestTop drives the program in a terminal: every screen, the play of a capture, and what is kept.
func TestTop(t *testing.T) {
	t.Parallel()
	x, settings := topIn(t, []string{"LANG=C.UTF-8"}, "--speed max @/floods/spoofed.pcap")
	x.WaitFor("ATTACK on 198.18.7.1:27015", "of forged sources", "Example a", "the end 22:14:08Z")
	x.Keys("i")
	x.WaitFor("Do: Load the advised rules", "requests in all")
	x.Keys("G")
	x.WaitFor("limit rate over 200/second", "END")
	x.Keys("y")
	x.WaitFor("went to the clipboard", "W writes a file")
	x.Keys("W")
	x.WaitFor("load: sudo nft -f qsniff-rules-", "undo: sudo nft delete table inet qsniff")
	x.Keys("Escape")
	x.WaitFor("ATTACK")
	x.Keys("Enter")
	x.WaitFor("Exchanges 2", "A2S_INFO", "22:14:08.918Z")
	x.Keys("w")
	x.WaitFor("passwords included: qsniff-top-")
	x.Keys("Enter")
	x.WaitFor("S2A_INFO_SRC", "|ff ff ff ff|", "Exchange, answered")
	x.Keys("Escape")
	x.WaitFor("Exchanges 2")
	x.Keys("Escape")
	x.WaitFor("ATTACK")
	x.Keys("p", "0")
	x.WaitUntil("the begin", func(screen string) bool {
		return !strings.Contains(screen, "ATTACK") && !strings.Contains(screen, "22:14:")
	})
	x.Type(":22:14:03\r")
	x.WaitFor("ATTACK")
	x.Keys("c")
	x.WaitFor("WHAT IT SAYS")
	x.Keys("Down", "Enter", "Escape")
	x.WaitUntil("no names", func(screen string) bool {
		return strings.Contains(screen, "Enter open") && !strings.Contains(screen, "Example a")
	})
	x.Keys("C-z")
	isUsual(t, x, "exit 148")
	x.Type("fg; echo exit $?\r")
	x.WaitFor("198.18.7.1:27015", "Enter open")
	x.Keys("q")
	isUsual(t, x, "exit 0")
	text, err := os.ReadFile(filepath.Join(settings, "qsniff", "top.toml"))
	if err != nil || strings.Contains(string(text), `"name"`) || !strings.Contains(string(text), `"map"`) {
		t.Errorf("the settings are %s, %v", text, err)
	}
}

// TestTopPlain: a terminal that has neither UTF-8 nor colours, settings with a mistake, and a
// hostile name.
func TestTopPlain(t *testing.T) {
	t.Parallel()
	x, _ := topIn(t, []string{"LC_ALL=C", "NO_COLOR=1"}, "--speed max @/hostile/name-ansi.pcap; echo 'colums = 1' > $XDG_CONFIG_HOME/qsniff/top.toml; qsniff top --speed max --utc @/hostile/name-ansi.pcap")
	x.WaitFor("the end 22:13")
	isPlain(t, x)
	x.Keys("q")
	x.WaitFor(`unknown key "colums": did you mean columns?`)
	x.Keys("q")
	isUsual(t, x, "exit 0")
}

// TestTopEnds: whatever ends the program, the terminal is as it was before.
func TestTopEnds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		signal syscall.Signal
		exit   string
	}{
		"crash": {syscall.SIGABRT, "exit 1"},
		"term":  {syscall.SIGTERM, "exit 130"},
	} {
		t.Run(name, func(t *testing.T) {
			x, _ := topIn(t, []string{"LANG=C.UTF-8"}, "@/a2s/full-poll.pcap")
			x.WaitFor(" 22:13:20Z")
			x.Signal(tc.signal)
			isUsual(t, x, tc.exit)
		})
	}
}

// TestTopRefuses: without a terminal, the answer is the command that does without.
func TestTopRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"capture.pcap":              "hint: qsniff stats capture.pcap prints the same figures",
		"-i lo":                     "hint: qsniff monitor -i lo gives the same figures over HTTP",
		"":                          "neither an interface nor a capture",
		"-":                         "standard input is for the keys",
		"--speed 2000 capture.pcap": "not from 0.25 to 1000",
		"-i lo capture.pcap":        "not both",
	} {
		isRefused(t, "top "+args, want)
	}
}

// TestTopFolders: as root of another user's folder, top keeps settings only where that user has them.
func TestTopFolders(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("users are not changed here")
	}
	dir := t.TempDir()
	user := &sandbox.User{UID: 65534, GID: 65534}
	for _, tc := range []struct {
		user *sandbox.User
		uid  int
		want []string
	}{{nil, 0, []string{".", dir}}, {user, 0, []string{"."}}, {user, user.UID, []string{".", dir}}} {
		if err := os.Chown(dir, tc.uid, tc.uid); err != nil {
			t.Skip("only root may give a folder away")
		}
		if got := topFolders(dir, tc.user); !slices.Equal(got, tc.want) {
			t.Errorf("%v, folder of %d\ngot  %q\nwant %q", tc.user, tc.uid, got, tc.want)
		}
	}
}

// TestNotes: each line that was kept is a line.
func TestNotes(t *testing.T) {
	var n terminal.Notes
	var out bytes.Buffer
	n.Write([]byte("qsniff: load: sudo nft -f x\nqsniff: undo: "))
	n.Write([]byte("sudo nft delete table inet qsniff\n"))
	n.PrintTo(cli.Lines{To: &out})
	if want := "qsniff: load: sudo nft -f x\nqsniff: undo: sudo nft delete table inet qsniff\n"; out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}
