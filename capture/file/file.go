// Package file reads and writes capture files. It reads classic pcap in both
// byte orders, with microsecond or nanosecond time stamps and in two modified
// forms, and pcapng; plain or compressed with gzip, zstd, lz4, bzip2 or xz; from a
// file, a pipe, standard input, or a file or ring that is still being written.
// It recognises formats by content, not by name. It writes both formats, plain.
//
// Reader reads a chunk of the input, expands it if it is compressed, and cuts records
// out of it, which become the packets of a capture.Batch. It does not decode them:
// link types are passed on as numbers, network layers are read by packet. After
// damage it searches for the next sound record and reports what is missing; it never
// changes a file and never guesses a packet. No number in a file decides how much
// memory is used. OpenGopacket reads the same files with gopacket's readers, to compare
// with this package's own; for programs on gopacket, capture.NewPacketData takes a Reader.
package file

import (
	"io"
	"io/fs"
	"math/bits"
	"os"
	"slices"
	"syscall"

	"qsniff/capture"
)

// Reader reads a capture. It is a capture.Source; capture.NewPacketData makes a source of
// gopacket's of it. It is not safe for concurrent use.
type Reader struct {
	in      io.Reader
	name    string
	closers []io.Closer // closed in this order; none if the input belongs to the caller
	regular bool        // reads of the input do not wait for a writer
	packed  *packed     // nil unless the input is compressed
	stats   capture.Stats

	isPcapng  bool         // otherwise classic pcap
	format    recordFormat // of classic pcap
	clock     clock        // of its records
	section   sectionState // of pcapng
	described description  // what pcapng has besides packets

	offset int64  // in the expanded input, of the first byte that is in no batch yet
	chunk  int    // bytes that a batch is filled with
	spare  []byte // the next batch's buffer; begins with what the last one did not use
	inErr  error  // what the input returned when it ended
	err    error  // what Read returns from now on

	damage      *Error // damage after which a sound record is being searched; nil: none
	firstDamage *Error // the first damage that was skipped

	marked *markedSection // of the last Mark
}

// Open opens the capture file of that name for reading; "-" is standard input.
// It blocks until the file header has arrived. Its errors are of type *Error;
// those of the operating system stay visible to errors.Is, such as
// fs.ErrNotExist, and a file that is no capture is ErrFormat.
func Open(name string, opts ...Option) (*Reader, error) {
	if name == stdinArg {
		return NewReader(os.Stdin, stdinName, opts...)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, systemError(name, err)
	}
	r, err := NewReader(f, name, opts...)
	if err != nil {
		f.Close()
		return nil, err
	}
	r.closers = append(r.closers, f)
	return r, nil
}

