package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"
)

// AutoFilter has the kernel keep only what may belong to a query. The zero value
// knows the usual ports. What it keeps:
//
//   - UDP that begins with FF FF FF FF or FE FF FF FF, as requests, replies and parts
//     of the Valve and Quake families do, whatever the ports; what begins like a
//     reply of ASE, a heartbeat or a request for a list of servers; and what begins
//     with four zeros, as the garbage does that some servers answer with
//   - UDP of one byte that is a request of ASE
//   - all UDP from and to the ports of UDP, all TCP from and to those of TCP
//   - every IP fragment: all but the first of a datagram have no ports
//   - ICMP and ICMPv6 errors
//   - IPv6 with extension headers in front of UDP or TCP, which the kernel's filter
//     language cannot step over
//   - tunnels (IP in IP, GRE, VXLAN, Geneve, MPLS, PPPoE), unseen: hosts that are
//     protected against floods get their traffic through one, and would be left with
//     nothing
//
// VLAN tags are stepped over, those of the network card and those in the frame. On
// links other than Ethernet, raw IP and the cooked ones of Linux everything passes.
type AutoFilter struct {
	// UDP are ports of servers of ASE and of master servers, whose messages are not
	// all told by their bytes; nil for UsualUDPPorts.
	UDP []uint16
	// TCP are ports of RCON; nil for UsualTCPPorts.
	TCP []uint16
}

// UsualUDPPorts are the ports of Steam's master servers and of MTA's ASE.
func UsualUDPPorts() []uint16 { return []uint16{27010, 27011, 27012, 27013, 22126, 22127, 22128} }

// UsualTCPPorts are those of RCON: the engine's own, and those of Minecraft, Rust,
// ARK and Squad.
func UsualTCPPorts() []uint16 { return []uint16{27015, 25575, 28016, 27020, 32330, 21114} }

func (f *AutoFilter) udp() []uint16 {
	if f.UDP == nil {
		return UsualUDPPorts()
	}
	return f.UDP
}

func (f *AutoFilter) tcp() []uint16 {
	if f.TCP == nil {
		return UsualTCPPorts()
	}
	return f.TCP
}

// check says whether the filter can be built.
func (f *AutoFilter) check() error {
	if f == nil {
		return nil
	}
	for _, p := range []struct {
		what  string
		ports []uint16
	}{{"UDP", f.udp()}, {"TCP", f.tcp()}} {
		if len(p.ports) > maxFilterPorts {
			return fmt.Errorf("automatic filter: %d ports of %s: at most %d", len(p.ports), p.what, maxFilterPorts)
		}
	}
	return nil
}

// String names the filter and its ports.
func (f *AutoFilter) String() string {
	return "automatic: queries, fragments, ICMP errors, udp port " + list(f.udp()) + ", tcp port " + list(f.tcp())
}

// Lost says, a line each, what is not seen because the filter is in the kernel.
func (f *AutoFilter) Lost() []string {
	return []string{
		"floods of anything but queries: UDP that begins with other bytes, TCP to ports other than " + list(f.tcp()),
		"the games' own traffic: its packets and bytes are missing in the totals",
		"RCON on TCP ports other than " + list(f.tcp()),
		"ASE on UDP ports other than " + list(f.udp()) + ": versions, requests with text behind their letter, fragments of replies that do not begin with EYE",
		"master servers on UDP ports other than " + list(f.udp()) + ": join and shutdown, the old list requests, heartbeats of WON and QuakeWorld",
		"protocols given with decode-as whose messages do not begin with FF FF FF FF, on other ports than these",
	}
}

