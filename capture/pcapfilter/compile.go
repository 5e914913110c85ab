package pcapfilter

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/net/bpf"
)

// overIP are the protocols over IP that are keywords: their number, and whether they are looked
// for in IPv4 and in IPv6.
var overIP = map[string]struct {
	number uint32
	v4, v6 bool
}{
	"tcp": {protoTCP, true, true}, "udp": {protoUDP, true, true}, "sctp": {protoSCTP, true, true},
	"icmp": {protoICMP, true, false}, "icmp6": {protoICMPv6, false, true}, "igmp": {protoIGMP, true, false}, "igrp": {protoIGRP, true, false},
	"pim": {protoPIM, true, true}, "vrrp": {protoVRRP, true, false}, "carp": {protoVRRP, true, false},
	"ah": {protoAH, true, true}, "esp": {protoESP, true, true},
}

// withPorts are the protocols that "port" is looked for in, in libpcap's order.
var withPorts = []uint32{protoSCTP, protoTCP, protoUDP}

// Offsets in headers.
const (
	tagLen    = 4
	ipv6Len   = 40
	directed  = 4 // direction of packets that this host sends, in cooked headers and for the kernel
	notFirst  = 0x1fff
	sll2Index = 4
	sll2Type  = 10
)

// compiler makes the blocks of an expression for a layout.
type compiler struct {
	*graph
	expr     *Expr
	at       Layout
	wasTaken bool // the outer tag of a VLAN is in the metadata
}

// state is what the position in the expression decides.
type state struct{ tags int } // how often "vlan" stands before

// Compile returns the program of the expression for packets of a layout. It keeps snap bytes of
// packets that pass. Errors are of type *Error.
func (e *Expr) Compile(at Layout, snap uint32) (p *Program, err error) {
	defer func() {
		if x := recover(); x != nil {
			wrong, ok := x.(*Error)
			if !ok {
				panic(x)
			}
			wrong.Text = e.Text
			p, err = nil, wrong
		}
	}()
	c := &compiler{graph: newGraph(), expr: e, at: at}
	root := c.accept
	if e.Root != nil {
		root = c.build(e.Root, state{}, c.accept, c.drop)
		if at.isFrame && at.metadata && countTags(e.Root) > 0 {
			c.wasTaken = true
			taken := c.build(e.Root, state{}, c.accept, c.drop)
			root = c.equals(c.extension(bpf.ExtVLANTagPresent), 0, root, taken)
		}
	}
	code, err := assemble(c.simplify(root), snap)
	if err != nil {
		c.fail(0, 0, "%s", err)
	}
	return newProgram(code)
}

func (c *compiler) fail(at, end int, format string, a ...any) {
	panic(&Error{Text: c.expr.Text, At: at, End: end, Message: fmt.Sprintf(format, a...)})
}

// UsesMetadata reports whether the expression asks for what the kernel of a live capture may know
// of a packet beside its bytes: tags of VLANs, the direction, the interface.
func (e *Expr) UsesMetadata() bool { return e.Root != nil && usesMetadata(e.Root) }

func usesMetadata(n Node) bool {
	switch n := n.(type) {
	case *And:
		return usesMetadata(n.X) || usesMetadata(n.Y)
	case *Or:
		return usesMetadata(n.X) || usesMetadata(n.Y)
	case *Not:
		return usesMetadata(n.X)
	case *Tag, *Direction, *Device:
		return true
	}
	return false
}

// countTags returns how often "vlan" stands in n.
func countTags(n Node) int {
	switch n := n.(type) {
	case *And:
		return countTags(n.X) + countTags(n.Y)
	case *Or:
		return countTags(n.X) + countTags(n.Y)
	case *Not:
		return countTags(n.X)
	case *Tag:
		return 1
	}
	return 0
}

