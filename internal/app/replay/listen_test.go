package replay

import (
	"io"
	"net"
	"net/netip"
	"strconv"
	"testing"
	"time"
)

// listen returns a Listener at any port that answers nothing.
func listen(t *testing.T, at string, opt ListenOptions) *Listener {
	t.Helper()
	l, err := Listen(t.Context(), netip.MustParseAddrPort(at), nil, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l
}

// TestSummary: what a limit keeps from being answered is in the summary.
func TestSummary(t *testing.T) {
	l := listen(t, "127.0.0.1:0", ListenOptions{Delay: time.Hour})
	l.delayed = maxDelayed
	l.later(func() { t.Error("sent") })
	for range maxConns {
		a, b := net.Pipe()
		t.Cleanup(func() { a.Close(); b.Close() })
		l.conns[a] = true
	}
	go l.accept(t.Context())
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if b, err := io.ReadAll(conn); err != nil || len(b) > 0 {
		t.Errorf("%q, %v from a server with too many connections", b, err)
	}
	const want = "0 requests: 1 reply not sent: 4096 others waited for --delay, 1 connection closed at once: 64 others were open"
	if got := l.Summary(); got != want {
		t.Errorf("summary\ngot  %s\nwant %s", got, want)
	}
}

// TestListen: it listens at the address it was given and at no other: 0.0.0.0 is IPv4 alone.
func TestListen(t *testing.T) {
	for given, other := range map[string]string{"0.0.0.0:0": "::1", "[::]:0": "127.0.0.1", "127.0.0.1:0": "127.0.0.2"} {
		l := listen(t, given, ListenOptions{})
		at := net.JoinHostPort(other, strconv.Itoa(l.tcp.Addr().(*net.TCPAddr).Port))
		if c, err := net.Dial("tcp", at); err == nil {
			c.Close()
			t.Errorf("%s: %s is answered, too", given, at)
		}
		taken := l.Addr().String()
		if _, err := Listen(t.Context(), netip.MustParseAddrPort(taken), nil, ListenOptions{}); err == nil {
			t.Errorf("%s is taken: error %v", taken, err)
		}
	}
}
