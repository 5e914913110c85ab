package live

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/bpf"

	"qsniff/capture/pcapfilter"
)

// AutoFilter has the kernel keep only what may belong to a query. It contains no
// protocol: the caller gives the patterns of their messages. The filter keeps:
//
//   - UDP whose payload has one of the patterns, whatever the ports
//   - all UDP from and to the ports of UDP, all TCP from and to those of TCP
//   - every IP fragment: all but the first of a datagram have no ports
//   - ICMP and ICMPv6 errors
//   - IPv6 with extension headers before UDP or TCP, which the kernel's filter
//     language cannot step over
//   - tunnels (IP in IP, GRE, L2TP, VXLAN, Geneve, GUE, FOU, TZSP, MPLS, PPPoE, MACsec),
//     whatever is in them: hosts that are protected against floods get all their traffic
//     through one
//   - headers of proxies before the payload, whatever follows them: the caller gives their patterns
//   - what is rare before or around UDP: LLC, tags of switches, AH, UDP-Lite
//
// VLAN tags are stepped over, those of the network card and those in the frame. On
// links other than Ethernet, raw IP and the cooked ones of Linux everything passes.
type AutoFilter struct {
	Payloads []PayloadPattern // of two that cover each other one is enough
	// UDP and TCP are ports of servers that have messages which no pattern matches.
	UDP, TCP []uint16
	// Missed is what the filter drops at other ports.
	Missed []Missed
}

// PayloadPattern is what the payloads of UDP datagrams have in common. A payload has it
// if it is MinLen to MaxLen bytes long (0: any) and has Value at Offset in the bits
// that are set in Mask, or in all if that is nil.
type PayloadPattern struct {
	Offset         int
	Value, Mask    []byte
	MinLen, MaxLen int
}

// Missed are messages of a protocol that pass at the filter's ports only.
type Missed struct {
	Protocol string
	TCP      bool
	Forms    []string // kinds of messages; none: all
}

// validate returns an error if the filter cannot be built. A nil filter is valid.
func (f *AutoFilter) validate() error {
	if f == nil {
		return nil
	}
	for _, p := range []struct {
		what  string
		ports []uint16
	}{{"UDP", f.UDP}, {"TCP", f.TCP}} {
		if len(p.ports) > maxFilterPorts {
			return fmt.Errorf("automatic filter: %d ports of %s: at most %d", len(p.ports), p.what, maxFilterPorts)
		}
	}
	for i := range f.Payloads {
		if p := &f.Payloads[i]; !p.isValid() {
			return fmt.Errorf("automatic filter: pattern %d (% x) cannot be looked for", i, p.Value)
		}
	}
	return nil
}

// String describes the filter with its ports, for people.
func (f *AutoFilter) String() string {
	return "automatic: queries, fragments, ICMP errors, udp port " + formatPorts(f.UDP) + ", tcp port " + formatPorts(f.TCP)
}

// Unseen lists, a line each, what is not captured because of the filter.
func (f *AutoFilter) Unseen() []string {
	all := []string{
		"floods of anything but queries: UDP that begins with other bytes, TCP to ports other than " + formatPorts(f.TCP),
		"the games' own traffic: its packets and bytes are missing in the totals",
	}
	for _, m := range f.Missed {
		transport, ports := "UDP", f.UDP
		if m.TCP {
			transport, ports = "TCP", f.TCP
		}
		s := fmt.Sprintf("%s on %s ports other than %s", m.Protocol, transport, formatPorts(ports))
		if len(m.Forms) > 0 {
			s += ": " + strings.Join(m.Forms, ", ")
		}
		all = append(all, s)
	}
	return append(all, "protocols given with decode-as whose messages do not begin like any of these, on other ports")
}

// formatPorts lists ports in order, runs of them as 27015-27050, or "none".
func formatPorts(ports []uint16) string {
	var words []string
	for _, r := range portRuns(ports) {
		w := strconv.Itoa(int(r.lo))
		if r.lo < r.hi {
			w += "-" + strconv.Itoa(int(r.hi))
		}
		words = append(words, w)
	}
	if len(words) == 0 {
		return "none"
	}
	return strings.Join(words, ",")
}

