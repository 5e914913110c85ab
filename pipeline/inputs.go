package pipeline

import "qsniff/capture"

// inputs is what the reader knows of where packets come from.
type inputs struct {
	source     capture.Describer // nil if the source cannot say
	all        []capture.Interface
	hasSeveral bool // an input has more than one interface
	wasAsked   bool // in this batch
	file       uint16
	iface      uint16
	found      int // index of the interface of file and iface, or -1: packets come in runs

	gap      int // of the batch: the next
	comment  int // likewise
	comments [][]byte
}

// begin begins a batch.
func (in *inputs) begin() { in.gap, in.comment, in.wasAsked = 0, 0, false }

// find looks for an interface. Inputs may name interfaces at any place, so the
// source is asked again where one is not known, once in a batch.
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

// originOf returns where a packet came from. A single interface without a name, as in
// every classic pcap file, is not worth mentioning.
func (in *inputs) originOf(p *capture.Packet) origin {
	from := origin{file: p.File, iface: p.Iface, comments: in.comments}
	in.find(p.File, p.Iface)
	if in.found >= 0 {
		from.name = in.all[in.found].Name
		from.known = in.hasSeveral || from.name != ""
	}
	return from
}

// collectComments appends to notes what was written about packet i of a batch.
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

// nextGap returns the next damage that precedes packet i of a batch, nil if there is
// none.
func (in *inputs) nextGap(raw *capture.Batch, i int) *capture.Gap {
	if in.gap == len(raw.Gaps) || raw.Gaps[in.gap].At > i {
		return nil
	}
	in.gap++
	return &raw.Gaps[in.gap-1]
}
