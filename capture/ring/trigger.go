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

// Trigger keeps the last packets in memory and writes them only around incidents:
// what precedes an incident, itself, and what follows. Its memory is fixed;
// packets are copied into it, the oldest make room. It allocates nothing per
// packet.
//
// It decides nothing: Fire says when there is an incident. A packet is written
// once; what one incident wrote does not precede the next.
type Trigger struct {
	// Most is how many captured bytes of one incident are written; 0: all. What is more
	// is counted, and the file is finished at once. Set it before the first packet.
	Most int64

	sink   Sink
	around int64
	keep   int64 // how long packets wait, without an incident
	lost   int64 // by clock: the newest that made room
	arena  []byte
	head   int // of the oldest packet
	tail   int // after the newest
	n      int // packets
	wraps  bool
	clock  clock
	firing bool
	until  int64 // by clock
	spent  int64 // captured bytes written of the incident
	stats  TriggerStats
	packet capture.Packet
}

// never precedes all times.
const never = -1 << 63

// TriggerStats are running totals, of Held and HeldBytes the present state.
type TriggerStats struct {
	Held      int    // packets in memory
	HeldBytes int64  // captured bytes of these
	Written   uint64 // packets handed to the sink
	Fired     uint64 // incidents, those that overlap counted once
	Cut       uint64 // of these, those whose first packets had made room
	Over      uint64 // packets that were beyond Most
}

// NewTrigger returns a Trigger that keeps packets in memory of so many bytes, and
// writes to sink those of the time around before incidents begin and after their end.
// An incident may have begun up to Notice before Fire says so.
// Memory below MinTrigger is an error of type *file.Error.
func NewTrigger(sink Sink, around time.Duration, memory int) (*Trigger, error) {
	if memory < MinTrigger {
		return nil, &file.Error{File: "packets before an incident", Offset: -1,
			Reason: "memory of " + strconv.Itoa(memory) + " bytes is below the minimum of " + strconv.Itoa(MinTrigger)}
	}
	return &Trigger{sink: sink, around: span(around), keep: later(span(around), int64(Notice)), lost: never, arena: make([]byte, memory&^(align-1))}, nil
}

// Stats counts what has happened so far.
func (t *Trigger) Stats() TriggerStats { return t.stats }

// Fire says that there is an incident, which began at one packet time and lasts until
// another as far as is known: what is in memory from the time around before it is
// written, and everything until the time around has passed after it. While an incident
// goes on, Fire is called again with a later end; of several the latest counts. The
// packets are written along with those that come in, so that Fire does not take longer
// than the capture can wait.
func (t *Trigger) Fire(from, until int64) {
	if !t.clock.begun {
		t.clock.to(until)
	}
	end := t.clock.of(until)
	if end > -t.around {
		end = later(end, t.around)
	}
	if !t.firing {
		t.firing = true
		t.until = end
		t.stats.Fired++
		t.spent = 0
		t.expire(t.clock.of(from))
	}
	t.until = max(t.until, end)
}

// Renew says that one more incident began while another goes on: if that has had its
// Most, the packets from now on are of the new one.
func (t *Trigger) Renew() {
	if t.Most > 0 && t.spent >= t.Most {
		t.spent = 0
	}
}

// Write takes a packet, whose data is copied. Its error is the sink's.
func (t *Trigger) Write(p *capture.Packet) error {
	t.clock.to(p.Nanos)
	t.age()
	if len(p.Data) > capture.MaxCaptured {
		return t.sink.Write(p) // which refuses it
	}
	first := t.reserve(recordLen(len(p.Data)))
	t.put(p)
	if err := t.drain(drainPackets); err != nil && first == nil {
		first = err
	}
	return first
}

// Tick says what time it is in packet time, when no packets arrive.
func (t *Trigger) Tick(nanos int64) error {
	t.clock.to(nanos)
	t.age()
	first := t.drain(drainTick)
	if err := t.sink.Tick(nanos); err != nil && first == nil {
		first = err
	}
	return first
}

// Close writes what an incident still needs. It does not close the sink.
func (t *Trigger) Close() error {
	first := t.drain(t.n)
	if t.firing {
		t.firing = false
		if err := t.sink.Rotate(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// drain writes up to most of the packets that belong to the incident, and ends it
// when its time has passed.
func (t *Trigger) drain(most int) error {
	var first error
	for ; t.firing && most > 0 && t.due(); most-- {
		if err := t.write(); err != nil && first == nil {
			first = err
		}
	}
	if t.firing && t.clock.passed > t.until && !t.due() {
		t.firing = false
		if err := t.sink.Rotate(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// due says that the oldest packet belongs to the incident.
func (t *Trigger) due() bool { return t.n > 0 && t.passedAt(t.head) <= t.until }

// write hands the oldest packet to the sink and forgets it.
func (t *Trigger) write() error {
	if t.Most > 0 && t.spent >= t.Most {
		t.stats.Over++
		t.drop()
		return nil
	}
	t.get(&t.packet)
	err := t.sink.Write(&t.packet)
	t.spent += int64(len(t.packet.Data))
	t.packet.Data = nil
	t.stats.Written++
	t.drop()
	if t.Most > 0 && t.spent >= t.Most {
		err = cmp.Or(err, t.sink.Rotate())
	}
	return err
}

// age drops packets that no incident can want any more.
func (t *Trigger) age() {
	for !t.firing && t.n > 0 && t.clock.passed-t.passedAt(t.head) > t.keep {
		t.drop()
	}
}

// expire drops packets that are too old for an incident that began at a time by clock.
func (t *Trigger) expire(begin int64) {
	first := int64(never)
	if begin >= never+t.around {
		first = begin - t.around
	}
	if t.lost != never && t.lost >= first {
		t.stats.Cut++
	}
	for t.n > 0 && t.passedAt(t.head) < first {
		t.drop()
	}
}

var little = binary.LittleEndian
