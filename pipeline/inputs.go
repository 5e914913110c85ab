package pipeline

import "qsniff/capture"

// inputs is what the reader knows of where packets come from.
type inputs struct {
	source  capture.Describer // nil if the source cannot say
	all     []capture.Interface
	several bool // an input has more than one interface
	asked   bool // in this batch
	file    uint16
	iface   uint16
	found   int // index of the interface of file and iface, or -1: packets come in runs

	gap      int // of the batch: the next
	comment  int // likewise
	comments [][]byte
}

// begin begins a batch.
func (in *inputs) begin() { in.gap, in.comment, in.asked = 0, 0, false }

// find looks for an interface. Inputs may name interfaces at any place, so the
// source is asked again where one is not known, once in a batch.
func (in *inputs) find(file, iface uint16) {
	if in.found >= 0 && in.file == file && in.iface == iface || in.source == nil {
		return
	}
	in.file, in.iface, in.found = file, iface, in.index(file, iface)
	if in.found >= 0 || in.asked {
		return
	}
	in.all, in.asked = in.source.Interfaces(), true
	for i := range in.all {
		in.several = in.several || in.all[i].Index > 0
	}
	in.found = in.index(file, iface)
}

func (in *inputs) index(file, iface uint16) int {
	for i := range in.all {
		if in.all[i].File == file && in.all[i].Index == iface {
			return i
		}
	}
	return -1
}

// origin says where the packet at hand came from. A single interface without a
// name, as in every classic pcap file, is not worth mentioning.
func (r *reader) origin(p *capture.Packet) {
	in, from := &r.inputs, &r.last.from
	*from = origin{file: p.File, iface: p.Iface, comments: in.comments}
	in.find(p.File, p.Iface)
	if in.found >= 0 {
		from.name = in.all[in.found].Name
		from.known = in.several || from.name != ""
	}
}

// comment collects what was written about packet i.
func (r *reader) comment(i int) {
	in, raw := &r.inputs, &r.b.raw
	in.comments = nil
	start := len(r.b.notes)
	for ; in.comment < len(raw.Comments) && raw.Comments[in.comment].At <= i; in.comment++ {
		r.b.notes = append(r.b.notes, raw.Comments[in.comment].Text)
	}
	if n := len(r.b.notes); n > start {
		in.comments = r.b.notes[start:n:n]
	}
}

// gaps gives the damage in front of packet i to all partitions: answers of any flow
// may be missing there.
func (r *reader) gaps(i int) {
	raw := &r.b.raw
	for ; r.inputs.gap < len(raw.Gaps) && raw.Gaps[r.inputs.gap].At <= i; r.inputs.gap++ {
		it := item{kind: gap, frame: r.last.frame, nanos: r.last.nanos, age: r.clock.age, damage: &raw.Gaps[r.inputs.gap]}
		if i < len(raw.Packets) {
			it.frame, it.nanos = raw.Packets[i].No, raw.Packets[i].Nanos
		}
		r.b.giveAll(it)
	}
}