// portRun is the ports from lo to hi.
type portRun struct{ lo, hi uint16 }

// portRuns returns ports in order, without repeats, as runs.
func portRuns(ports []uint16) (all []portRun) {
	for _, p := range slices.Compact(slices.Sorted(slices.Values(ports))) {
		if n := len(all); n > 0 && all[n-1].hi+1 == p {
			all[n-1].hi = p
		} else {
			all = append(all, portRun{p, p})
		}
	}
	return all
}

// view is where the bytes begin that a filter sees of a packet.
type view uint8

const (
	viewEthernet view = iota
	viewRaw           // begins with the IP header
	viewSLL
	viewSLL2
	viewAfterLink // begins after the link header; the kernel gives the EtherType
	viewUnknown   // passes everything
)

// viewOf returns how filters of libpcap and of raw packet sockets see a link type.
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

// Values that the filter compares with.
const (
	etherIPv4    = 0x0800
	etherIPv6    = 0x86dd
	etherQinQ    = 0x88a8
	etherOldQinQ = 0x9100
	etherMPLS    = 0x8847
	etherMPLSUp  = 0x8848
	etherPPPoE   = 0x8864
	etherMACsec  = 0x88e5
	etherEDSA    = 0xdada

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

	protoL2TP    = 115
	protoUDPLite = 136

	maxLLC = 1500 // the largest length in place of an EtherType

	ipv6Len     = 40
	udpLen      = 8
	udpLengthAt = 4 // in the UDP header
)

// tunnelPorts are those of tunnels over UDP that package packet follows: L2TP, VXLAN, VXLAN-GPE,
// FOU, GUE, Geneve, sFlow, VXLAN as Linux had it before IANA assigned a port, TZSP.
var tunnelPorts = []uint16{1701, 4789, 4790, 5555, 6080, 6081, 6343, 8472, 37008}

// Program returns the filter for packets of a link type, a LINKTYPE_ value. Packets
// that pass are cut to snap bytes.
func (f *AutoFilter) Program(link uint16, snap uint32) ([]bpf.Instruction, error) {
	return f.build(viewOf(link), snap)
}

// build returns the filter for packets that it sees as v. Packets that pass are cut to
// snap bytes.
func (f *AutoFilter) build(v view, snap uint32) ([]bpf.Instruction, error) {
	p := &assembly{snap: snap}
	switch v {
	case viewEthernet:
		p.findIP(bpf.LoadAbsolute{Off: 12, Size: 2}, 14)
	case viewSLL:
		p.findIP(bpf.LoadAbsolute{Off: 14, Size: 2}, 16)
	case viewSLL2:
		p.findIP(bpf.LoadAbsolute{Off: 0, Size: 2}, 20)
	case viewAfterLink:
		p.findIP(bpf.LoadExtension{Num: bpf.ExtProto}, 0)
	case viewRaw:
		p.findVersion()
	default:
		p.pass()
		return p.code, nil
	}
	cooked := v == viewSLL || v == viewSLL2 || v == viewAfterLink
	p.label("ipv4")
	if cooked {
		p.passUnless(4)
	}
	p.addIPv4()
	p.label("ipv6")
	if cooked {
		p.passUnless(6)
	}
	p.addIPv6()
	p.addICMP()
	p.passPorts("tcp", f.TCP)
	p.drop()
	p.passPorts("udp", slices.Concat(f.UDP, tunnelPorts))
	p.passPayloads(f.Payloads)
	return p.assemble()
}

