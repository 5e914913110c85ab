package netlayer

import "testing"

var benchFrames = []struct {
	name  string
	link  uint16
	frame []byte
}{
	{"ethernet-ipv4", LinkEthernet, unhex(ethIPv4 + ip4(37, 17) + udp4(17) + "FFFFFFFF 5500000000")},
	{"vlan-ipv4", LinkEthernet, unhex(ethVLAN + ip4(37, 17) + udp4(17) + "FFFFFFFF 5500000000")},
	{"ethernet-ipv6", LinkEthernet, unhex(ethIPv6 + ip6(17, 17) + udp4(17) + "FFFFFFFF 5500000000")},
	{"sll2-ipv4", LinkLinuxSLL2, unhex(sll2IPv4 + ip4(37, 17) + udp4(17) + "FFFFFFFF 5500000000")},
	{"ethernet-tcp", LinkEthernet, unhex(ethIPv4 + ip4(40, 6) + "0050 8000 00000001 00000000 50020000 00000000")},
}

func BenchmarkDecode(b *testing.B) {
	for _, f := range benchFrames {
		b.Run(f.name, func(b *testing.B) {
			var p Packet
			for b.Loop() {
				p.Decode(f.link, f.frame, len(f.frame))
			}
		})
	}
}

func BenchmarkPartition(b *testing.B) {
	for _, f := range benchFrames[:3] {
		b.Run(f.name, func(b *testing.B) {
			var p Packet
			p.Decode(f.link, f.frame, len(f.frame))
			for b.Loop() {
				p.Partition()
			}
		})
	}
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, f := range benchFrames {
		t.Run(f.name, func(t *testing.T) {
			var p Packet
			n := testing.AllocsPerRun(100, func() {
				p.Decode(f.link, f.frame, len(f.frame))
				p.Partition()
			})
			if n != 0 {
				t.Errorf("got %v allocations per packet\nwant 0", n)
			}
		})
	}
}