// NewReader reads a capture from in, which errors call name. It blocks until the file
// header has arrived. The caller owns in: Close does not close it. If in is a regular
// file, its size is part of Stats and Read fills its batches; from anything else Read
// delivers what one read of the input brought.
func NewReader(in io.Reader, name string, opts ...Option) (*Reader, error) {
	r := &Reader{in: in, name: name, chunk: minChunk}
	if f, ok := in.(interface{ Stat() (fs.FileInfo, error) }); ok {
		switch info, err := f.Stat(); {
		case err != nil:
			return nil, systemError(name, err)
		case info.IsDir():
			return nil, systemError(name, syscall.EISDIR)
		case info.Mode().IsRegular():
			r.regular = true
			r.stats.Size = info.Size()
		}
	}
	if err := r.readHeader(optionsOf(opts)); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// stdinArg is the file name that means standard input, stdinName its name in errors.
const (
	stdinArg  = "-"
	stdinName = "standard input"
)

// readHeader reads the beginning of the input, unpacks it if it is compressed, and
// decodes the file header. The bytes after it wait in r.spare for the
// first batch.
func (r *Reader) readHeader(o options) error {
	buf, err := r.readStart()
	if err != nil {
		return err
	}
	if p := packingOf(buf); p != nil {
		if err := r.unpack(p, buf, o); err != nil {
			return err
		}
		if buf, err = r.readStart(); err != nil {
			return err
		}
		if inner := packingOf(buf); inner != nil {
			return twicePackedError(r.name, p, inner)
		}
	}
	n, err := r.parseHeader(buf)
	if err != nil {
		return err
	}
	r.offset = int64(n)
	r.spare = buf[:copy(buf, buf[n:])]
	return nil
}

// readStart reads until the file header is complete, and no further: the next bytes may
// not arrive before the first packet.
func (r *Reader) readStart() (buf []byte, err error) {
	for len(buf) < headerLenOf(buf) && r.inErr == nil {
		buf = r.readMore(buf, minChunk)
	}
	if r.inErr != nil && r.inErr != io.EOF {
		return nil, r.inputError(int64(len(buf)))
	}
	return buf, nil
}

// headerLenOf returns the length of the header of a file that starts with b.
func headerLenOf(b []byte) int {
	var f recordFormat
	switch {
	case isSection(b):
		return minSection
	case len(b) >= 4 && f.parseMagic(b):
		return f.headerLen
	}
	return fileHeaderLen
}

// parseHeader recognises the format by the first bytes of the file and returns where its
// records or blocks begin: the section header of pcapng is a block itself.
func (r *Reader) parseHeader(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, &Error{File: r.name, Offset: wholeFile, Reason: "empty, not even a file header",
			Hint: "nothing was captured, or nothing was written yet: tcpdump -U writes each packet at once",
			Err:  io.ErrUnexpectedEOF}
	}
	if isSection(b) {
		r.isPcapng = true
		return 0, r.parseFirstSection(b)
	}
	return r.format.parse(r.name, b)
}

// LinkType returns the LINKTYPE_ value of all packets of a classic pcap file, without
// the upper bits of the header field (length of the frame check sequence). The packets
// of pcapng each have their own; then it returns that of the first interface, once
// packets have been read.
func (r *Reader) LinkType() uint16 {
	if r.isPcapng {
		return r.section.firstLink
	}
	return r.format.link
}

// SnapLen returns the most bytes of a packet that the capturing program kept, as the
// header of classic pcap states it; records may be longer. 0 means no limit, or pcapng,
// of which Interfaces has it.
func (r *Reader) SnapLen() uint32 { return r.format.snapLen }

// Stats counts what has been delivered so far. Bytes is the position in the
// input after the last packet delivered, or of a compressed input what has
// been read of it.
func (r *Reader) Stats() capture.Stats {
	s := r.stats
	s.Bytes = r.offset
	if r.packed != nil {
		s.Bytes = r.packed.read.Load()
	}
	return s
}

// Close closes the file if Open opened it. Packets that were delivered stay
// valid.
func (r *Reader) Close() error {
	var first error
	for _, c := range r.closers {
		if err := c.Close(); err != nil && first == nil {
			first = systemError(r.name, err)
		}
	}
	r.closers = nil
	return first
}

// Option changes how a capture is opened.
type Option func(*options)

type options struct {
	readAhead func(io.Reader) io.ReadCloser
	pipe      func(io.Reader) (*os.File, error)
	wait      func() error
	gopacket  bool
}

func optionsOf(opts []Option) (o options) {
	for _, opt := range opts {
		opt(&o)
	}
	return o
}

// ReadAhead makes a Reader read the expanded bytes of a compressed capture from what
// wrap returns, which may expand them in another goroutine, beside decoding: this
// package starts none. Close closes the wrapper before the file.
func ReadAhead(wrap func(io.Reader) io.ReadCloser) Option {
	return func(o *options) { o.readAhead = wrap }
}

// Pipe makes OpenLibpcap read compressed captures through a pipe, because libpcap
// reads files only: feed writes the expanded bytes to it and returns its reading end,
// which Close closes.
func Pipe(feed func(io.Reader) (*os.File, error)) Option {
	return func(o *options) { o.pipe = feed }
}

// Wait makes Follow call wait whenever there is nothing to read: it should sleep
// for a moment, or until something has happened. An error of wait ends the
// capture, and Read returns it; io.EOF is the regular end.
func Wait(wait func() error) Option {
	return func(o *options) { o.wait = wait }
}

