package file

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"qsniff/internal/base/digits"
)

// packing is a way to compress a file.
type packing struct {
	name   string
	magics []string
	unzip  string // the program that expands it to standard output
	open   func(io.Reader) (io.Reader, error)
}

// packings are the compressions that are read. All expand a block at a time, into
// memory whose size is fixed or limited (zstd, xz), and read several streams that were put
// after one another.
var packings = [...]packing{
	{"gzip", []string{"\x1f\x8b"}, "zcat", func(in io.Reader) (io.Reader, error) {
		return gzip.NewReader(in)
	}},
	{"zstd", []string{"\x28\xb5\x2f\xfd"}, "zstdcat --long=31", func(in io.Reader) (io.Reader, error) {
		return zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderMaxMemory(maxZstdWindow))
	}},
	{"lz4", []string{"\x04\x22\x4d\x18", "\x02\x21\x4c\x18"}, "lz4cat", func(in io.Reader) (io.Reader, error) {
		return lz4.NewReader(in), nil
	}},
	{"bzip2", []string{"BZh"}, "bzcat", func(in io.Reader) (io.Reader, error) {
		return bzip2.NewReader(in, nil)
	}},
	{"xz", []string{xzMagic}, "xz -dc", openXz},
}

// packingOf returns the compression of a file that begins with b, or nil.
func packingOf(b []byte) *packing {
	for i := range packings {
		for _, magic := range packings[i].magics {
			if bytes.HasPrefix(b, []byte(magic)) {
				return &packings[i]
			}
		}
	}
	return nil
}

// packed is the state of reading a compressed input.
type packed struct {
	*packing
	in io.Reader

	// read counts bytes of the compressed input. It is atomic because the
	// reader may be driven by another goroutine that reads ahead.
	read atomic.Int64
}

// Read reads compressed bytes.
func (p *packed) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	p.read.Add(int64(n))
	return n, err
}

// unpack makes r.in deliver the expanded bytes of the input, of which buf has been read.
func (r *Reader) unpack(kind *packing, buf []byte, o options) error {
	in := r.in
	if r.inErr != nil { // a small file is at its end
		in = endedInput{r.inErr}
	}
	r.packed = &packed{packing: kind, in: io.MultiReader(bytes.NewReader(buf), in)}
	expanded, err := kind.open(r.packed)
	if err != nil {
		return r.packed.expandError(r.name, 0, err)
	}
	r.in, r.inErr = expanded, nil
	if o.readAhead != nil {
		ahead := o.readAhead(expanded)
		r.in = ahead
		r.closers = append(r.closers, ahead)
	}
	return nil
}

// endedInput is an input that has ended with err.
type endedInput struct{ err error }

// Read returns the error.
func (f endedInput) Read([]byte) (int, error) { return 0, f.err }

// expandError is about a compressed input that cannot be expanded beyond offset bytes of
// what it expands to.
func (p *packed) expandError(name string, offset int64, err error) error {
	e := systemError(name, err)
	e.Offset, e.Expanded = offset, true
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		e.Err = io.ErrUnexpectedEOF
		e.Reason, e.Hint = p.name+" data cut", hintCut
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		e.Reason = "zstd window above the limit of " + digits.Grouped(maxZstdWindow) + " bytes"
		e.Hint = unzipHint(name, p.unzip)
	case errors.Is(err, errXzMemory):
		e.Reason = "xz dictionaries above the limit of " + digits.Grouped(maxXzDictionary) + " bytes"
		e.Hint = unzipHint(name, p.unzip)
	case errors.Is(err, errXzFilter):
		e.Reason = errXzFilter.Error()
		e.Hint = unzipHint(name, p.unzip)
	default:
		e.Reason = p.name + " data damaged: " + e.Reason
		e.Hint = hintDamage
	}
	return e
}

// twicePackedError is about a compressed file in another.
func twicePackedError(name string, outer, inner *packing) error {
	return &Error{File: name, Offset: wholeFile, Err: ErrFormat, Hint: unzipHint(name, outer.unzip),
		Reason: "compressed twice, with " + inner.name + " in " + outer.name}
}

// Sizes and values of the xz format, version 1.2.1.
const (
	xzMagic         = "\xfd7zXZ\x00"
	xzHeaderLen     = 12   // of a stream's header, and of its footer
	xzMaxHeader     = 1024 // of a block
	xzFilterLZMA2   = 0x21
	xzMaxDictionary = 40 // the highest code of a dictionary's size
)

// errXzMemory is about a stream whose dictionaries take more memory than is given to them.
// errXzFilter is about one that the library does not expand.
var (
	errXzMemory = errors.New("xz dictionary above the limit")
	errXzFilter = errors.New("xz filter other than LZMA2")
)

// openXz returns the expanded bytes of an xz file.
func openXz(in io.Reader) (io.Reader, error) {
	guard := &xzGuard{in: bufio.NewReaderSize(in, 4*xzMaxHeader), budget: maxXzDictionaries}
	guard.step = guard.stream
	r := &xzReader{guard: guard}
	err := r.call(func() (err error) { r.expanded, err = xz.NewReader(guard); return err })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// xzReader expands xz. A panic of the library is an error, and the guard's errors come
// before those that the library makes of them.
type xzReader struct {
	guard    *xzGuard
	expanded *xz.Reader
	err      error // the first one, which stays
}

// Read reads expanded bytes.
func (r *xzReader) Read(b []byte) (n int, err error) {
	if r.err != nil {
		return 0, r.err
	}
	r.err = r.call(func() (err error) { n, err = r.expanded.Read(b); return err })
	return n, r.err
}

// call calls f, which calls the library.
func (r *xzReader) call(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the decoder failed: %v", p)
		}
		if err != nil && r.guard.err != nil && r.guard.err != io.EOF {
			err = r.guard.err
		}
	}()
	return f()
}

