package ring

import "qsniff/capture"

// The memory of a Trigger is a ring of records, each in one piece:
//
//	 0  captured length, or wrapMark: the next record is at the start
//	 4  length on the wire
//	 8  time of clock
//	16  packet time
//	24  number
//	32  link type, interface, input; 2 bytes unused
//	40  captured bytes, padded to align
//
// Where bytes remain after the last record, the mark fits: records and the memory are
// multiples of align.
const (
	align    = 8
	wrapMark = 1<<32 - 1
)

// recordLen returns the length of a record of that many captured bytes.
func recordLen(data int) int { return (headerLen + data + align - 1) &^ (align - 1) }

// reserve makes room for n bytes at tail by removing the oldest packets: those that
// belong to the incident are written, the others dropped. It returns the first error
// of writing.
func (t *Trigger) reserve(n int) error {
	var first error
	for !t.findRoom(n) {
		if t.hasIncident && t.oldestIsDue() {
			if err := t.writeOldest(); err != nil && first == nil {
				first = err
			}
			continue
		}
		t.newestDropped = t.timeAt(t.head)
		t.dropOldest()
	}
	return first
}

// findRoom reports whether n bytes are free at tail. Where there are too few before
// the end of the memory, but enough at its start, it moves tail to the start.
func (t *Trigger) findRoom(n int) bool {
	if t.held == 0 {
		t.head, t.tail, t.wrapped = 0, 0, false
	}
	if t.wrapped {
		return t.head-t.tail >= n
	}
	if len(t.arena)-t.tail >= n {
		return true
	}
	if t.head < n {
		return false
	}
	if t.tail < len(t.arena) {
		little.PutUint32(t.arena[t.tail:], wrapMark)
	}
	t.tail, t.wrapped = 0, true
	return true
}

// appendPacket appends a packet, for which reserve has made room.
func (t *Trigger) appendPacket(p *capture.Packet) {
	b := t.arena[t.tail:]
	little.PutUint32(b, uint32(len(p.Data)))
	little.PutUint32(b[4:], p.Wire)
	little.PutUint64(b[8:], uint64(t.clock.elapsed))
	little.PutUint64(b[16:], uint64(p.Nanos))
	little.PutUint64(b[24:], p.No)
	little.PutUint16(b[32:], p.Link)
	little.PutUint16(b[34:], p.Iface)
	little.PutUint16(b[36:], p.File)
	copy(b[headerLen:], p.Data)
	t.tail += recordLen(len(p.Data))
	t.held++
	t.stats.Held++
	t.stats.HeldBytes += int64(len(p.Data))
}

// readOldest sets p to the oldest packet. Its data is valid until appendPacket.
func (t *Trigger) readOldest(p *capture.Packet) {
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

// timeAt returns the time of clock in the record at that place of the memory.
func (t *Trigger) timeAt(at int) int64 { return int64(little.Uint64(t.arena[at+8:])) }

// dropOldest frees the memory of the oldest packet.
func (t *Trigger) dropOldest() {
	data := int(little.Uint32(t.arena[t.head:]))
	t.head += recordLen(data)
	t.held--
	t.stats.Held--
	t.stats.HeldBytes -= int64(data)
	if t.wrapped && (t.head == len(t.arena) || t.held > 0 && little.Uint32(t.arena[t.head:]) == wrapMark) {
		t.head, t.wrapped = 0, false
	}
}
