package ipfrag

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"qsniff/capture/packet"
)

// original is a datagram before it was cut.
type original struct {
	version uint8
	data    []byte
	whole   bool // no fragment was lost
	prefix  int  // captured without a gap from the start
	joined  int  // how often it came out
}

// traffic is a random number of datagrams, cut, cut short by the snap length,
// duplicated, shuffled and partly lost.
func traffic(r *rand.Rand, count, snap int) ([]*original, []*packet.Packet) {
	var all []*original
	var wire []*packet.Packet
	for id := range count {
		o := &original{version: 4 + 2*uint8(r.IntN(2)), data: pattern(id, 9+r.IntN(9000)), whole: true}
		o.prefix = len(o.data)
		least := 8 * (1 + len(o.data)/8/100) // not more than maxFragments
		mtu := max(least, 8*(1+r.IntN(185)))
		if mtu >= len(o.data) {
			mtu = least
		}
		for off := 0; off < len(o.data); off += mtu {
			n := min(mtu, len(o.data)-off)
			p := newPacket(o.version, 17, uint32(id), o.data, off, n, off+n < len(o.data))
			if r.IntN(100) == 0 {
				o.whole = false
				o.prefix = min(o.prefix, off)
				continue
			}
			if cut := min(n, snap); cut < n {
				p.Payload = p.Payload[:cut]
				o.prefix = min(o.prefix, off+cut)
			}
			wire = append(wire, p)
			if r.IntN(20) == 0 {
				wire = append(wire, p)
			}
		}
		all = append(all, o)
	}
	return all, wire
}

// shuffle moves each packet by less than window places or so.
func shuffle(r *rand.Rand, wire []*packet.Packet, window int) {
	for i := range wire {
		j := min(i+r.IntN(window), len(wire)-1)
		wire[i], wire[j] = wire[j], wire[i]
	}
}

func TestShuffledTraffic(t *testing.T) {
	tests := []struct {
		name   string
		bytes  int
		count  int
		snap   int
		window int
		all    bool // memory is enough for everything
	}{
		{"in order", DefaultBytes, 300, 1 << 16, 1, true},
		{"shuffled", DefaultBytes, 300, 1 << 16, 40, true},
		{"all at once", 8 << 20, 300, 1 << 16, 1 << 16, true},
		{"snap length 96", DefaultBytes, 300, 96, 40, true},
		{"little memory", minBytes, 300, 1 << 16, 400, false},
		{"little memory, tiny snap length", minBytes, 300, 8, 400, false},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(i), 7))
			all, wire := traffic(r, tt.count, tt.snap)
			shuffle(r, wire, tt.window)
			tab := newTable(tt.bytes)
			check := func(d *Datagram) {
				o := all[d.ID]
				if !bytes.HasPrefix(o.data, d.Data) || d.Wire < len(d.Data) {
					t.Errorf("datagram %d: got  %d bytes of %d\nwant the start of the original", d.ID, len(d.Data), d.Wire)
				}
				if !d.Complete {
					return
				}
				o.joined++
				if !o.whole || len(d.Data) != o.prefix || d.Wire != len(o.data) {
					t.Errorf("datagram %d: got  %d bytes of %d\nwant %d of %d, nothing lost (%v)",
						d.ID, len(d.Data), d.Wire, o.prefix, len(o.data), o.whole)
				}
			}
			tab.DeliverIncomplete = check
			before := memory(tab)
			for i, p := range wire {
				if d := tab.Add(p, uint64(i), 0); d != nil {
					check(d)
				}
				if i%16 == 0 {
					checkTable(t, tab)
				}
			}
			checkTable(t, tab)
			if got := memory(tab); got != before || got > max(tt.bytes, minBytes) {
				t.Errorf("got  %d bytes of memory\nwant %d as at the start", got, before)
			}
			if !tt.all {
				if tab.Counters().Evicted == 0 {
					t.Error("got  no evictions\nwant memory to be short")
				}
				return
			}
			for id, o := range all {
				if o.whole != (o.joined > 0) {
					t.Errorf("datagram %d, nothing lost (%v): got  %d times\nwant it exactly then", id, o.whole, o.joined)
				}
			}
		})
	}
}
