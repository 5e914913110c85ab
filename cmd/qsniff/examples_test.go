package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"qsniff/capture/file"
	"qsniff/internal/test/examples"
	"qsniff/internal/test/tmuxtest"
)

// TestExamples runs every example of the help texts and of the README in a shell,
// in a folder that has the captures they name. Each has to end well and to print
// something. With -short, those that take no shell run in the process of the tests.
func TestExamples(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no shell here")
	}
	dir := exampleFolder(t)
	path := filepath.Join(dir, "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
	for _, ex := range append(helpExamples(newRoot(streams{io.Discard, io.Discard})), readmeExamples(t)...) {
		t.Run(ex, func(t *testing.T) {
			if args, ok := withoutProcess(ex); ok && testing.Short() {
				t.Chdir(dir)
				out, errs, status := output(t, args...)
				checkExample(t, ex, status, out, errs)
				return
			}
			t.Parallel()
			line := regexp.MustCompile(`/var/[a-z/]+`).ReplaceAllString(ex, "ring")
			if strings.HasPrefix(line, "tshark ") {
				needTshark(t)
			}
			if strings.HasPrefix(line, "qsniff browse ") || strings.HasPrefix(line, "qsniff top ") {
				checkScreen(t, line, dir)
				return
			}
			line = strings.ReplaceAll(line, "--server 198.51.100.7:27015", "--server "+exampleServer)
			line = strings.ReplaceAll(line, "--listen 127.0.0.1:27015", "--listen 127.0.0.1:0") // others may have the port
			monitors := strings.HasPrefix(line, "qsniff monitor") && !strings.Contains(line, "--check")
			if monitors {
				line = strings.Replace(strings.ReplaceAll(line, ":9477", ":0"), "qsniff monitor", "qsniff monitor --listen 127.0.0.1:0", 1)
			}
			line = strings.ReplaceAll(line, "/etc/", "")
			cmd := exec.Command(sh, "-c", line)
			live := strings.Contains(line, "qsniff live") || strings.HasPrefix(line, "qsniff ") && strings.Contains(line, " -i ")
			dir := dir
			if live {
				line = onLoopback(t, line)
			}
			if live || strings.Contains(line, "> qsniff.lua") {
				dir = exampleFolder(t) // two write a ring of one name; others read the plugin
			}
			follows := live || monitors || strings.Contains(line, "--follow") || strings.Contains(line, "qsniff replay")
			if follows {
				cmd = exec.Command(sh, "-c", "exec "+line) // so that it is qsniff that is interrupted
			}
			begun := "qsniff: sandbox: "
			if monitors {
				begun = "msg=sandbox"
			}
			out, errs := newAwaited("\n"), newAwaited(begun)
			cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, errs
			if strings.HasPrefix(line, "qsniff mcp") {
				cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n")
			}
			cmd.Env = append(os.Environ(), "PATH="+path, "COLUMNS=", "TZ=UTC")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if follows {
				go func() {
					select {
					case <-out.came: // the first message of a file, or where replay listens
					case <-errs.came: // a capture has begun
					case <-time.After(time.Minute):
					}
					_ = cmd.Process.Signal(os.Interrupt)
				}()
			}
			_ = cmd.Wait() // the status says it
			checkExample(t, line, cmd.ProcessState.ExitCode(), out.String(), errs.String())
		})
	}
}

// takesShell matches examples that are for a shell, and takesProcess those that capture, serve or
// follow until a signal comes, enter a sandbox, read requests, or take the terminal.
var (
	takesShell   = regexp.MustCompile(`[^\w ./:,=+-]`)
	takesProcess = regexp.MustCompile(`qsniff (?:browse|top|live|mcp|monitor|replay|interfaces)| --follow| -i `)
)

// withoutProcess returns the arguments of an example that the process of the tests can run.
func withoutProcess(ex string) (args []string, ok bool) {
	line, _, _ := strings.Cut(ex, "#")
	args = strings.Fields(line)
	return args[1:], args[0] == "qsniff" && !takesShell.MatchString(line) && !takesProcess.MatchString(line)
}

// exampleServer is the server in capture.pcap.
const exampleServer = "198.18.0.12:27015"

// awaited is output in which a text is waited for.
type awaited struct {
	mu   sync.Mutex
	buf  bytes.Buffer
	text []byte
	came chan struct{} // closed when the text is there
}

func newAwaited(text string) *awaited { return &awaited{text: []byte(text), came: make(chan struct{})} }

func (a *awaited) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	had := bytes.Contains(a.buf.Bytes(), a.text)
	a.buf.Write(b)
	if !had && bytes.Contains(a.buf.Bytes(), a.text) {
		close(a.came)
	}
	return len(b), nil
}

func (a *awaited) String() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.buf.String()
}

