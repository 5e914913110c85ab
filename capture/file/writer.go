package file

import (
	"io"
	"time"

	"qsniff/capture"
)

// Writer writes a capture: pcapng, or classic pcap with nanoseconds, in
// little-endian byte order. Packets are written with the link types and in the order
// that they have; only pcapng keeps interfaces. It allocates nothing per packet.
//
// gopacket's writers are not used: they hold link types in 8 bits, so that SLL2 (276)
// would be written as 20, write neither comments nor the filter of an interface, and do
// not report how many packets were written before the disk was full.
type Writer struct {
	out    io.Writer
	closer io.Closer
	name   string
	opt    WriteOptions
	stats  WriteStats
	buf    []byte // after stats.Bytes
	err    error  // of the output; stays

	hasHeader bool   // there is a file header
	link      uint16 // of classic pcap
	ids       map[ifaceKey]uint32
	lastKey   ifaceKey // of the packet before
	lastID    uint32
	nextKey   ifaceKey // interface that nextIDB describes
	nextIDB   []byte   // description that SizeWith counted and no packet needed yet
	lastNanos int64    // time of the last packet
	flushedAt int64    // packet time of the last flush
}

// WriteOptions are how a capture is written. Every one may be zero.
type WriteOptions struct {
	Format Format

	// HasFormat has Create write Format whatever the name ends in.
	HasFormat bool

	// Interfaces has names, filters and losses for pcapng, or is nil. Write calls it
	// when an interface appears, and so does Close.
	Interfaces capture.Describer

	// Application is what pcapng calls the program that wrote the file.
	Application string

	// Mask, unless nil, may overwrite bytes of each packet before it is written,
	// in b, a copy of p.Data; p itself stays as it is. It must not keep b, and is
	// not called for packets that are refused or lost.
	Mask func(p *capture.Packet, b []byte)

	// FlushEvery is how much packet time may pass before what is in the buffer
	// is written to the file; 0 means when the buffer is full. A process that is
	// killed leaves a file that can be read up to there.
	FlushEvery time.Duration

	// Replace has Create overwrite a file of that name.
	Replace bool
}

// WriteStats are running totals of a Writer.
type WriteStats struct {
	Packets uint64 // in the file or the buffer
	Held    uint64 // of these, packets in the buffer
	Bytes   int64  // in the file
	Lost    uint64 // packets that the output did not take
	Refused uint64 // packets that the format cannot hold
}

// ifaceKey identifies an interface: packets with the same key share a description.
type ifaceKey struct {
	file, iface, link uint16
}

// NewWriter writes a capture to out, which errors call name. The caller owns out: Close
// does not close it.
func NewWriter(out io.Writer, name string, o WriteOptions) *Writer {
	w := &Writer{opt: o, ids: make(map[ifaceKey]uint32), buf: make([]byte, 0, writeChunk+writeSlack)}
	w.Reset(out, name)
	return w
}

// Reset begins another capture, with the same options and the memory of the
// Writer. What was not flushed is discarded.
func (w *Writer) Reset(out io.Writer, name string) {
	clear(w.ids)
	*w = Writer{out: out, name: name, opt: w.opt, ids: w.ids, buf: w.buf[:0], nextIDB: w.nextIDB[:0]}
}

// Stats counts what has been written so far.
func (w *Writer) Stats() WriteStats { return w.stats }

// Write writes a packet. An error is of type *Error: one whose Err is ErrRefused
// is about this packet alone, any other is about the output. After that the
// Writer is done: the file ends after the last packet that was written whole,
// and every Write counts a lost packet and returns the same error.
func (w *Writer) Write(p *capture.Packet) error { return w.WriteCommented(p, nil) }

