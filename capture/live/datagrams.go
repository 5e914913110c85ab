package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"qsniff/capture"
)

// DatagramPrefix begins names of Options.Interfaces that are sockets, as in "tzsp:0.0.0.0:37008": a mirror sends
// packets there as datagrams, TZSP as Mikrotik does. The rest of a name is an address with a port.
const DatagramPrefix = "tzsp:"

// datagramSocket is a UDP socket as an interface. Each datagram that comes is one packet: the headers of IP and UDP
// are made anew from its addresses, so that what is in it is decoded, counted and written as if it had been captured
// on its way. It answers nothing.
type datagramSocket struct {
	conn    *net.UDPConn
	fd      int // of conn
	local   netip.AddrPort
	snapLen int
	most    int // bytes of a packet at most
	buf     []byte
	control []byte
	more    bool
	kernel  uint64 // datagrams that the kernel dropped, as it counts
}

const (
	// longestDatagram is the longest payload of a UDP datagram.
	longestDatagram = 65535
	// madeHeaders is the room for headers of IPv6 and UDP.
	madeHeaders = 40 + udpHeader
	udpHeader   = 8
	// datagramWait is how long a read waits once no datagram is left. Chosen: little, as Source waits at the
	// descriptor; with a time that is over, Go would not look.
	datagramWait = 200 * time.Microsecond
	// tzspPort is the port of TZSP.
	tzspPort = 37008
	// controlRoom is for a time stamp and a count of drops.
	controlRoom = 128
)

// isDatagrams reports whether a name of Options.Interfaces is a socket.
func isDatagrams(name string) bool { return strings.HasPrefix(name, DatagramPrefix) }

// openDatagrams opens a socket at exactly the address in a name.
func openDatagrams(name string, o *Options) (handle, error) {
	at, err := parseDatagrams(name)
	if err != nil {
		return nil, err
	}
	network := "udp4" // with "udp", 0.0.0.0 would be all addresses of IPv6, too
	if at.Addr().Is6() {
		network = "udp6"
	}
	c, err := net.ListenUDP(network, net.UDPAddrFromAddrPort(at))
	if err != nil {
		return nil, &Error{Interface: name, Reason: err.Error(), Hint: "another program may have the port; the mirror has to send to an address of this host", Err: err}
	}
	_ = c.SetReadBuffer(o.Buffer) // the kernel gives what it allows
	setControl(c)
	fd := -1
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(x uintptr) { fd = int(x) })
	}
	s := &datagramSocket{conn: c, fd: fd, local: c.LocalAddr().(*net.UDPAddr).AddrPort(), snapLen: o.Snap, most: min(o.Snap, longestDatagram+madeHeaders),
		buf: make([]byte, madeHeaders+longestDatagram), control: make([]byte, controlRoom)}
	return s, nil
}

// parseDatagrams returns the address in a name.
func parseDatagrams(name string) (netip.AddrPort, error) {
	text := strings.TrimPrefix(name, DatagramPrefix)
	if strings.HasPrefix(text, ":") {
		text = "[::]" + text
	}
	at, err := netip.ParseAddrPort(text)
	if err != nil || at.Port() == 0 {
		return at, &Error{Interface: name, Reason: fmt.Sprintf("%q is no address with a port", text), Hint: "as in 0.0.0.0:37008, or [::]:37008"}
	}
	return at, nil
}

func (s *datagramSocket) read(b *capture.Batch, iface uint16, most int) error {
	s.more = false
	if err := s.conn.SetReadDeadline(time.Now().Add(datagramWait)); err != nil {
		return err
	}
	for len(b.Packets) < most {
		if cap(b.Buf)-len(b.Buf) < s.most {
			s.more = true
			return nil
		}
		n, controls, _, from, err := s.conn.ReadMsgUDPAddrPort(s.buf[madeHeaders:], s.control)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		}
		if err != nil {
			return err
		}
		at := s.readControl(s.control[:controls])
		if at == 0 {
			at = time.Now().UnixNano()
		}
		packet := s.addHeaders(from, n)
		kept := packet[:min(len(packet), s.snapLen)]
		start := len(b.Buf)
		b.Buf = append(b.Buf, kept...)
		b.Packets = append(b.Packets, capture.Packet{Nanos: at, Data: b.Buf[start:len(b.Buf):len(b.Buf)], Wire: uint32(len(packet)), Link: linkRaw, Iface: iface})
	}
	s.more = true
	return nil
}

// addHeaders puts headers of IP and UDP before the n bytes of a datagram in buf, and returns all of it.
func (s *datagramSocket) addHeaders(from netip.AddrPort, n int) []byte {
	src, dst := from.Addr().Unmap(), s.local.Addr().Unmap()
	if dst.IsUnspecified() && src.Is4() {
		dst = netip.IPv4Unspecified()
	}
	p := s.buf[madeHeaders-udpHeader:][:udpHeader+n]
	be := binary.BigEndian
	be.PutUint16(p, from.Port())
	be.PutUint16(p[2:], tzspPort) // whichever port the socket has: by it TZSP is recognised
	be.PutUint16(p[4:], uint16(len(p)))
	be.PutUint16(p[6:], 0) // no checksum: the kernel has looked at it
	if src.Is4() {
		h := s.buf[madeHeaders-udpHeader-20:][:20]
		clear(h)
		h[0], h[8], h[9] = 0x45, 64, 17
		be.PutUint16(h[2:], uint16(min(20+len(p), 1<<16-1)))
		a, z := src.As4(), dst.As4()
		copy(h[12:], a[:])
		copy(h[16:], z[:])
		sum := uint32(0)
		for i := 0; i < 20; i += 2 {
			sum += uint32(be.Uint16(h[i:]))
		}
		sum = sum&0xffff + sum>>16
		be.PutUint16(h[10:], ^uint16(sum+sum>>16))
		return s.buf[madeHeaders-udpHeader-20:][:20+len(p)]
	}
	h := s.buf[:40]
	clear(h)
	h[0], h[6], h[7] = 0x60, 17, 64
	be.PutUint16(h[4:], uint16(len(p)))
	a, z := src.As16(), dst.As16()
	copy(h[8:], a[:])
	copy(h[24:], z[:])
	return s.buf[:40+len(p)]
}

// rebind implements handle. Nothing calls it: a socket does not end with an interface.
func (s *datagramSocket) rebind(target) error { return errors.ErrUnsupported }

func (s *datagramSocket) waits() time.Duration { return 0 }
func (s *datagramSocket) hasMore() bool        { return s.more }
func (s *datagramSocket) drops(bool) uint64    { return s.kernel }
func (s *datagramSocket) link() uint16         { return linkRaw }
func (s *datagramSocket) descriptor() int      { return s.fd }
func (s *datagramSocket) close()               { s.conn.Close() }