// findIP adds code that steps over VLAN tags to the IP header, whose offset it leaves in
// X, and jumps to "ipv4" or "ipv6". etherType loads the first EtherType; next is the
// offset of what follows it.
func (p *assembly) findIP(etherType bpf.Instruction, next uint32) {
	p.add(bpf.LoadConstant{Dst: bpf.RegX, Val: next}, etherType)
	for range maxVLANDepth {
		p.jump("tag", etherVLAN, etherQinQ, etherOldQinQ)
		p.jumpAlways("typed")
		p.label("tag")
		p.add(
			bpf.LoadIndirect{Off: 2, Size: 2}, // after the tag's number
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
	p.jump("pass", etherMPLS, etherMPLSUp, etherPPPoE, etherMACsec, etherEDSA, etherVLAN, etherQinQ, etherOldQinQ)
	p.add(bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: maxLLC, SkipTrue: 1})
	p.pass()
	p.drop()
	p.label("pass")
	p.pass()
}

// findVersion adds code that jumps to "ipv4" or "ipv6" by the first four bits.
func (p *assembly) findVersion() {
	p.add(bpf.LoadConstant{Dst: bpf.RegX, Val: 0}, bpf.LoadAbsolute{Off: 0, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4})
	p.jump("ipv4", 4)
	p.jump("ipv6", 6)
	p.drop()
}

// passUnless adds code that passes what does not begin with the version of IP: a tag stands
// before it, which the protocol in Linux's header of the device "any" does not mention.
func (p *assembly) passUnless(version uint32) {
	p.add(bpf.LoadIndirect{Off: 0, Size: 1}, bpf.ALUOpConstant{Op: bpf.ALUOpShiftRight, Val: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: version, SkipTrue: 1})
	p.pass()
}

// addIPv4 adds code that passes fragments and tunnels, and jumps by protocol with X after
// the header and its options.
func (p *assembly) addIPv4() {
	const fragment = 0x3fff // more to come, or not the first
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
	p.passIf(protoIPIP, protoIPv6, protoGRE, protoAH, protoL2TP, protoUDPLite)
	p.drop()
}

// addIPv6 adds code that does the same for IPv6; packets with extension headers pass.
func (p *assembly) addIPv6() {
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
	p.passIf(protoHopByHop, protoRouting, protoFragment, protoOptions, protoAH, protoIPIP, protoIPv6, protoGRE, protoL2TP, protoUDPLite)
	p.drop()
}

// addICMP adds code that passes errors: unreachable, source quench, redirect, time
// exceeded and bad header; of ICMPv6 all types below 128, which RFC 4443 reserves for them.
func (p *assembly) addICMP() {
	p.label("icmp")
	p.add(bpf.LoadIndirect{Off: 0, Size: 1})
	p.passIf(3, 4, 5, 11, 12)
	p.drop()
	p.label("icmpv6")
	p.add(bpf.LoadIndirect{Off: 0, Size: 1}, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: 128, SkipTrue: 1})
	p.pass()
	p.drop()
}

// passPorts adds code that passes packets from and to the ports.
func (p *assembly) passPorts(label string, passPorts []uint16) {
	p.label(label)
	for _, off := range []uint32{0, 2} {
		p.add(bpf.LoadIndirect{Off: off, Size: 2})
		for _, r := range portRuns(passPorts) {
			if r.lo == r.hi {
				p.passIf(uint32(r.lo))
				continue
			}
			p.add(bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: uint32(r.lo), SkipFalse: 2},
				bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(r.hi), SkipTrue: 1})
			p.pass()
		}
	}
}

// assembly collects the instructions of a filter: every method but assemble adds to them.
// Jumps go forward, to the next label of that name, however far. A is the accumulator
// and X the index register of BPF.
type assembly struct {
	code    []bpf.Instruction
	snap    uint32
	pending []pendingJump
}

// pendingJump is a jump whose label has not been added yet.
type pendingJump struct {
	at    int
	label string
}

func (p *assembly) add(code ...bpf.Instruction) { p.code = append(p.code, code...) }

// pass keeps the packet, cut to the snap length.
func (p *assembly) pass() { p.add(bpf.RetConstant{Val: p.snap}) }

// drop does not keep the packet.
func (p *assembly) drop() { p.add(bpf.RetConstant{Val: 0}) }

// passIf keeps the packet if A is one of the values.
func (p *assembly) passIf(values ...uint32) {
	for _, v := range values {
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1})
		p.pass()
	}
}

// jump goes to a label if A is one of the values. A conditional jump reaches 255
// instructions only, so each skips an unconditional one, which reaches any.
func (p *assembly) jump(label string, values ...uint32) {
	for _, v := range values {
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: v, SkipFalse: 1})
		p.jumpAlways(label)
	}
}

func (p *assembly) jumpAlways(label string) {
	p.pending = append(p.pending, pendingJump{len(p.code), label})
	p.add(bpf.Jump{})
}

