package split

import (
	"bytes"
	"hash/crc32"
	"io"
	"slices"

	"github.com/dsnet/compress/bzip2"

	"qsniff/reassembly/wire"
)

// flaw is what is wrong with a compressed stream.
type flaw uint8

const (
	sound            flaw = iota
	noStream              // nothing in part 0 looks like bzip2
	undecodable           // it cannot be decoded to its end
	badLength             // what comes out has not the declared length
	badCRC                // what comes out has not the declared CRC-32
	trailing              // length and CRC-32 are right, but the stream ends badly or bytes follow it
	notPacked             // announced as compressed, and plain
	randomised            // it has a block of a kind that only libbz2 still decodes
	declaredTooLarge      // declared above the limit
	outputTooLarge        // nothing declared, and more comes out than the limit
	overBudget            // this second's work is spent
)

// inflater decompresses into memory that it keeps. It stops one byte after the size that
// it was asked for, and decodes no block of more than 100,000 bytes unless the limit is
// above that: bzip2 decodes a block before its first byte comes out, so that a stream of
// 400 bytes would cost 10 MB otherwise. With blocks of that size it keeps less than 1 MB.
type inflater struct {
	limit int
	rd    bytes.Reader
	zr    *bzip2.Reader
	rest  [2]byte // the first bytes from a decoder that should return endByte
	buf   []byte
	sum   uint32 // CRC-32 of the last output, if its length was right

	endsClean bool // of the last stream
}

// decompress decompresses stream up to most bytes: the declared size, if there is one, or
// the limit. crc is the declared CRC-32. It changes stream and restores it, and may
// overwrite the memory between its length and its capacity. The result is valid until the
// next call.
func (z *inflater) decompress(stream []byte, most int, declared bool, crc uint32) ([]byte, flaw) {
	if z.zr == nil {
		z.zr = new(bzip2.Reader)
	}
	if len(z.buf) <= most { // most messages are far below the limit
		z.buf = make([]byte, min(z.limit, max(most, 2*len(z.buf)))+1)
	}
	level := stream[3]
	if most < smallestBlock {
		stream[3] = '1'
	}
	out := z.readStream(append(stream, endMark...), len(stream), most)
	stream[3] = level
	if !out.endsClean {
		z.forget()
	}
	return z.compareOutput(out, most, declared, crc)
}

// readStream reads up to most+1 bytes of a stream of size bytes and the end mark that follows it.
func (z *inflater) readStream(b []byte, size, most int) output {
	z.rd.Reset(b)
	err := z.zr.Reset(&z.rd)
	n := 0
	if err == nil {
		n, err = io.ReadFull(z.zr, z.buf[:most+1])
	}
	if z.zr.InputOffset > int64(size) && n > 0 && z.buf[n-1] == endByte {
		return output{n: n - 1, endsClean: err == nil || z.zr.Close() == nil}
	}
	d, ok := err.(interface{ IsDeprecated() bool })
	return output{n: n, hasMore: err == nil, isRandomised: ok && d.IsDeprecated()}
}

// forget takes a new decoder if the present one keeps something of a stream that was not
// read to its end. bzip2.Reader.Reset of dsnet/compress v0.0.1 keeps the run that it was
// in: what is left of one reply would come out before the next one.
func (z *inflater) forget() {
	z.rd.Reset(endMarkOnly)
	if z.zr.Reset(&z.rd) == nil {
		if n, _ := z.zr.Read(z.rest[:]); n == 1 && z.rest[0] == endByte && z.zr.InputOffset > 0 {
			return
		}
	}
	z.zr = new(bzip2.Reader)
}

// endMark is a bzip2 stream of one byte, endByte. It is put after the stream that is
// decompressed: when endByte comes out, that stream has ended. Without it the decoder
// would meet the end of its input and allocate an error for every message.
const (
	endByte = 'x'
	endMark = "BZh11AY&SY\x77\x4b\xb0\x14\x00\x00\x00\x00\x80\x00\x40\x20\x00\x21" +
		"\x18\x46\x82\xee\x48\xa7\x0a\x12\x0e\xe9\x76\x02\x80"
)

var endMarkOnly = []byte(endMark)

// output is what came out of a stream: n bytes. hasMore is set if they are more than was
// asked for, endsClean if the stream ended as it should: then its own checksums are right.
type output struct {
	n                  int
	hasMore, endsClean bool
	isRandomised       bool
}

// compareOutput returns the output, and how it differs from what was declared.
func (z *inflater) compareOutput(o output, most int, declared bool, crc uint32) ([]byte, flaw) {
	out := z.buf[:o.n]
	z.endsClean = o.endsClean
	switch {
	case o.isRandomised:
		return out, randomised
	case !declared && o.hasMore:
		return out, outputTooLarge
	case !declared && !o.endsClean:
		return out, undecodable
	case !declared:
		return out, sound
	case o.hasMore || o.endsClean && o.n != most:
		return out, badLength
	case o.n != most:
		return out, undecodable
	}
	if z.sum = crc32.ChecksumIEEE(out); z.sum != crc {
		return out, badCRC
	}
	if !o.endsClean {
		return out, trailing
	}
	return out, sound
}