// build returns the block that begins n, which goes on to yes or to no.
func (c *compiler) build(n Node, s state, yes, no *block) *block {
	switch n := n.(type) {
	case *And:
		after := state{s.tags + countTags(n.X)}
		return c.build(n.X, s, c.build(n.Y, after, yes, no), no)
	case *Or:
		if list := alternatives(n); list != nil {
			return c.match(list, s, yes, no)
		}
		after := state{s.tags + countTags(n.X)}
		return c.build(n.X, s, yes, c.build(n.Y, after, yes, no))
	case *Not:
		return c.build(n.X, s, no, yes)
	case *Proto:
		return c.proto(n.Name, s, yes, no)
	case *Match:
		return c.match([]*Match{n}, s, yes, no)
	case *Compare:
		return c.relation(n, s, yes, no)
	case *Length:
		if n.AtMost {
			return c.compare(c.length(), above, c.constant(n.N), no, yes)
		}
		return c.compare(c.length(), atLeast, c.constant(n.N), yes, no)
	case *Tag:
		return c.tag(n, s, yes, no)
	case *Cast:
		return c.cast(n, s, yes, no)
	case *Direction:
		return c.direction(n, yes, no)
	case *Device:
		switch {
		case c.at.metadata:
			return c.equals(c.extension(bpf.ExtInterfaceIndex), n.Index, yes, no)
		case c.at.isSLL2:
			return c.equals(c.load(sll2Index, 4), n.Index, yes, no)
		}
		c.fail(n.at, n.end, "ifindex: packets of %s do not name their interface", c.at.name)
	}
	panic("pcapfilter: a node of no kind")
}

// alternatives returns the values of an "or" whose operands have one qualifier, as "port 1 or 2",
// or nil: each header is loaded once for all of them.
func alternatives(n Node) []*Match {
	switch n := n.(type) {
	case *Match:
		if n.Type != "proto" && n.Dir != "src and dst" && !n.IsMAC && (!n.Net.IsValid() || n.Net.Addr().Is4()) {
			return []*Match{n}
		}
	case *Or:
		x, y := alternatives(n.X), alternatives(n.Y)
		if x == nil || y == nil || x[0].Qualifier != y[0].Qualifier || x[0].Transport != y[0].Transport {
			return nil
		}
		return append(x, y...)
	}
	return nil
}

func (c *compiler) extension(n bpf.Extension) *value {
	return c.value(valueKey{kind: extension, n: uint32(n)})
}

// length is that of the packet on the wire.
func (c *compiler) length() *value {
	return c.graph.binary("+", c.extension(bpf.ExtLen), c.constant(c.at.hidden))
}

// tagged is how many bytes tags before the network header have.
func (c *compiler) tagged(s state) uint32 {
	if c.wasTaken && s.tags > 0 {
		s.tags--
	}
	return uint32(s.tags * tagLen)
}

// network is the offset of the network header.
func (c *compiler) network(s state) uint32 { return c.at.payload + c.tagged(s) }

// etherType compares what the link header says of the next one.
func (c *compiler) etherType(k uint32, s state, yes, no *block) *block {
	anyOf := func(x *value, values ...uint32) *block {
		next := no
		for i := len(values) - 1; i >= 0; i-- {
			next = c.equals(x, values[i], yes, next)
		}
		return next
	}
	switch c.at.kind {
	case byEtherType:
		return anyOf(c.load(c.at.typeAt+c.tagged(s), 2), k)
	case byKernel:
		return anyOf(c.extension(bpf.ExtProto), k)
	}
	if k != etherIPv4 && k != etherIPv6 {
		return no
	}
	isIPv4 := k == etherIPv4
	switch c.at.kind {
	case byVersion:
		if isIPv4 {
			return anyOf(c.masked(c.load(0, 1), 0xf0), 0x40)
		}
		return anyOf(c.masked(c.load(0, 1), 0xf0), 0x60)
	case byPPP:
		if isIPv4 {
			return anyOf(c.load(c.at.typeAt, 2), 0x21)
		}
		return anyOf(c.load(c.at.typeAt, 2), 0x57)
	case byFamily, byFamilyBig:
		return c.family(isIPv4, yes, no)
	case alwaysIPv4:
		if isIPv4 {
			return yes
		}
	case alwaysIPv6:
		if !isIPv4 {
			return yes
		}
	}
	return no
}

// family compares the family of BSD's loopback. AF_INET is 2 everywhere; AF_INET6 is 10 on Linux, 24
// on NetBSD and OpenBSD, 28 on FreeBSD and 30 on macOS, which is one comparison: of 8, 12, 14 and 26,
// which it takes for these, no packets come from a loopback interface.
func (c *compiler) family(isIPv4 bool, yes, no *block) *block {
	order := 0
	if c.at.kind == byFamily {
		order = 24
	}
	word := c.load(0, 4)
	if isIPv4 {
		return c.equals(word, 2<<order, yes, no)
	}
	return c.equals(c.masked(word, ^uint32(0x16<<order)), 8<<order, yes, no)
}

// proto looks for a protocol.
func (c *compiler) proto(word string, s state, yes, no *block) *block {
	if k, ok := etherProtocols[word]; ok {
		return c.etherType(k, s, yes, no)
	}
	p := overIP[word]
	return c.ipProto(p.number, p.v4, p.v6, s, yes, no)
}

