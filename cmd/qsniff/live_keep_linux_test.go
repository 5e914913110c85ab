package main

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/test/timing"
)

// TestLiveRing: files of a ring are written inside the sandbox, and readable.
func TestLiveRing(t *testing.T) {
	timing.SkipUnlessLive(t)
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	for _, b := range backends() {
		dir := t.TempDir()
		s := sniff(t, server, "--backend", b, "-o", "none", "-w", filepath.Join(dir, "q.pcapng"), "--ring-size", "20K")
		flow(t, clients.Dial(t, gameAddr), 1000, 0)
		awaitPackets(t, dir, 1000)
		status, _ := s.end(t, os.Interrupt)
		packets, files := packetsIn(t, dir, "q_*.pcapng")
		if status != exitOK || packets != 1000 || files < 4 {
			t.Errorf("%s: status %d, %d packets in %d files, want 0, 1000, several\n%s", b, status, packets, files, s.said())
		}
		if !strings.Contains(s.said(), ": 1000 queries, 0 replies, ") {
			t.Errorf("%s: said %s", b, s.said())
		}
		if !strings.Contains(s.said(), fmt.Sprintf("1000 packets written to %d files\n", files)) || strings.Count(s.said(), "passwords included") != 1 {
			t.Errorf("%s: said %s", b, s.said())
		}
	}
}

// packetsIn counts the packets in the captures of a folder, and those.
func packetsIn(t *testing.T, dir, pattern string) (packets, files int) {
	t.Helper()
	packets, files, err := packetsSoFar(dir, pattern)
	if err != nil {
		t.Fatal(err)
	}
	return packets, files
}

// packetsSoFar is packetsIn of captures that are being written: an error may be half a
// packet.
func packetsSoFar(dir, pattern string) (packets, files int, err error) {
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		return 0, 0, err
	}
	for _, name := range names {
		r, err := file.Open(name)
		if err != nil {
			return packets, len(names), err
		}
		for err == nil {
			var b capture.Batch
			err = r.Read(&b)
			packets += len(b.Packets)
		}
		r.Close()
		if err != io.EOF {
			return packets, len(names), err
		}
	}
	return packets, len(names), nil
}

// awaitPackets waits until so many are in the captures of a folder. A second of packet time
// may be in a buffer.
func awaitPackets(t *testing.T, dir string, want int) {
	t.Helper()
	timing.Await(t, fmt.Sprintf("%d packets in files", want), func() bool {
		packets, _, err := packetsSoFar(dir, "q*")
		return err == nil && packets >= want
	})
}

// TestLiveDiskFull: a file that cannot be written is reported once, and the capture goes on.
func TestLiveDiskFull(t *testing.T) {
	timing.SkipUnlessLive(t)
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	name := filepath.Join(fullDisk(t), "q.pcapng")
	s := sniff(t, server, "-o", "json", "-w", name).collect()
	conn := clients.Dial(t, gameAddr)
	flow(t, conn, 2000, 200*time.Microsecond)
	s.untilLines(t, 2000)
	time.Sleep(1200 * time.Millisecond) // longer than the file waits before it tries again
	flow(t, conn, 100, 0)
	s.untilLines(t, 2100)
	status, _ := s.end(t, os.Interrupt)
	messages := countMessages(parse(t, <-s.output))
	if status != exitFailed || messages != 2100 || strings.Count(s.said(), "qsniff: "+name+": ") != 1 || !strings.Contains(s.said(), "2100 could not be") {
		t.Errorf("status %d, %d messages\n%s", status, messages, s.said())
	}
}

