package file

import (
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"qsniff/capture"
	"qsniff/internal/base/digits"
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
// Writer. Packets that were not flushed are discarded.
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

// Format is a format that captures are written in.
type Format uint8

// The formats.
const (
	Pcapng Format = iota // the default: interfaces, any mixture of link types
	Pcap                 // classic pcap: one link type, no interfaces
)

// ErrRefused is the Err of the error about a packet that the format of the file
// cannot hold.
var ErrRefused = errors.New("packet does not fit the format")

// FormatOf returns the format for the end of a file name: .pcap, .cap and .dmp are
// classic pcap, everything else is pcapng. Names of compressed files are an error:
// captures are written plain.
func FormatOf(name string) (Format, error) {
	switch ext := strings.ToLower(filepath.Ext(name)); ext {
	case ".pcap", ".cap", ".dmp":
		return Pcap, nil
	case ".gz", ".zst", ".lz4", ".bz2", ".xz":
		return Pcapng, &Error{File: name, Offset: wholeFile, Err: errors.ErrUnsupported,
			Reason: "captures are written without compression",
			Hint:   "leave out " + ext + " and compress the file when it is finished"}
	}
	return Pcapng, nil
}

// WriteError returns the error for an error of the system about an output.
func WriteError(name string, err error) *Error {
	e := &Error{File: name, Offset: wholeFile, Err: err}
	var path *fs.PathError
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Reason = "no space left on the disk"
		e.Hint = "make room, or keep fewer or shorter files"
	case errors.Is(err, fs.ErrPermission):
		e.Reason = "permission denied"
		e.Hint = "choose a folder that the user who runs this may write in"
	case errors.Is(err, fs.ErrNotExist):
		e.Reason = "no such folder"
		e.Hint = "make it before: mkdir -p " + shellWord(filepath.Dir(name))
	case errors.As(err, &path):
		e.Reason = path.Err.Error()
	default:
		e.Reason = err.Error()
	}
	return e
}

// checkPacket returns an error if the format cannot hold p.
func (w *Writer) checkPacket(p *capture.Packet) error {
	seconds := p.Nanos / 1e9
	switch {
	case len(p.Data) > capture.MaxCaptured:
		return w.refusedError(digits.Grouped(int64(len(p.Data)))+" bytes in one packet, above the limit of "+
			digits.Grouped(capture.MaxCaptured), "")
	case p.Nanos < 0:
		return w.refusedError("a packet from before 1970", "")
	case w.opt.Format != Pcap:
		return nil
	case seconds > maxPcapSeconds:
		return w.refusedError("a packet from after 2106, beyond classic pcap", hintPcapng)
	case w.hasHeader && p.Link != w.link:
		return w.refusedError("a packet of link type "+strconv.Itoa(int(p.Link))+" among those of "+
			strconv.Itoa(int(w.link))+": classic pcap holds one link type", hintPcapng)
	}
	return nil
}

const (
	maxPcapSeconds = 1<<32 - 1
	hintPcapng     = "name the file .pcapng"
)

func (w *Writer) refusedError(reason, hint string) error {
	return &Error{File: w.name, Offset: wholeFile, Reason: reason, Hint: hint, Err: ErrRefused}
}

// Everything is written in this byte order.
var little = binary.LittleEndian

const (
	linkEthernet  = 1 // LINKTYPE_ETHERNET: the link type of a capture without packets
	minorVersion  = 4
	tsresolNanos  = 9
	optEnd        = 0
	enhancedLen   = 32 // of the block without data and options
	statisticsLen = minStatistics + optionHeaderLen + 8 + optionHeaderLen
)

// beginFile appends the header of the file and, to pcapng, the description of the
// interface first, without which libpcap does not read it. Classic pcap gets the link
// type of that interface. All files and interfaces get the same snap length, the
// largest: libpcap refuses files whose interfaces differ in it.
func (w *Writer) beginFile(first ifaceKey) {
	w.hasHeader = true
	if w.opt.Format == Pcapng {
		w.appendSection()
		w.interfaceID(first)
		return
	}
	w.link = first.link
	b := little.AppendUint32(w.buf, magicNano)
	b = little.AppendUint16(b, majorVersion)
	b = little.AppendUint16(b, minorVersion)
	b = append(b, 0, 0, 0, 0, 0, 0, 0, 0)
	b = little.AppendUint32(b, capture.MaxCaptured)
	w.buf = little.AppendUint32(b, uint32(first.link))
}

