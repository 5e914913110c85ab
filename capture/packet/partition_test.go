package packet

import (
	"net/netip"
	"testing"
)

func between(a, b netip.Addr, portA, portB uint16) *Packet {
	return &Packet{Src: netip.AddrPortFrom(a, portA), Dst: netip.AddrPortFrom(b, portB)}
}

func v4Addr(n uint32) netip.Addr {
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

// TestPartitionIsFixed pins values: another hash would change which packets
// share a table, and with that the evictions and the output of every file.
func TestPartitionIsFixed(t *testing.T) {
	tests := []struct {
		name string
		a, b string
		want uint8
	}{
		{"IPv4", "10.0.0.1", "198.51.100.7", 5},
		{"IPv4, neighbour", "10.0.0.2", "198.51.100.7", 11},
		{"same address", "10.0.0.1", "10.0.0.1", 5},
		{"IPv6", "2001:db8::1", "2001:db8::2", 14},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, b := netip.MustParseAddr(tt.a), netip.MustParseAddr(tt.b)
			if got := between(a, b, 1, 2).Partition(); got != tt.want {
				t.Errorf("got  %d\nwant %d", got, tt.want)
			}
			if got := between(b, a, 3, 4).Partition(); got != tt.want {
				t.Errorf("reversed, other ports:\ngot  %d\nwant %d", got, tt.want)
			}
		})
	}
}

// TestPartitionSpread asks that no partition gets far more than its share.
// Each bound is above five standard deviations of a fair throw.
func TestPartitionSpread(t *testing.T) {
	server := netip.MustParseAddr("198.51.100.7")
	server6 := netip.MustParseAddr("2001:db8::7")
	v6Source := func(n uint32) netip.Addr {
		b := server6.As16()
		b[15], b[14], b[13] = byte(n), byte(n>>8), 0x80
		return netip.AddrFrom16(b)
	}
	v6Prefix := func(n uint32) netip.Addr {
		b := server6.As16()
		b[7], b[6] = byte(n), byte(n>>8)
		return netip.AddrFrom16(b)
	}
	tests := []struct {
		name string
		pair func(n uint32) (a, b netip.Addr)
	}{
		{"10.x.y.z, last bytes", func(n uint32) (netip.Addr, netip.Addr) { return v4Addr(10<<24 | n), server }},
		{"10.x.y.z, first bytes", func(n uint32) (netip.Addr, netip.Addr) { return v4Addr(10<<24 | n<<8), server }},
		{"one client, many servers", func(n uint32) (netip.Addr, netip.Addr) { return server, v4Addr(192<<24 | n) }},
		{"neighbours talk", func(n uint32) (netip.Addr, netip.Addr) { return v4Addr(10<<24 | n), v4Addr(10<<24 | n + 1) }},
		{"IPv6, one network", func(n uint32) (netip.Addr, netip.Addr) { return v6Source(n), server6 }},
		{"IPv6, many networks", func(n uint32) (netip.Addr, netip.Addr) { return v6Prefix(n), server6 }},
	}
	const pairs = 1 << 16
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var counts [Partitions]int
			for n := range uint32(pairs) {
				a, b := tt.pair(n)
				counts[between(a, b, 0, 0).Partition()]++
			}
			const fair, slack = pairs / Partitions, 330
			for i, c := range counts {
				if c < fair-slack || c > fair+slack {
					t.Errorf("got  %d pairs in partition %d\nwant %d, give or take %d", c, i, fair, slack)
				}
			}
		})
	}
}
