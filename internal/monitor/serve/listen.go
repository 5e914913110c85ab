package serve

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
)

// Listen opens a listener. Multipath TCP, Go's default, is off: the sandbox's rules for ports do
// not reach it.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	var c net.ListenConfig
	c.SetMultipathTCP(false)
	return c.Listen(ctx, "tcp", addr)
}

// IsLoopback reports whether only this machine reaches a listener.
func IsLoopback(l net.Listener) bool {
	switch a := l.Addr().(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	}
	return false
}

// limitedListener closes connections beyond MaxConns as soon as they come.
type limitedListener struct {
	net.Listener
	open    atomic.Int64
	refused atomic.Uint64
}

func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= MaxConns {
			return &countedConn{Conn: c, done: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		l.refused.Add(1)
		c.Close()
	}
}

// countedConn counts as open until it is closed.
type countedConn struct {
	net.Conn
	done func()
}

func (c *countedConn) Close() error {
	c.done()
	return c.Conn.Close()
}
