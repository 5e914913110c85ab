package netns

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestCable: what is asked at one end is answered at the other, nothing else is sent,
// and a program that is started in a namespace sees that.
func TestCable(t *testing.T) {
	const addr = "198.18.0.1:27015"
	server, clients := NewCable(t, End{"server0", "198.18.0.1"}, End{"client0", "198.18.0.2"})
	server.Serve(t, addr, func(request []byte) [][]byte {
		return [][]byte{fmt.Appendf(nil, "%s?", request), []byte("!")}
	})
	conn := clients.Dial(t, addr)
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("who")); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 100)
	for _, want := range []string{"who?", "!"} {
		n, err := conn.Read(buf)
		if got := string(buf[:n]); err != nil || got != want {
			t.Errorf("answer\ngot  %q, error %v\nwant %q", got, err, want)
		}
	}
	if got := received(t, server, "server0"); got != 1 {
		t.Errorf("packets at the server\ngot  %d\nwant 1", got)
	}
	if got := received(t, clients, "client0"); got != 2 {
		t.Errorf("packets at the client\ngot  %d\nwant 2", got)
	}
}

// received is how many packets came at an interface, as a program tells that is
// started in the namespace.
func received(t *testing.T, ns *Namespace, name string) (packets int) {
	t.Helper()
	var said strings.Builder
	c := exec.Command("cat", "/proc/net/dev")
	c.Stdout = &said
	ns.Start(t, c)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(said.String()) {
		if counters, ok := strings.CutPrefix(strings.TrimSpace(line), name+":"); ok {
			var bytes int
			if _, err := fmt.Sscan(counters, &bytes, &packets); err != nil {
				t.Fatal(err)
			}
			return packets
		}
	}
	t.Fatalf("no interface %s in\n%s", name, said.String())
	return 0
}

// TestAlone: namespaces do not see each other, so an address is free in each.
func TestAlone(t *testing.T) {
	const addr = "127.0.0.1:27015"
	for range 2 {
		ns := New(t)
		ns.RunIP(t, "link set lo up")
		ns.Listen(t, addr)
		var l net.Listener
		var err error
		ns.Do(func() { l, err = net.Listen("tcp", addr) })
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var conn net.Conn
		ns.Do(func() { conn, err = net.Dial("tcp", addr) })
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
}
