package live

import "qsniff/capture"

// merger orders the packets of several interfaces by time. The order within an
// interface stays, also where the clock was set back between two packets.
type merger struct {
	runs    []run
	scratch []capture.Packet
}

// run is what one interface brought: packets next to end of a batch.
type run struct{ next, end int }

func (m *merger) begin() { m.runs = m.runs[:0] }

func (m *merger) run(start, end int) {
	if start < end {
		m.runs = append(m.runs, run{start, end})
	}
}

// sort puts the packets of the runs in b in order.
func (m *merger) sort(b *capture.Batch) {
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
