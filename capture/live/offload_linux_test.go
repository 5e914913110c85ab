package live

import (
	"bytes"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOffload: a sniffer sees datagrams that a program sent with UDP_SEGMENT as one packet, at both
// ends of a cable. The kernel's ring has their size, and nothing more stands before the packet. On Any,
// whose packets have no header of their device, the kernel has no place for it.
func TestOffload(t *testing.T) {
	if !isKernel(6, 2) {
		t.Skip("this kernel has no word for merged datagrams")
	}
	here, there := cable(t)
	const size, n = 13, 20
	for _, at := range []string{hereName, Any} {
		t.Run(at, func(t *testing.T) {
			s := open(t, here, Options{Interfaces: []string{at}, Backend: AFPacket})
			remote := open(t, there, Options{Interfaces: []string{thereName}, Backend: AFPacket})
			there.Listen(t, thereIP+":27015")
			conn := here.Dial(t, thereIP+":27015").(*net.UDPConn)
			raw, err := conn.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, size) })
			if err != nil {
				t.Skip("no UDP_SEGMENT here: ", err)
			}
			whole := bytes.Repeat([]byte("\xff\xff\xff\xffT12345678"), n)
			if _, err := conn.Write(whole); err != nil {
				t.Fatal(err)
			}
			raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT, 0) })
			if _, err := conn.Write(whole[:2*size]); err != nil {
				t.Fatal(err)
			}
			for i, s := range []*Source{s, remote} {
				segment := uint16(size)
				if i == 0 && at == Any {
					segment = 0
				}
				s.Stop()
				all, _ := readAll(s)
				var sizes []uint16
				for j := range all {
					if b := payload(&all[j].Packet); bytes.HasPrefix(whole, b) && len(b) >= size {
						sizes = append(sizes, uint16(len(b)), all[j].Segment)
					}
				}
				if len(sizes) != 4 || sizes[0] != size*n || sizes[1] != segment || sizes[2] != 2*size || sizes[3] != 0 {
					t.Errorf("payloads and their segments: got %v, want %v", sizes, []uint16{size * n, segment, 2 * size, 0})
				}
			}
		})
	}
}
