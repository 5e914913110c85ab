package sandbox

import (
	"context"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// packetSocket opens a socket for packets of all kinds, as a capture does.
func packetSocket() (int, error) {
	const allTypes = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // network byte order
	return unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, allTypes)
}

// captures connects to address and reports whether the socket sees it.
func captures(socket int, address string) string {
	unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5})
	if c, err := net.DialTimeout("tcp", address, 5*time.Second); err == nil {
		c.Close()
	}
	_, _, err := unix.Recvfrom(socket, make([]byte, 2048), 0)
	return textOf(err)
}

// listen opens a listener that is left alone: the kernel completes connections.
// Landlock does not know multipath TCP, which Go prefers.
func listen() net.Listener {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l
}

func dial(l net.Listener) string {
	c, err := net.DialTimeout("tcp", l.Addr().String(), 5*time.Second)
	if err == nil {
		c.Close()
	}
	return textOf(err)
}

// bind opens one more listener.
func bind() string {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err == nil {
		l.Close()
	}
	return textOf(err)
}
