package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/internal/app/extcap"
	"qsniff/internal/test/timing"
)

// TestLiveExtcap: tshark, which finds a link to qsniff in the folder of personal extcap
// programs, lists its interfaces and captures on one what qsniff recognises, with its
// readings as comments, and nothing else.
func TestLiveExtcap(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	tshark := string(needTshark(t))
	qsniff, err := exec.LookPath("qsniff")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	for _, folder := range []string{".config/wireshark/extcap", ".local/lib/wireshark/extcap"} { // before 4.2, and since
		if err := os.MkdirAll(filepath.Join(home, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(qsniff, filepath.Join(home, folder, "qsniff")); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) *exec.Cmd {
		cmd := exec.Command(tshark, args...)
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=")
		return cmd
	}
	list := run("-D")
	var listed bytes.Buffer
	list.Stdout = &listed
	server.Start(t, list)
	if err := list.Wait(); err != nil || !strings.Contains(listed.String(), extcap.Prefix+serverEnd) {
		t.Fatalf("tshark -D: %v\n%s", err, listed.String())
	}
	file := filepath.Join(home, "out.pcapng")
	capturing := run("-i", extcap.Prefix+serverEnd, "-c", "6", "-w", file)
	var log bytes.Buffer
	capturing.Stderr = &log
	server.Start(t, capturing)
	ended := make(chan error, 1)
	go func() { ended <- capturing.Wait() }()
	for start := time.Now(); ; {
		clients.Send(t, "198.18.0.2", gameAddr, query+"TSource Engine Query\x00", 1)
		clients.Send(t, "198.18.0.2", gameAddr, "nothing that is known", 1)
		select {
		case err = <-ended:
		case <-time.After(50 * time.Millisecond):
			if time.Since(start) < timing.Patience {
				continue
			}
			t.Fatalf("tshark captures nothing: %s", log.String())
		}
		break
	}
	if err != nil {
		t.Errorf("%v: %s", err, log.String())
	}
	out, err := exec.Command(tshark, "-r", file, "-T", "fields", "-e", "frame.comment", "-e", "udp.length").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if line != "request a2s A2S_INFO 25 B\t33\n" {
			t.Errorf("got %q", line)
		}
	}
	if n := strings.Count(string(out), "\n"); n < 6 {
		t.Errorf("%d packets, want 6", n)
	}
}