func list(ports []uint16) string {
	sorted := slices.Clone(ports)
	slices.Sort(sorted)
	var words []string
	for _, p := range slices.Compact(sorted) {
		words = append(words, strconv.Itoa(int(p)))
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}

// view is how a filter sees packets.
type view uint8

const (
	viewEthernet view = iota
	viewRaw           // begins with the IP header
	viewSLL
	viewSLL2
	viewBehindLink // begins behind the link header, the kernel knows the EtherType
	viewUnknown    // passes everything
)

// viewOf is how libpcap's filters, and those of raw packet sockets, see a link type.
func viewOf(link uint16) view {
	switch link {
	case linkEthernet:
		return viewEthernet
	case linkRaw:
		return viewRaw
	case linkSLL:
		return viewSLL
	case linkSLL2:
		return viewSLL2
	}
	return viewUnknown
}

// What the filter compares with.
const (
	etherIPv4    = 0x0800
	etherIPv6    = 0x86dd
	etherQinQ    = 0x88a8
	etherOldQinQ = 0x9100
	etherMPLS    = 0x8847
	etherMPLSUp  = 0x8848
	etherPPPoE   = 0x8864

	protoHopByHop = 0
	protoICMP     = 1
	protoIPIP     = 4
	protoTCP      = 6
	protoUDP      = 17
	protoIPv6     = 41
	protoRouting  = 43
	protoFragment = 44
	protoGRE      = 47
	protoAH       = 51
	protoICMPv6   = 58
	protoOptions  = 60

	portVXLAN  = 4789
	portVXLAN2 = 8472 // what Linux took before one was assigned
	portGeneve = 6081

	ipv6Len = 40
	udpLen  = 8
)

// program is the filter for packets that are seen in a certain way. What passes is
// cut to snap bytes.
func (f *AutoFilter) program(v view, snap uint32) ([]bpf.Instruction, error) {
	p := &assembly{snap: snap}
	switch v {
	case viewEthernet:
		p.linked(bpf.LoadAbsolute{Off: 12, Size: 2}, 14)
	case viewSLL:
		p.linked(bpf.LoadAbsolute{Off: 14, Size: 2}, 16)
	case viewSLL2:
		p.linked(bpf.LoadAbsolute{Off: 0, Size: 2}, 20)
	case viewBehindLink:
		p.linked(bpf.LoadExtension{Num: bpf.ExtProto}, 0)
	case viewRaw:
		p.raw()
	default:
		p.pass()
		return p.code, nil
	}
	p.ipv4()
	p.ipv6()
	p.icmp()
	p.ports("tcp", f.tcp())
	p.drop()
	p.ports("udp", slices.Concat(f.udp(), []uint16{portVXLAN, portVXLAN2, portGeneve}))
	p.payload()
	return p.assemble()
}

// linked finds the IP header behind an EtherType and VLAN tags: X is its offset.
func (p *assembly) linked(etherType bpf.Instruction, behind uint32) {
	p.add(bpf.LoadConstant{Dst: bpf.RegX, Val: behind}, etherType)
	for range maxVLANDepth {
		p.jump("tag", etherVLAN, etherQinQ, etherOldQinQ)
		p.jumpAlways("typed")
		p.label("tag")
		p.add(
			bpf.LoadIndirect{Off: 2, Size: 2}, // behind the tag's number
			bpf.StoreScratch{Src: bpf.RegA, N: 0},
			bpf.TXA{},
			bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: tagLen},
			bpf.TAX{},
			bpf.LoadScratch{Dst: bpf.RegA, N: 0},
		)
	}
	p.label("typed")
	p.jump("ipv4", etherIPv4)
	p.jump("ipv6", etherIPv6)
	p.jump("pass", etherMPLS, etherMPLSUp, etherPPPoE, etherVLAN, etherQinQ, etherOldQinQ)
	p.drop()
	p.label("pass")
	p.pass()
}

// raw tells the versions apart by the first four bits.
func (p *assembly) raw() {
	p.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 0}, bpf.LoadAbsolute{Off: 0, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4})
	p.jump("ipv4", 4)
	p.jump("ipv6", 6)
	p.drop()
}

