package systemd

import (
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"os"
)

func TestNotify(t *testing.T) {
	name := filepath.Join(t.TempDir(), "n")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", name)
	m, err := Connect()
	if err != nil {
		t.Fatal(err)
	}
	m.Notify("READY=1", "STATUS=x")
	b := make([]byte, 100)
	n, err := l.Read(b)
	if got := string(b[:n]); err != nil || got != "READY=1\nSTATUS=x" {
		t.Errorf("got %q, %v", got, err)
	}
	if m, err := Connect(); m != nil || err != nil {
		t.Errorf("connected again: %v, %v", m, err)
	}
	(*Manager)(nil).Notify("READY=1")
}

func TestWatchdogInterval(t *testing.T) {
	own := strconv.Itoa(os.Getpid())
	for _, tc := range []struct {
		usec, pid string
		want      time.Duration
	}{{"", "", 0}, {"30000000", "", 30 * time.Second}, {"30000000", own, 30 * time.Second}, {"30000000", "1", 0}, {"-1", "", 0}, {"x", "", 0}} {
		t.Setenv("WATCHDOG_USEC", tc.usec)
		t.Setenv("WATCHDOG_PID", tc.pid)
		if got := WatchdogInterval(); got != tc.want {
			t.Errorf("%v: got %v", tc, got)
		}
	}
}

func TestNoListener(t *testing.T) {
	for _, tc := range [][2]string{{"", ""}, {"1", "1"}, {"0", strconv.Itoa(os.Getpid())}} {
		t.Setenv("LISTEN_FDS", tc[0])
		t.Setenv("LISTEN_PID", tc[1])
		if l, err := Listener(); l != nil || err != nil {
			t.Errorf("%q: got %v, %v", tc, l, err)
		}
	}
}
