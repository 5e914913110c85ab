package live

import (
	"encoding/binary"
	"net"

	"golang.org/x/sys/unix"
)

// hasAny reports whether the system can capture on all interfaces at once.
const hasAny = true

// checkPermission returns nil if this program may open packet sockets.
func checkPermission() error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// deviceType returns the kernel's ARPHRD_ value of an interface, or that of devices
// without a header if the interface vanished meanwhile.
func deviceType(f *net.Interface) uint16 {
	fd, err := openQuery()
	if err != nil {
		return arpNone
	}
	defer closeQuery(fd)
	request, err := unix.NewIfreq(f.Name)
	if err != nil || unix.IoctlIfreq(fd, unix.SIOCGIFHWADDR, request) != nil {
		return arpNone
	}
	return request.Uint16() // the family of the address
}

// openQuery opens a socket for interfaceState.
func openQuery() (fd int, err error) {
	return unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
}

func closeQuery(fd int) { unix.Close(fd) }

// interfaceState reports whether an interface still exists, and is up. It asks through
// an open socket, which works whatever rights the program has dropped.
func interfaceState(fd, index int) (there, up bool) {
	request, err := unix.NewIfreq("-")
	if err != nil {
		return false, false
	}
	request.SetUint32(uint32(index))
	if unix.IoctlIfreq(fd, unix.SIOCGIFNAME, request) != nil {
		return false, false
	}
	err = unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request) // by the name that SIOCGIFNAME wrote
	return err == nil, err == nil && request.Uint16()&unix.IFF_UP != 0
}

// RightsHint returns the command that gives this program the right to capture.
func RightsHint() string {
	return "sudo setcap cap_net_raw+ep " + shellWord(programPath()) +
		"; in a systemd unit: AmbientCapabilities=CAP_NET_RAW and CapabilityBoundingSet=CAP_NET_RAW"
}

// card counts how many packets a network card lost. It asks the kernel over a netlink
// socket that is opened with the capture: files below /sys may be out of reach once the
// program has dropped its rights, and show the interfaces of another namespace.
type card struct {
	fd      int // 0: the card has no counters, or they cannot be read
	request [netlinkHeader + linkMessage]byte
	answer  []byte
	base    uint64 // the count when the capture began, or when the kernel first answered
	last    uint64 // the highest count so far
	hasBase bool
}

// Messages of rtnetlink, in the host's byte order (linux/rtnetlink.h, linux/if_link.h):
// a header, the description of the interface, attributes. One of them is a table of
// counters of 8 bytes.
const (
	netlinkHeader = 16
	linkMessage   = 16
	attribute     = 4
	answerBytes   = 32 << 10 // the kernel cuts answers into pages or puts them in 32 KiB
	counterBytes  = 8
	missedAt      = 15 * counterBytes // rx_missed_errors: the card's buffer was full
	fifoAt        = 14 * counterBytes // rx_fifo_errors: the driver's was
)

// open prepares the query about an interface and reads the counters for the first time.
// If that is not possible, countMissed returns 0.
func (c *card) open(t target) {
	if t.index == 0 {
		return
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_ROUTE)
	if err != nil {
		return
	}
	if unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil || unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) != nil {
		unix.Close(fd)
		return
	}
	c.fd, c.answer = fd, make([]byte, answerBytes)
	order := binary.NativeEndian
	order.PutUint32(c.request[0:], uint32(len(c.request)))
	order.PutUint16(c.request[4:], unix.RTM_GETLINK)
	order.PutUint16(c.request[6:], unix.NLM_F_REQUEST)
	order.PutUint32(c.request[netlinkHeader+4:], uint32(t.index))
	c.recordCount(c.readCounters())
}

// countMissed returns how many packets the card lost since open, or since the kernel first
// answered if it did not at once.
func (c *card) countMissed() uint64 {
	if c.fd != 0 {
		c.recordCount(c.readCounters())
	}
	return c.last - c.base
}

// recordCount records what readCounters returned. The first count is the base, whenever it
// comes: the card has counted since the system started.
func (c *card) recordCount(lost uint64, ok bool) {
	switch {
	case !ok: // an interface that vanished has no count
	case !c.hasBase:
		c.base, c.last, c.hasBase = lost, lost, true
	default:
		c.last = max(c.last, lost)
	}
}

// readCounters returns how many packets the card has lost. ok is false if the kernel does
// not answer, or the card has no counters.
func (c *card) readCounters() (lost uint64, ok bool) {
	if _, err := unix.Write(c.fd, c.request[:]); err != nil {
		return 0, false
	}
	n, err := unix.Read(c.fd, c.answer) // the answer is there when write returns
	if err != nil {
		return 0, false
	}
	return parseCounters(c.answer[:n])
}

// parseCounters returns the sum of the two counters of lost packets in an answer. ok is
// false if it has none.
func parseCounters(b []byte) (lost uint64, ok bool) {
	order := binary.NativeEndian
	if len(b) < netlinkHeader+linkMessage || order.Uint16(b[4:]) != unix.RTM_NEWLINK {
		return 0, false
	}
	b = b[netlinkHeader+linkMessage:]
	for len(b) >= attribute {
		n := int(order.Uint16(b))
		if n < attribute || n > len(b) {
			return 0, false
		}
		body := b[attribute:n]
		if order.Uint16(b[2:]) == unix.IFLA_STATS64 && len(body) >= missedAt+counterBytes {
			return order.Uint64(body[missedAt:]) + order.Uint64(body[fifoAt:]), true
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return 0, false
}

func (c *card) close() {
	if c.fd != 0 {
		unix.Close(c.fd)
		c.fd = 0
	}
}

// setControl asks the kernel for the time at which each datagram came, and for its count of those that it dropped. Without
// them the time is that of the read, and drops are unknown.
func setControl(c *net.UDPConn) {
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1)
		_ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RXQ_OVFL, 1)
	})
}

// readControl reads what the kernel says of a datagram, and returns its time; 0: unknown.
func (s *datagramSocket) readControl(b []byte) (nanos int64) {
	ne := binary.NativeEndian
	for len(b) > 0 {
		h, data, rest, err := unix.ParseOneSocketControlMessage(b)
		if err != nil {
			break
		}
		switch {
		case h.Level != unix.SOL_SOCKET:
		case h.Type == unix.SO_TIMESTAMPNS && len(data) >= 16:
			nanos = int64(ne.Uint64(data))*1e9 + int64(ne.Uint64(data[8:]))
		case h.Type == unix.SO_TIMESTAMPNS && len(data) >= 8:
			nanos = int64(ne.Uint32(data))*1e9 + int64(ne.Uint32(data[4:]))
		case h.Type == unix.SO_RXQ_OVFL && len(data) >= 4:
			s.kernel = uint64(ne.Uint32(data))
		}
		b = rest
	}
	return nanos
}
