package live

// The link types that captures have here, by their LINKTYPE_ value.
const (
	linkNull     uint16 = 0 // loopback of BSD and macOS
	linkEthernet uint16 = 1
	linkRaw      uint16 = 101
	linkSLL      uint16 = 113
	linkSLL2     uint16 = 276
)

const (
	sll2Len = 20 // bytes of the cooked header
	tagLen  = 4  // bytes of a VLAN tag
	macsLen = 12 // bytes before a tag in an Ethernet frame

	// addedLen is how many bytes at most are added to what the kernel captured.
	addedLen = sll2Len + tagLen
)

// Types of devices as the kernel numbers them (linux/if_arp.h).
const (
	arpEthernet = 1
	arpRawIP    = 519
	arpLoopback = 772
	arpNone     = 0xfffe // tun devices, WireGuard
)

// linkOf returns the link type that an interface is captured with. Devices whose header
// is none of these, or differs between kernels, are captured with a cooked header in its
// place.
func linkOf(t target) uint16 {
	switch {
	case t.index == 0:
		return linkSLL2
	case t.arp == arpEthernet, t.arp == arpLoopback:
		return linkEthernet
	case t.arp == arpNone, t.arp == arpRawIP:
		return linkRaw
	}
	return linkSLL2
}
