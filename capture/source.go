package capture

import (
	"io"
	"io/fs"
	"time"

	"github.com/google/gopacket"
)

// Filtered returns a source of the packets of src that keep chooses. They have the numbers that they
// have without it. An error of keep ends the source.
func Filtered(src Source, keep func(*Packet) (bool, error)) Source {
	f := &filtered{Source: src, keep: keep}
	if a, ok := src.(Aligner); ok {
		return &filteredInputs{f, a}
	}
	return f
}

// filtered is a source of some packets of another.
type filtered struct {
	Source
	keep    func(*Packet) (bool, error)
	dropped uint64
}

// filteredInputs is one of several inputs. Their clocks are looked at before the filter.
type filteredInputs struct {
	*filtered
	Aligner
}

// Read implements Source.
func (f *filtered) Read(b *Batch) error {
	err := f.Source.Read(b)
	if wrong := f.filter(b); wrong != nil {
		return wrong
	}
	return err
}

// filter removes packets from b, with their comments. Gaps stay.
func (f *filtered) filter(b *Batch) error {
	var wrong error
	kept, comments, gaps := 0, b.Comments[:0], 0
	next := 0 // in b.Comments
	for i := range b.Packets {
		for gaps < len(b.Gaps) && b.Gaps[gaps].At <= i {
			b.Gaps[gaps].At = kept
			gaps++
		}
		isKept := false
		if wrong == nil {
			isKept, wrong = f.keep(&b.Packets[i])
		}
		for ; next < len(b.Comments) && b.Comments[next].At <= i; next++ {
			if c := b.Comments[next]; isKept {
				c.At = kept
				comments = append(comments, c)
			}
		}
		if isKept {
			b.Packets[kept] = b.Packets[i]
			kept++
		}
	}
	for ; gaps < len(b.Gaps); gaps++ {
		b.Gaps[gaps].At = kept
	}
	f.dropped += uint64(len(b.Packets) - kept)
	b.Packets, b.Comments = b.Packets[:kept], comments
	return wrong
}

// Stats implements Source.
func (f *filtered) Stats() Stats {
	s := f.Source.Stats()
	s.Received -= min(f.dropped, s.Received)
	return s
}

// Interfaces implements Describer.
func (f *filtered) Interfaces() []Interface {
	if d, ok := f.Source.(Describer); ok {
		return d.Interfaces()
	}
	return nil
}

// Delayed returns a Source that its first Read opens by calling open. start is the
// time of its first packet in nanoseconds: Merge reads the source once its other
// packets have come to that time, so that of the files of a ring one or two are
// open at a time, however many there are. A start later than the first packet
// delays that packet. Until the source is open, Stats.Size is size.
func Delayed(start, size int64, open func() (Source, error)) Source {
	return &delayed{start: start, size: size, open: open}
}

// delayed is the Source that Delayed returns.
type delayed struct {
	start, size int64
	open        func() (Source, error) // nil once called, or closed
	source      Source                 // nil until then, and if opening failed
	err         error                  // why source is nil
}

// Read opens the source if that has not happened, and reads it.
func (d *delayed) Read(b *Batch) error {
	if d.open != nil {
		d.source, d.err = d.open()
		d.open = nil
		if d.err != nil {
			d.source = nil
		}
	}
	if d.err != nil {
		b.Reset()
		return d.err
	}
	return d.source.Read(b)
}

// Stats are those of the source.
func (d *delayed) Stats() Stats {
	if d.source == nil {
		return Stats{Size: d.size}
	}
	return d.source.Stats()
}

// Interfaces lists those of the source, none if it is not open or no Describer.
func (d *delayed) Interfaces() []Interface {
	if describer, ok := d.source.(Describer); ok {
		return describer.Interfaces()
	}
	return nil
}

// Close closes the source if it was opened.
func (d *delayed) Close() error {
	if d.open != nil {
		d.open, d.err = nil, fs.ErrClosed
	}
	if d.source == nil {
		return nil
	}
	return d.source.Close()
}

// PacketData reads a Source packet by packet, for programs that are built on gopacket:
// gopacket.NewPacketSource and DecodingLayerParser take it. The source is read by it
// alone. It is not safe for concurrent use.
type PacketData struct {
	in    Source
	batch Batch
	next  int // index of the packet in batch that is returned next
	link  uint16
	err   error // what is returned after the packets of batch
}

var (
	_ gopacket.PacketDataSource         = (*PacketData)(nil)
	_ gopacket.ZeroCopyPacketDataSource = (*PacketData)(nil)
)

// NewPacketData returns a PacketData of a file, an interface, or several merged.
func NewPacketData(in Source) *PacketData { return &PacketData{in: in} }

// ReadPacketData returns the next packet in memory of its own; in all else it is
// ZeroCopyReadPacketData.
func (d *PacketData) ReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	data, ci, err = d.ZeroCopyReadPacketData()
	return append([]byte(nil), data...), ci, err
}

// ZeroCopyReadPacketData returns the next packet, whose data is valid until the next
// call. It waits while an interface has none. InterfaceIndex is Packet.Iface; gaps of a
// malformed file are not reported before its end. An error is returned once, then
// io.EOF: gopacket.PacketSource takes most errors for temporary, and would call for ever.
func (d *PacketData) ZeroCopyReadPacketData() (data []byte, ci gopacket.CaptureInfo, err error) {
	for d.next >= len(d.batch.Packets) {
		if d.err != nil {
			err, d.err = d.err, io.EOF
			return nil, ci, err
		}
		d.next = 0
		d.err = d.in.Read(&d.batch)
	}
	p := &d.batch.Packets[d.next]
	d.next++
	d.link = p.Link
	return p.Data, gopacket.CaptureInfo{
		Timestamp:      time.Unix(0, p.Nanos).UTC(),
		CaptureLength:  len(p.Data),
		Length:         int(p.Wire),
		InterfaceIndex: int(p.Iface),
	}, nil
}

// LinkType returns the LINKTYPE_ value of the last packet. gopacket's own type for it has
// 8 bits, too few for LINUX_SLL2 (276).
func (d *PacketData) LinkType() uint16 { return d.link }