// ByGopacket makes OpenMerged read with gopacket's readers.
func ByGopacket(o *options) { o.gopacket = true }

var (
	_ capture.Source    = (*Reader)(nil)
	_ capture.Describer = (*Reader)(nil)
)

// Read fills b with the next packets and returns either packets or an error,
// never both; gaps may come with either. It waits for the input only while no
// packet is complete, or to check by the next record one that looks odd. After the
// last packet it returns io.EOF, or an *Error if the file is malformed or cut; further
// calls return the same.
//
// Damage does not end the file where a sound record follows for certain: reading
// goes on there, Batch.Gaps has what is missing, and the error at the end, whose Err
// is ErrGap, is about the first of the gaps. Damage that nothing sound follows is
// returned as it is.
//
// The buffer of b is exchanged for one that already begins with the bytes that the
// batch before did not use, so that these are copied once. b.Buf then holds the
// records of this batch and nothing else.
func (r *Reader) Read(b *capture.Batch) error {
	b.Reset()
	if r.err != nil {
		return r.err
	}
	if cap(b.Packets) < capture.MaxPackets {
		b.Packets = make([]capture.Packet, 0, capture.MaxPackets)
	}
	b.Buf, r.spare = r.spare, b.Buf
	used, err := r.fillBatch(b)
	if err == io.EOF && r.firstDamage != nil {
		err = r.gapsError()
	}

	rest := b.Buf[used:]
	r.spare = append(grow(r.spare[:0], len(rest)), rest...)
	b.Buf = b.Buf[:used]
	r.offset += int64(used)
	r.err = err
	if n := len(b.Packets); n > 0 {
		r.stats.Received += uint64(n)
		r.chunk = min(max(used*capture.MaxPackets/n, minChunk), maxChunk)
		return nil
	}
	return err
}

// fillBatch reads into b.Buf and cuts packets out of it until the batch or the
// buffer is full, or until waiting for more would delay the packets in it. It returns
// how many bytes of b.Buf were used.
func (r *Reader) fillBatch(b *capture.Batch) (used int, err error) {
	want := r.chunk
	b.Buf = grow(b.Buf, want)
	for {
		if used, err = r.cutPackets(b, used); err != nil || len(b.Packets) == capture.MaxPackets {
			return used, err
		}
		if r.inErr != nil {
			return used, r.endError(r.offset+int64(used), b.Buf[used:])
		}
		full := len(b.Buf) >= want
		if len(b.Packets) > 0 && (full || !r.regular) {
			return used, nil
		}
		if used > 0 && len(b.Packets) == 0 { // nothing points into the buffer
			b.Buf = b.Buf[:copy(b.Buf, b.Buf[used:])]
			r.offset += int64(used)
			used = 0
			full = len(b.Buf) >= want
		}
		if full { // with part of one record
			want = 2 * len(b.Buf)
		}
		b.Buf = r.readMore(b.Buf, want)
	}
}

// cutPackets cuts packets out of b.Buf from pos on, and skips damage. It returns the
// position after the bytes that it used, and the damage if no sound record follows
// within maxSearch.
func (r *Reader) cutPackets(b *capture.Batch, pos int) (int, error) {
	for {
		if r.damage == nil {
			var damage *Error
			if r.isPcapng {
				pos, damage = r.cutBlocks(b, pos)
			} else {
				pos, damage = r.cutRecords(b, pos)
			}
			if damage == nil {
				return pos, nil
			}
			r.damage = damage
		}
		var found bool
		if pos, found = r.searchSound(b.Buf, pos); !found {
			if r.offset+int64(pos)-r.damage.Offset > maxSearch {
				return pos, r.damage
			}
			return pos, nil
		}
		r.addGap(b, r.offset+int64(pos)-r.damage.Offset, r.damage)
		r.damage = nil
	}
}