// fullDisk mounts a disk that has room for the names of files, and for nothing in them.
func fullDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("qsniff-test", dir, "tmpfs", 0, "size=4k"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
	if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestLiveKilled: a program that is killed leaves files that can be read.
func TestLiveKilled(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	for _, flags := range [][]string{{"--ring-size", "20K"}, nil} {
		dir := t.TempDir()
		s := sniff(t, server, append([]string{"-o", "none", "-w", filepath.Join(dir, "q.pcapng")}, flags...)...)
		flow(t, clients.Dial(t, gameAddr), 1000, 0)
		awaitPackets(t, dir, 1000)
		s.end(t, os.Kill)
		if packets, files := packetsIn(t, dir, "q*"); packets != 1000 {
			t.Errorf("%v: %d packets in %d files, want 1000", flags, packets, files)
		}
	}
}

// TestLiveOnIncidentShort: an incident that is over, or becomes known, when the capture
// ends is written from before its begin, and told on standard error where the output
// tells nothing.
func TestLiveOnIncidentShort(t *testing.T) {
	timing.SkipUnlessLive(t)
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	for _, output := range []string{"none", "csv", "text"} {
		dir := t.TempDir()
		s := sniff(t, server, "-o", output, "-w", filepath.Join(dir, "q.pcapng"), "--on-incident", "1").collect()
		conn := clients.Dial(t, gameAddr)
		for range 24 {
			flow(t, conn, 200, 0)
			time.Sleep(50 * time.Millisecond)
		}
		status, _ := s.end(t, os.Interrupt)
		packets, _ := packetsIn(t, dir, "q_*.pcapng")
		if status != exitOK || packets != 24*200 {
			t.Errorf("-o %s: status %d, %d packets written, want 0 and all %d\n%s", output, status, packets, 24*200, s.said())
		}
		told := strings.Contains(s.said(), "! alert FLOOD  flood_few at udp/"+gameAddr)
		if inOutput := strings.Contains(fmt.Sprint(<-s.output), "! alert FLOOD  flood_few"); told == inOutput {
			t.Errorf("-o %s: told on standard error: %v, in the output: %v", output, told, inOutput)
		}
	}
}

// TestLiveEnds: whatever ends the run, files are finished and the summary is printed.
func TestLiveEnds(t *testing.T) {
	timing.SkipUnlessLive(t)
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	for _, tc := range []struct {
		name string
		end  func(s *sniffer) error
	}{
		{"two signals at once", func(s *sniffer) error {
			if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
				return err
			}
			return s.cmd.Process.Signal(syscall.SIGTERM)
		}},
		{"the terminal closes", func(s *sniffer) error { return s.cmd.Process.Signal(syscall.SIGHUP) }},
		{"the reader goes", func(s *sniffer) error { return s.out.Close() }},
	} {
		if strings.HasPrefix(tc.name, "the terminal") && signal.Ignored(syscall.SIGHUP) {
			t.Logf("%s: not tried, as the tests run under nohup, and what they start ignores hangups, too", tc.name)
			continue
		}
		dir := t.TempDir()
		s := sniff(t, server, "-w", filepath.Join(dir, "q.pcap")).collect()
		conn := clients.Dial(t, gameAddr)
		flow(t, conn, 100, 0)
		s.untilLines(t, 100)
		if err := tc.end(s); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(tc.name, "the reader") {
			flow(t, conn, 10, 0)
		}
		status, _ := s.end(t, nil)
		packets, _ := packetsIn(t, dir, "q.pcap")
		if status != exitOK || packets < 100 || !strings.Contains(s.said(), fmt.Sprintf("\nqsniff: %d packets written\n", packets)) {
			t.Errorf("%s: status %d, %d packets written: %s", tc.name, status, packets, s.said())
		}
	}
}

// TestLiveOnIncident: only what surrounds an incident is written, at servers that are
// of interest.
func TestLiveOnIncident(t *testing.T) {
	timing.SkipUnlessLive(t)
	t.Parallel()
	server, clients := cable(t)
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	dir, elsewhere := t.TempDir(), t.TempDir()
	s := sniff(t, server, "-w", filepath.Join(dir, "q.pcapng"), "--on-incident", "2").collect()
	others := sniff(t, server, "-w", filepath.Join(elsewhere, "q.pcapng"), "--on-incident", "2", "--servers", "192.0.2.0/24").collect()
	conn := clients.Dial(t, gameAddr)
	flow(t, conn, 20, 100*time.Millisecond)
	if _, files := packetsIn(t, dir, "q*"); files != 0 {
		t.Errorf("%d files before the incident", files)
	}
	for range 60 {
		flow(t, conn, 100, 0)
		time.Sleep(50 * time.Millisecond)
	}
	status, _ := s.end(t, os.Interrupt)
	packets, _ := packetsIn(t, dir, "q_*.pcapng")
	if status != exitOK || packets < 4000 || packets > 6020 || !strings.Contains(s.said(), "1 incident;") {
		t.Errorf("status %d, %d packets written: %s", status, packets, s.said())
	}
	status, _ = others.end(t, os.Interrupt)
	if packets, _ := packetsIn(t, elsewhere, "q*"); status != exitOK || packets != 0 || !strings.Contains(others.said(), "0 incidents;") {
		t.Errorf("at other servers: status %d, %d packets written: %s", status, packets, others.said())
	}
}
