package subset

import (
	"bytes"
	"encoding/binary"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/render"
)

// Editor says what is overwritten of messages. It is used by several goroutines at a time.
type Editor interface {
	// AddEdits adds the stretches of e.Msg.Data that are overwritten, in any order, to an
	// empty list.
	AddEdits(to *Edits, e *render.Event)
}

// Edits is what an Editor says of one message. Its memory is used again.
type Edits struct {
	List []Edit
	Data []byte // for the Editor: Edit.New may point into it
}

// Edit is a stretch of a message's data, and what is written in its place.
type Edit struct {
	Off uint32
	New []byte
}

// editKind is what an edit of a packet does.
type editKind byte

const (
	replaceAt  editKind = iota // bytes at a place in what the packet carries
	replaceSeq                 // bytes at a sequence number of TCP
	coverSeq                   // nothing: bytes at a sequence number are a message's
	wipeFrom                   // all bytes from a place on
)

// packetEdit is an edit of one packet. It is encoded as its frame, kind, place and length,
// each as a varint, and the bytes before and after if it replaces any.
type packetEdit struct {
	frame    uint64
	kind     editKind
	at, n    uint32
	old, new []byte
}

// isReplacing reports whether the edit has bytes.
func (k editKind) isReplacing() bool { return k == replaceAt || k == replaceSeq }

func appendEdit(dst []byte, x *packetEdit) []byte {
	dst = binary.AppendUvarint(dst, x.frame)
	dst = append(dst, byte(x.kind))
	dst = binary.AppendUvarint(dst, uint64(x.at))
	dst = binary.AppendUvarint(dst, uint64(x.n))
	if x.kind.isReplacing() {
		dst = append(append(dst, x.old...), x.new...)
	}
	return dst
}

// cutEdit returns the first of encoded edits, its encoded bytes, and the others.
func cutEdit(b []byte) (x packetEdit, own, rest []byte) {
	whole := b
	next := func() uint64 {
		v, n := binary.Uvarint(b)
		b = b[n:]
		return v
	}
	x.frame = next()
	x.kind = editKind(b[0])
	b = b[1:]
	x.at, x.n = uint32(next()), uint32(next())
	if x.kind.isReplacing() {
		x.old, x.new, b = b[:x.n], b[x.n:2*x.n], b[2*x.n:]
	}
	return x, whole[:len(whole)-len(b)], b
}

// editsAbout returns those of a message's encoded edits that are of one packet: they follow one
// another where they are by number.
func editsAbout(b []byte, frame uint64) []byte {
	var about []byte
	for len(b) > 0 {
		whole := b
		x, own, rest := cutEdit(b)
		switch b = rest; {
		case x.frame != frame:
		case about == nil:
			about = whole[:len(own)]
		default:
			about = about[:len(about)+len(own)]
		}
	}
	return about
}

// locator finds the packets that stretches of a message are in.
type locator struct {
	dst   []byte // gets the edits of packets
	event *render.Event
}

// appendPacketEdits appends the edits of packets for those of a message. isLost is set where
// they overwrite a compressed message.
func appendPacketEdits(dst []byte, e *render.Event, edits []Edit) (_ []byte, isLost bool) {
	o := &e.Origin
	l := locator{dst: dst, event: e}
	switch {
	case o.HasNoPlace: // what the sample has of addresses is no message's
		l.eachFrame(func(frame uint64) { l.add(packetEdit{frame: frame, kind: wipeFrom}) })
	case e.TCP:
		l.locateSeq(edits)
	case o.Packed != nil:
		isLost = len(edits) > 0 && !l.repack(edits)
	default:
		l.locatePieces(edits)
	}
	return l.dst, isLost
}

func (l *locator) add(x packetEdit) { l.dst = appendEdit(l.dst, &x) }

// eachFrame calls f for each packet of the message.
func (l *locator) eachFrame(f func(frame uint64)) {
	if len(l.event.Frames) == 0 {
		f(l.event.Frame)
	}
	for _, frame := range l.event.Frames {
		f(frame)
	}
}

// locateSeq adds edits by sequence number to all packets of a message over TCP: each applies
// those that are in it.
func (l *locator) locateSeq(edits []Edit) {
	m, seq := l.event.Msg, l.event.Origin.Seq
	l.eachFrame(func(frame uint64) {
		l.add(packetEdit{frame: frame, kind: coverSeq, at: seq, n: uint32(len(m.Data))})
		for _, x := range edits {
			l.add(packetEdit{frame: frame, kind: replaceSeq, at: seq + x.Off, n: uint32(len(x.New)),
				old: m.Data[x.Off:][:len(x.New)], new: x.New})
		}
	})
}

