//go:build unix

package messenger

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"qsniff/internal/monitor/notify"
	"qsniff/internal/test/timing"
)

// script makes a program.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func openScript(t *testing.T, log *notebook, timeout time.Duration, text string) *programSink {
	t.Helper()
	s, err := openProgram(&notify.Config{Exec: script(t, text), ExecTimeout: timeout}, log.add)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestProgram: a program has the note as environment and its line on standard input, and nothing
// in it is read by a shell.
func TestProgram(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("OUT", out)
	var log notebook
	s := openScript(t, &log, timing.Patience, `{ env | grep ^QSNIFF_ | sort; cat; } > "$OUT"; echo "it is $QSNIFF_KIND"; echo two >&2`)
	n := note(1, notify.Begins)
	n.Name = `$(touch "` + out + `.bad") ; & | ' "`
	if err := s.send(context.Background(), n, 3); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"QSNIFF_ADDRESS=198.51.100.17\n", "QSNIFF_PORT=27015\n", "QSNIFF_EVENT=open\n", "QSNIFF_KIND=flood_few\n", "QSNIFF_LEVEL=alert\n",
		"QSNIFF_LOST=3\n", "QSNIFF_NAME=" + n.Name + "\n", "QSNIFF_PEAK=9,000/s\n", "QSNIFF_TARGET=udp/198.51.100.17:27015\n", "QSNIFF_THREAD=run-1\n",
		"QSNIFF_TIME=2023-11-14T22:13:20Z\n", "\n" + string(n.Line) + "\n"} {
		if !strings.Contains("\n"+string(b), want) {
			t.Errorf("no %q in\n%s", want, b)
		}
	}
	if _, err := os.Stat(out + ".bad"); err == nil {
		t.Error("a shell has read the name")
	}
	if want := s.name() + `: printed: it is flood_few\ntwo`; log.String() != want {
		t.Errorf("log\ngot  %s\nwant %s", &log, want)
	}
}

// TestProgramFails: a program that fails is not started again, and endless output is cut.
func TestProgramFails(t *testing.T) {
	var log notebook
	p := newPost(openScript(t, &log, timing.Patience, "head -c 1000000 /dev/zero | tr '\\0' x; exit 3"), newFakeClock(), log.add, execAtOnce)
	tellAll(t, p, note(1, notify.Begins))
	if n := p.sinkCounts(); n.Refused != 1 || n.Retried != 0 {
		t.Errorf("%+v", n)
	}
	if len(log.lines) != 2 || !strings.HasSuffix(log.lines[0], "xxx ...") || len(log.lines[0]) > 2*execOutput || !strings.HasSuffix(log.lines[1], ": exit status 3") {
		t.Errorf("log %s", &log)
	}
}

// TestProgramHangs: a program that hangs is killed after its time, with what it started.
func TestProgramHangs(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	t.Setenv("PIDS", pids)
	var log notebook
	// The time is over when the script is known to hang: it could not end before.
	s := openScript(t, &log, 300*time.Millisecond, `sleep 1000 & echo $$ $! > "$PIDS"; trap "" TERM; while :; do sleep 1; done`)
	var err error
	timing.Await(t, "a script that came to write", func() bool {
		err = s.send(context.Background(), note(1, notify.Begins), 0)
		_, e := os.Stat(pids)
		return e == nil
	})
	if err == nil || err.Error() != "it was killed: it ran for 300ms" {
		t.Errorf("got %v", err)
	}
	b, _ := os.ReadFile(pids)
	for _, word := range strings.Fields(string(b)) {
		pid, _ := strconv.Atoi(word)
		timing.Await(t, "the end of process "+word, func() bool { return pid > 0 && isGone(pid) })
	}
}

// isGone reports whether a process has ended. It may be a zombie where nobody waits for orphans.
func isGone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// TestProgramsAtOnce: so many run at the same time and no more, and those of one thread one after
// the other.
func TestProgramsAtOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DIR", dir)
	var log notebook
	p := newPost(openScript(t, &log, timing.Patience, `mkdir "$DIR/$QSNIFF_THREAD" || exit 1; mkdir "$DIR/$QSNIFF_THREAD-$QSNIFF_EVENT"
while ! [ -e "$DIR/go" ]; do sleep .02; done; rmdir "$DIR/$QSNIFF_THREAD"`), newFakeClock(), log.add, execAtOnce)
	started := func() int {
		names, _ := filepath.Glob(filepath.Join(dir, "run-*-*"))
		return len(names)
	}
	go func() {
		timing.Await(t, "programs", func() bool { return started() >= execAtOnce })
		if n := started(); n != execAtOnce {
			t.Errorf("%d programs at once, want %d", n, execAtOnce)
		}
		os.Mkdir(filepath.Join(dir, "go"), 0o700)
	}()
	var notes []*notify.Note
	for i := range 6 {
		notes = append(notes, note(i, notify.Begins), note(i, notify.Ends))
	}
	tellAll(t, p, notes...)
	if n := p.sinkCounts(); n.Sent != 12 || started() != 12 {
		t.Errorf("%+v, %d started, log %s", n, started(), &log)
	}
}

// TestNoProgram: what cannot be started is an error before the run.
func TestNoProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "text"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nowhere", "text", "."} {
		if _, err := openProgram(&notify.Config{Exec: filepath.Join(dir, name)}, nil); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// TestReportsOneByOne: a report that is asked for while another one is being made is skipped and
// counted, and one that fails is in the log.
func TestReportsOneByOne(t *testing.T) {
	dir := t.TempDir()
	path := script(t, `mkdir "$1" || exit 1; while ! [ -e "`+dir+`/go" ]; do sleep .02; done`)
	var log notebook
	m := &reportMaker{log: log.add, command: func(capture string) (*exec.Cmd, error) { return exec.Command(path, capture), nil }}
	one := filepath.Join(dir, "one")
	m.start(one)
	timing.Await(t, "the first", func() bool { _, err := os.Stat(one); return err == nil })
	m.start(filepath.Join(dir, "two"))
	m.start(filepath.Join(dir, "three"))
	if err := os.Mkdir(filepath.Join(dir, "go"), 0o700); err != nil {
		t.Fatal(err)
	}
	m.wait()
	m.start(one) // is there already
	m.wait()
	if c := m.sinkCounts(); c.Sent != 1 || c.Lost != 2 || c.Refused != 1 || !strings.HasPrefix(log.String(), "no report of "+one+": exit status 1: mkdir:") {
		t.Errorf("%+v, log %s", c, &log)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); len(names) != 2 {
		t.Errorf("made %q", names)
	}
}
