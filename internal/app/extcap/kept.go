package extcap

import "qsniff/capture"

// kept is the last packets, with their bytes in one ring of memory.
type kept struct {
	packets     []keptPacket // of frame n at n modulo maxPackets
	first, next uint64       // frames first to next-1 are there; the first of all is 1
	bytes       []byte
	end         int // where the next packet's bytes go
}

type keptPacket struct {
	capture.Packet
	off       int
	isWritten bool
}

func newKept() kept {
	return kept{packets: make([]keptPacket, maxPackets), bytes: make([]byte, maxBytes), first: 1, next: 1}
}

func (k *kept) at(frame uint64) *keptPacket { return &k.packets[frame%maxPackets] }

// add keeps a copy of p, and evicts the oldest packets for it.
func (k *kept) add(p *capture.Packet) {
	n := len(p.Data)
	if k.end+n > len(k.bytes) {
		for k.first < k.next && k.at(k.first).off >= k.end {
			k.first++
		}
		k.end = 0
	}
	for k.first < k.next && k.overlaps(k.at(k.first), n) || k.next-k.first == maxPackets {
		k.first++
	}
	x := k.at(k.next)
	*x = keptPacket{Packet: *p, off: k.end}
	x.Data = k.bytes[k.end : k.end+n : k.end+n]
	copy(x.Data, p.Data)
	k.end += n
	k.next++
}

// overlaps reports whether x has bytes among the next n.
func (k *kept) overlaps(x *keptPacket, n int) bool {
	return x.off < k.end+n && x.off+len(x.Data) > k.end
}

// take returns the packet of a frame, nil if it is not kept, or reports that it was taken
// before. It is valid until the next add.
func (k *kept) take(frame uint64) (p *capture.Packet, before bool) {
	if frame < k.first || frame >= k.next {
		return nil, false
	}
	x := k.at(frame)
	if x.isWritten {
		return nil, true
	}
	x.isWritten = true
	return &x.Packet, false
}
