package subset

import (
	"bytes"
	"encoding/binary"
	"sync"
	"sync/atomic"

	"qsniff/internal/render"
)

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
