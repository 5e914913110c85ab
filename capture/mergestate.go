package capture

import "io/fs"

// Stats adds up those of the sources. Size is 0 unless all sources know theirs.
func (m *merger) Stats() Stats {
	var sum Stats
	known := true
	for i := range m.inputs {
		s := m.inputs[i].source.Stats()
		sum.Dropped += s.Dropped
		sum.Bytes += s.Bytes
		sum.Size += s.Size
		sum.Gaps += s.Gaps
		sum.Skipped += s.Skipped
		known = known && s.Size > 0
	}
	if !known {
		sum.Size = 0
	}
	sum.Received = m.received
	return sum
}

// Interfaces lists the interfaces of all sources that know about theirs.
func (m *merger) Interfaces() []Interface {
	var all []Interface
	for i := range m.inputs {
		d, ok := m.inputs[i].source.(Describer)
		if !ok {
			continue
		}
		for _, one := range d.Interfaces() {
			one.File = m.inputs[i].file
			all = append(all, one)
		}
	}
	return all
}

// Close closes all sources and returns the first error.
func (m *merger) Close() error {
	var first error
	for _, in := range m.heap {
		if err := in.source.Close(); err != nil && first == nil {
			first = err
		}
	}
	m.heap = nil
	if m.err == nil {
		m.err = fs.ErrClosed
	}
	return first
}
