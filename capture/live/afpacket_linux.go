package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"qsniff/capture"
	"qsniff/internal/base/mem"
)

// HasAFPacket reports whether this build has the backend AFPacket.
const HasAFPacket = true

// packetSocket is a packet socket with a ring of blocks that the kernel fills
// (packet(7), TPACKET_V3).
type packetSocket struct {
	fd       int
	at       target
	linkType uint16 // LINKTYPE_ value
	snapLen  int
	hasSizes bool // each packet follows a header with the size of merged datagrams
	promisc  bool // Options.Promiscuous
	joined   int  // index of the device that was asked for packets to other hosts

	ring        []byte
	block       int  // index of the block that is being read, or is read next
	blockIsOpen bool // walk is in that block
	walk        blockWalker
	next        frame
	hasNext     bool // next is a packet that has not been delivered

	dropped uint64
	stats   unix.TpacketStatsV3 // since the query before
}

// openAFPacket opens a packet socket. It attaches the filter before bind, from which on
// packets arrive: nothing unfiltered is ever in the ring.
func openAFPacket(at target, o *Options) (handle, error) {
	s := &packetSocket{at: at, linkType: linkOf(at), snapLen: o.Snap, promisc: o.Promiscuous}
	kind := unix.SOCK_RAW
	if s.linkType == linkSLL2 {
		kind = unix.SOCK_DGRAM // without the header of the device
	}
	var err error
	if s.fd, err = unix.Socket(unix.AF_PACKET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, permissionError(at.name, err)
		}
		return nil, &Error{Interface: at.name, Reason: "packet socket: " + err.Error(), Err: err}
	}
	for _, step := range []struct {
		what string
		do   func(*Options) error
	}{
		{"filter", s.attachFilter}, {"ring", s.mapRing}, {"promiscuous mode", s.setPromiscuous}, {"bind", s.bind},
	} {
		if err := step.do(o); err != nil {
			s.close()
			if errors.Is(err, ErrFilter) {
				return nil, err
			}
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

// attachFilter has the kernel run the filter, or a program that cuts every packet to the
// snap length.
func (s *packetSocket) attachFilter(o *Options) error {
	program := []bpf.Instruction{bpf.RetConstant{Val: uint32(o.Snap)}}
	if o.AutoFilter != nil {
		view := viewOf(s.linkType)
		if s.linkType == linkSLL2 {
			view = viewAfterLink
		}
		var err error
		if program, err = o.AutoFilter.build(view, uint32(o.Snap)); err != nil {
			return err
		}
	}
	raw, err := bpf.Assemble(program)
	if o.expr != nil {
		raw, err = o.program(s.at.name, s.linkType, false)
	}
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

// mapRing has the kernel make the ring, and maps it into memory.
func (s *packetSocket) mapRing(o *Options) error {
	if err := unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return fmt.Errorf("TPACKET_V3: %w", err)
	}
	// Kernels before 6.2 drop merged datagrams of UDP where a socket asks for the header, because it
	// had no word for them (commit 860b7f27b8f7), and none puts it before packets of SOCK_DGRAM. Then
	// only the payloads show what was merged.
	if isKernel(6, 2) {
		s.hasSizes = unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_VNET_HDR, 1) == nil
	}
	const frameSize = 2048 // the kernel requires a size; TPACKET_V3 does not use it
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

// setPromiscuous asks for packets that are addressed to other hosts, if o wants them.
func (s *packetSocket) setPromiscuous(*Options) error {
	ignoreOutgoing(s.fd, s.at)
	return s.joinPromiscuous()
}

func (s *packetSocket) joinPromiscuous() error {
	if !s.promisc || s.at.index == s.joined {
		return nil
	}
	s.joined = s.at.index
	return unix.SetsockoptPacketMreq(s.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
		&unix.PacketMreq{Ifindex: int32(s.at.index), Type: unix.PACKET_MR_PROMISC})
}

// ignoreOutgoing has the kernel skip outgoing packets on the loopback interface, which
// delivers each packet twice: outgoing and incoming. Both backends skip the outgoing one
// anyway; if the kernel does, it takes no place in the ring and is not counted as
// dropped. Kernels before 4.20 cannot.
func ignoreOutgoing(fd int, at target) {
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
	return s.pendingError() // an interface that is down can be bound to
}

// rebind implements handle. The kernel puts a socket back to work by itself when its device is up again; to another
// device of the name, the socket is bound, which needs no right. Filter and ring stay.
func (s *packetSocket) rebind(at target) error {
	if linkOf(at) != s.linkType {
		return linkError(s.at.name)
	}
	name := s.at.name
	s.at = at
	s.at.name = name
	err := s.bind(nil)
	if err == nil {
		err = s.joinPromiscuous() // the kernel forgot it with another device
	}
	switch {
	case errors.Is(err, unix.ENETDOWN):
		return downError(name)
	case errors.Is(err, unix.ENODEV):
		return goneError(name, false)
	case err != nil:
		return &Error{Interface: name, Reason: err.Error(), Err: err}
	}
	return nil
}

// pendingError returns the error that the kernel holds for the socket, and clears it.
func (s *packetSocket) pendingError() error {
	n, err := unix.GetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && n != 0 {
		err = unix.Errno(n)
	}
	return err
}

// read implements handle.
func (s *packetSocket) read(b *capture.Batch, iface uint16, most int) error {
	for len(b.Packets) < most {
		if !s.hasNext && !s.advance() {
			return s.checkInterface()
		}
		if cap(b.Buf)-len(b.Buf) < s.next.size(s.linkType) {
			return nil
		}
		s.deliver(b, iface)
		s.hasNext = false
	}
	return nil
}

// advance steps to the next packet, and releases blocks that have been read. It returns
// false if no packet is waiting.
func (s *packetSocket) advance() bool {
	for {
		block := s.ring[s.block*blockSize:][:blockSize]
		if !s.blockIsOpen {
			if !isReadable(block) {
				return false
			}
			s.walk.begin(block)
			s.blockIsOpen = true
		}
		for s.walk.next(&s.next, s.hasSizes) {
			if !s.isRepeated() {
				s.hasNext = true
				return true
			}
		}
		s.blockIsOpen = false
		release(block)
		if s.block++; (s.block+1)*blockSize > len(s.ring) {
			s.block = 0
		}
	}
}

// isRepeated reports whether the loopback interface delivers the packet at hand a second
// time, as incoming.
func (s *packetSocket) isRepeated() bool {
	return s.next.kind == packetOutgoing && (s.at.loop || s.next.arp == arpLoopback)
}

// deliver copies the packet at hand into b, which has room for it. Without a copy the
// block could not be released while the batch is in use.
func (s *packetSocket) deliver(b *capture.Batch, iface uint16) {
	start := len(b.Buf)
	size := s.next.size(s.linkType)
	b.Buf = s.next.append(b.Buf, s.linkType)
	end := min(len(b.Buf), start+s.snapLen)
	b.Packets = append(b.Packets, capture.Packet{
		Nanos: s.next.nanos,
		Data:  b.Buf[start:end:end],
		Wire:  s.next.wire + uint32(size-len(s.next.data)),
		Link:  s.linkType,
		Iface: iface,

		Segment: s.next.segment,
	})
}

// isKernel reports whether the kernel's version is at least this one.
func isKernel(major, minor int) bool {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return false
	}
	var a, b int
	n, _ := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &a, &b)
	return n == 2 && (a > major || a == major && b >= minor)
}

// checkInterface returns an error if the interface went down or vanished.
func (s *packetSocket) checkInterface() error {
	err := s.pendingError()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.ENETDOWN):
		there, _ := interfaceState(s.fd, s.at.index)
		return goneError(s.at.name, there)
	}
	return &Error{Interface: s.at.name, Reason: err.Error(), Err: err}
}

// drops adds what the kernel has counted since the last call.
func (s *packetSocket) drops(bool) uint64 {
	if mem.GetSocketOption(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS, &s.stats) {
		s.dropped += uint64(s.stats.Drops)
	}
	return s.dropped
}

func (s *packetSocket) link() uint16    { return s.linkType }
func (s *packetSocket) descriptor() int { return s.fd }

func (s *packetSocket) waits() time.Duration { return 0 }
func (s *packetSocket) hasMore() bool        { return true }

func (s *packetSocket) close() {
	if s.ring != nil {
		unix.Munmap(s.ring)
		s.ring = nil
	}
	unix.Close(s.fd)
}