// endError returns io.EOF, or what is wrong with the end of the input; rest is what
// follows the last complete record, at that offset.
func (r *Reader) endError(offset int64, rest []byte) error {
	switch {
	case r.inErr != io.EOF:
		return r.inputError(offset + int64(len(rest)))
	case r.damage != nil:
		return r.damage
	case len(rest) == 0:
		return io.EOF
	case r.isPcapng:
		return r.cutError(offset, "block", minBlock, rest, 0)
	}
	n := r.format.recordLen
	if len(rest) < n {
		return r.cutError(offset, "record", n, rest, 0)
	}
	return r.cutError(offset, "record", n, rest, int64(n)+int64(r.format.parseRecordHeader(rest).captured))
}

// readMore appends the bytes of one read of the input to buf, up to a length of want,
// and keeps the input's error in r.inErr.
func (r *Reader) readMore(buf []byte, want int) []byte {
	buf = grow(buf, want)
	for range maxEmptyReads {
		n, err := r.in.Read(buf[len(buf):want])
		buf = buf[:len(buf)+n]
		if n > 0 || err != nil {
			r.inErr = err
			return buf
		}
	}
	r.inErr = io.ErrNoProgress
	return buf
}

// grow returns buf with room for want bytes. Sizes are powers of two: while
// the chunk follows the size of the records, a buffer is replaced when it has to
// double, not at every change.
func grow(buf []byte, want int) []byte {
	if want <= cap(buf) {
		return buf
	}
	size := 1 << bits.Len(uint(max(want, minChunk)-1))
	return append(make([]byte, 0, size), buf...)
}

// Mark is a place between two packets of a capture, from which it can be read again: see
// Reader.Mark. It takes about 60 bytes. Marks after the same descriptions of interfaces in
// pcapng share these.
type Mark struct {
	Offset  int64  // in the expanded input, of what follows
	Packets uint64 // that precede it

	clock     clock
	lastNanos int64
	section   *markedSection // nil for classic pcap
}

// markedSection is what marks share that lie in one section of pcapng, after the same
// interfaces.
type markedSection struct {
	state     sectionState
	described description
}

// maxMarkedInterfaces is how many interfaces a section may have for a Mark in it. Chosen: a
// machine has hundreds, and a file with more, made to take memory, is read again from further
// up.
const maxMarkedInterfaces = 1024

// Mark returns the place after the packets that were read. ok is false where reading cannot
// begin: where the input is malformed, or in a block that is being skipped.
func (r *Reader) Mark() (m Mark, ok bool) {
	if r.err != nil || r.damage != nil || r.section.skipLeft > 0 || len(r.section.ifaces) > maxMarkedInterfaces {
		return m, false
	}
	m = Mark{Offset: r.offset, Packets: r.stats.Received, clock: r.clock, lastNanos: r.section.lastNanos}
	if !r.isPcapng {
		return m, true
	}
	s := r.marked
	if s == nil || s.state.nextNumber != r.section.nextNumber || len(s.state.ifaces) != len(r.section.ifaces) || s.state.bigEndian != r.section.bigEndian ||
		s.state.isUnknown != r.section.isUnknown || s.state.hasTime != r.section.hasTime {
		s = &markedSection{r.section, description{slices.Clone(r.described.sections), slices.Clone(r.described.interfaces)}}
		s.state.ifaces = slices.Clone(r.section.ifaces)
		r.marked = s
	}
	m.section = s
	return m, true
}

// Resume returns a Reader of what follows a mark of r, which may be in use meanwhile. in
// delivers the expanded input from m.Offset on; the caller owns it. Packets have the numbers
// that r gave them.
func (r *Reader) Resume(m Mark, in io.Reader) *Reader {
	c := &Reader{in: in, name: r.name, regular: r.regular, chunk: minChunk, isPcapng: r.isPcapng, format: r.format, clock: m.clock, offset: m.Offset}
	c.stats.Received = m.Packets
	if s := m.section; s != nil {
		c.section, c.described = s.state, description{slices.Clone(s.described.sections), slices.Clone(s.described.interfaces)}
		c.section.ifaces, c.section.lastNanos = slices.Clone(s.state.ifaces), m.lastNanos
	}
	return c
}