// ipProto looks for a protocol over IPv4 or IPv6. Of extension headers of IPv6 only that of
// fragments is stepped over.
func (c *compiler) ipProto(number uint32, v4, v6 bool, s state, yes, no *block) *block {
	at := c.network(s)
	next := no
	if v6 {
		first := c.load(at+6, 1)
		fragment := c.equals(first, protoFragment, c.equals(c.load(at+ipv6Len, 1), number, yes, no), no)
		next = c.etherType(etherIPv6, s, c.equals(first, number, yes, fragment), no)
	}
	if v4 {
		next = c.etherType(etherIPv4, s, c.equals(c.load(at+9, 1), number, yes, next), next)
	}
	return next
}

// match compares with one of the values, which alternatives put together.
func (c *compiler) match(list []*Match, s state, yes, no *block) *block {
	m := list[0]
	switch m.Type {
	case "port", "portrange":
		return c.ports(list, s, yes, no)
	case "proto":
		switch m.Proto {
		case "ether":
			return c.etherType(m.Number, s, yes, no)
		case "ip":
			return c.ipProto(m.Number, true, false, s, yes, no)
		case "ip6":
			return c.ipProto(m.Number, false, true, s, yes, no)
		}
		return c.ipProto(m.Number, true, true, s, yes, no)
	}
	if m.Proto == "udp" || m.Proto == "tcp" {
		plain := make([]*Match, len(list))
		for i, x := range list {
			copied := *x
			copied.Proto = ""
			plain[i] = &copied
		}
		return c.proto(m.Proto, s, c.match(plain, s, yes, no), no)
	}
	if m.IsMAC {
		if !c.at.isFrame {
			c.fail(m.at, m.end, "packets of %s have no addresses of Ethernet", c.at.name)
		}
		return c.directions(m.Dir, yes, no, func(isDst bool, yes, no *block) *block {
			return c.mac(m, isDst, yes, no)
		})
	}
	if m.Net.Addr().Is6() {
		return c.hosts(list, etherIPv6, 8, s, yes, no)
	}
	type family struct{ etherType, at uint32 }
	families := []family{{etherIPv4, 12}, {etherARP, 14}, {etherRARP, 14}}
	switch m.Proto {
	case "ip":
		families = families[:1]
	case "arp":
		families = families[1:2]
	case "rarp":
		families = families[2:]
	}
	for i := len(families) - 1; i >= 0; i-- {
		no = c.hosts(list, families[i].etherType, families[i].at, s, yes, no)
	}
	return no
}

// directions calls one for the source, the destination, or both.
func (c *compiler) directions(dir string, yes, no *block, one func(isDst bool, yes, no *block) *block) *block {
	switch dir {
	case "src":
		return one(false, yes, no)
	case "dst":
		return one(true, yes, no)
	case "src and dst":
		return one(false, one(true, yes, no), no)
	}
	return one(false, yes, one(true, yes, no))
}

// hosts compares addresses in the header of an EtherType, the source at an offset.
func (c *compiler) hosts(list []*Match, etherType, at uint32, s state, yes, no *block) *block {
	return c.directions(list[0].Dir, yes, no, func(isDst bool, yes, no *block) *block {
		next := no
		for i := len(list) - 1; i >= 0; i-- {
			next = c.host(list[i], etherType, at, isDst, s, yes, next)
		}
		return c.etherType(etherType, s, next, no)
	})
}

// host compares one address.
func (c *compiler) host(m *Match, etherType, at uint32, isDst bool, s state, yes, no *block) *block {
	at += c.network(s)
	if addr := m.Net.Addr(); addr.Is6() {
		if isDst {
			at += 16
		}
		b := addr.As16()
		for word := 3; word >= 0; word-- {
			bits := min(max(m.Net.Bits()-32*word, 0), 32)
			mask := uint32(^uint64(0) << (32 - bits))
			yes = c.bits(at+uint32(4*word), mask, binary.BigEndian.Uint32(b[4*word:]), yes, no)
		}
		return yes
	}
	if isDst {
		if at += 4; etherType != etherIPv4 {
			at += 6 // after the address of Ethernet
		}
	}
	b := m.Net.Addr().As4()
	return c.bits(at, m.Mask, binary.BigEndian.Uint32(b[:]), yes, no)
}

// bits compares the bits of a word that are set in mask.
func (c *compiler) bits(at, mask, k uint32, yes, no *block) *block {
	switch mask {
	case 0:
		return yes
	case ^uint32(0):
		return c.equals(c.load(at, 4), k, yes, no)
	}
	return c.equals(c.masked(c.load(at, 4), mask), k, yes, no)
}

