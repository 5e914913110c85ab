package file

import (
	"encoding/binary"
	"io"
	"math/bits"

	"qsniff/capture"
)

// Reader reads classic pcap. It is a capture.Source, and for programs built on
// gopacket a ZeroCopyPacketDataSource; use it as one or the other. It is not
// safe for concurrent use.
type Reader struct {
	in      io.Reader
	name    string
	closer  io.Closer // nil if the input belongs to the caller
	regular bool      // reads of the input do not wait for a writer
	format  format
	stats   capture.Stats

	offset int64  // in the input, of the first byte that is in no batch yet
	chunk  int    // bytes that a batch is filled with
	spare  []byte // the next batch's buffer; starts with what the last one left
	inErr  error  // what the input returned when it ended
	err    error  // what Read returns from now on

	single singleReader
}

var _ capture.Source = (*Reader)(nil)

// Read fills b with the next packets and returns either packets or an error,
// never both. It waits for the input only while no packet is complete. After
// the last packet it returns io.EOF, at damage an *Error; either stays.
//
// The buffer of b is exchanged for one that already starts with the bytes that
// the batch before left over, so that these are copied once. b.Buf then holds
// the records of this batch and nothing else.
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

	rest := b.Buf[used:]
	r.spare = append(grow(r.spare[:0], len(rest)), rest...)
	b.Buf = b.Buf[:used]
	r.offset += int64(used)
	if n := len(b.Packets); n > 0 {
		r.stats.Received += uint64(n)
		r.chunk = min(max(used*capture.MaxPackets/n, minChunk), maxChunk)
		r.err = err
		return nil
	}
	r.err = err
	return err
}

// fillBatch reads into b.Buf and cuts packets out of it until the batch or the
// buffer is full, or until waiting for more would hold back what is there. It
// returns how many bytes of b.Buf became packets.
func (r *Reader) fillBatch(b *capture.Batch) (used int, err error) {
	want := r.chunk
	b.Buf = grow(b.Buf, want)
	for {
		if used, err = r.cut(b, used); err != nil || len(b.Packets) == capture.MaxPackets {
			return used, err
		}
		if r.inErr != nil {
			return used, r.end(r.offset+int64(used), b.Buf[used:])
		}
		full := len(b.Buf) >= want
		if len(b.Packets) > 0 && (full || !r.regular) {
			return used, nil
		}
		if full { // with part of one record: nothing points into the buffer yet
			want = 2 * len(b.Buf)
		}
		b.Buf = r.fill(b.Buf, want)
	}
}

// cut appends the complete records of b.Buf from position pos on to b.Packets
// and returns the position behind the last of them.
func (r *Reader) cut(b *capture.Batch, pos int) (int, error) {
	buf, f := b.Buf, r.format
	packets := b.Packets[:capture.MaxPackets]
	n := len(b.Packets)
	for n < len(packets) && len(buf)-pos >= recordHeaderLen {
		sec, frac, captured, wire := f.record(buf[pos : pos+recordHeaderLen])
		if captured > capture.MaxCaptured {
			b.Packets = packets[:n]
			return pos, lengthError(r.name, r.offset+int64(pos), captured)
		}
		start := pos + recordHeaderLen
		end := start + int(captured)
		if end > len(buf) {
			break
		}
		// Member by member: a composite literal is built aside and copied,
		// which took more time than all the rest.
		p := &packets[n]
		n++
		p.No = r.stats.Received + uint64(n)
		p.Nanos = int64(sec)*1e9 + int64(frac)*f.fraction
		p.Data = buf[start:end:end]
		p.Wire = max(wire, captured)
		p.Link = f.link
		p.Iface, p.File = 0, 0
		pos = end
	}
	b.Packets = packets[:n]
	return pos, nil
}

// record decodes a record header. A fraction of a second or more is left as it
// is: some writers did not carry, and the sum is the time they meant.
func (f *format) record(h []byte) (sec, frac, captured, wire uint32) {
	h = h[:recordHeaderLen]
	sec = binary.LittleEndian.Uint32(h[0:])
	frac = binary.LittleEndian.Uint32(h[4:])
	captured = binary.LittleEndian.Uint32(h[8:])
	wire = binary.LittleEndian.Uint32(h[12:])
	if f.bigEndian {
		sec, frac = bits.ReverseBytes32(sec), bits.ReverseBytes32(frac)
		captured, wire = bits.ReverseBytes32(captured), bits.ReverseBytes32(wire)
	}
	if f.lengths == wireFirst || f.lengths == smallerIsCaptured && captured > wire {
		captured, wire = wire, captured
	}
	return sec, frac, captured, wire
}

// end says how the input ended: rest is what follows the last complete record,
// at that offset.
func (r *Reader) end(offset int64, rest []byte) error {
	if r.inErr != io.EOF {
		return readError(r.name, offset+int64(len(rest)), r.inErr)
	}
	switch n := len(rest); {
	case n == 0:
		return io.EOF
	case n < recordHeaderLen:
		return &Error{File: r.name, Offset: offset, Hint: hintCut, Err: io.ErrUnexpectedEOF,
			Reason: "record header cut: " + grouped(int64(n)) + " of " + grouped(recordHeaderLen) + " bytes"}
	default:
		_, _, captured, _ := r.format.record(rest)
		return &Error{File: r.name, Offset: offset, Hint: hintCut, Err: io.ErrUnexpectedEOF,
			Reason: "record cut: its header promises " + grouped(int64(captured)) + " bytes, " +
				grouped(int64(n-recordHeaderLen)) + " remain"}
	}
}

// fill appends to buf what one read of the input brings, up to a length of
// want, and keeps the input's error in r.inErr.
func (r *Reader) fill(buf []byte, want int) []byte {
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
// the chunk follows the size of the records, a buffer is replaced a few times,
// not at every change.
func grow(buf []byte, want int) []byte {
	if want <= cap(buf) {
		return buf
	}
	size := 1 << bits.Len(uint(max(want, minChunk)-1))
	return append(make([]byte, 0, size), buf...)
}
