package pipeline

import "qsniff/capture"

// inputs names the files and interfaces that packets come from, and finds the comments
// and gaps of a batch that belong to a packet.
type inputs struct {
	source     capture.Describer // nil if the source does not describe its interfaces
	all        []capture.Interface
	hasSeveral bool // an input has more than one interface
	wasAsked   bool // source was asked for its interfaces in this batch
	file       uint16
	iface      uint16
	found      int     // index of the interface of file and iface, or -1: packets come in runs
	last       *origin // of the packet before, in the same batch; nil: there is none

	gap      int      // index of the batch's next gap
	comment  int      // index of its next comment
	comments [][]byte // of the packet at hand
}

// begin prepares for the packets of a new batch.
func (in *inputs) begin() {
	in.gap, in.comment, in.comments, in.wasAsked, in.last = 0, 0, nil, false, nil
}

// find sets found to the index of an interface. Files may describe interfaces between
// packets, so the source is asked again for one that is not known, once in a batch.
func (in *inputs) find(file, iface uint16) {
	if in.found >= 0 && in.file == file && in.iface == iface || in.source == nil {
		return
	}
	in.file, in.iface, in.found = file, iface, in.index(file, iface)
	if in.found >= 0 || in.wasAsked {
		return
	}
	in.all, in.wasAsked = in.source.Interfaces(), true
	for i := range in.all {
		in.hasSeveral = in.hasSeveral || in.all[i].Index > 0
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

// originOf returns where a packet came from; one origin stands for a run of packets of b. A
// single interface without a name, as in every classic pcap file, is not worth mentioning.
func (in *inputs) originOf(p *capture.Packet, b *batch) *origin {
	if x := in.last; x != nil && x.file == p.File && x.iface == p.Iface && in.found >= 0 &&
		len(in.comments) == 0 && len(x.comments) == 0 {
		return x
	}
	from := origin{file: p.File, iface: p.Iface, comments: in.comments}
	in.find(p.File, p.Iface)
	if in.found >= 0 {
		from.name = in.all[in.found].Name
		from.known = in.hasSeveral || from.name != ""
	}
	b.origins = append(b.origins, from)
	in.last = &b.origins[len(b.origins)-1]
	return in.last
}

// collectComments appends the comments about packet i of a batch to notes.
func (in *inputs) collectComments(raw *capture.Batch, i int, notes [][]byte) [][]byte {
	in.comments = nil
	start := len(notes)
	for ; in.comment < len(raw.Comments) && raw.Comments[in.comment].At <= i; in.comment++ {
		notes = append(notes, raw.Comments[in.comment].Text)
	}
	if n := len(notes); n > start {
		in.comments = notes[start:n:n]
	}
	return notes
}

// nextGap returns the next gap that precedes packet i of a batch, nil if there is none.
func (in *inputs) nextGap(raw *capture.Batch, i int) *capture.Gap {
	if in.gap == len(raw.Gaps) || raw.Gaps[in.gap].At > i {
		return nil
	}
	in.gap++
	return &raw.Gaps[in.gap-1]
}
