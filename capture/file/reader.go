package file

import (
	"io"
	"math/bits"
	"slices"

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
