package subset

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sync"
	"sync/atomic"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/capture/packet/rewrite"
	"qsniff/dissect"
	"qsniff/internal/base/bzip"
	"qsniff/internal/render"
	"qsniff/reassembly/wire"
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

// streamStart is how much of a stream says only that it is one: the level, and that a block
// begins.
const streamStart = len("BZh91AY&SY")

// repack changes a compressed message and packs it again into as many bytes as it took, so
// that its parts stay as long and where they are. If it cannot be unpacked or packed again,
// its bytes are overwritten, but for its size and the start of the stream, and repack returns
// false.
func (l *locator) repack(edits []Edit) bool {
	o := &l.event.Origin
	if !l.hasAllPieces() {
		l.eachFrame(func(frame uint64) { l.add(packetEdit{frame: frame, kind: wipeFrom}) })
		return false
	}
	packed := l.packAgain(edits)
	isPacked := packed != nil
	if !isPacked {
		packed = bytes.Repeat([]byte{filler}, len(o.Packed))
		if stream := o.Packed[o.PrefixLen:]; wire.IsBzip2(stream) {
			copy(packed, o.Packed[:o.PrefixLen/2])
			copy(packed[o.PrefixLen:], stream[:min(streamStart, len(stream))])
		}
	}
	for i := range o.Pieces {
		p := &o.Pieces[i]
		l.add(packetEdit{frame: p.Frame, kind: replaceAt, at: p.At, n: p.Len, old: o.Packed[p.Off:][:p.Len], new: packed[p.Off:][:p.Len]})
		if l.repeatsPrefix(p) {
			n := uint32(o.PrefixLen)
			l.add(packetEdit{frame: p.Frame, kind: replaceAt, at: p.At - n, n: n, old: o.Packed[:n], new: packed[:n]})
		}
	}
	l.wipeOthers()
	return isPacked
}

// packAgain returns the changed message, packed into as many bytes as before, with the prefix
// that belongs to it; nil if there is none.
func (l *locator) packAgain(edits []Edit) []byte {
	m, o := l.event.Msg, &l.event.Origin
	if m.Type == nil || !wire.IsBzip2(o.Packed[o.PrefixLen:]) {
		return nil
	}
	text := slices.Clone(m.Data)
	for _, x := range edits {
		copy(text[x.Off:], x.New)
	}
	stream := packSimpler(text, m.Data, len(o.Packed)-o.PrefixLen)
	if stream == nil {
		return nil
	}
	packed := slices.Clone(o.Packed[:o.PrefixLen])
	if o.PrefixLen > 0 { // the size stays, and a CRC-32 that was wrong stays wrong
		was := crc32.ChecksumIEEE(m.Data) ^ binary.LittleEndian.Uint32(packed[4:])
		binary.LittleEndian.PutUint32(packed[4:], crc32.ChecksumIEEE(text)^was)
	}
	return append(packed, stream...)
}

// hasAllPieces reports whether it is known which packets brought the compressed bytes.
func (l *locator) hasAllPieces() bool {
	at := uint32(0)
	for i := range l.event.Origin.Pieces {
		if p := &l.event.Origin.Pieces[i]; p.Off == at {
			at += p.Len
		}
	}
	return int(at) == len(l.event.Origin.Packed)
}

// repeatsPrefix reports whether a later part begins with the prefix of the first, as some
// libraries expect: then its bytes begin so much later.
func (l *locator) repeatsPrefix(p *render.Piece) bool {
	n := uint32(l.event.Origin.PrefixLen)
	return n > 0 && p.Off > 0 && (p.At == n+uint32(wire.Source.HeaderLen()) || p.At == n+uint32(wire.SourceOld.HeaderLen()))
}

// packSimpler packs text, which was made of old, into size bytes. What was replaced varies
// more than it did: if the text does not fit, it is replaced by fewer letters and digits.
func packSimpler(text, old []byte, size int) []byte {
	for _, kinds := range [...]byte{26, 8, 3, 1} {
		for i, c := range text {
			first, n := firstOf(c)
			if c == old[i] || n <= kinds {
				continue
			}
			if text[i] = first + (c-first)%kinds; text[i] == old[i] {
				text[i] = first + kinds // another one
			}
		}
		if b := bzip.Pack(text, size); b != nil {
			return b
		}
	}
	return nil
}

// firstOf returns the first letter or digit of the kind of c, and how many there are.
func firstOf(c byte) (first, n byte) {
	for _, s := range [...]string{"az", "AZ", "09"} {
		if s[0] <= c && c <= s[1] {
			return s[0], s[1] - s[0] + 1
		}
	}
	return c, 1
}
