package rewrite

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"qsniff/capture"
	"qsniff/capture/packet"
)

// frame returns a frame with right checksums, of UDP or TCP over IPv4 or IPv6.
func frame(tb testing.TB, isTCP, is6 bool, payload []byte) []byte {
	tb.Helper()
	eth := &layers.Ethernet{SrcMAC: make([]byte, 6), DstMAC: make([]byte, 6), EthernetType: layers.EthernetTypeIPv4}
	four := &layers.IPv4{Version: 4, IHL: 5, TTL: 64, Protocol: layers.IPProtocolUDP, SrcIP: []byte{10, 0, 0, 1}, DstIP: []byte{198, 18, 0, 9}}
	six := &layers.IPv6{Version: 6, NextHeader: layers.IPProtocolUDP, SrcIP: make([]byte, 16), DstIP: make([]byte, 16)}
	udp := &layers.UDP{SrcPort: 40001, DstPort: 27015}
	tcp := &layers.TCP{SrcPort: 40001, DstPort: 27015, Seq: 7, ACK: true}
	var network gopacket.NetworkLayer = four
	all := []gopacket.SerializableLayer{eth, four, udp, gopacket.Payload(payload)}
	if is6 {
		eth.EthernetType, all[1], network = layers.EthernetTypeIPv6, six, six
	}
	if isTCP {
		four.Protocol, six.NextHeader, all[2] = layers.IPProtocolTCP, layers.IPProtocolTCP, tcp
	}
	for _, set := range []func(gopacket.NetworkLayer) error{udp.SetNetworkLayerForChecksum, tcp.SetNetworkLayerForChecksum} {
		if err := set(network); err != nil {
			tb.Fatal(err)
		}
	}
	b := gopacket.NewSerializeBuffer()
	if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, all...); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// isRight reports whether all checksums of a packet are right.
func isRight(b []byte) bool {
	p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.NoCopy)
	for _, l := range p.Layers() {
		if t, ok := l.(interface {
			SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
		}); ok && t.SetNetworkLayerForChecksum(p.NetworkLayer()) != nil {
			return false
		}
	}
	again := gopacket.NewSerializeBuffer()
	err := gopacket.SerializePacket(again, gopacket.SerializeOptions{ComputeChecksums: true}, p)
	return err == nil && bytes.Equal(again.Bytes()[:len(b)], b)
}

// TestChecksums: checksums are right after addresses and payload were changed if they were
// before, and those that are 0 stay so.
func TestChecksums(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var x Packet
	for i := range 400 {
		payload := make([]byte, r.IntN(40))
		for i := range payload {
			payload[i] = byte(r.Uint32())
		}
		b := frame(t, i&1 != 0, i&2 != 0, payload)
		x.Begin(&capture.Packet{Link: packet.LinkEthernet, Wire: uint32(len(b))}, b)
		for _, h := range x.Headers() {
			if a := Addresses(&h); a != nil {
				a[r.IntN(len(a))] = byte(r.Uint32())
			}
		}
		for i := range x.Carried() {
			x.Carried()[i] ^= byte(r.Uint32())
		}
		x.Finish()
		if !isRight(b) {
			t.Fatalf("%d: wrong checksums in % x", i, b)
		}
	}
	b := frame(t, false, false, []byte("abc"))
	b[40], b[41] = 0, 0
	x.Begin(&capture.Packet{Link: packet.LinkEthernet, Wire: uint32(len(b))}, b)
	x.Carried()[0] = 'x'
	if x.Finish(); b[40] != 0 || b[41] != 0 {
		t.Errorf("a checksum of 0 became % x", b[40:42])
	}
}

// FuzzPacket: whatever a frame is, what its packet carries can be changed and changed back,
// and then the frame is as it was.
func FuzzPacket(f *testing.F) {
	f.Add(uint16(1), frame(f, false, false, []byte("abc")))
	f.Add(uint16(1), frame(f, true, true, []byte("abcd")))
	f.Fuzz(func(t *testing.T, link uint16, b []byte) {
		var x Packet
		data := append([]byte(nil), b...)
		p := &capture.Packet{Link: link, Wire: uint32(len(b))}
		x.Begin(p, data)
		if x.Frag.Set {
			return
		}
		for range 2 {
			x.Begin(p, data)
			for i := range x.Carried() {
				x.Carried()[i] ^= 0xa5
			}
			x.Finish()
		}
		var y Packet
		y.Begin(p, append([]byte(nil), b...))
		if string(y.Carried()) != string(x.Carried()) {
			t.Errorf("carried % x, was % x", x.Carried(), y.Carried())
		}
	})
}
