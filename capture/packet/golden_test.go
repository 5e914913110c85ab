package packet

import (
	"slices"
	"testing"

	"qsniff/internal/test/testpcap"
)

// TestGoldenTunnels decodes the captures that show a way in: the conversation
// arrives as it was sent, each packet within the same tunnels.
func TestGoldenTunnels(t *testing.T) {
	tests := []struct {
		name string
		ways []Way // of a packet from the client
	}{
		{"vlan", []Way{way(WayVLAN, 100)}},
		{"qinq", []Way{way(WayVLAN, 200), way(WayVLAN, 100)}},
		{"pppoe", []Way{way(WayPPPoE, 9)}},
		{"mpls", []Way{way(WayMPLS, 1016)}},
		{"gre", []Way{way4(WayGRE, 42, 0, 0)}},
		{"ip-in-ip", []Way{way4(WayIPinIP, 0, 0, 0)}},
		{"6in4", []Way{way4(WayIPinIP, 0, 0, 0)}},
		{"vxlan", []Way{way4(WayVXLAN, 42, 50000, 4789)}},
		{"geneve", []Way{{WayGeneve, 42, addr("2001:db8:f::1", 50000), addr("2001:db8:f::2", 6081)}}},
		{"erspan", []Way{way4(WayERSPAN, 42, 0, 0)}},
		{"erspan-vxlan", []Way{way(WayVLAN, 100), {WayERSPAN, 42, addr("198.51.100.1", 0), addr("198.51.100.2", 0)},
			way4(WayVXLAN, 42, 50000, 4789)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := readGolden(t, tt.name)
			if len(c.Packets) != len(c.Whole) {
				t.Fatalf("got  %d packets for %d datagrams\nwant one each", len(c.Packets), len(c.Whole))
			}
			for i, packet := range c.Packets {
				p, ways := decodeWays(c.Link.Type, packet.Frame, len(packet.Frame))
				sent := c.Whole[i]
				if p.Stop != OK || p.Src != sent.Src || p.Dst != sent.Dst || string(p.Payload) != string(sent.Payload) {
					t.Errorf("packet %d\ngot  %+v\nwant %+v", i, p, sent)
				}
				if sent.Src == c.Whole[0].Src && !slices.Equal(ways, tt.ways) {
					t.Errorf("packet %d\ngot  %v\nwant %v", i, ways, tt.ways)
				}
			}
		})
	}
}

// TestGoldenQuotes decodes the captures with ICMP errors: each quotes the
// datagram before it and goes to its partition.
func TestGoldenQuotes(t *testing.T) {
	tests := []struct {
		name   string
		errors int
		want   Reason
	}{
		{"icmp-port-unreachable", 3, PortUnreachable},
		{"icmpv6-prohibited", 1, Prohibited},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := readGolden(t, tt.name)
			var sent Packet
			errors := 0
			for i, packet := range c.Packets {
				var p Packet
				p.Decode(c.Link.Type, packet.Frame, len(packet.Frame))
				if p.Stop == OK {
					sent = p
					continue
				}
				errors++
				q := p.Quote()
				if q.Reason != tt.want || q.Src != sent.Src || q.Dst != sent.Dst || string(q.Payload) != string(sent.Payload) {
					t.Errorf("packet %d\ngot  %+v\nwant %v about %+v", i, q, tt.want, sent)
				}
				if got, want := p.Partition(), sent.Partition(); got != want {
					t.Errorf("packet %d\ngot  partition %d\nwant %d", i, got, want)
				}
			}
			if errors != tt.errors {
				t.Errorf("got  %d errors\nwant %d", errors, tt.errors)
			}
		})
	}
}

func readGolden(t *testing.T, name string) *testpcap.Capture {
	t.Helper()
	c, err := testpcap.ReadFile("../../pcapfiles/net/" + name + ".hex")
	if err != nil {
		t.Fatal(err)
	}
	return c
}