// label marks the place to which the jumps added so far to that name go.
func (p *assembly) label(name string) {
	rest := p.pending[:0]
	for _, j := range p.pending {
		if j.label == name {
			p.code[j.at] = bpf.Jump{Skip: uint32(len(p.code) - j.at - 1)}
		} else {
			rest = append(rest, j)
		}
	}
	p.pending = rest
}

// assemble returns the program. A jump without a label, which is a mistake in this
// package, is an error.
func (p *assembly) assemble() ([]bpf.Instruction, error) {
	if len(p.pending) > 0 {
		return nil, fmt.Errorf("automatic filter: no label %s", p.pending[0].label)
	}
	if len(p.code) > maxInstructions {
		return nil, fmt.Errorf("automatic filter: %d instructions: the kernel takes %d", len(p.code), maxInstructions)
	}
	return p.code, nil
}

// How patterns become loads and comparisons. Nearly all packets have none of the
// patterns, so that loads decide the cost: patterns whose first comparison is of the
// same bytes, in payloads of the same lengths, are a group, which loads them once.

// word is a comparison of 1, 2 or 4 bytes at an offset of the payload, in the bits that
// are set in mask.
type word struct {
	off, size   int
	mask, value uint32
}

// group is what patterns have in common that share a load.
type group struct {
	min, max  int // length of the payload; a max of 0 is no bound
	off, size int
	mask      uint32
}

// isValid reports whether p can be looked for: it has bytes to look for, in payloads that
// have room for them.
func (p *PayloadPattern) isValid() bool {
	end := p.Offset + len(p.Value)
	switch {
	case p.Offset < 0 || end > maxPatternEnd || p.Mask != nil && len(p.Mask) != len(p.Value):
		return false
	case p.MaxLen > 0 && (p.MaxLen < end || p.MaxLen < p.MinLen), p.MaxLen < 0, p.MaxLen > maxPayload, p.MinLen > maxPayload:
		return false
	}
	return len(p.words()) > 0
}

// byteAt returns byte i of the pattern and the mask for it.
func (p *PayloadPattern) byteAt(i int) (value, mask byte) {
	mask = 0xff
	if p.Mask != nil {
		mask = p.Mask[i]
	}
	return p.Value[i] & mask, mask
}

// words divides the pattern into comparisons: each is as long as possible without
// reading beyond the shortest payload, and bytes that do not matter are not compared.
func (p *PayloadPattern) words() (all []word) {
	end := max(p.MinLen, p.Offset+len(p.Value))
	for at := 0; at < len(p.Value); {
		size := 4
		for p.Offset+at+size > end {
			size /= 2
		}
		w := word{off: p.Offset + at, size: size}
		for i := at; i < at+size; i++ {
			value, mask := byte(0), byte(0)
			if i < len(p.Value) {
				value, mask = p.byteAt(i)
			}
			w.value, w.mask = w.value<<8|uint32(value), w.mask<<8|uint32(mask)
		}
		if w.mask != 0 {
			all = append(all, w)
		}
		at += size
	}
	return all
}

// groupOf is what p, of which first is the first comparison, may share with others.
func groupOf(p *PayloadPattern, first word) group {
	return group{max(p.MinLen, p.Offset+len(p.Value)), p.MaxLen, first.off, first.size, first.mask}
}

// passPayloads adds code that passes UDP datagrams whose payload has one of the
// patterns, and drops the others. A load beyond the end of a packet would drop it, so
// the UDP length is compared first. It is 0 before the network card divides a datagram
// (segmentation offload), which is long enough for every pattern.
func (p *assembly) passPayloads(patterns []PayloadPattern) {
	groups := map[group][][]word{}
	for _, x := range patterns {
		words := x.words()
		g := groupOf(&x, words[0])
		groups[g] = append(groups[g], words)
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b group) int { // the shortest first
		return cmp.Or(cmp.Compare(a.min, b.min), cmp.Compare(a.max, b.max), cmp.Compare(a.off, b.off),
			cmp.Compare(a.size, b.size), cmp.Compare(a.mask, b.mask))
	})
	for i, g := range order {
		next := fmt.Sprint("payload ", i+1)
		p.checkLength(&g, next)
		p.loadPayload(g.off, g.size, g.mask)
		for j, words := range groups[g] {
			p.passWords(words, fmt.Sprint(next, ", ", j), &g)
		}
		p.label(next)
	}
	p.drop()
}

