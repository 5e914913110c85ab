// Package systemd speaks with the manager that started the program, if one did: it reports how
// the program is, and takes sockets over. It is forty lines in place of a library, because the
// socket of reports has to be open before the sandbox is entered, after which none can be
// opened; libraries open it for each report.
package systemd

import (
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// Manager is a connection to the manager. A nil one, as where there is none, does nothing.
type Manager struct{ conn net.Conn }

// Connect connects to the manager that NOTIFY_SOCKET names, and removes that from the
// environment. It returns nil if there is none.
func Connect() (*Manager, error) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil, nil
	}
	os.Unsetenv("NOTIFY_SOCKET")
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	return &Manager{conn}, nil
}

// Notify reports assignments, such as READY=1: see sd_notify(3). A report that cannot be sent
// is lost: whoever waits for it has a timeout.
func (m *Manager) Notify(assignments ...string) {
	if m != nil {
		_, _ = m.conn.Write([]byte(strings.Join(assignments, "\n")))
	}
}

// Reloading reports that the configuration is being read again, until READY=1.
func (m *Manager) Reloading() {
	if m != nil {
		m.Notify("RELOADING=1", "MONOTONIC_USEC="+strconv.FormatInt(monotonicMicros(), 10))
	}
}

// WatchdogInterval returns how often the manager wants WATCHDOG=1 at least, 0 if it does not.
func WatchdogInterval() time.Duration {
	us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if pid := os.Getenv("WATCHDOG_PID"); err != nil || us <= 0 || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	return time.Duration(us) * time.Microsecond
}

// firstSocket is the descriptor of the first socket that the manager passes on: sd_listen_fds(3).
const firstSocket = 3

// Listener returns the socket that the manager opened for the program, nil if it opened none.
func Listener() (net.Listener, error) {
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil || n < 1 || os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if n > 1 {
		return nil, errors.New("more than one socket was passed on, and one is used")
	}
	f := os.NewFile(firstSocket, "socket of the manager")
	defer f.Close() // the listener has its own
	return net.FileListener(f)
}