// beginEmptyFile is beginFile before there are packets: it describes all interfaces.
func (w *Writer) beginEmptyFile() {
	all := w.interfaces()
	if len(all) == 0 {
		all = []capture.Interface{{Link: linkEthernet}}
	}
	w.beginFile(ifaceKey{all[0].File, all[0].Index, all[0].Link})
	if w.opt.Format == Pcap {
		return
	}
	for _, i := range all[1:] {
		w.interfaceID(ifaceKey{i.File, i.Index, i.Link})
	}
}

// Begin writes the header before there are packets, for a reader that waits for it.
func (w *Writer) Begin() error {
	w.beginEmptyFile()
	return w.Flush()
}

// writeEarlyHeader writes the header of a file that has no packets yet, so that it can
// be read at once. It does so only if all interfaces have one link type, because libpcap
// does not read pcapng with interfaces of several, even if all packets are of one; and
// of raw IP only for one interface, because libpcap takes a second one, whose number it
// translates, for one of another type.
func (w *Writer) writeEarlyHeader() {
	all := w.interfaces()
	other := func(i capture.Interface) bool { return i.Link != all[0].Link }
	if len(all) == 0 || slices.ContainsFunc(all, other) ||
		w.opt.Format == Pcapng && len(all) > 1 && all[0].Link != linkEthernet {
		return
	}
	w.beginEmptyFile()
	_ = w.Flush() // the error is w.err
}

// interfaces returns those of WriteOptions.Interfaces, none if that is nil.
func (w *Writer) interfaces() []capture.Interface {
	if w.opt.Interfaces == nil {
		return nil
	}
	return w.opt.Interfaces.Interfaces()
}

// appendRecord appends a packet to classic pcap.
func (w *Writer) appendRecord(p *capture.Packet) {
	b := little.AppendUint32(w.buf, uint32(p.Nanos/1e9))
	b = little.AppendUint32(b, uint32(p.Nanos%1e9))
	b = little.AppendUint32(b, uint32(len(p.Data)))
	b = little.AppendUint32(b, wireLen(p))
	w.buf = w.appendData(b, p)
}

// wireLen returns the length on the wire, at least the captured length.
func wireLen(p *capture.Packet) uint32 { return max(p.Wire, uint32(len(p.Data))) }

// appendData appends the bytes of a packet after WriteOptions.Mask has changed them.
func (w *Writer) appendData(b []byte, p *capture.Packet) []byte {
	start := len(b)
	b = append(b, p.Data...)
	if w.opt.Mask != nil {
		w.opt.Mask(p, b[start:len(b):len(b)])
	}
	return b
}

// appendSection begins a section of pcapng, in which interfaces are numbered from 0.
func (w *Writer) appendSection() {
	clear(w.ids)
	b := little.AppendUint32(w.buf, blockSection)
	b = little.AppendUint32(b, uint32(w.sectionLen()))
	b = little.AppendUint32(b, byteOrderMagic)
	b = little.AppendUint16(b, sectionMajor)
	b = little.AppendUint16(b, 0)
	b = little.AppendUint64(b, 1<<64-1) // length of the section: not known
	if w.opt.Application != "" {
		b = appendOption(b, optApplication, w.application())
		b = little.AppendUint32(b, optEnd)
	}
	w.buf = little.AppendUint32(b, uint32(w.sectionLen()))
}

// application returns WriteOptions.Application, cut to maxText.
func (w *Writer) application() string {
	return w.opt.Application[:min(len(w.opt.Application), maxText)]
}

// sectionLen returns the length of a section header in bytes.
func (w *Writer) sectionLen() int {
	if w.opt.Application == "" {
		return minSection
	}
	return minSection + optionHeaderLen + (len(w.application())+3)&^3 + optionHeaderLen
}

// appendOption appends an option with its padding.
func appendOption[T string | []byte](b []byte, code uint16, value T) []byte {
	b = little.AppendUint16(b, code)
	b = little.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	return append(b, padding[:-len(value)&3]...)
}

var padding [3]byte

// appendEnhanced appends a packet to pcapng, after the description of its
// interface if that is new.
func (w *Writer) appendEnhanced(p *capture.Packet, comments [][]byte) {
	id := w.interfaceID(ifaceKey{p.File, p.Iface, p.Link})
	start := len(w.buf)
	b := little.AppendUint32(w.buf, blockEnhanced)
	b = little.AppendUint32(b, 0)
	b = little.AppendUint32(b, id)
	b = little.AppendUint32(b, uint32(uint64(p.Nanos)>>32))
	b = little.AppendUint32(b, uint32(p.Nanos))
	b = little.AppendUint32(b, uint32(len(p.Data)))
	b = little.AppendUint32(b, wireLen(p))
	b = w.appendData(b, p)
	b = append(b, padding[:-len(p.Data)&3]...)
	if len(comments) > 0 {
		for _, c := range comments[:min(len(comments), maxPacketComments)] {
			b = appendOption(b, optComment, c[:min(len(c), maxComment)])
		}
		b = little.AppendUint32(b, optEnd)
	}
	length := uint32(len(b) - start + 4)
	little.PutUint32(b[start+4:], length)
	w.buf = little.AppendUint32(b, length)
}

