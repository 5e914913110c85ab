package main

import (
	"bufio"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// forcedReplay runs qsniff replay --force -v at the server's end of a cable. said returns what it
// has printed on standard error; end interrupts it and returns all of that.
func forcedReplay(t *testing.T, server *netns.Namespace, capture string) (said, end func() string) {
	t.Helper()
	errs, err := os.Create(filepath.Join(t.TempDir(), "errs"))
	if err != nil {
		t.Fatal(err)
	}
	said = func() string {
		b, _ := os.ReadFile(errs.Name())
		return string(b)
	}
	cmd := exec.Command("qsniff", "replay", "--force", "-v", "--listen", gameAddr, capture)
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	server.Start(t, cmd)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != gameAddr {
		t.Fatalf("it listens at %q, %v: %s", line, err, said())
	}
	return said, func() string {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, said())
		}
		return said()
	}
}

// TestReplayForced: at an address that others can reach, a client that brings its own challenge
// back gets what is longer than its request, and one that brings another's a challenge.
func TestReplayForced(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	const other = "198.18.0.3"
	clients.RunIP(t, "addr add "+other+"/24 dev client0")
	_, end := forcedReplay(t, server, "../../pcapfiles/a2s/full-poll.pcap")
	conn := clients.Dial(t, gameAddr)
	conn.SetDeadline(time.Now().Add(timing.Patience))
	challenge := ask(t, conn, infoRequest)
	if !strings.HasPrefix(challenge, "\xff\xff\xff\xffA") || len(challenge) != 9 {
		t.Fatalf("no challenge: %q", challenge)
	}
	if got := ask(t, conn, infoRequest+challenge[5:]); !strings.Contains(got, "Test server") {
		t.Errorf("no information for a proven client: %q", got)
	}
	victim := clients.Listen(t, other+":27005")
	victim.SetDeadline(time.Now().Add(timing.Patience))
	if _, err := victim.WriteTo([]byte(infoRequest+challenge[5:]), net.UDPAddrFromAddrPort(netip.MustParseAddrPort(gameAddr))); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 1<<16)
	n, _, err := victim.ReadFrom(buf)
	if got := string(buf[:n]); err != nil || !strings.HasPrefix(got, "\xff\xff\xff\xffA") || n != 9 || got == challenge {
		t.Errorf("for another's challenge: %q, %v; want a challenge of its own", got, err)
	}
	if errs := end(); !strings.Contains(errs, "3 requests: 1 answered, 2 challenged") {
		t.Errorf("standard error: %s", errs)
	}
}

// TestReplayForcedUnproven: where the server demanded no challenge, no source is proven, and gets
// nothing that is longer than the request.
func TestReplayForcedUnproven(t *testing.T) {
	t.Parallel()
	server, clients := cable(t)
	said, end := forcedReplay(t, server, "../../pcapfiles/ase/mta-full.pcap")
	conn := clients.Dial(t, gameAddr)
	for range 2 { // when the second one is read, what answers the first one was sent
		if _, err := conn.Write([]byte("s")); err != nil {
			t.Fatal(err)
		}
	}
	const refused = "not answered: longer than the request, from an address that is not proven\n"
	timing.Await(t, "both requests", func() bool { return strings.Count(said(), refused) == 2 })
	conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	buf := make([]byte, 1<<16)
	if n, err := conn.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it got %q, %v", buf[:n], err)
	}
	end()
}
