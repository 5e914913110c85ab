package ring

import (
	"cmp"
	"encoding/binary"
	"strconv"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
)

// Sink is what a Trigger writes to; a *Writer is one.
type Sink interface {
	Write(*capture.Packet) error
	Tick(nanos int64) error
	Rotate() error
}

// Trigger writes only the packets around incidents: those shortly before one, during
// it, and shortly after. A packet arrives and is copied into memory, where it waits.
// If Fire announces an incident that it belongs to, it is written to the sink; if
// none comes in time, it is dropped. The memory is fixed: where it is full, the
// oldest packets make room. Nothing is allocated per packet.
//
// Trigger detects no incidents. A packet is written once: those written for one
// incident are not written again before the next.
type Trigger struct {
	// MaxBytes is how many captured bytes of one incident are written; 0: all. Once they
	// are, the file is finished, and further packets are counted in TriggerStats.Over.
	// Set it before the first packet.
	MaxBytes int64

	sink          Sink
	around        int64 // time before and after an incident, nanoseconds
	wait          int64 // how long packets wait for an incident, nanoseconds
	newestDropped int64 // time of clock of the newest packet that made room
	arena         []byte
	head          int  // where the oldest packet begins
	tail          int  // where the newest ends
	held          int  // packets in memory
	wrapped       bool // tail is before head
	clock         clock
	hasIncident   bool
	until         int64 // time of clock up to which packets belong to the incident
	spent         int64 // captured bytes written of the incident
	stats         TriggerStats
	packet        capture.Packet
}

// never precedes all times.
const never = -1 << 63

// TriggerStats are running totals, but for Held and HeldBytes, which are present values.
type TriggerStats struct {
	Held      int    // packets in memory
	HeldBytes int64  // captured bytes of these
	Written   uint64 // packets handed to the sink
	Fired     uint64 // incidents, those that overlap counted once
	Cut       uint64 // of these, those whose first packets had made room already
	Over      uint64 // packets that were not written because of MaxBytes
}

// NewTrigger returns a Trigger that holds packets in memory of so many bytes, and
// writes to sink those from the time around before an incident begins until the time
// around after its end. Fire may be called up to Notice after an incident began.
// Memory below MinTrigger is an error of type *file.Error.
func NewTrigger(sink Sink, around time.Duration, memory int) (*Trigger, error) {
	if memory < MinTrigger {
		return nil, &file.Error{File: "packets before an incident", Offset: -1,
			Reason: "memory of " + strconv.Itoa(memory) + " bytes is below the minimum of " + strconv.Itoa(MinTrigger)}
	}
	return &Trigger{sink: sink, around: span(around), wait: addSpan(span(around), int64(Notice)), newestDropped: never, arena: make([]byte, memory&^(align-1))}, nil
}

// Stats returns the counts so far.
func (t *Trigger) Stats() TriggerStats { return t.stats }

// Fire announces an incident, which began at packet time from and lasts until packet
// time until, as far as is known. Packets in memory from the time around before it
// are written, and so is everything until the time around has passed after it. While
// an incident goes on, call Fire again with a later end; of several ends the latest
// counts. Fire itself writes nothing: each Write takes at most drainPackets packets out
// of memory and each Tick drainTick, so that the capture is not held up.
func (t *Trigger) Fire(from, until int64) {
	if !t.clock.started {
		t.clock.advance(until)
	}
	end := t.clock.elapsedAt(until)
	if end > -t.around {
		end = addSpan(end, t.around)
	}
	if !t.hasIncident {
		t.hasIncident = true
		t.until = end
		t.stats.Fired++
		t.spent = 0
		t.dropBeforeIncident(t.clock.elapsedAt(from))
	}
	t.until = max(t.until, end)
}

// Renew announces that one more incident began while another goes on: if MaxBytes
// of the other are written, as many are written again, of the packets from now on.
func (t *Trigger) Renew() {
	if t.MaxBytes > 0 && t.spent >= t.MaxBytes {
		t.spent = 0
	}
}