// wipeOthers overwrites the packets of the message of which no piece is known.
func (l *locator) wipeOthers() {
	pieces := l.event.Origin.Pieces
	l.eachFrame(func(frame uint64) {
		if !slices.ContainsFunc(pieces, func(p render.Piece) bool { return p.Frame == frame }) {
			l.add(packetEdit{frame: frame, kind: wipeFrom})
		}
	})
}

// locatePieces adds edits to the packets that brought their bytes. What a packet brought
// that is not in the message, because bytes before it are missing, is overwritten: nobody
// knows what it is. If a stretch was brought by no known packet, all are overwritten.
func (l *locator) locatePieces(edits []Edit) {
	data, pieces := l.event.Msg.Data, l.event.Origin.Pieces
	for i := range pieces {
		if p := &pieces[i]; uint64(p.Off)+uint64(p.Len) > uint64(len(data)) {
			l.add(packetEdit{frame: p.Frame, kind: wipeFrom, at: p.At + uint32(len(data)) - min(p.Off, uint32(len(data)))})
		}
	}
	for _, x := range edits {
		end, found := x.Off+uint32(len(x.New)), uint32(0)
		for i := range pieces {
			p := &pieces[i]
			lo, hi := max(p.Off, x.Off), min(p.Off+p.Len, end)
			if lo >= hi {
				continue
			}
			found += hi - lo
			l.add(packetEdit{frame: p.Frame, kind: replaceAt, at: p.At + lo - p.Off, n: hi - lo,
				old: data[lo:hi], new: x.New[lo-x.Off : hi-x.Off]})
		}
		if found < end-x.Off {
			l.eachFrame(func(frame uint64) { l.add(packetEdit{frame: frame, kind: wipeFrom}) })
			return
		}
	}
	if len(edits) > 0 {
		l.wipeOthers()
	}
}

// Mask is an Editor that overwrites secrets: the values that renderers hide.
type Mask struct{}

// AddEdits implements Editor.
func (Mask) AddEdits(to *Edits, e *render.Event) {
	m := e.Msg
	if e.Origin.Packed != nil && m.Type == nil { // it could not be unpacked: nobody knows what is in it
		to.List = append(to.List, Edit{New: xs[:1]})
		return
	}
	for i := range m.Fields {
		f := &m.Fields[i]
		if f.Def.Flags&dissect.Secret == 0 || f.Flags&dissect.Generated != 0 {
			continue
		}
		if f.Def.Kind == dissect.Text || f.Def.Kind == dissect.Bytes {
			off, n := ValueOf(f)
			to.List = appendFill(to.List, off, n, xs[:])
			continue
		}
		to.List = appendNumberMask(to.List, m.Raw(f), f.Off)
	}
}

// appendNumberMask overwrites a number at off: of one that is written as text the digits, so
// that it stays a number, else all bytes.
func appendNumberMask(dst []Edit, raw []byte, off uint32) []Edit {
	isDigit := func(c rune) bool { return '0' <= c && c <= '9' }
	lo := bytes.IndexFunc(raw, isDigit)
	if lo < 0 || len(bytes.TrimLeftFunc(bytes.TrimRight(raw[lo:], " "), isDigit)) > 0 {
		return appendFill(dst, off, uint32(len(raw)), xs[:])
	}
	return appendFill(dst, off+uint32(lo), uint32(len(bytes.TrimRight(raw[lo:], " "))), zeros[:])
}

// appendFill overwrites the n bytes at off.
func appendFill(dst []Edit, off, n uint32, with []byte) []Edit {
	for n > 0 {
		k := min(n, uint32(len(with)))
		dst = append(dst, Edit{Off: off, New: with[:k]})
		off, n = off+k, n-k
	}
	return dst
}

// ValueOf returns where in Message.Data the value of a field is: of texts without what
// delimits them. The value of an Aux field is made of all bytes of the field.
func ValueOf(f *dissect.Field) (off, n uint32) {
	if f.Flags&dissect.Aux == 0 && (f.Def.Kind == dissect.Text || f.Def.Kind == dissect.Bytes) {
		return f.Off + uint32(f.Num>>32), uint32(f.Num)
	}
	return f.Off, f.Len
}

// What secrets are overwritten with: longer ones with several of them. They say how long
// the secret is, and nothing else.
var xs, zeros = func() (x, zero [1 << 10]byte) {
	for i := range x {
		x[i], zero[i] = filler, '0'
	}
	return x, zero
}()
