package other

import "qsniff/internal/track"

// Peak is the second in which most packets came to one host, queries and sessions aside.
type Peak struct {
	Traffic
	Host  track.Host
	Class *Class // that most of them were of; nil: not known
	Port  uint16 // where most of these went; 0: not known
	sec   int32
}

// finishPeak fills in what most of the packets were, if the second that ends is the one.
func (t *Table) finishPeak() {
	p := &t.Peak
	if p.sec != t.now || p.Packets == 0 {
		return
	}
	p.Class, p.Port = nil, 0
	k := t.known.Peek(p.Host)
	if k == nil || k.heavy == nil {
		return
	}
	h, most := k.heavy, uint32(0)
	for i := range t.classes {
		n := h.now[i].packets
		if n <= most {
			continue
		}
		most, p.Class, p.Port = n, &t.classes[i], 0
		if port, share := h.spells[i].Port(); p.Class.Ports && share >= PortShare {
			p.Port = port
		}
	}
}

// PortShare is the share of its packets from which on a class goes to one port.
const PortShare = 0.9
