package responder

import (
	"net"
	"net/netip"
	"sync"
)

// loopback is where every server listens, on a port that the system chooses.
var loopback = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 0)

// Server is a listening socket and what answers there.
type Server struct {
	addr  netip.AddrPort
	close func() error
	busy  sync.WaitGroup
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() netip.AddrPort { return s.addr }

// Close stops the server and waits for the answer that is under way.
func (s *Server) Close() error {
	err := s.close()
	s.busy.Wait()
	return err
}

// ListenUDP answers each datagram with those that answer returns for it, in order.
// answer is called for one datagram at a time and must not keep the request.
func ListenUDP(answer func(request []byte) [][]byte) (*Server, error) {
	conn, err := net.ListenUDP("udp4", net.UDPAddrFromAddrPort(loopback))
	if err != nil {
		return nil, err
	}
	s := &Server{addr: conn.LocalAddr().(*net.UDPAddr).AddrPort(), close: conn.Close}
	s.busy.Go(func() {
		buf := make([]byte, maxDatagram)
		for {
			n, from, err := conn.ReadFromUDPAddrPort(buf)
			if err != nil {
				return // closed
			}
			for _, b := range answer(buf[:n]) {
				// a client that has gone does not want the rest
				if _, err := conn.WriteToUDPAddrPort(b, from); err != nil {
					break
				}
			}
		}
	})
	return s, nil
}

// ListenTCP hands every connection to serve, which may run several times at once.
// The connection is closed when serve returns, and by Close.
func ListenTCP(serve func(net.Conn)) (*Server, error) {
	l, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(loopback))
	if err != nil {
		return nil, err
	}
	open := connections{all: make(map[net.Conn]bool)}
	s := &Server{addr: l.Addr().(*net.TCPAddr).AddrPort()}
	s.close = func() error {
		err := l.Close()
		open.closeAll()
		return err
	}
	s.busy.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // closed
			}
			if !open.add(conn) {
				return
			}
			s.busy.Go(func() {
				serve(conn)
				open.remove(conn)
			})
		}
	})
	return s, nil
}

// connections are the open connections, which Close has to end.
type connections struct {
	mu     sync.Mutex
	all    map[net.Conn]bool
	closed bool
}

// add reports whether c may be served. After closeAll it closes c.
func (o *connections) add(c net.Conn) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		c.Close()
		return false
	}
	o.all[c] = true
	return true
}

func (o *connections) remove(c net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	c.Close()
	delete(o.all, c)
}

func (o *connections) closeAll() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	for c := range o.all {
		c.Close()
	}
}

// limit: maxDatagram holds any request: a query has less than 100 bytes, and the
// padded ones of 2020 at most 1,400.
const maxDatagram = 2048
