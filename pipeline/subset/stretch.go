package subset

import (
	"net/netip"

	"qsniff/capture"
	"qsniff/netlayer"
	"qsniff/pipeline"
)

// A message over TCP in very many short segments has a list of only some of them: where
// they are joined, one stands for several. The others are found by their numbers.

// connDir is a direction of a connection.
type connDir struct{ src, dst netip.AddrPort }

// stretch is the numbers of a message in several segments.
type stretch struct {
	seq, n   uint32
	frame    uint64 // that completed the message
	isChosen bool
	edits    []byte // encoded, of any of its packets: they are by number
}

// addStretch keeps the numbers of a message over TCP that came in several packets.
func (p *Plan) addStretch(m *pipeline.Pick, edits []byte) {
	if !m.IsTCP || len(m.Frames) < 2 || m.IsJoined {
		return
	}
	if p.stretchCount >= planStretches || p.stretchSize+len(edits) > planBytes {
		p.unmarked++
		return
	}
	s := stretch{seq: m.Seq, n: uint32(m.Len), frame: m.Frame, isChosen: m.IsChosen}
	for len(edits) > 0 {
		x, own, rest := cutEdit(edits)
		if edits = rest; x.frame == m.Frame {
			s.edits = append(s.edits, own...)
		}
	}
	p.stretchSize += len(s.edits)
	if p.stretches == nil {
		p.stretches = make(map[connDir][]stretch)
	}
	k := connDir{m.Src, m.Dst}
	p.stretches[k] = append(p.stretches[k], s)
	p.stretchCount++
}

// addStretches adds to an entry what the stretches that packet p has bytes of mean for it,
// and reports whether it is to be written.
func (w *Writer) addStretches(p *capture.Packet, e *entry, ok bool) bool {
	if len(w.plan.stretches) == 0 {
		return ok
	}
	x := &w.editor.empty
	x.Decode(p.Link, p.Data, int(p.Wire))
	if x.Stop != netlayer.TCP || x.Wire == 0 {
		return ok
	}
	seq := firstSeq(x)
	for _, s := range w.plan.stretches[connDir{x.Src, x.Dst}] {
		if p.No > s.frame || int32(seq-s.seq-s.n) >= 0 || int32(seq+uint32(x.Wire)-s.seq) <= 0 {
			continue
		}
		e.edits = append(e.edits[:len(e.edits):len(e.edits)], s.edits...)
		if s.isChosen && !ok {
			ok = true
			e.wholes = append(e.wholes[:len(e.wholes):len(e.wholes)], s.frame)
		}
	}
	return ok
}
