package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/timing"
)

// TestIncidentReport: the file around an incident gets a page beside it, made in a sandbox after the
// file was finished, also when that is at the end of the run; nothing else stays in the folder.
func TestIncidentReport(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	dir := t.TempDir()
	s := sniff(t, server, "-o", "none", "-w", filepath.Join(dir, "q.pcapng"), "--on-incident", "1", "--incident-report")
	floodFor(t, clients)
	status, _ := s.end(t, os.Interrupt)
	timing.Await(t, "a page\n"+s.said(), func() bool {
		pages, _ := filepath.Glob(filepath.Join(dir, "q_*.pcapng.html"))
		return len(pages) == 1
	})
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(names) != 2 || names[0]+reportSuffix != names[1] {
		t.Fatalf("in the folder: %q", names)
	}
	page, err := os.ReadFile(names[1])
	if err != nil || !bytes.Contains(page, []byte("flood_few")) || !bytes.Contains(page, []byte(filepath.Base(names[0]))) {
		t.Errorf("%v, a page of %d bytes without the incident", err, len(page))
	}
	if status != exitOK || !strings.Contains(s.said(), "telling reports, from a process of its own") {
		t.Errorf("status %d\n%s", status, s.said())
	}
}

// runAlone runs qsniff as a process of its own, and returns its standard error and its status.
func runAlone(t *testing.T, args ...string) (errs string, status int) {
	t.Helper()
	cmd := exec.Command("qsniff", args...)
	var b strings.Builder
	cmd.Stderr = &b
	_ = cmd.Run() // the status says it
	return b.String(), cmd.ProcessState.ExitCode()
}

// TestReportBeside: a capture that cannot be read leaves no file, and a link that is in the
// way of a page is not followed.
func TestReportBeside(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(at("bad.pcapng"), []byte("no capture"), 0o600); err != nil {
		t.Fatal(err)
	}
	if errs, status := runAlone(t, "report-beside", at("bad.pcapng")); status != exitFailed || !strings.Contains(errs, "bad.pcapng") {
		t.Errorf("status %d: %s", status, errs)
	}
	capture, err := os.ReadFile("../../pcapfiles/a2s/full-poll.pcap")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("good.pcap"), capture, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("secret"), []byte("keep me"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("secret", at("good.pcap.html")); err != nil {
		t.Fatal(err)
	}
	if errs, status := runAlone(t, "report-beside", at("good.pcap")); status != exitOK {
		t.Errorf("status %d: %s", status, errs)
	}
	if info, err := os.Lstat(at("good.pcap.html")); err != nil || !info.Mode().IsRegular() || info.Size() < 10_000 {
		t.Errorf("the page: %v, %v", info, err)
	}
	if b, _ := os.ReadFile(at("secret")); string(b) != "keep me" {
		t.Errorf("what the link points to: %q", b)
	}
	names, _ := filepath.Glob(at("*"))
	if len(names) != 4 {
		t.Errorf("in the folder: %q", names)
	}
}

// TestTotalLive: --ring-total and --ring-age hold with a real capture.
func TestTotalLive(t *testing.T) {
	timing.SkipUnlessLive(t)
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	dir := t.TempDir()
	s := sniff(t, server, "-o", "none", "-w", filepath.Join(dir, "q.pcapng"), "--ring-size", "20K", "--ring-age", "1s")
	conn := clients.Dial(t, gameAddr)
	flow(t, conn, 2000, 0)
	time.Sleep(2500 * time.Millisecond)
	flow(t, conn, 10, 0)
	status, _ := s.end(t, os.Interrupt)
	if packets, files := packetsIn(t, dir, "q_*.pcapng"); status != exitOK || files > 3 || packets > 1000 {
		t.Errorf("status %d, %d packets in %d files\n%s", status, packets, files, s.said())
	}
}
