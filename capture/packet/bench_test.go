package packet

import (
	"testing"

	"qsniff/internal/test/race"
)

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
	{"gre-ipv4", LinkEthernet, unhex(ethIPv4 + outer4(47, "0000 0800"+in4))},
	{"vxlan-ipv4", LinkEthernet, unhex(ethIPv4 + outer4(17, overUDP(4789, "08000000 00002A00"+frame4)))},
	{"vxlan-port-query", LinkEthernet, unhex(ethIPv4 + outer4(17, overUDP(4789, "FFFFFFFF 5500000000")))},
	{"pppoe-ipv4", LinkEthernet, unhex(macs + "8864" + pppoe(9, "0021", in4))},
	{"icmp-quote", LinkEthernet, unhex(ethIPv4 + icmp4(3, 3, "00000000", in4))},
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
	for _, i := range []int{0, 1, 2, len(benchFrames) - 1} {
		f := benchFrames[i]
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
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, f := range benchFrames {
		t.Run(f.name, func(t *testing.T) {
			p := Packet{Outer: new(Ways)}
			n := testing.AllocsPerRun(100, func() {
				p.Decode(f.link, f.frame, len(f.frame))
				p.Partition()
				p.Quote()
				p.Ways()
			})
			if n != 0 {
				t.Errorf("got %v allocations per packet\nwant 0", n)
			}
		})
	}
}
