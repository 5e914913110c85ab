package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
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

// limitedListener bounds the connections that are open. An attacker opens connections, sends nothing, and
// wants readers with a token to find no place. A connection therefore waits in the lobby, which costs little,
// until its first byte comes or lobbyWait is over; when the lobby is full the oldest there is closed. After that,
// as long as no request on it was let in, it is one of at most maxStrangersOf of its address and maxStrangers in all:
// for a newer one the oldest of these is closed, one that sent nothing before others.
type limitedListener struct {
	net.Listener
	begin  sync.Once
	passed chan *limitedConn // from the lobby to Accept
	ended  chan struct{}     // closed when the listener failed, with err
	err    error

	mu        sync.Mutex
	lobby     [maxLobby]*limitedConn // a ring
	next      int                    // of the ring: the place of the next one, and of the oldest
	strangers []*limitedConn         // past the lobby, not let in yet, the oldest first
	open      int                    // all connections past the lobby
	refused   uint64                 // closed at once: all places are taken by connections that were let in
	displaced uint64                 // closed for newer ones
}

// newLimitedListener returns a limitedListener that owns l.
func newLimitedListener(l net.Listener) *limitedListener {
	return &limitedListener{Listener: l, passed: make(chan *limitedConn), ended: make(chan struct{})}
}

// limitedConn is an open connection of a limitedListener.
type limitedConn struct {
	net.Conn
	of       *limitedListener
	host     netip.Prefix // its address, or the /64 of it
	place    int          // in the lobby
	first    [1]byte      // what came in the lobby
	unread   int          // how much of first was not read yet
	hasSent  atomic.Bool  // at least a byte came
	isClosed bool         // under of.mu
}

// Read reads, and notes that something came.
func (c *limitedConn) Read(b []byte) (int, error) {
	if c.unread > 0 && len(b) > 0 {
		c.unread = 0
		return copy(b, c.first[:]), nil
	}
	n, err := c.Conn.Read(b)
	if n > 0 && !c.hasSent.Load() {
		c.hasSent.Store(true)
	}
	return n, err
}

// Accept waits for a connection that has a place.
func (l *limitedListener) Accept() (net.Conn, error) {
	l.begin.Do(func() { go l.acceptAll() })
	select {
	case c := <-l.passed:
		return c, nil
	case <-l.ended:
		return nil, l.err
	}
}

// acceptAll accepts connections until the listener fails or is closed.
func (l *limitedListener) acceptAll() {
	defer close(l.ended)
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.ECONNABORTED) {
				time.Sleep(acceptPause)
				continue
			}
			l.err = err
			return
		}
		x := &limitedConn{Conn: c, of: l, host: hostOf(c.RemoteAddr())}
		l.mu.Lock()
		old := l.lobby[l.next]
		x.place, l.lobby[l.next] = l.next, x
		l.next = (l.next + 1) % maxLobby
		if old != nil {
			l.displaced++
		}
		l.mu.Unlock()
		if old != nil {
			old.Conn.Close()
		}
		go l.pass(x)
	}
}

// pass waits in the lobby with x, and passes it on to Accept or closes it.
func (l *limitedListener) pass(x *limitedConn) {
	_ = x.Conn.SetReadDeadline(time.Now().Add(lobbyWait))
	n, err := x.Conn.Read(x.first[:])
	_ = x.Conn.SetReadDeadline(time.Time{})
	x.unread = n
	x.hasSent.Store(n > 0)
	l.mu.Lock()
	isDisplaced := l.lobby[x.place] != x
	if !isDisplaced {
		l.lobby[x.place] = nil
	}
	l.mu.Unlock()
	if isDisplaced || err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		x.Conn.Close()
		return
	}
	old, isOpen := l.add(x)
	if old != nil {
		old.Conn.Close()
	}
	if !isOpen {
		x.Conn.Close()
		return
	}
	select {
	case l.passed <- x:
	case <-l.ended:
		x.Close()
	}
}

// add gives x a place, and returns the connection to close for it, if any. It reports false if there is none.
func (l *limitedListener) add(x *limitedConn) (old *limitedConn, isOpen bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sameHost := func(c *limitedConn) bool { return c.host == x.host }
	own := 0
	for _, c := range l.strangers {
		if sameHost(c) {
			own++
		}
	}
	switch {
	case own >= maxStrangersOf:
		old = l.oldest(sameHost)
	case len(l.strangers) >= maxStrangers, l.open >= MaxConns && len(l.strangers) > 0:
		old = l.oldest(func(*limitedConn) bool { return true })
	case l.open >= MaxConns:
		l.refused++
		return nil, false
	}
	if old != nil {
		l.displaced++
		l.remove(old)
	}
	l.strangers = append(l.strangers, x)
	l.open++
	return old, true
}

// oldest returns the oldest of the strangers that are meant on which nothing came, else the oldest of them.
// There is at least one.
func (l *limitedListener) oldest(isMeant func(*limitedConn) bool) *limitedConn {
	silent := func(c *limitedConn) bool { return isMeant(c) && !c.hasSent.Load() }
	if i := slices.IndexFunc(l.strangers, silent); i >= 0 {
		return l.strangers[i]
	}
	return l.strangers[slices.IndexFunc(l.strangers, isMeant)]
}

// remove takes c off the list. l.mu is held.
func (l *limitedListener) remove(c *limitedConn) {
	if c.isClosed {
		return
	}
	c.isClosed = true
	l.open--
	l.strangers = slices.DeleteFunc(l.strangers, func(x *limitedConn) bool { return x == c })
}

// admit notes that a request on c, a connection of a limitedListener or TLS over one, was let in.
func admit(c net.Conn) {
	if t, isTLS := c.(*tls.Conn); isTLS {
		c = t.NetConn()
	}
	if x, ok := c.(*limitedConn); ok {
		x.of.mu.Lock()
		defer x.of.mu.Unlock()
		x.of.strangers = slices.DeleteFunc(x.of.strangers, func(s *limitedConn) bool { return s == x })
	}
}

// hostOf returns what counts as one address: an IPv4 address, or a /64 of IPv6, which is what one
// customer has. It is zero for a Unix socket.
func hostOf(a net.Addr) netip.Prefix {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := t.AddrPort().Addr().Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked()
}

// Close closes the connection and gives its place up.
func (c *limitedConn) Close() error {
	c.of.mu.Lock()
	c.of.remove(c)
	c.of.mu.Unlock()
	return c.Conn.Close()
}

const (
	// limit: MaxConns is how many connections are open at a time; further ones are closed at once, and
	// counted. Chosen: several scrapers, and more people than look at one page.
	MaxConns = 128

	// limit: maxLobby is how many connections wait for their first byte, for lobbyWait at most; for a newer one the
	// oldest is closed, and counted. Chosen: one core opens 10,000 to 17,000 connections a second, of which the oldest has
	// waited 60 ms then, and a reader sends its request at once. With 16 places 27 of 40 scrapes came through.
	maxLobby  = 1024
	lobbyWait = 250 * time.Millisecond

	// limit: acceptPause is how long nothing is accepted when the program has no file descriptor left.
	acceptPause = 10 * time.Millisecond

	// limit: maxStrangers is how many connections may be open past that on which no request was let in yet, and
	// maxStrangersOf how many of one address, or one /64 of IPv6; for a newer one the oldest is closed, and
	// counted. Chosen: half of all; twice the connections that a browser opens at a time.
	maxStrangers   = MaxConns / 2
	maxStrangersOf = 16
)