// decompressSet decompresses set s, which has all its parts, into a.out, and returns the
// outcome. It tries the layouts in turn until size and CRC match. If they never do, a.out
// has what comes out under the layout that is least wrong or, if nothing does, the
// compressed bytes.
func (a *Assembler) decompressSet(s *partSet) Outcome {
	o := &a.out
	s.flaw = noStream
	best := -1
	for i := range layouts {
		l := &layouts[i]
		if !a.hasStreamAt(s, l) {
			continue
		}
		a.joinPayloads(s, *l)
		out, fl := a.tryLayout(s, l)
		if fl == sound || fl == trailing {
			s.flaw = fl
			o.Engine, o.Size = l.engine, a.sizeField(s, l)
			o.Data, o.Run, o.Wire = out, len(out), len(out)
			return Complete
		}
		isSound := fl < declaredTooLarge && a.bz.endsClean
		if best < 0 || fl >= declaredTooLarge || isSound && !s.isSound || isSound == s.isSound && s.flaw == undecodable {
			best = i
			s.flaw, s.flawSize, s.flawSum, s.isSound = fl, uint32(len(out)), a.bz.sum, isSound
			if fl == declaredTooLarge {
				s.flawSize = o.Declared
			}
		}
	}
	switch s.flaw {
	case badLength, badCRC:
		a.joinPayloads(s, layouts[best])
		a.showMismatch(s, &layouts[best])
		return BadBzip2
	}
	a.joinPayloads(s, a.guessLayout(s))
	o.Run = 0
	switch s.flaw {
	case declaredTooLarge, outputTooLarge:
		return TooLarge
	case overBudget:
		return Refused
	case randomised:
		return Unsupported
	}
	return BadBzip2
}

// showMismatch puts into a.out what comes out of the stream under layout l, whose size or CRC
// the header contradicts, up to Limits.Inflated. More than that, and what no work is left
// for, stays compressed.
func (a *Assembler) showMismatch(s *partSet, l *layout) {
	o := &a.out
	o.Run = 0
	src := sourceKey(s.key.src)
	if !a.budget.hasLeft(src, a.now) {
		return
	}
	a.joined = slices.Grow(a.joined, len(endMark))
	o.Joined, o.Data = a.joined, a.joined
	stream := a.joined[l.prefix:]
	out, fl := a.bz.decompress(stream, a.lim.Inflated, false, 0)
	a.spendOn(src, stream, out, false)
	if fl == outputTooLarge || len(out) == 0 {
		return
	}
	s.isSound = a.bz.endsClean
	s.flawSize = uint32(len(out))
	o.Engine, o.Size = l.engine, a.sizeField(s, l)
	o.Data, o.Run, o.Wire, o.IsSound = out, len(out), len(out), s.isSound
}

// tryLayout decompresses a.joined, which was joined under layout l, if the budget has work
// left.
func (a *Assembler) tryLayout(s *partSet, l *layout) ([]byte, flaw) {
	o := &a.out
	most := a.lim.Inflated
	if l.prefix > 0 {
		if uint64(o.Declared) > uint64(most) {
			return nil, declaredTooLarge
		}
		most = int(o.Declared)
	}
	src := sourceKey(s.key.src)
	if !a.budget.hasLeft(src, a.now) {
		return nil, overBudget
	}
	a.Counters.Inflations++
	a.joined = slices.Grow(a.joined, len(endMark))
	o.Joined, o.Data = a.joined, a.joined
	stream := a.joined[l.prefix:]
	out, fl := a.bz.decompress(stream, most, l.prefix > 0, o.CRC)
	a.spendOn(src, stream, out, fl == trailing)
	return out, fl
}

// spendOn adds the cost of a try to the budget.
func (a *Assembler) spendOn(src sourceKey, stream, out []byte, isRight bool) {
	if isRight || a.bz.endsClean {
		a.budget.spend(src, costTry+(len(stream)+len(out))/bytesPerUnit)
	} else {
		a.budget.spend(src, costFailed+len(stream)/failedPerUnit)
	}
}

// sizeField returns the part size in the headers of a compressed set, 0 if the form has
// none. One layout has it in the parts n > 0 only.
func (a *Assembler) sizeField(s *partSet, l *layout) uint16 {
	if l.engine != wire.Source {
		return 0
	}
	p := a.order[0]
	if l.head0 != wire.Source.HeaderLen() {
		p = a.order[1]
	}
	h, _ := wire.ParseSplit(a.startOf(&a.parts.items[p]), wire.Source)
	return h.Size
}
