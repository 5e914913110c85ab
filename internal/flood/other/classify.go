package other

import (
	"qsniff/capture/packet"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Types of ICMP and ICMPv6 that ask for an answer, and those answers.
const (
	echoReply, echo   = 0, 8
	echo6, echoReply6 = 128, 129
)

// flow is a hash of the flow of a packet at one end, a host that has a port of its own
// there: the same for both directions. peer is a hash of the other end.
func flow(host uint64, port uint16, transport uint64, peer uint64) uint64 {
	return lru.Mix(peer, host^transport<<16^uint64(port))
}

// What flows are of, besides IP protocols.
const (
	overUDP = iota + 1<<8
	overTCP
)

// transport is what the flow of a packet is of.
func transport(s *track.Sighting) uint64 {
	if s.Flags&track.Connection != 0 {
		return overTCP
	}
	return overUDP
}

// noteSession notes to whom a host sends.
func (t *Table) noteSession(k *known, s *track.Sighting) {
	switch s.What {
	case track.IsFragment, track.IsCarried:
		t.session.Add(flow(k.id, 0, uint64(s.Detail), t.key.HashHost(&s.Dst)))
		return
	case track.IsControl:
		if s.Detail == echo || s.Detail == echo6 {
			t.session.Add(flow(k.id, 0, packet.ProtoICMP, t.key.HashHost(&s.Dst)))
		}
		return
	case track.IsOther:
		if s.Flags&track.Connection != 0 { // a reset ends what there was, or was not
			return
		}
	case track.IsAgreed: // anybody gets one
		f := flow(k.id, s.SrcPort, overTCP, s.ToHash())
		t.half.Add(f)
		t.agreed.Add(lru.Mix(f, uint64(s.Key)))
		return
	}
	t.session.Add(flow(k.id, s.SrcPort, transport(s), s.ToHash()))
}

// classify returns the class of a packet to a host.
func (t *Table) classify(k *known, s *track.Sighting) int {
	switch s.What {
	case track.IsFragment:
		return t.classifyFragment(k, s)
	case track.IsControl:
		if (s.Detail == echoReply || s.Detail == echoReply6) && t.session.Has(flow(k.id, 0, packet.ProtoICMP, t.key.HashHost(&s.Src))) {
			return inSession
		}
		return icmpClass
	case track.IsCarried:
		if t.session.Has(flow(k.id, 0, uint64(s.Detail), t.key.HashHost(&s.Src))) {
			return inSession
		}
		switch s.Detail {
		case packet.ProtoGRE:
			return greClass
		case packet.ProtoESP:
			return espClass
		}
		return ipClass
	}
	if s.Flags&track.Connection != 0 {
		return t.classifySegment(k, s)
	}
	return t.classifyDatagram(k, s)
}

// classifySegment returns the class of a TCP segment.
func (t *Table) classifySegment(k *known, s *track.Sighting) int {
	if s.What == track.IsOpened {
		return synClass
	}
	f := flow(k.id, s.DstPort, overTCP, s.FromHash())
	switch {
	case t.session.Has(f):
		return inSession
	case s.What == track.IsAgreed:
		return synAckClass
	case s.What == track.IsAcked && t.agreed.Has(lru.Mix(f, uint64(s.Key))): // who does this got what was sent to its address
		if k.heavy != nil && s.Bytes == 0 {
			k.heavy.completed++
		}
		return inSession
	case s.What == track.IsOther && t.half.Has(f): // whose address was forged says that it did not begin this
		return noClass
	}
	return tcpClass
}

// classifyDatagram returns the class of a UDP datagram.
func (t *Table) classifyDatagram(k *known, s *track.Sighting) int {
	if class := t.foreignClass(s); class != noClass {
		if t.classes[class].Sessions && t.session.Has(flow(k.id, s.DstPort, overUDP, s.FromHash())) {
			return inSession
		}
		return class
	}
	if s.What == track.IsJunk {
		return noClass
	}
	switch {
	case t.session.Has(flow(k.id, s.DstPort, overUDP, s.FromHash())):
		return inSession
	case t.amplifying.has(s.SrcPort) && s.What == track.IsOther:
		return amplifierClass(s.SrcPort)
	case t.Judged != nil && t.Judged(s):
		return noClass
	}
	return udpClass
}

// amplifierClass returns the class of what an amplifier sends from a port.
func amplifierClass(port uint16) int {
	for i := range amplifiers {
		if amplifiers[i].port == port {
			return ownClasses + i
		}
	}
	return udpClass
}

// classifyFragment returns the class of a fragment. The first one has the ports, and says
// for all of them what they are.
func (t *Table) classifyFragment(k *known, s *track.Sighting) int {
	peer := t.key.HashHost(&s.Src)
	sum := lru.Mix(peer, k.id^uint64(s.Key))
	p := &t.pieces[sum%fragmentPlaces]
	if s.Flags&track.First == 0 {
		if p.sum == uint32(sum>>32) && t.now-p.sec <= fragmentFor {
			return int(p.class)
		}
		if t.session.Has(flow(k.id, 0, uint64(s.Detail), peer)) {
			return inSession
		}
		return fragmentClass
	}
	class := fragmentClass
	switch {
	case t.session.Has(flow(k.id, 0, uint64(s.Detail), peer)),
		s.Detail == packet.ProtoUDP && t.session.Has(flow(k.id, s.DstPort, overUDP, s.FromHash())):
		class = inSession
	case s.Detail != packet.ProtoUDP:
	case t.amplifying.has(s.SrcPort):
		class = amplifierClass(s.SrcPort)
	case t.serverPorts.has(s.SrcPort): // it is a reply, and judged when it is whole
		class = noClass
	}
	*p = piece{uint32(sum >> 32), t.now, uint8(class)}
	return class
}