// Write copies a packet into memory, and writes at most drainPackets packets that belong
// to the incident. Its error is the sink's.
func (t *Trigger) Write(p *capture.Packet) error {
	t.clock.advance(p.Nanos)
	t.dropAged()
	if len(p.Data) > capture.MaxCaptured {
		return t.sink.Write(p) // to have it refused and counted
	}
	first := t.reserve(recordLen(len(p.Data)))
	t.appendPacket(p)
	if err := t.drain(drainPackets); err != nil && first == nil {
		first = err
	}
	return first
}

// Tick moves the Trigger's time, and the sink's, to a packet time when no packets
// arrive.
func (t *Trigger) Tick(nanos int64) error {
	t.clock.advance(nanos)
	t.dropAged()
	first := t.drain(drainTick)
	if err := t.sink.Tick(nanos); err != nil && first == nil {
		first = err
	}
	return first
}

// Close writes the packets in memory that belong to the incident. It does not close
// the sink.
func (t *Trigger) Close() error {
	first := t.drain(t.held)
	if t.hasIncident {
		t.hasIncident = false
		if err := t.sink.Rotate(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// drain writes up to most packets that belong to the incident, and ends it when all
// are written and its time has passed. It returns the first error.
func (t *Trigger) drain(most int) error {
	var first error
	for ; t.hasIncident && most > 0 && t.oldestIsDue(); most-- {
		if err := t.writeOldest(); err != nil && first == nil {
			first = err
		}
	}
	if t.hasIncident && t.clock.elapsed > t.until && !t.oldestIsDue() {
		t.hasIncident = false
		if err := t.sink.Rotate(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// oldestIsDue reports whether the oldest packet belongs to the incident, if there is
// one.
func (t *Trigger) oldestIsDue() bool { return t.held > 0 && t.timeAt(t.head) <= t.until }

// writeOldest writes the oldest packet to the sink and frees its memory. After
// MaxBytes of the incident it only counts the packet.
func (t *Trigger) writeOldest() error {
	if t.MaxBytes > 0 && t.spent >= t.MaxBytes {
		t.stats.Over++
		t.dropOldest()
		return nil
	}
	t.readOldest(&t.packet)
	err := t.sink.Write(&t.packet)
	t.spent += int64(len(t.packet.Data))
	t.packet.Data = nil
	t.stats.Written++
	t.dropOldest()
	if t.MaxBytes > 0 && t.spent >= t.MaxBytes {
		err = cmp.Or(err, t.sink.Rotate())
	}
	return err
}

// dropAged drops packets that are too old for any incident still to be announced.
func (t *Trigger) dropAged() {
	for !t.hasIncident && t.held > 0 && t.clock.elapsed-t.timeAt(t.head) > t.wait {
		t.dropOldest()
	}
}

// dropBeforeIncident drops packets that precede an incident by more than the time
// around; begin is when it began, in time of clock. If packets that would have been
// written have made room, it counts that.
func (t *Trigger) dropBeforeIncident(begin int64) {
	first := int64(never)
	if begin >= never+t.around {
		first = begin - t.around
	}
	if t.newestDropped != never && t.newestDropped >= first {
		t.stats.Cut++
	}
	for t.held > 0 && t.timeAt(t.head) < first {
		t.dropOldest()
	}
}

var little = binary.LittleEndian

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

const (
	// limit: MinTrigger is the least memory of a Trigger, in bytes: room for two of the
	// longest packets with their headers, rounded up.
	MinTrigger = 1 << 20

	// limit: Notice is how much longer packets wait in a Trigger than the time before an
	// incident: most incidents are detected within 10 s of their beginning, those
	// that add up slowly within 30.
	Notice = 30 * time.Second

	// limit: drainPackets and drainTick are how many packets of an incident are written from
	// memory with each packet that arrives, and with each tick. Chosen: enough to be
	// done soon, few enough that the capture is not held up and packets dropped.
	drainPackets = 16
	drainTick    = 16 << 10

	// limit: headerLen is how many bytes a packet takes in memory besides its data.
	headerLen = 40
)
