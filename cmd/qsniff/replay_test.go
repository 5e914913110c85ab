package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

const infoRequest = "\xff\xff\xff\xffTSource Engine Query\x00"

// replaying runs qsniff replay and returns where it listens. end interrupts it and returns
// what it printed on standard error.
func replaying(t *testing.T, args ...string) (addr string, end func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	r, w := io.Pipe()
	var errs bytes.Buffer
	status := make(chan int, 1)
	go func() {
		status <- run(ctx, append([]string{"replay"}, args...), streams{w, &errs})
		w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatalf("status %d: %s", <-status, errs.String())
	}
	return strings.TrimSpace(line), func() string {
		cancel()
		if s := <-status; s != exitOK {
			t.Errorf("status\ngot  %d\nwant %d", s, exitOK)
		}
		return errs.String()
	}
}

// dialReplay connects to a replay.
func dialReplay(t *testing.T, network, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(30 * time.Second))
	return conn
}

// ask sends a request and returns one datagram.
func ask(t *testing.T, conn net.Conn, request string) string {
	t.Helper()
	if _, err := conn.Write([]byte(request)); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<16)
	n, err := conn.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return string(buf[:n])
}

func TestReplay(t *testing.T) {
	addr, end := replaying(t, "-v", "../../pcapfiles/a2s/full-poll.pcap")
	conn := dialReplay(t, "udp", addr)
	challenge := ask(t, conn, infoRequest)
	if !strings.HasPrefix(challenge, "\xff\xff\xff\xffA") || len(challenge) != 9 {
		t.Fatalf("no challenge: %q", challenge)
	}
	if got := ask(t, conn, infoRequest+challenge[5:]); !strings.Contains(got, "Test server") {
		t.Errorf("no information: %q", got)
	}
	errs := end()
	for _, want := range []string{"A2S_INFO: challenged, 9 bytes in 1", "A2S_INFO: answered, 123 bytes in 1", "2 requests: 1 answered, 1 challenged"} {
		if !strings.Contains(errs, want) {
			t.Errorf("standard error\ngot  %s\nwant %q in it", errs, want)
		}
	}
}

// TestReplayTorments: flags reach the datagrams.
func TestReplayTorments(t *testing.T) {
	addr, end := replaying(t, "--truncate", "7", "--delay", "1ms", "../../pcapfiles/ase/mta-full.pcap")
	if got := ask(t, dialReplay(t, "udp", addr), "s"); got != "EYE1\x04mt" {
		t.Errorf("truncated\ngot  %q\nwant 7 bytes", got)
	}
	end()
	addr, end = replaying(t, "--loss", "1", "../../pcapfiles/ase/mta-full.pcap")
	conn := dialReplay(t, "udp", addr)
	if _, err := conn.Write([]byte("s")); err != nil {
		t.Fatal(err)
	}
	// a connection without a console in the capture is closed, which shows that it serves
	if b, err := io.ReadAll(dialReplay(t, "tcp", addr)); err != nil || len(b) > 0 {
		t.Errorf("%q, %v from a port without a console", b, err)
	}
	end()
}

// TestReplayConsole: over TCP, at the same port, with the recorded password, which is
// nowhere printed.
func TestReplayConsole(t *testing.T) {
	addr, end := replaying(t, "-v", "../../pcapfiles/rcon/srcds-login-status.pcap")
	conn := dialReplay(t, "tcp", addr)
	if _, err := conn.Write([]byte("\x0c\x00\x00\x00\x01\x00\x00\x00\x03\x00\x00\x00no\x00\x00")); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(conn); err != nil || len(b) > 0 {
		t.Errorf("%q, %v for a wrong password", b, err)
	}
	if errs := end(); !strings.Contains(errs, "TCP SERVERDATA_AUTH: not answered in the capture") {
		t.Errorf("standard error: %s", errs)
	}
}

func TestReplayRefuses(t *testing.T) {
	const poll = "../../pcapfiles/a2s/full-poll.pcap"
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{[]string{"--listen", "0.0.0.0:0", poll}, exitUsage, "--force"},
		{[]string{"--listen", "[::]:0", poll}, exitUsage, "--force"},
		{[]string{"--listen", "localhost", poll}, exitUsage, "no address with a port"},
		{[]string{"--server", "198.51.100.250:1", poll}, exitFailed, "198.18.0.36:27015 was asked most"},
		{[]string{"--loss", "2", poll}, exitUsage, "no share"},
		{[]string{"--loss", "NaN", poll}, exitUsage, "no share"},
		{[]string{"--truncate", "-1", poll}, exitUsage, "no length"},
		{[]string{"--delay", "1h", poll}, exitUsage, "between 0 and"},
		{[]string{"-"}, exitUsage, "reads its captures twice"},
		{[]string{"../../pcapfiles/a2s/unanswered.pcap"}, exitFailed, "nothing to replay"},
	} {
		_, errs, status := output(t, append([]string{"replay"}, tc.args...)...)
		if status != tc.status || !strings.Contains(errs, tc.want) {
			t.Errorf("%q\ngot  %d %s\nwant %d and %q", tc.args, status, errs, tc.status, tc.want)
		}
	}
}
