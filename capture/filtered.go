package capture

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
