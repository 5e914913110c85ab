package ring

import "qsniff/capture"

// The memory of a Trigger is a ring of records, each in one piece:
//
//	 0  captured length, or wrapped: the next record is at the start
//	 4  length on the wire
//	 8  time by the clock
//	16  packet time
//	24  number
//	32  link type, interface, input; 2 bytes unused
//	40  captured bytes, padded to align
//
// Less than four bytes never remain at the end, because records and the memory
// are multiples of align.
const (
	align   = 8
	wrapped = 1<<32 - 1
)

func recordLen(data int) int { return (headerLen + data + align - 1) &^ (align - 1) }

// reserve makes room for n bytes at tail. The oldest packets make room: written if
// there is an incident that they belong to, else dropped.
func (t *Trigger) reserve(n int) error {
	var first error
	for !t.fits(n) {
		if t.firing && t.due() {
			if err := t.write(); err != nil && first == nil {
				first = err
			}
			continue
		}
		t.lost = t.passedAt(t.head)
		t.drop()
	}
	return first
}

// fits says whether n bytes are free at tail, which it moves to the start if they
// are free there.
func (t *Trigger) fits(n int) bool {
	if t.n == 0 {
		t.head, t.tail, t.wraps = 0, 0, false
	}
	if t.wraps {
		return t.head-t.tail >= n
	}
	if len(t.arena)-t.tail >= n {
		return true
	}
	if t.head < n {
		return false
	}
	if t.tail < len(t.arena) {
		little.PutUint32(t.arena[t.tail:], wrapped)
	}
	t.tail, t.wraps = 0, true
	return true
}

// put appends a packet, for which there is room.
func (t *Trigger) put(p *capture.Packet) {
	b := t.arena[t.tail:]
	little.PutUint32(b, uint32(len(p.Data)))
	little.PutUint32(b[4:], p.Wire)
	little.PutUint64(b[8:], uint64(t.clock.passed))
	little.PutUint64(b[16:], uint64(p.Nanos))
	little.PutUint64(b[24:], p.No)
	little.PutUint16(b[32:], p.Link)
	little.PutUint16(b[34:], p.Iface)
	little.PutUint16(b[36:], p.File)
	copy(b[headerLen:], p.Data)
	t.tail += recordLen(len(p.Data))
	t.n++
	t.stats.Held++
	t.stats.HeldBytes += int64(len(p.Data))
}

// get returns the oldest packet, valid until put.
func (t *Trigger) get(p *capture.Packet) {
	b := t.arena[t.head:]
	end := headerLen + int(little.Uint32(b))
	*p = capture.Packet{
		Wire:  little.Uint32(b[4:]),
		Nanos: int64(little.Uint64(b[16:])),
		No:    little.Uint64(b[24:]),
		Link:  little.Uint16(b[32:]),
		Iface: little.Uint16(b[34:]),
		File:  little.Uint16(b[36:]),
		Data:  b[headerLen:end:end],
	}
}

// passedAt is the clock's time of the record at head.
func (t *Trigger) passedAt(at int) int64 { return int64(little.Uint64(t.arena[at+8:])) }

// drop forgets the oldest packet.
func (t *Trigger) drop() {
	data := int(little.Uint32(t.arena[t.head:]))
	t.head += recordLen(data)
	t.n--
	t.stats.Held--
	t.stats.HeldBytes -= int64(data)
	if t.wraps && (t.head == len(t.arena) || t.n > 0 && little.Uint32(t.arena[t.head:]) == wrapped) {
		t.head, t.wraps = 0, false
	}
}
