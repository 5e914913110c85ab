package other

import (
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Host is one that is watched closely.
type Host struct {
	Addr track.Host

	slot        int
	known       *known
	born        int32 // when it came to be watched
	lastIn      int32 // it got something
	isForgotten bool  // the table has no place for it any more: known is own
	own         known

	// In this second:
	now       [maxClasses]tally
	errors    uint32 // ICMP errors about what the host sent
	sent      uint32 // packets by the host
	sentLast  uint32 // in the second before
	completed uint32 // handshakes

	spells [maxClasses]Spell
}

// tally counts the packets of a class in a second.
type tally struct {
	packets uint32
	frame   uint64 // of the first of them
	bytes   uint64
}

// add adds a packet.
func (n *tally) add(s *track.Sighting) {
	if n.packets == 0 {
		n.frame = s.Frame
	}
	n.packets++
	n.bytes += uint64(s.Wire)
}

// view tells apart the sources of a class at a host, and the ports that it goes to.
type view struct {
	*measure.Senders
	ports sketch.Dominant
}

// count counts a packet to the host.
func (h *Host) count(class int, s *track.Sighting, key measure.Key) {
	if s.What == track.IsUnreachable {
		h.errors++
	}
	h.now[class].add(s)
	v := h.spells[class].view
	if v == nil {
		return
	}
	hash := s.ClientHash
	switch s.What {
	case track.IsAgreed:
		hash = key.HashHost(&s.Src)
	case track.IsUnreachable: // who sent it is not known
		return
	}
	v.Add(key, s, hash, h.lastIn)
	if s.DstPort != 0 { // a fragment has none
		v.ports.Add(uint32(s.DstPort))
	}
}

// isBusy reports whether an incident is open at the host, or about to be.
func (h *Host) isBusy() bool {
	for i := range h.spells {
		if h.spells[i].heat > 0 {
			return true
		}
	}
	return false
}

// isBlind reports whether nothing that the host sends is in the capture: what is a session
// cannot be told.
func (h *Host) isBlind(now int32) bool {
	return h.known.lastOut == 0 || now-h.known.lastOut > blindAfter
}

// blindAfter is how many seconds of silence make a host one of which nothing is captured:
// a server that a flood brought down is silent, too, but not from the begin.
const blindAfter = 60

// forgiveErrors takes away the ICMP errors that answer what the host sent: there cannot be
// more of them than packets.
func (h *Host) forgiveErrors() {
	n := &h.now[icmpClass]
	forgiven := min(h.errors, h.sent+h.sentLast)
	if forgiven == 0 || n.packets == 0 {
		return
	}
	n.bytes -= n.bytes * uint64(forgiven) / uint64(n.packets)
	n.packets -= forgiven
}

// endSecond clears what was counted in the second.
func (h *Host) endSecond() {
	clear(h.now[:])
	h.sentLast = h.sent
	h.errors, h.sent, h.completed = 0, 0, 0
}