// onLoopback has an example capture where it finds nobody's traffic.
func onLoopback(t *testing.T, line string) string {
	t.Helper()
	if os.Getuid() != 0 || runtime.GOOS != "linux" {
		t.Skip("capturing takes root")
	}
	if !file.HasLibpcap && strings.Contains(line, " -f ") {
		t.Skip("filters take libpcap")
	}
	return regexp.MustCompile(`-i \S+`).ReplaceAllString(line, "-i lo")
}

// checkScreen runs an example that takes the terminal, and ends it once it has.
func checkScreen(t *testing.T, line, dir string) {
	t.Helper()
	line, _, _ = strings.Cut(strings.ReplaceAll(line, "ring.pcap", "evening.pcap"), "  #")
	x := tmuxtest.Start(t, 100, 30, []string{"LANG=C.UTF-8"}, "cd "+dir+"; clear; "+line+"; echo exit $?")
	x.WaitForScreen()
	x.Keys("q")
	x.WaitFor("exit 0")
}

// checkExample judges what an example did. Only a damaged capture may be complained
// about, and only what follows a capture is still running when it is interrupted.
func checkExample(t *testing.T, line string, got int, out, errs string) {
	t.Helper()
	want := exitOK
	switch {
	case strings.Contains(line, "--follow"):
		want = exitInterrupted
	case strings.Contains(line, "damaged"):
		want = exitFailed
	}
	if got != want {
		t.Errorf("exit status %d, want %d: %s", got, want, errs)
	}
	told := os.Getuid() != 0 && strings.HasPrefix(line, "qsniff interfaces") // that capturing takes rights
	if want != exitFailed && !told && strings.Contains(errs, "hint:") {      // of a pipe, the status is the last command's
		t.Errorf("complains: %s", errs)
	}
	if out == "" && !strings.Contains(line, ">") && !strings.Contains(errs, "captured") && !strings.Contains(errs, "msg=end") && !strings.Contains(errs, "qsniff: wrote ") {
		t.Errorf("prints nothing")
	}
}

// exampleFolder makes the captures that examples name, and stand-ins for programs
// that they send them through.
func exampleFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := examples.Write(dir, pcapfiles); err != nil {
		t.Fatal(err)
	}
	plugin, _, _ := output(t, "wireshark-plugin")
	if err := os.WriteFile(filepath.Join(dir, "qsniff.lua"), []byte(plugin), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	standIn := func(name, script string) {
		if err := os.WriteFile(filepath.Join(dir, "bin", name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	standIn("tcpdump", "case $1 in *X*) exec cat dump.txt;; esac\nexec cat capture.pcap")
	standIn("ssh", "exec cat capture.pcap")
	standIn("less", "exec cat")
	if _, err := exec.LookPath("xxd"); err != nil {
		standIn("xxd", "for f; do :; done\nexec od -An -v -tx1 \"$f\"")
	}
	if _, err := exec.LookPath("jq"); err != nil {
		standIn("jq", "exec cat")
	}
	return dir
}

// helpExamples lists the command lines in the examples of cmd and of those below
// it. What they do follows two blanks.
func helpExamples(cmd *cobra.Command) []string {
	var found []string
	for line := range strings.Lines(cmd.Example) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  ")
		found = append(found, line)
	}
	for _, sub := range cmd.Commands() {
		found = append(found, helpExamples(sub)...)
	}
	return found
}

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(module, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// readmeExamples lists the indented lines of the README that run qsniff.
func readmeExamples(t *testing.T) []string {
	t.Helper()
	runs := regexp.MustCompile(`(?m)^    ((?:[A-Z]+=\S+ |[^\n#]*\| )?qsniff .*)$`)
	var found []string
	for _, m := range runs.FindAllStringSubmatch(readme(t), -1) {
		found = append(found, m[1])
	}
	if len(found) < 10 {
		t.Errorf("only %d examples in the README", len(found))
	}
	return found
}

// TestReadmeOutput: what the README shows below a command is what it prints. Three
// dots stand for lines that are left out.
func TestReadmeOutput(t *testing.T) {
	blocks := regexp.MustCompile("(?ms)^```\n\\$ qsniff ([^\n]*)\n(.*?)^```$").FindAllStringSubmatch(readme(t), -1)
	t.Chdir(module)
	for _, b := range blocks {
		out, errs, status := output(t, strings.Fields(b[1])...)
		if status != exitOK {
			t.Errorf("%s: exit status %d: %s", b[1], status, errs)
		}
		for i, want := range strings.Split("\n"+b[2], "\n...\n") {
			want = strings.TrimPrefix(want, "\n")
			if i == 0 && !strings.HasPrefix(out, want) || !strings.Contains(out, want) {
				t.Errorf("%s: shown -, printed +\n%s", b[1], cmp.Diff(want, out))
			}
		}
	}
}