// interfaceID returns the number of an interface in the section. If it has none, it
// appends its description, after a new section if this one is full.
func (w *Writer) interfaceID(key ifaceKey) uint32 {
	if key == w.lastKey && len(w.ids) > 0 {
		return w.lastID
	}
	id, ok := w.ids[key]
	if !ok {
		if len(w.ids) == maxSectionInterfaces {
			w.appendSection()
		}
		id = uint32(len(w.ids))
		w.buf = append(w.buf, w.describeInterface(key)...)
		w.ids[key] = id
	}
	w.lastKey, w.lastID = key, id
	return id
}

// describeInterface returns the block that describes an interface. The bytes are valid
// until it is called with another one.
func (w *Writer) describeInterface(key ifaceKey) []byte {
	if key == w.nextKey && len(w.nextIDB) > 0 {
		return w.nextIDB
	}
	var about capture.Interface
	if w.opt.Interfaces != nil {
		for _, i := range w.opt.Interfaces.Interfaces() {
			if i.File == key.file && i.Index == key.iface {
				about = i
				break
			}
		}
	}
	b := little.AppendUint32(w.nextIDB[:0], blockInterface)
	b = little.AppendUint32(b, 0)
	b = little.AppendUint16(b, key.link)
	b = little.AppendUint16(b, 0)
	b = little.AppendUint32(b, capture.MaxCaptured)
	for _, o := range [...]struct {
		code uint16
		text string
	}{{optName, about.Name}, {optDescription, about.Description}} {
		if o.text != "" {
			b = appendOption(b, o.code, o.text[:min(len(o.text), maxText)])
		}
	}
	b = appendOption(b, optTsresol, []byte{tsresolNanos})
	if about.Filter != "" {
		b = appendOption(b, optFilter, string(rune(filterText))+about.Filter[:min(len(about.Filter), maxText)])
	}
	b = little.AppendUint32(b, optEnd)
	length := uint32(len(b) + 4)
	little.PutUint32(b[4:], length)
	w.nextKey, w.nextIDB = key, little.AppendUint32(b, length)
	return w.nextIDB
}

// appendStatistics appends how many packets were lost on each interface of the section
// that lost any.
func (w *Writer) appendStatistics() {
	if w.opt.Interfaces == nil {
		return
	}
	appended := make(map[uint32]bool)
	for _, i := range w.opt.Interfaces.Interfaces() {
		id, ok := w.ids[ifaceKey{i.File, i.Index, i.Link}]
		if !ok || i.Dropped == 0 || appended[id] {
			continue
		}
		appended[id] = true
		b := little.AppendUint32(w.buf, blockStatistics)
		b = little.AppendUint32(b, statisticsLen)
		b = little.AppendUint32(b, id)
		b = little.AppendUint32(b, uint32(uint64(w.lastNanos)>>32))
		b = little.AppendUint32(b, uint32(w.lastNanos))
		b = little.AppendUint16(b, optDropped)
		b = little.AppendUint16(b, 8)
		b = little.AppendUint64(b, i.Dropped)
		b = little.AppendUint32(b, optEnd)
		w.buf = little.AppendUint32(b, statisticsLen)
	}
}

// measureWhole returns where the last block or record ends that is whole in the first n
// bytes of the buffer, and how many packets are whole.
func (w *Writer) measureWhole(n int) (end int, packets uint64) {
	b := w.buf
	if w.opt.Format == Pcap {
		if w.stats.Bytes == 0 {
			if n < fileHeaderLen {
				return 0, 0
			}
			end = fileHeaderLen
		}
		for end+recordHeaderLen <= len(b) {
			next := end + recordHeaderLen + int(little.Uint32(b[end+8:]))
			if next > n {
				break
			}
			end = next
			packets++
		}
		return end, packets
	}
	for end+8 <= len(b) {
		next := end + int(little.Uint32(b[end+4:]))
		if next > n {
			break
		}
		if little.Uint32(b[end:]) == blockEnhanced {
			packets++
		}
		end = next
	}
	return end, packets
}