// mac compares an address of Ethernet, its end first, as it differs more.
func (c *compiler) mac(m *Match, isDst bool, yes, no *block) *block {
	at := uint32(6)
	if isDst {
		at = 0
	}
	first := c.equals(c.load(at, 2), uint32(binary.BigEndian.Uint16(m.MAC[:])), yes, no)
	return c.equals(c.load(at+2, 4), binary.BigEndian.Uint32(m.MAC[2:]), first, no)
}

// ports compares ports of one protocol, or of all that have some. Fragments but the first have
// none, and extension headers of IPv6 are not stepped over.
func (c *compiler) ports(list []*Match, s state, yes, no *block) *block {
	m := list[0]
	protocols := withPorts
	switch {
	case m.Proto != "":
		protocols = []uint32{overIP[m.Proto].number}
	case m.Transport != 0:
		protocols = []uint32{m.Transport}
	}
	at := c.network(s)
	compare := func(port func(isDst bool) *value, yes, no *block) *block {
		return c.directions(m.Dir, yes, no, func(isDst bool, yes, no *block) *block {
			x, next := port(isDst), no
			for i := len(list) - 1; i >= 0; i-- {
				next = c.portRange(x, list[i], yes, next)
			}
			return next
		})
	}
	header := c.value(valueKey{kind: headerLen, n: at})
	four, six := no, no
	for i := len(protocols) - 1; i >= 0; i-- {
		p := protocols[i]
		found := compare(func(isDst bool) *value {
			return c.value(valueKey{kind: loadAt, n: at + portAt(isDst), size: 2, x: header})
		}, yes, four)
		found = c.compare(c.masked(c.load(at+6, 2), notFirst), above, c.constant(0), four, found)
		four = c.equals(c.load(at+9, 1), p, found, four)
	}
	four = c.etherType(etherIPv4, s, four, no)
	six = four
	for i := len(protocols) - 1; i >= 0; i-- {
		found := compare(func(isDst bool) *value { return c.load(at+ipv6Len+portAt(isDst), 2) }, yes, six)
		six = c.equals(c.load(at+6, 1), protocols[i], found, six)
	}
	return c.etherType(etherIPv6, s, six, four)
}

// portAt is the offset of a port in the header of its protocol.
func portAt(isDst bool) uint32 {
	if isDst {
		return 2
	}
	return 0
}

func (c *compiler) portRange(x *value, m *Match, yes, no *block) *block {
	if m.Type == "port" {
		return c.equals(x, uint32(m.Lo), yes, no)
	}
	inside := c.compare(x, above, c.constant(uint32(m.Hi)), no, yes)
	return c.compare(x, atLeast, c.constant(uint32(m.Lo)), inside, no)
}

// tag looks for the tag of a VLAN after those that the expression named before.
func (c *compiler) tag(n *Tag, s state, yes, no *block) *block {
	if !c.at.isFrame {
		c.fail(0, 0, "vlan: packets of %s have no tags", c.at.name)
	}
	if c.wasTaken && s.tags == 0 {
		if n.ID < 0 {
			return yes
		}
		return c.equals(c.masked(c.extension(bpf.ExtVLANTag), 0x0fff), uint32(n.ID), yes, no)
	}
	if n.ID >= 0 {
		yes = c.equals(c.masked(c.load(c.network(s), 2), 0x0fff), uint32(n.ID), yes, no)
	}
	for _, k := range []uint32{etherOldQ, etherQinQ, etherVLAN} {
		no = c.etherType(k, s, yes, no)
	}
	return no
}

