package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"qsniff/capture"
)

// HasAFPacket reports whether this build has the backend AFPacket.
const HasAFPacket = true

// packetSocket is a packet socket with a ring of blocks that the kernel fills
// (packet(7), TPACKET_V3).
type packetSocket struct {
	fd     int
	at     target
	linked uint16 // LINKTYPE_ value
	snap   int

	ring  []byte
	block int // the one to be read next, or being read
	open  bool
	walk  walker
	next  frame
	ready bool // next is a packet that has not been delivered

	lost  uint64
	stats statsV3
}

// statsV3 is struct tpacket_stats_v3. The kernel counts from 0 again once asked.
type statsV3 struct{ packets, drops, freezes uint32 }

// openAFPacket opens a packet socket. It gets packets from bind on and has its filter
// before: nothing unfiltered is ever in the ring.
func openAFPacket(at target, o *Options) (handle, error) {
	s := &packetSocket{at: at, linked: linkOf(at), snap: o.Snap}
	kind := unix.SOCK_RAW
	if s.linked == linkSLL2 {
		kind = unix.SOCK_DGRAM // without the header of the device
	}
	var err error
	if s.fd, err = unix.Socket(unix.AF_PACKET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, denied(at.name, err)
		}
		return nil, &Error{Interface: at.name, Reason: "packet socket: " + err.Error(), Err: err}
	}
	for _, step := range []struct {
		what string
		do   func(*Options) error
	}{
		{"filter", s.filter}, {"ring", s.mapRing}, {"promiscuous mode", s.promiscuous}, {"bind", s.bind},
	} {
		if err := step.do(o); err != nil {
			s.close()
			if errors.Is(err, unix.ENETDOWN) {
				return nil, downError(at.name)
			}
			e := &Error{Interface: at.name, Reason: step.what + ": " + err.Error(), Err: err}
			if errors.Is(err, unix.ENOMEM) {
				e.Hint = "ask for a smaller buffer"
			}
			return nil, e
		}
	}
	return s, nil
}

// filter puts a program into the kernel that says how much of which packet is kept.
func (s *packetSocket) filter(o *Options) error {
	program := []bpf.Instruction{bpf.RetConstant{Val: uint32(o.Snap)}}
	if o.AutoFilter != nil {
		view := viewOf(s.linked)
		if s.linked == linkSLL2 {
			view = viewBehindLink
		}
		var err error
		if program, err = o.AutoFilter.program(view, uint32(o.Snap)); err != nil {
			return err
		}
	}
	raw, err := bpf.Assemble(program)
	if err != nil {
		return err
	}
	filters := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filters[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	return unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(filters)), Filter: &filters[0]})
}

// mapRing has the kernel make the ring.
func (s *packetSocket) mapRing(o *Options) error {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("TPACKET_V3: %w", err)
	}
	const frameSize = 2048 // the kernel wants one; blocks are not cut into them
	blocks := uint32(max(o.Buffer/blockSize, minBlocks))
	req := unix.TpacketReq3{
		Block_size: blockSize, Block_nr: blocks,
		Frame_size: frameSize, Frame_nr: blockSize / frameSize * blocks,
		Retire_blk_tov: uint32(o.Delay.Milliseconds()),
	}
	if err := unix.SetsockoptTpacketReq3(s.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &req); err != nil {
		return fmt.Errorf("%d bytes: %w", blocks*blockSize, err)
	}
	var err error
	s.ring, err = unix.Mmap(s.fd, 0, int(blocks)*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	return err
}

// promiscuous asks for packets that are meant for others.
func (s *packetSocket) promiscuous(o *Options) error {
	onceOnLoopback(s.fd, s.at)
	if !o.Promiscuous || s.at.index == 0 {
		return nil
	}
	return unix.SetsockoptPacketMreq(s.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
		&unix.PacketMreq{Ifindex: int32(s.at.index), Type: unix.PACKET_MR_PROMISC})
}

// onceOnLoopback tells the kernel to leave out packets on their way out where they come
// back in: the loopback interface delivers each twice. Both backends leave the first
// out by themselves; so it takes no place in the ring and is not counted as dropped.
// Kernels before 4.20 do not know how.
func onceOnLoopback(fd int, at target) {
	if at.loop {
		_ = unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1)
	}
}

// bind begins to capture.
func (s *packetSocket) bind(*Options) error {
	protocol := binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}) // in network order
	if err := unix.Bind(s.fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: s.at.index}); err != nil {
		return err
	}
	return s.pending() // an interface that is down can be bound to
}

func (s *packetSocket) pending() error {
	n, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && n != 0 {
		err = unix.Errno(n)
	}
	return err
}

func (s *packetSocket) read(b *capture.Batch, iface uint16, most int) error {
	for len(b.Packets) < most {
		if !s.ready && !s.advance() {
			return s.check()
		}
		if cap(b.Buf)-len(b.Buf) < s.next.size(s.linked) {
			return nil
		}
		s.deliver(b, iface)
		s.ready = false
	}
	return nil
}

// advance steps to the next packet. It returns false if none is waiting.
func (s *packetSocket) advance() bool {
	for {
		block := s.ring[s.block*blockSize:][:blockSize]
		if !s.open {
			if !owned(block) {
				return false
			}
			s.walk.begin(block)
			s.open = true
		}
		for s.walk.next(&s.next) {
			if !s.again() {
				s.ready = true
				return true
			}
		}
		s.open = false
		release(block)
		if s.block++; (s.block+1)*blockSize > len(s.ring) {
			s.block = 0
		}
	}
}

// again reports whether the packet at hand is one that the loopback interface delivers
// a second time.
func (s *packetSocket) again() bool {
	return s.next.kind == packetOutgoing && (s.at.loop || s.next.arp == arpLoopback)
}

// deliver copies the packet at hand into b, which has room for it. Copying lets go of
// the block: batches stay in use while the kernel needs it.
func (s *packetSocket) deliver(b *capture.Batch, iface uint16) {
	start := len(b.Buf)
	size := s.next.size(s.linked)
	b.Buf = s.next.append(b.Buf, s.linked)
	end := min(len(b.Buf), start+s.snap)
	b.Packets = append(b.Packets, capture.Packet{
		Nanos: s.next.nanos,
		Data:  b.Buf[start:end:end],
		Wire:  s.next.wire + uint32(size-len(s.next.data)),
		Link:  s.linked,
		Iface: iface,
	})
}

// check asks whether the interface is still there.
func (s *packetSocket) check() error {
	err := s.pending()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENETDOWN):
		there, _ := state(s.fd, s.at.index)
		return lost(s.at.name, there)
	}
	return &Error{Interface: s.at.name, Reason: err.Error(), Err: err}
}

// drops adds up what the kernel counts.
func (s *packetSocket) drops() uint64 {
	size := uint32(unsafe.Sizeof(s.stats))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(s.fd), unix.SOL_PACKET, unix.PACKET_STATISTICS,
		uintptr(unsafe.Pointer(&s.stats)), uintptr(unsafe.Pointer(&size)), 0)
	if errno == 0 {
		s.lost += uint64(s.stats.drops)
	}
	return s.lost
}

func (s *packetSocket) link() uint16    { return s.linked }
func (s *packetSocket) descriptor() int { return s.fd }

func (s *packetSocket) close() {
	if s.ring != nil {
		unix.Munmap(s.ring)
		s.ring = nil
	}
	unix.Close(s.fd)
}