// xzGuard passes an xz file on and reads its structure on the way, because the library
// allocates the dictionary that each block header asks for, up to 4 GiB. It checks no
// sums: the library does.
type xzGuard struct {
	in     *bufio.Reader
	pass   int64        // bytes that are passed on before the next step
	step   func() error // looks at what comes next and sets pass
	check  int64        // length of the check after each block, in bytes
	block  int64        // bytes of the block's compressed data so far
	budget int64        // bytes that dictionaries may still take
	index  int64        // numbers of the index that follow, negative: their count is next
	length int64        // bytes of the index so far
	err    error
}

// Read reads bytes whose headers have been checked.
func (g *xzGuard) Read(b []byte) (int, error) {
	for g.pass == 0 && g.err == nil {
		g.err = g.step()
	}
	if g.pass == 0 {
		return 0, g.err
	}
	n, err := g.in.Read(b[:min(int64(len(b)), g.pass)])
	g.pass -= int64(n)
	g.budget = min(g.budget+int64(n)*xzDictionaryGain, maxXzDictionaries)
	return n, err
}

// stream reads a stream header, or padding before one.
func (g *xzGuard) stream() error {
	h, err := g.in.Peek(4)
	if len(h) == 4 && string(h) == "\x00\x00\x00\x00" {
		g.pass = 4
		return nil
	}
	if len(h) == 0 {
		return err
	}
	g.pass = xzHeaderLen
	if h, _ = g.in.Peek(xzHeaderLen); len(h) == xzHeaderLen {
		// The sizes of the check numbers: 0, then 4, 8, 16, 32 and 64 bytes, three each.
		g.check = 0
		if id := h[7] & 0x0f; id > 0 {
			g.check = 4 << ((id - 1) / 3)
		}
	}
	g.step = g.header
	return nil
}

// header reads a block header or the first byte of the index.
func (g *xzGuard) header() error {
	h, err := g.in.Peek(1)
	if err != nil {
		return cutXz(err)
	}
	if h[0] == 0 {
		g.pass, g.length, g.index, g.step = 1, 1, -1, g.number
		return nil
	}
	size := (int(h[0]) + 1) * 4
	if h, err = g.in.Peek(size); err != nil {
		return cutXz(err)
	}
	flags, at := h[1], 2
	for _, present := range []bool{flags&0x40 != 0, flags&0x80 != 0} {
		for present && at < size {
			at++
			present = h[at-1]&0x80 != 0
		}
	}
	if flags&3 != 0 || at+2 >= size || h[at] != xzFilterLZMA2 || h[at+1] != 1 {
		return errXzFilter
	}
	dictionary := xzDictionary(h[at+2])
	if g.budget -= dictionary; dictionary > maxXzDictionary || g.budget < 0 {
		return errXzMemory
	}
	g.pass, g.block, g.step = int64(size), 0, g.chunk
	return nil
}

// xzDictionary returns the size of a dictionary in bytes.
func xzDictionary(code byte) int64 {
	if code >= xzMaxDictionary {
		return 1<<32 - 1
	}
	return int64(2|code&1) << (code/2 + 11)
}

// chunk reads the header of an LZMA2 chunk, or the end of the chunks.
func (g *xzGuard) chunk() error {
	h, err := g.in.Peek(1)
	if err != nil {
		return cutXz(err)
	}
	switch control := h[0]; {
	case control == 0:
		g.block++
		g.pass = 1 + -g.block&3 + g.check
		g.step = g.header
		return nil
	case control < 0x80:
		if h, err = g.in.Peek(3); err != nil {
			return g.rest(h)
		}
		g.pass = 3 + int64(h[1])<<8 + int64(h[2]) + 1
	default:
		if h, err = g.in.Peek(5); err != nil {
			return g.rest(h)
		}
		g.pass = 5 + int64(h[3])<<8 + int64(h[4]) + 1
		if control >= 0xc0 {
			g.pass++ // properties
		}
	}
	g.block += g.pass
	return nil
}

// rest passes on what a cut file ends with.
func (g *xzGuard) rest(h []byte) error {
	g.pass = int64(len(h))
	g.step = func() error { return io.ErrUnexpectedEOF }
	return nil
}

// number reads a number of the index: their count, then two for each block.
func (g *xzGuard) number() error {
	value, size := int64(0), 0
	for more := true; more; size++ {
		if size == 9 {
			return errors.New("xz index damaged")
		}
		h, err := g.in.Peek(size + 1)
		if err != nil {
			return cutXz(err)
		}
		value |= int64(h[size]&0x7f) << (7 * size)
		more = h[size]&0x80 != 0
	}
	g.pass = int64(size)
	g.length += g.pass
	if g.index < 0 {
		g.index = min(value, 1<<61) * 2
	} else {
		g.index--
	}
	if g.index == 0 {
		g.pass += -g.length&3 + 4 + xzHeaderLen // padding, sum, footer
		g.step = g.stream
	}
	return nil
}

// cutXz returns the error of a file that ends within a stream.
func cutXz(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
