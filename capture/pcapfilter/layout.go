package pcapfilter

// linkKind is how a link header says what follows it.
type linkKind uint8

const (
	byEtherType linkKind = iota // two bytes at Layout.typeAt
	byVersion                   // no link header: the version field of IP
	byFamily                    // four bytes, in the order of the capturing host
	byFamilyBig                 // four bytes, most significant first
	byPPP                       // a protocol number of PPP in two bytes
	byKernel                    // the kernel gives the EtherType, and no link header
	alwaysIPv4                  // nothing else
	alwaysIPv6
)

// Layout is where a filter finds the headers of a packet. Those of File are for captures, and for
// what libpcap reads; those of Kernel for packet sockets of Linux.
type Layout struct {
	name     string
	kind     linkKind
	typeAt   uint32
	payload  uint32 // where the network header begins
	isSLL    bool   // the direction is two bytes at 0
	isSLL2   bool   // an index at 4, the direction in the byte at 10
	isFrame  bool   // Ethernet: addresses, and tags of VLANs
	metadata bool   // the kernel took the outer tag off, and knows the direction and the index
	hidden   uint32 // bytes of the link header that the filter does not see
}

var ethernet = Layout{name: "Ethernet", kind: byEtherType, typeAt: 12, payload: 14, isFrame: true}

// layouts are by LINKTYPE_ value (https://www.tcpdump.org/linktypes.html).
var layouts = map[uint16]Layout{
	0:   {name: "BSD loopback", kind: byFamily, payload: 4},
	1:   ethernet,
	9:   {name: "PPP", kind: byPPP, typeAt: 2, payload: 4},
	12:  {name: "raw IP", kind: byVersion},
	14:  {name: "raw IP", kind: byVersion},
	50:  {name: "PPP in HDLC framing", kind: byPPP, typeAt: 2, payload: 4},
	51:  {name: "PPPoE", kind: byPPP, typeAt: 6, payload: 8},
	101: {name: "raw IP", kind: byVersion},
	104: {name: "Cisco HDLC", kind: byEtherType, typeAt: 2, payload: 4},
	108: {name: "OpenBSD loopback", kind: byFamilyBig, payload: 4},
	113: {name: "Linux cooked", kind: byEtherType, typeAt: 14, payload: 16, isSLL: true},
	228: {name: "IPv4", kind: alwaysIPv4},
	229: {name: "IPv6", kind: alwaysIPv6},
	276: {name: "Linux cooked v2", kind: byEtherType, typeAt: 0, payload: 20, isSLL2: true},
}

// File returns the layout of packets of a LINKTYPE_ value in a capture. There is none for link
// types that are rarely filtered.
func File(link uint16) (Layout, bool) {
	l, ok := layouts[link]
	return l, ok
}

// LinkOf returns the link type whose layout a packet has. It is link, but for BSD's loopback from
// hosts that write the most significant byte first: those packets are as OpenBSD's.
func LinkOf(link uint16, data []byte) uint16 {
	if link == 0 && len(data) > 3 && data[0] == 0 && data[3] != 0 {
		return 108
	}
	return link
}

// Kernel returns the layout in which a packet socket of Linux filters packets that are captured
// with a LINKTYPE_ value: tags of VLANs were taken off, and the cooked header is put before the
// packet after the filter.
func Kernel(link uint16) (Layout, bool) {
	l, ok := layouts[link]
	switch {
	case link == 1:
		l.metadata = true
	case link == 276:
		l = Layout{name: l.name, kind: byKernel, metadata: true, isSLL2: true, hidden: l.payload}
	}
	return l, ok
}