// WriteCommented is Write with comments for pcapng. Classic pcap has no place for
// them.
func (w *Writer) WriteCommented(p *capture.Packet, comments [][]byte) error {
	if w.err != nil {
		w.stats.Lost++
		return w.err
	}
	if err := w.checkPacket(p); err != nil {
		w.stats.Refused++
		return err
	}
	if !w.hasHeader {
		w.beginFile(ifaceKey{p.File, p.Iface, p.Link})
		if w.Flush() != nil {
			w.stats.Lost++
			return w.err
		}
	}
	if w.stats.Packets == 0 {
		w.flushedAt = p.Nanos
	}
	if w.opt.Format == Pcap {
		w.appendRecord(p)
	} else {
		w.appendEnhanced(p, comments)
	}
	w.lastNanos = p.Nanos
	w.stats.Held++
	w.stats.Packets++
	if len(w.buf) >= writeChunk {
		return w.Flush()
	}
	return w.Tick(p.Nanos)
}

// Tick flushes if FlushEvery has passed at a packet time since the last flush. Call it
// when no packets arrive.
func (w *Writer) Tick(nanos int64) error {
	every := int64(w.opt.FlushEvery)
	if every <= 0 || len(w.buf) == 0 || w.err != nil {
		return w.err
	}
	// Time may step back; packets of several interfaces also do by a little.
	if passed := nanos - w.flushedAt; passed < every && passed > -every {
		return nil
	}
	w.flushedAt = nanos
	return w.Flush()
}

// Flush writes what is in the buffer.
func (w *Writer) Flush() error {
	if w.err != nil || len(w.buf) == 0 {
		return w.err
	}
	n, err := w.out.Write(w.buf)
	n = max(0, min(n, len(w.buf)))
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.endOutput(n, err)
		return w.err
	}
	w.stats.Bytes += int64(n)
	w.buf, w.stats.Held = w.buf[:0], 0
	return nil
}

// endOutput ends the output with err, after n bytes of the buffer were written. If the
// last packet in them is not whole and the output can be truncated, it ends before it.
func (w *Writer) endOutput(n int, err error) {
	whole, packets := w.measureWhole(n)
	e := WriteError(w.name, err)
	e.Offset = w.stats.Bytes + int64(whole)
	w.err = e
	w.stats.Bytes = e.Offset
	w.stats.Packets -= w.stats.Held - packets
	w.stats.Lost += w.stats.Held - packets
	w.buf, w.stats.Held = w.buf[:0], 0
	if f, ok := w.out.(interface{ Truncate(int64) error }); ok && whole < n {
		_ = f.Truncate(w.stats.Bytes) // else readers report that the file was cut
	}
}

// Close writes the header if there were no packets, and the statistics of pcapng. It
// flushes, and closes the file if Create opened it.
func (w *Writer) Close() error {
	if w.err == nil {
		if !w.hasHeader {
			w.beginEmptyFile()
		}
		if w.opt.Format == Pcapng {
			w.appendStatistics()
		}
		_ = w.Flush() // the error is w.err
	}
	err := w.err
	if w.closer != nil {
		if e := w.closer.Close(); e != nil && err == nil {
			err = WriteError(w.name, e)
		}
		w.closer = nil
	}
	return err
}

// SizeWith returns how many bytes the file would have if p were written next and the
// file closed then, with statistics of every interface.
func (w *Writer) SizeWith(p *capture.Packet) int64 {
	n := w.stats.Bytes + int64(len(w.buf))
	if w.opt.Format == Pcap {
		if !w.hasHeader {
			n += fileHeaderLen
		}
		return n + recordHeaderLen + int64(len(p.Data))
	}
	if !w.hasHeader {
		n += int64(w.sectionLen())
	}
	key := ifaceKey{p.File, p.Iface, p.Link}
	known := len(w.ids)
	if _, ok := w.ids[key]; !ok {
		n += int64(len(w.describeInterface(key)))
		known++
	}
	if w.opt.Interfaces != nil {
		n += int64(known) * statisticsLen
	}
	return n + enhancedLen + int64((len(p.Data)+3)&^3)
}
