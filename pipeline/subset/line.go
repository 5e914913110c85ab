package subset

import "qsniff/capture"

// line holds packets of a stream back, so that the message that a packet is a part of can
// be decided first. It has copies of batches, whose memory is used again.
type line struct {
	held     []*capture.Batch // oldest first
	unused   []*capture.Batch
	bytes    int
	newest   int64  // time of the newest packet
	released uint64 // number of the last packet that left
}

// add copies a batch to the end of the line.
func (l *line) add(from *capture.Batch) {
	if len(from.Packets) == 0 {
		return
	}
	b := l.empty()
	for i := range from.Packets {
		p := from.Packets[i]
		b.Buf = append(b.Buf, p.Data...)
		b.Packets = append(b.Packets, p)
		l.newest = max(l.newest, p.Nanos)
	}
	at := 0
	for i := range b.Packets { // Buf does not grow any more
		p := &b.Packets[i]
		n := len(p.Data)
		p.Data = b.Buf[at : at+n : at+n]
		at += n
	}
	for _, c := range from.Comments {
		b.Comments = append(b.Comments, capture.Comment{At: c.At, Text: append([]byte(nil), c.Text...)})
	}
	l.bytes += len(b.Buf) + len(b.Packets)*packetCost
	l.held = append(l.held, b)
}

// empty returns an empty batch.
func (l *line) empty() *capture.Batch {
	if n := len(l.unused); n > 0 {
		b := l.unused[n-1]
		l.unused = l.unused[:n-1]
		return b
	}
	return new(capture.Batch)
}

// next returns the oldest batch if its packets have waited long enough, or if all are to
// leave; else nil. The caller frees it.
func (l *line) next(all bool) *capture.Batch {
	if len(l.held) == 0 {
		return nil
	}
	b := l.held[0]
	last := &b.Packets[len(b.Packets)-1]
	if !all && l.bytes <= lineBytes && l.newest-last.Nanos < int64(lineTime) {
		return nil
	}
	copy(l.held, l.held[1:])
	l.held = l.held[:len(l.held)-1]
	l.bytes -= len(b.Buf) + len(b.Packets)*packetCost
	l.released = last.No
	return b
}

// free takes a batch back that left the line.
func (l *line) free(b *capture.Batch) {
	b.Reset()
	b.Buf = b.Buf[:0]
	if len(l.unused) < keptBatches {
		l.unused = append(l.unused, b)
	}
}
