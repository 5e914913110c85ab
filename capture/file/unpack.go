package file

import (
	"bytes"
	"errors"
	"io"
	"sync/atomic"

	"github.com/dsnet/compress/bzip2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

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