// ipv4 passes fragments and goes on with X behind the header and its options.
func (p *assembly) ipv4() {
	const fragment = 0x3fff // more to come, or not the first
	p.label("ipv4")
	p.add(bpf.LoadIndirect{Off: 6, Size: 2})
	p.add(bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: fragment, SkipFalse: 1})
	p.pass()
	p.add(
		bpf.LoadIndirect{Off: 9, Size: 1},
		bpf.StoreScratch{Src: bpf.RegA, N: 0},
		bpf.LoadIndirect{Off: 0, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0x0f},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftLeft, Val: 2},
		bpf.ALUOpX{Op: bpf.ALUOpAdd},
		bpf.TAX{},
		bpf.LoadScratch{Dst: bpf.RegA, N: 0},
	)
	p.jump("udp", protoUDP)
	p.jump("tcp", protoTCP)
	p.jump("icmp", protoICMP)
	p.passIf(protoIPIP, protoIPv6, protoGRE)
	p.drop()
}

// ipv6 does the same; extension headers pass.
func (p *assembly) ipv6() {
	p.label("ipv6")
	p.add(
		bpf.LoadIndirect{Off: 6, Size: 1},
		bpf.StoreScratch{Src: bpf.RegA, N: 0},
		bpf.TXA{},
		bpf.ALUOpConstant{Op: bpf.ALUOpAdd, Val: ipv6Len},
		bpf.TAX{},
		bpf.LoadScratch{Dst: bpf.RegA, N: 0},
	)
	p.jump("udp", protoUDP)
	p.jump("tcp", protoTCP)
	p.jump("icmpv6", protoICMPv6)
	p.passIf(protoHopByHop, protoRouting, protoFragment, protoOptions, protoAH, protoIPIP, protoIPv6, protoGRE)
	p.drop()
}

// icmp passes errors: unreachable, source quench, redirect, time exceeded, bad header;
// in version 6 all types below 128.
func (p *assembly) icmp() {
	p.label("icmp")
	p.add(bpf.LoadIndirect{Off: 0, Size: 1})
	p.passIf(3, 4, 5, 11, 12)
	p.drop()
	p.label("icmpv6")
	p.add(bpf.LoadIndirect{Off: 0, Size: 1}, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: 128, SkipTrue: 1})
	p.pass()
	p.drop()
}

// ports passes what comes from or goes to one of them.
func (p *assembly) ports(label string, ports []uint16) {
	p.label(label)
	for _, off := range []uint32{0, 2} {
		p.add(bpf.LoadIndirect{Off: off, Size: 2})
		for _, port := range ports {
			p.passIf(uint32(port))
		}
	}
}

// payload passes UDP by its first bytes. A load beyond the end of a packet drops it,
// so the length is looked at first; 0 is that of a segment that the network card cuts.
func (p *assembly) payload() {
	const four = udpLen + 4
	p.add(bpf.LoadIndirect{Off: 4, Size: 2})
	p.jump("long", 0)
	p.add(bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: four, SkipFalse: 1})
	p.jumpAlways("long")
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: udpLen + 1, SkipTrue: 1})
	p.drop()
	p.add(bpf.LoadIndirect{Off: udpLen, Size: 1})
	p.passIf('s', 'b', 'r', 'x', 'v', 'p') // requests of ASE
	p.drop()

	p.label("long")
	p.add(bpf.LoadIndirect{Off: udpLen, Size: 4})
	p.passIf(0xffffffff, 0xfeffffff)
	p.passIf(0x00000000) // garbage that servers are known to answer with
	p.passIf(0x31000000) // '1' and no seed: the old request for a list
	p.add(bpf.TAX{}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xffffff00})
	p.passIf('E'<<24|'Y'<<16|'E'<<8, '0'<<24|'\n'<<16|'\\'<<8) // a reply of ASE, a heartbeat
	p.add(bpf.TXA{}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff00ff00})
	p.passIf('1'<<24 | '['<<8) // a request for a list that starts at an IPv6 address
	// '1', a region, and a digit of an address: the same for IPv4.
	p.add(bpf.TXA{}, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: 0xff00f000})
	p.passIf('1'<<24 | '0'<<8)
	p.drop()
}