// checkLength jumps to next if the length of the payload is not that of g.
func (p *assembly) checkLength(g *group, next string) {
	p.add(bpf.LoadIndirect{Off: udpLengthAt, Size: 2})
	fits := fmt.Sprint(next, ", fits")
	if g.max == 0 {
		p.jump(fits, 0)
	}
	p.add(bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: uint32(udpLen + g.min), SkipTrue: 1})
	p.jumpAlways(next)
	if g.max > 0 {
		p.add(bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(udpLen + g.max), SkipFalse: 1})
		p.jumpAlways(next)
	}
	p.label(fits)
}

// loadPayload loads bytes of the payload and clears the bits that mask does not have.
func (p *assembly) loadPayload(off, size int, mask uint32) {
	p.add(bpf.LoadIndirect{Off: uint32(udpLen + off), Size: size})
	if mask != 1<<(8*size)-1 {
		p.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask})
	}
}

// passWords passes the packet if all comparisons of a pattern hold. Before it and after
// it, A has the bytes of the first comparison, which all patterns of g share.
func (p *assembly) passWords(passWords []word, fails string, g *group) {
	if len(passWords) == 1 {
		p.passIf(passWords[0].value)
		return
	}
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: passWords[0].value, SkipTrue: 1})
	p.jumpAlways(fails + ", first")
	for _, w := range passWords[1:] {
		p.loadPayload(w.off, w.size, w.mask)
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: w.value, SkipTrue: 1})
		p.jumpAlways(fails)
	}
	p.pass()
	p.label(fails)
	p.loadPayload(g.off, g.size, g.mask)
	p.label(fails + ", first")
}

// parseFilter reads Filter. A build with libpcap leaves an expression to it that only libpcap
// compiles.
func (o *Options) parseFilter() error {
	if o.Filter == "" {
		return nil
	}
	for _, name := range o.Interfaces {
		if isDatagrams(name) {
			e := filterError("", o.Filter, "it would see the datagrams of the mirror, not the packets in them")
			e.Hint = "choose messages with -Y, or filter at the mirror"
			return e
		}
	}
	expr, err := pcapfilter.Parse(o.Filter)
	if err == nil {
		o.expr = expr
		return nil
	}
	var wrong *pcapfilter.Error
	if errors.As(err, &wrong) && wrong.Unsupported && HasLibpcap && o.Backend != AFPacket {
		o.needsLibpcap = true
		return nil
	}
	return expressionError("", o.Filter, err)
}

// expressionError returns the error about an expression that Parse or Compile refuses.
func expressionError(iface, filter string, err error) *Error {
	e := filterError(iface, filter, err.Error())
	var wrong *pcapfilter.Error
	if !errors.As(err, &wrong) {
		return e
	}
	switch {
	case wrong.Unsupported && HasLibpcap:
		e.Hint = "--backend libpcap compiles it"
	case wrong.Unsupported:
		e.Hint = "write it in other words, or as bytes such as ether[12:2] = 0x8847; or build with CGO_ENABLED=1 and the headers of libpcap"
	case wrong.Hint != "":
		e.Hint = wrong.Hint
	}
	e.Err = errors.Join(ErrFilter, wrong)
	return e
}

// program returns the program of the expression for an interface, nil if libpcap has to compile it:
// what only the kernel knows of a packet libpcap gives to programs of its own.
func (o *Options) program(name string, link uint16, byLibpcap bool) ([]bpf.RawInstruction, error) {
	at, ok := pcapfilter.Kernel(link)
	if byLibpcap {
		at, ok = pcapfilter.File(link)
	}
	if o.expr == nil || !ok || byLibpcap && o.expr.UsesMetadata() {
		return nil, nil
	}
	p, err := o.expr.Compile(at, uint32(o.Snap))
	if err != nil {
		return nil, expressionError(name, o.Filter, err)
	}
	if p.Len() > maxInstructions {
		return nil, filterError(name, o.Filter, fmt.Sprintf("%d instructions: the kernel takes %d", p.Len(), maxInstructions))
	}
	return p.Instructions(), nil
}
