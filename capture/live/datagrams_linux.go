package live

import (
	"encoding/binary"
	"net"

	"golang.org/x/sys/unix"
)

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
