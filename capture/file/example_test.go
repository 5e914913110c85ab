package file_test

import (
	"fmt"
	"log"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"qsniff/capture"
	"qsniff/capture/file"
)

// A capture, decoded by gopacket: the reader takes what is malformed or compressed.
func Example_gopacket() {
	r, err := file.Open("../../pcapfiles/a2s/full-poll.pcap")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	source := gopacket.NewPacketSource(capture.NewPacketData(r), layers.LinkType(r.LinkType()))
	source.NoCopy = true // ReadPacketData returns memory of its own
	for p := range source.Packets() {
		udp := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		fmt.Println(p.Metadata().Timestamp.Format("15:04:05.000"), udp.SrcPort, udp.DstPort, len(udp.Payload))
	}
	// Output:
	// 22:13:20.000 40001 27015 25
	// 22:13:20.020 27015 40001 9
	// 22:13:20.040 40001 27015 29
	// 22:13:20.060 27015 40001 123
	// 22:13:20.080 40001 27015 9
	// 22:13:20.100 27015 40001 32
	// 22:13:20.120 40001 27015 9
	// 22:13:20.140 27015 40001 38
}

// Without an allocation a packet: gopacket's decoders over the reader's own memory.
func Example_decodingLayerParser() {
	r, err := file.Open("../../pcapfiles/a2s/full-poll.pcap")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	var (
		eth   layers.Ethernet
		ip    layers.IPv4
		udp   layers.UDP
		data  gopacket.Payload
		found []gopacket.LayerType
	)
	parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &eth, &ip, &udp, &data)
	in, bytes := gopacket.ZeroCopyPacketDataSource(capture.NewPacketData(r)), 0
	for {
		frame, _, err := in.ZeroCopyReadPacketData()
		if err != nil {
			fmt.Println(bytes, "bytes of queries and replies,", err)
			return
		}
		if parser.DecodeLayers(frame, &found) == nil {
			bytes += len(data)
		}
	}
	// Output: 274 bytes of queries and replies, EOF
}
