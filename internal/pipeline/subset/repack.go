package subset

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"

	"qsniff/internal/base/bzip"
	"qsniff/internal/render"
	"qsniff/reassembly/wire"
)

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
