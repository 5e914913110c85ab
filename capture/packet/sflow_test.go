package packet

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// sflowOf returns an sFlow datagram with one sample of a kind that has one raw header.
func sflowOf(kind, rate, protocol uint32, header []byte) []byte {
	b := []byte{0, 0, 0, 5, 0, 0, 0, 1, 192, 0, 2, 5}
	put := func(all ...uint32) {
		for _, n := range all {
			b = binary.BigEndian.AppendUint32(b, n)
		}
	}
	put(0, 1, 1, 1) // sub-agent, number, uptime, samples
	record := uint32(8 + 16 + len(header))
	switch kind {
	case sflowFlow:
		put(kind, 32+record, 1, 7, rate, 0, 0, 0, 0, 1)
	default:
		put(kind, 44+record, 1, 0, 7, rate, 0, 0, 0, 0, 0, 0, 1)
	}
	put(sflowRawHeader, 16+uint32(len(header)), protocol, uint32(len(header))+4, 4, uint32(len(header)))
	return append(b, header...)
}

// TestSFlow: of each kind of sample the header, the factor and the length without what was stripped.
func TestSFlow(t *testing.T) {
	header := bytes.Repeat([]byte{0x45, 1, 2, 3}, 8)
	whole := sflowOf(sflowFlow, 1000, sflowIPv4, header)
	lie := bytes.Clone(whole)
	binary.BigEndian.PutUint32(lie[24:], 1<<32-1) // samples
	binary.BigEndian.PutUint32(lie[32:], 1<<31)   // bytes of the first
	tests := []struct {
		name    string
		in      []byte
		samples int
		skipped int
	}{
		{"flow sample", whole, 1, 0},
		{"expanded", sflowOf(sflowExpandedFlow, 1000, sflowEthernet, header), 1, 0},
		{"a link that is not decoded", sflowOf(sflowFlow, 1000, 4, header), 0, 1},
		{"counters", sflowOf(2, 1000, sflowIPv4, header), 0, 1},
		{"more samples and bytes than there are", lie, 1, 0},
		{"ends in the header", whole[:len(whole)-8], 1, 0},
		{"ends in the head of the sample", whole[:40], 0, 1},
		{"ends before the samples", whole[:27], 0, 0},
		{"version 4", append([]byte{0, 0, 0, 4}, whole[4:]...), 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := NewSFlow(tt.in)
			n := 0
			for x := (Sample{}); s.Next(&x); n++ {
				if x.Rate != 1000 || x.Source != 7 || !bytes.HasPrefix(header, x.Header) || x.Wire != len(header) {
					t.Errorf("got %+v", x)
				}
			}
			if n != tt.samples || s.Skipped != tt.skipped {
				t.Errorf("got %d samples, %d skipped, want %d and %d", n, s.Skipped, tt.samples, tt.skipped)
			}
		})
	}
}

// FuzzSFlow: reading ends, each sample takes bytes of its own, and lengths are possible.
func FuzzSFlow(f *testing.F) {
	f.Add(sflowOf(sflowFlow, 1000, sflowIPv4, bytes.Repeat([]byte{0x45, 0}, 30)))
	f.Add(sflowOf(sflowExpandedFlow, 1, sflowEthernet, bytes.Repeat([]byte{8, 0}, 30)))
	f.Add(sflowOf(sflowFlow, 1000, sflowMPLS, bytes.Repeat([]byte{0, 0x10, 1, 64}, 8)))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, ok := NewSFlow(b)
		if !ok {
			return
		}
		n, bytes := 0, 0
		for x := (Sample{}); s.Next(&x); n++ {
			var p Packet
			p.DecodeSample(&x)
			if bytes += len(x.Header); x.Wire < len(x.Header) || len(p.Payload) > len(x.Header) {
				t.Fatalf("%d bytes of %d, payload %d", len(x.Header), x.Wire, len(p.Payload))
			}
		}
		if bytes > len(b) || (n+s.Skipped)*8 > len(b) {
			t.Errorf("%d samples, %d skipped, %d bytes of headers in %d bytes", n, s.Skipped, bytes, len(b))
		}
	})
}
