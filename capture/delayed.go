package capture

import "io/fs"

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
