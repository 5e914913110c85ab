package live_test

import (
	"fmt"
	"log"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"qsniff/capture"
	"qsniff/capture/live"
)

// Five packets of the loopback interface, decoded by gopacket. It takes the right to
// capture: TestPacketSource runs the same in a network of its own.
func Example_gopacket() {
	src, err := live.Open(live.Options{Interfaces: []string{"lo"}, Backend: live.AFPacket})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	in := capture.NewPacketData(src)
	source := gopacket.NewPacketSource(in, layers.LayerTypeEthernet)
	for range 5 {
		p, err := source.NextPacket()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(p)
	}
}
