package live

import "qsniff/capture"

// merger orders the packets of several interfaces by time. The order within an
// interface stays, also where the clock was set back between two packets.
type merger struct {
	runs    []run
	scratch []capture.Packet
}

// run is the packets of one interface in a batch, from index next up to end.
type run struct{ next, end int }

// reset begins a batch without runs.
func (m *merger) reset() { m.runs = m.runs[:0] }

// addRun adds the packets of an interface, if there are any.
func (m *merger) addRun(start, end int) {
	if start < end {
		m.runs = append(m.runs, run{start, end})
	}
}

// sortPackets puts the packets of b, which are those of the runs, in order.
func (m *merger) sortPackets(b *capture.Batch) {
	if len(m.runs) < 2 {
		return
	}
	if cap(m.scratch) < len(b.Packets) {
		m.scratch = make([]capture.Packet, 0, capture.MaxPackets)
	}
	out := m.scratch[:0]
	for len(m.runs) > 0 {
		best := 0
		for i := 1; i < len(m.runs); i++ {
			if b.Packets[m.runs[i].next].Nanos < b.Packets[m.runs[best].next].Nanos {
				best = i
			}
		}
		r := &m.runs[best]
		out = append(out, b.Packets[r.next])
		if r.next++; r.next == r.end {
			m.runs = append(m.runs[:best], m.runs[best+1:]...)
		}
	}
	m.scratch, b.Packets = b.Packets[:0], out
}