// cast looks for addresses of groups, or of all hosts.
func (c *compiler) cast(n *Cast, s state, yes, no *block) *block {
	switch {
	case n.Proto == "ip" && !n.Broadcast:
		return c.etherType(etherIPv4, s, c.compare(c.load(c.network(s)+16, 1), atLeast, c.constant(0xe0), yes, no), no)
	case n.Proto == "ip6" && !n.Broadcast:
		return c.etherType(etherIPv6, s, c.equals(c.load(c.network(s)+24, 1), 0xff, yes, no), no)
	case !c.at.isFrame:
		c.fail(n.at, n.end, "packets of %s have no addresses of Ethernet", c.at.name)
	case n.Broadcast:
		return c.mac(&Match{MAC: [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, true, yes, no)
	}
	return c.compare(c.masked(c.load(0, 1), 1), above, c.constant(0), yes, no)
}

// direction compares who sent a packet: this host, or another.
func (c *compiler) direction(n *Direction, yes, no *block) *block {
	if !n.Out {
		yes, no = no, yes
	}
	switch {
	case c.at.metadata:
		return c.equals(c.extension(bpf.ExtType), directed, yes, no)
	case c.at.isSLL:
		return c.equals(c.load(0, 2), directed, yes, no)
	case c.at.isSLL2:
		return c.equals(c.load(sll2Type, 1), directed, yes, no)
	}
	c.fail(n.at, n.end, "packets of %s do not have their direction", c.at.name)
	return nil
}

// relation compares two numbers, if the packet has the headers that they are in.
func (c *compiler) relation(n *Compare, s state, yes, no *block) *block {
	x, y := c.number(n.X, s), c.number(n.Y, s)
	var b *block
	switch n.Op {
	case "=":
		b = c.compare(x, equal, y, yes, no)
	case "!=":
		b = c.compare(x, equal, y, no, yes)
	case ">":
		b = c.compare(x, above, y, yes, no)
	case ">=":
		b = c.compare(x, atLeast, y, yes, no)
	case "<=":
		b = c.compare(x, above, y, no, yes)
	default:
		b = c.compare(x, atLeast, y, no, yes)
	}
	return c.hasHeaders(n.X, s, c.hasHeaders(n.Y, s, b, no), no)
}

// hasHeaders looks for the protocols that a number is loaded from, in libpcap's order. Of x + y it
// looks for those of x, as libpcap does.
func (c *compiler) hasHeaders(a Arith, s state, yes, no *block) *block {
	switch a := a.(type) {
	case *Neg:
		return c.hasHeaders(a.X, s, yes, no)
	case *Binary:
		return c.hasHeaders(a.X, s, yes, no)
	case *Load:
		p, isOver := overIP[a.Proto]
		switch {
		case a.Proto == "ether":
		case !isOver:
			yes = c.proto(a.Proto, s, yes, no)
		case a.Proto == "icmp6":
			yes = c.etherType(etherIPv6, s, c.equals(c.load(c.network(s)+6, 1), p.number, yes, no), no)
		default:
			yes = c.compare(c.masked(c.load(c.network(s)+6, 2), notFirst), above, c.constant(0), no, yes)
			yes = c.etherType(etherIPv4, s, c.proto(a.Proto, s, yes, no), no)
		}
		return c.hasHeaders(a.Off, s, yes, no)
	}
	return yes
}

// number returns the value of a number.
func (c *compiler) number(a Arith, s state) *value {
	switch a := a.(type) {
	case *Number:
		return c.constant(a.N)
	case *Len:
		return c.length()
	case *Neg:
		x := c.number(a.X, s)
		if x.kind == constant {
			return c.constant(-x.n)
		}
		return c.value(valueKey{kind: negative, x: x})
	case *Binary:
		x, y := c.number(a.X, s), c.number(a.Y, s)
		if y.kind == constant {
			switch {
			case y.n == 0 && (a.Op == "/" || a.Op == "%"):
				c.fail(a.at, a.end, "division by zero")
			case y.n > 31 && (a.Op == "<<" || a.Op == ">>"):
				c.fail(a.at, a.end, "a number has 32 bits: shift by 31 at most")
			}
		}
		return c.graph.binary(a.Op, x, y)
	case *Load:
		return c.loaded(a, s)
	}
	panic("pcapfilter: a number of no kind")
}

// loaded returns what is at an offset in the header of a protocol.
func (c *compiler) loaded(a *Load, s state) *value {
	off := c.number(a.Off, s)
	at := c.network(s)
	_, isOver := overIP[a.Proto]
	switch {
	case a.Proto == "ether":
		if c.at.hidden > 0 && (off.kind != constant || off.n < c.at.hidden) {
			c.fail(a.at, a.end, "the kernel does not see the header of %s", c.at.name)
		}
		if c.wasTaken && (off.kind != constant || off.n >= 12) {
			c.fail(a.at, a.end, "the kernel does not see the tags that vlan asks for in the frame")
		}
		at = -c.at.hidden
	case a.Proto == "icmp6":
		at += ipv6Len
	case isOver:
		header := c.value(valueKey{kind: headerLen, n: at})
		if off.kind == constant {
			return c.value(valueKey{kind: loadAt, n: at + off.n, size: a.Size, x: header})
		}
		return c.value(valueKey{kind: loadAt, n: at, size: a.Size, x: c.graph.binary("+", off, header)})
	}
	if off.kind == constant {
		return c.load(at+off.n, a.Size)
	}
	return c.value(valueKey{kind: loadAt, n: at, size: a.Size, x: off})
}
