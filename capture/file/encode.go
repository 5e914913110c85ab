package file

import (
	"encoding/binary"
	"slices"

	"qsniff/capture"
)

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
