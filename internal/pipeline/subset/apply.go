package subset

import (
	"bytes"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/capture/packet/rewrite"
	"qsniff/internal/render"
)

// filler stands in place of bytes that are overwritten.
const filler = 'x'

// editor applies edits to the bytes of packets.
type editor struct {
	packet  rewrite.Packet
	wiped   uint64 // packets that were overwritten as a whole, because a stretch of them was not where it should be
	empty   packet.Packet
	covered []bool // of the bytes of a segment: a message's
	// change changes what is no message's: addresses; nil: nothing.
	change func(*rewrite.Packet)
}

// apply applies lists of encoded edits to b, a copy of the bytes of p. wipesAll: there was no
// room for the edits.
func (a *editor) apply(p *capture.Packet, b []byte, lists [][]byte, wipesAll bool) {
	x := &a.packet
	x.Begin(p, b)
	carried := x.Carried()
	a.covered = append(a.covered[:0], make([]bool, len(carried))...)
	isSegment, failed := x.Stop == packet.TCP, wipesAll
	wipedFrom := len(carried)
	for _, edits := range lists {
		for len(edits) > 0 && !failed {
			var e packetEdit
			e, _, edits = cutEdit(edits)
			if e.kind == wipeFrom { // last, because edits are checked against what was there
				wipedFrom = min(wipedFrom, int(e.at))
				continue
			}
			failed = !a.applyEdit(carried, &e, isSegment)
		}
	}
	fill(carried[wipedFrom:])
	if failed {
		a.wiped++
		fill(carried)
	} else if isSegment {
		for i := range carried {
			if !a.covered[i] {
				carried[i] = filler
			}
		}
	}
	if a.change != nil {
		a.change(x)
	}
	x.Finish()
}

// applyEdit applies one edit that replaces or covers bytes. It returns false if they are not
// where they should be.
func (a *editor) applyEdit(carried []byte, e *packetEdit, isSegment bool) bool {
	if e.kind == replaceAt {
		return replace(carried, int64(e.at), e)
	}
	if !isSegment {
		return false
	}
	at := int64(int32(e.at - firstSeq(&a.packet.Packet)))
	for i := max(at, 0); i < min(at+int64(e.n), int64(len(carried))); i++ {
		a.covered[i] = true
	}
	return e.kind != replaceSeq || replace(carried, at, e)
}

// isEmptySegment reports whether a packet is a segment of TCP without data.
func (a *editor) isEmptySegment(p *capture.Packet) bool {
	a.empty.Decode(p.Link, p.Data, int(p.Wire))
	return a.empty.Stop == packet.TCP && a.empty.Wire == 0
}

// firstSeq returns the sequence number of the first byte that a segment carries.
func firstSeq(x *packet.Packet) uint32 {
	if x.TCP.Flags&packet.FlagSYN != 0 {
		return x.TCP.Seq + 1
	}
	return x.TCP.Seq
}

func fill(b []byte) {
	for i := range b {
		b[i] = filler
	}
}

// replace replaces the bytes of e that are in carried, where they begin at offset at. It
// returns false if other bytes are there.
func replace(carried []byte, at int64, e *packetEdit) bool {
	lo, hi := max(at, 0), min(at+int64(e.n), int64(len(carried)))
	if lo >= hi {
		return true
	}
	there, old, new := carried[lo:hi], e.old[lo-at:hi-at], e.new[lo-at:hi-at]
	if !bytes.Equal(there, old) && !bytes.Equal(there, new) { // it may have been replaced for another message
		return false
	}
	copy(there, new)
	return true
}

// notes makes the notes of messages: the length of the comments, these, then encoded edits.
type notes struct {
	comment render.Renderer // nil: no comments
	editor  Editor          // nil: no edits
	lost    *atomic.Uint64  // compressed messages that the edits overwrite
}

func (o *Options) notes() notes { return notes{o.Comment, o.Edits, new(atomic.Uint64)} }

// editLists are lists for the edits of a message, of which each worker needs one at a time.
var editLists = sync.Pool{New: func() any { return new(Edits) }}

// append appends the note of a message, and reports whether it needs one. Of a connection,
// messages that are not chosen have edits too, for they share packets with others.
func (n *notes) append(dst []byte, e *render.Event, isChosen bool) ([]byte, bool) {
	if !isChosen && (n.editor == nil || !e.TCP) {
		return dst, false
	}
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	if n.comment != nil && isChosen {
		dst = n.appendComments(dst, e)
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	if n.editor != nil && !e.Origin.IsNone { // else the messages that it was joined from have the same bytes
		list := editLists.Get().(*Edits)
		list.List = list.List[:0]
		n.editor.AddEdits(list, e)
		var isLost bool
		if dst, isLost = appendPacketEdits(dst, e, list.List); isLost {
			n.lost.Add(1)
		}
		editLists.Put(list)
	}
	return dst, true
}

func (n *notes) appendComments(dst []byte, e *render.Event) []byte {
	lo := len(dst)
	dst = n.comment.Append(dst, e)
	hi := len(dst)
	for line := range bytes.Lines(dst[lo:hi]) { // of what stays where it is when dst grows
		dst = append(append(dst, mark...), line...)
	}
	return dst[:lo+copy(dst[lo:], dst[hi:])]
}

// splitNote returns the comments and the edits of a note.
func splitNote(b []byte) (comments, edits []byte) {
	n := binary.LittleEndian.Uint32(b)
	return b[4 : 4+n], b[4+n:]
}
