// Package pcapfilter compiles capture filters, the language of tcpdump (man 7 pcap-filter), to
// classic BPF. A program runs in the kernel, or here over packets of a file: Program.Match.
//
// Parse reads an expression into nodes. Compile makes a graph of comparisons of them for one
// layout of packets, in the order in which libpcap's compiler has them; simplify removes
// comparisons whose outcome the ones before have decided, and assemble writes instructions:
//
//	text -> tokens (scan.go) -> nodes (parse.go) -> comparisons (compile.go, graph.go) -> BPF (assemble.go)
//
// The verdict is libpcap's for each packet, cut ones included: a load after the captured bytes
// drops the packet. What the package does not compile are rare words (otherWords), names of
// hosts, which would have to be looked up, and link types that Layout does not list.
package pcapfilter

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

const (
	// maxText is the longest expression in bytes. Chosen: 500 addresses and more, which are as
	// many instructions as the kernel takes.
	maxText = 64 << 10

	// maxDepth is how deeply parentheses, brackets and "not" are nested: the parser
	// recurses. Chosen: more than expressions of people have.
	maxDepth = 100
)

// Expr is an expression that was parsed. It is not changed after that.
type Expr struct {
	Text string
	Root Node // nil: the expression is empty, and keeps all packets
}

// Node is a part of an expression that is true or false for a packet.
type Node interface{ isNode() }

// The nodes.
type (
	// And, Or and Not combine others.
	And struct{ X, Y Node }
	Or  struct{ X, Y Node }
	Not struct{ X Node }

	// Proto is a protocol alone: "udp".
	Proto struct{ Name string }

	// Match compares an address, port or protocol number with a value.
	Match struct {
		Qualifier
		Text  string       // the value as written
		Net   netip.Prefix // of host and net, whose bits after the prefix are 0; invalid for mac
		Mask  uint32       // of an IPv4 Net
		IsMAC bool         // of host: MAC is the value
		MAC   [6]byte

		Lo, Hi    uint16 // of port and portrange
		Transport uint32 // of port: the only protocol that it stands for, as it is a name; 0: any
		Number    uint32 // of proto

		at, end int
	}

	// Compare compares two numbers: Op is one of = != < > <= >=.
	Compare struct {
		Op   string
		X, Y Arith
	}

	// Length is "less" or "greater".
	Length struct {
		AtMost bool
		N      uint32
	}

	// Tag is "vlan", with the number of a network or -1 for any. All that follows it in the
	// expression is looked for after the tag.
	Tag struct{ ID int64 }

	// Cast is "broadcast" or "multicast", of Ethernet or a protocol.
	Cast struct {
		Proto     string
		Broadcast bool
		at, end   int
	}

	// Direction is "inbound" or "outbound".
	Direction struct {
		Out     bool
		at, end int
	}

	// Device is "ifindex".
	Device struct {
		Index   uint32
		at, end int
	}
)

func (*And) isNode()       {}
func (*Or) isNode()        {}
func (*Not) isNode()       {}
func (*Proto) isNode()     {}
func (*Match) isNode()     {}
func (*Compare) isNode()   {}
func (*Length) isNode()    {}
func (*Tag) isNode()       {}
func (*Cast) isNode()      {}
func (*Direction) isNode() {}
func (*Device) isNode()    {}

// Qualifier says what a value is compared with. Values without one have that of the value
// before: "port 53 or 80".
type Qualifier struct {
	Proto string // "udp", "ip", "ether", ...; empty: any
	Dir   string // "src", "dst", "src and dst", "src or dst" or empty, which is the last
	Type  string // "host", "net", "port", "portrange", "proto" or empty, which is host
}

// Arith is a number that a packet has.
type Arith interface{ isArith() }

// The numbers.
type (
	// Number is a constant.
	Number struct{ N uint32 }
	// Len is the length of the packet on the wire.
	Len struct{}
	// Load is Size bytes at an offset in the header of a protocol.
	Load struct {
		Proto   string
		Off     Arith
		Size    int
		at, end int
	}
	// Neg is -X.
	Neg struct{ X Arith }
	// Binary is X Op Y, Op one of + - * / % & | ^ << >>.
	Binary struct {
		Op      string
		X, Y    Arith
		at, end int
	}
)

func (*Number) isArith() {}
func (*Len) isArith()    {}
func (*Load) isArith()   {}
func (*Neg) isArith()    {}
func (*Binary) isArith() {}

// Error is what is wrong with an expression, and where.
type Error struct {
	Text    string // the expression
	At, End int    // of the part that is wrong
	Message string // lower case, one line
	Hint    string // what to do; may be empty

	// Unsupported is set for what libpcap compiles and this package does not. The rest of the
	// expression may have mistakes that were not looked for.
	Unsupported bool
}

// Error returns one line with the part that is wrong.
func (e *Error) Error() string { return e.Message }

// parser reads tokens one by one; tok is the next one.
type parser struct {
	scan  scanner
	tok   token
	after int // where the token before tok ended
	depth int
}

// Parse reads an expression. Errors are of type *Error.
func Parse(text string) (expr *Expr, err error) {
	p := &parser{scan: scanner{text: text}}
	defer func() {
		if x := recover(); x != nil {
			wrong, ok := x.(*Error)
			if !ok {
				panic(x)
			}
			expr, err = nil, wrong
		}
	}()
	if len(text) > maxText {
		p.failAt(0, 0, fmt.Sprintf("%d bytes long: at most %d", len(text), maxText), "")
	}
	p.next()
	expr = &Expr{Text: text}
	if p.tok.kind == endOfText {
		return expr, nil
	}
	it := p.expression(nil, false)
	if p.tok.kind != endOfText {
		p.unexpected("")
	}
	expr.Root = it.node
	return expr, nil
}

func (p *parser) next() {
	p.after = p.tok.end
	p.tok = p.scan.next()
}

// accept moves after the next token if it is this keyword or operator.
func (p *parser) accept(text string) bool {
	if !p.tok.is(text) {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(text string) {
	if !p.accept(text) {
		p.unexpected(fmt.Sprintf("%q is missing", text))
	}
}

func (p *parser) failAt(at, end int, message, hint string) {
	panic(&Error{Text: p.scan.text, At: at, End: end, Message: message, Hint: hint})
}

// unexpected fails at the next token; message replaces the general one if it is not empty.
func (p *parser) unexpected(message string) {
	word := p.scan.text[p.tok.at:p.tok.end]
	if p.tok.kind == name && otherWords[strings.ToLower(p.tok.text)] {
		panic(&Error{Text: p.scan.text, At: p.tok.at, End: p.tok.end, Unsupported: true,
			Message: fmt.Sprintf("%q is a word of tcpdump that only libpcap compiles", word)})
	}
	hint := ""
	switch {
	case message != "" && word != "":
		message += " before " + strconv.Quote(word)
	case message != "":
		message += " at the end"
	case p.tok.kind == endOfText:
		message = "the expression ends early"
	case p.tok.kind == name:
		message = fmt.Sprintf("%q is no word of tcpdump's language", word)
		hint = nearWord(p.tok.text)
	default:
		message = fmt.Sprintf("%q is not expected here", word)
	}
	p.failAt(p.tok.at, p.tok.end, message, hint)
}

// enter fails if the expression is nested too deeply; leave undoes it.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.failAt(p.tok.at, p.tok.end, fmt.Sprintf("nested more than %d deep", maxDepth), "")
	}
}

func (p *parser) leave() { p.depth-- }

// item is what an operand is: a node, or a number that no comparison follows. With a node comes
// the qualifier that values after it have, or nil.
type item struct {
	node  Node
	arith Arith
	q     *Qualifier
}

// expression parses operands with "and" and "or" between them, which bind equally, from left to
// right. q is the qualifier of values that have none. If mayBeNumber, the expression may be a
// number that ")" follows.
func (p *parser) expression(q *Qualifier, mayBeNumber bool) item {
	left := p.operand(q, mayBeNumber)
	for left.node != nil {
		isAnd := p.tok.is("and")
		if !isAnd && !p.tok.is("or") {
			break
		}
		p.next()
		right := p.operand(left.q, false)
		if isAnd {
			left.node = &And{left.node, right.node}
		} else {
			left.node = &Or{left.node, right.node}
		}
		left.q = right.q
	}
	return left
}

// operand parses what stands between "and" and "or".
func (p *parser) operand(q *Qualifier, mayBeNumber bool) item {
	p.enter()
	defer p.leave()
	switch {
	case p.accept("not"):
		it := p.operand(q, false)
		return item{node: &Not{it.node}, q: it.q}
	case p.tok.is("("):
		p.next()
		it := p.expression(q, true)
		p.expect(")")
		if it.arith == nil {
			return item{node: it.node, q: q}
		}
		return p.comparison(p.arithAfter(it.arith, 0), q, mayBeNumber)
	case p.beginsNumber():
		return p.comparison(p.arith(0), q, mayBeNumber)
	case p.isValue():
		return item{node: p.match(q), q: q}
	case p.tok.kind == keyword:
		return p.primitive(mayBeNumber)
	}
	p.unexpected("")
	return item{}
}

// beginsNumber reports whether the next token begins a number and nothing else.
func (p *parser) beginsNumber() bool {
	return p.tok.kind == number || p.tok.is("len") || p.tok.is("-")
}

// isValue reports whether the next token is a value: an address or a name.
func (p *parser) isValue() bool {
	switch p.tok.kind {
	case ipv4, ipv6, mac:
		return true
	case name:
		return !otherWords[strings.ToLower(p.tok.text)]
	}
	return false
}

// comparison parses what follows the number x: a comparison, or nothing. A number alone is a
// value of q.
func (p *parser) comparison(x Arith, q *Qualifier, mayBeNumber bool) item {
	if p.tok.kind == operator {
		switch op := p.tok.text; op {
		case "=", "!=", "<", ">", "<=", ">=":
			p.next()
			return item{node: &Compare{op, x, p.arith(0)}}
		}
	}
	if mayBeNumber && p.tok.is(")") {
		return item{arith: x}
	}
	n, ok := x.(*Number)
	if !ok {
		p.unexpected("a comparison such as = 5 is missing")
	}
	return item{node: p.matchNumber(n.N, q), q: q}
}

// primitive parses what begins with a keyword.
func (p *parser) primitive(mayBeNumber bool) item {
	begin := p.tok.at
	word := p.tok.text
	switch word {
	case "less", "greater":
		p.next()
		return item{node: &Length{word == "less", p.number()}}
	case "vlan":
		p.next()
		tag := &Tag{ID: -1}
		if p.tok.kind == number {
			if tag.ID = int64(p.tok.n); tag.ID > 0x0fff {
				p.failAt(p.tok.at, p.tok.end, "a VLAN has a number up to 4095", "")
			}
			p.next()
		}
		return item{node: tag}
	case "inbound", "outbound":
		p.next()
		return item{node: &Direction{word == "outbound", begin, p.after}}
	case "ifindex":
		p.next()
		return item{node: &Device{p.number(), begin, p.after}}
	case "broadcast", "multicast":
		p.next()
		return item{node: &Cast{"", word == "broadcast", begin, p.after}}
	}
	var q Qualifier
	if isProto(word) {
		q.Proto = word
		p.next()
		if p.tok.is("[") {
			return p.comparison(p.arithAfter(p.load(word, begin), 0), nil, mayBeNumber)
		}
		if p.tok.is("broadcast") || p.tok.is("multicast") {
			cast := &Cast{word, p.tok.text == "broadcast", begin, p.tok.end}
			if word != "ether" && (cast.Broadcast || word != "ip" && word != "ip6") {
				text := p.scan.text[begin:p.tok.end]
				panic(&Error{Text: p.scan.text, At: begin, End: p.tok.end, Unsupported: true, Message: fmt.Sprintf("%q: only libpcap compiles that", text)})
			}
			p.next()
			return item{node: cast}
		}
	}
	p.qualify(&q)
	if q.Dir == "" && q.Type == "" {
		if q.Proto == "" {
			p.unexpected("")
		}
		if q.Proto == "ether" {
			p.unexpected("what of Ethernet: host, src, dst, proto or [offset]")
		}
		return item{node: &Proto{q.Proto}}
	}
	if !p.isValue() && p.tok.kind != number && !p.tok.is("(") && !p.tok.is("not") {
		p.unexpected("a value is missing")
	}
	return p.operand(&q, false)
}

// isProto reports whether a keyword is a protocol.
func isProto(word string) bool {
	if _, ok := etherProtocols[word]; ok || word == "ether" {
		return true
	}
	_, ok := overIP[word]
	return ok
}

// qualify reads the direction and the type of values.
func (p *parser) qualify(q *Qualifier) {
	if p.tok.is("src") || p.tok.is("dst") {
		q.Dir = p.tok.text
		p.next()
		if p.tok.is("and") || p.tok.is("or") {
			other := map[string]string{"src": "dst", "dst": "src"}[q.Dir]
			if ahead := p.scan; isNext(&ahead, other) {
				q.Dir = "src " + p.tok.text + " dst"
				p.next()
				p.next()
			}
		}
	}
	switch {
	case p.tok.is("host"), p.tok.is("net"), p.tok.is("port"), p.tok.is("portrange"):
	case p.tok.is("proto") && q.Dir == "":
	default:
		return
	}
	q.Type = p.tok.text
	p.next()
}

// isNext reports whether the token that s comes to is this keyword.
func isNext(s *scanner, word string) bool {
	t := s.next()
	return t.is(word)
}

// number parses a constant.
func (p *parser) number() uint32 {
	if p.tok.kind != number {
		p.unexpected("a number is missing")
	}
	n := p.tok.n
	p.next()
	return n
}

// precedence is how tightly an operator between numbers binds; 0 is for what is none. Of % and ^
// libpcap reads "2 * 3 % 4" in another order than people do: they stand between two operands only.
func precedence(t *token) int {
	if t.kind != operator {
		return 0
	}
	switch t.text {
	case "|":
		return 1
	case "&":
		return 2
	case "<<", ">>":
		return 3
	case "+", "-":
		return 4
	case "*", "/":
		return 5
	case "%", "^":
		return 6
	}
	return 0
}

// arith parses a number whose operators bind more tightly than above.
func (p *parser) arith(above int) Arith {
	p.enter()
	defer p.leave()
	return p.arithAfter(p.atom(), above)
}

// arithAfter parses the operators after x.
func (p *parser) arithAfter(x Arith, above int) Arith {
	isSum := above > 0 // x is part of a longer one
	for {
		level := precedence(&p.tok)
		if level <= above {
			return x
		}
		op := p.tok
		p.next()
		if level < 6 {
			x = &Binary{op.text, x, p.arith(level), op.at, op.end}
			isSum = true
			continue
		}
		x = &Binary{op.text, x, p.atom(), op.at, op.end}
		if isSum || precedence(&p.tok) > 0 {
			p.failAt(op.at, op.end, fmt.Sprintf("%q beside another operator", op.text), "write parentheses around it")
		}
		return x
	}
}

// atom parses a number without operators.
func (p *parser) atom() Arith {
	p.enter()
	defer p.leave()
	t := p.tok
	switch {
	case t.kind == number:
		p.next()
		return &Number{t.n}
	case p.accept("len"):
		return &Len{}
	case p.accept("-"):
		return &Neg{p.atom()}
	case p.accept("("):
		x := p.arith(0)
		p.expect(")")
		return x
	case t.kind == keyword && isProto(t.text):
		p.next()
		return p.load(t.text, t.at)
	}
	p.unexpected("a number is missing")
	return nil
}

// load parses [OFFSET] or [OFFSET:SIZE] after a protocol.
func (p *parser) load(proto string, begin int) Arith {
	p.expect("[")
	l := &Load{Proto: proto, Size: 1}
	l.Off = p.arith(0)
	if p.accept(":") {
		at := p.tok
		l.Size = int(p.number())
		if l.Size != 1 && l.Size != 2 && l.Size != 4 {
			p.failAt(at.at, at.end, "1, 2 or 4 bytes can be compared", "")
		}
	}
	p.expect("]")
	l.at, l.end = begin, p.after
	return l
}

// matchNumber returns the comparison with a number, which was the token before.
func (p *parser) matchNumber(n uint32, q *Qualifier) Node {
	m := &Match{Text: strconv.FormatUint(uint64(n), 10), at: p.after - 1, end: p.after}
	for m.at > 0 && strings.IndexByte(wordBytes, p.scan.text[m.at-1]) >= 0 {
		m.at--
	}
	if q == nil {
		p.failAt(m.at, m.end, fmt.Sprintf("what is %s: a host, a port?", m.Text), "write port "+m.Text)
	}
	m.Qualifier = *q
	switch q.Type {
	case "port", "portrange":
		if n > 0xffff {
			p.failAt(m.at, m.end, "ports end at 65535", "")
		}
		m.Lo, m.Hi = uint16(n), uint16(n)
	case "proto":
		m.Number = n
	case "net":
		mask := ^uint32(0)
		for n != 0 && n>>24 == 0 {
			n, mask = n<<8, mask<<8
		}
		m.setIPv4(n, mask)
	default:
		m.setIPv4(n, ^uint32(0))
	}
	p.checkQualifier(m)
	return m
}

// setIPv4 sets the address of a host or a network.
func (m *Match) setIPv4(addr, mask uint32) {
	bits := 0
	for bits < 32 && mask&(1<<(31-bits)) != 0 {
		bits++
	}
	m.Mask = mask
	m.Net = netip.PrefixFrom(netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}), bits)
}

// match parses a value: an address, a network or a name.
func (p *parser) match(q *Qualifier) Node {
	t := p.tok
	p.next()
	m := &Match{Text: t.text, at: t.at, end: t.end}
	if q == nil {
		p.failAt(t.at, t.end, fmt.Sprintf("what is %s: a host, a port?", t.text), nearWord(t.text))
	}
	m.Qualifier = *q
	switch t.kind {
	case ipv4:
		p.matchIPv4(m, &t)
	case ipv6:
		p.matchIPv6(m, &t)
	case mac:
		if q.Proto != "ether" || q.Type != "host" && q.Type != "" {
			p.failAt(t.at, t.end, "an address of Ethernet", "write ether host "+t.text)
		}
		m.IsMAC, m.MAC = true, t.mac
	default:
		p.matchName(m, &t)
	}
	p.checkQualifier(m)
	return m
}

// matchIPv4 parses ADDRESS, ADDRESS/BITS or ADDRESS mask ADDRESS.
func (p *parser) matchIPv4(m *Match, t *token) {
	addr, mask := t.n<<(32-t.bits), ^uint32(0)<<(32-t.bits)
	isNet := true
	switch {
	case p.accept("/"):
		bits := p.number()
		if bits > 32 {
			p.failAt(t.at, p.after, "an IPv4 address has 32 bits", "")
		}
		mask = uint32(^uint64(0) << (32 - bits))
	case p.accept("mask"):
		if p.tok.kind != ipv4 {
			p.unexpected("a mask such as 255.255.255.0 is missing")
		}
		mask = p.tok.n << (32 - p.tok.bits)
		p.next()
	default:
		isNet = false
	}
	m.Text, m.end = p.scan.text[t.at:p.after], p.after
	switch {
	case isNet && m.Type != "net":
		p.failAt(t.at, p.after, "a network", "write net "+m.Text)
	case addr&^mask != 0:
		p.failAt(t.at, p.after, "bits after the mask are set", "")
	}
	m.setIPv4(addr, mask)
}

// matchIPv6 parses ADDRESS or ADDRESS/BITS.
func (p *parser) matchIPv6(m *Match, t *token) {
	bits := 128
	if p.accept("/") {
		if n := p.number(); n <= 128 {
			bits = int(n)
		} else {
			p.failAt(t.at, p.after, "an IPv6 address has 128 bits", "")
		}
	}
	m.Text, m.end = p.scan.text[t.at:p.after], p.after
	m.Net = netip.PrefixFrom(t.addr, bits)
	switch {
	case bits < 128 && m.Type != "net":
		p.failAt(t.at, p.after, "a network", "write net "+m.Text)
	case m.Net.Masked() != m.Net:
		p.failAt(t.at, p.after, "bits after the mask are set", "")
	}
}

// matchName reads a name of a port or a protocol, or a range of ports.
func (p *parser) matchName(m *Match, t *token) {
	switch m.Type {
	case "port", "portrange":
		lo, hi, isRange := strings.Cut(t.text, "-")
		a, err1 := strconv.ParseUint(lo, 10, 16)
		b, err2 := strconv.ParseUint(hi, 10, 16)
		if isRange && err1 == nil && err2 == nil {
			if m.Type == "port" {
				p.failAt(t.at, t.end, "a range of ports", "write portrange "+t.text)
			}
			m.Lo, m.Hi = uint16(min(a, b)), uint16(max(a, b))
			return
		}
		s, ok := services[t.text]
		if !ok {
			p.failAt(t.at, t.end, fmt.Sprintf("no port is known by the name %q", t.text), "write its number")
		}
		m.Lo, m.Hi, m.Transport = s.port, s.port, s.transport
	case "proto":
		table := ipProtocols
		if m.Proto == "ether" {
			table = etherProtocols
		}
		n, ok := table[t.text]
		if !ok {
			p.failAt(t.at, t.end, fmt.Sprintf("no protocol is known by the name %q", t.text), "write its number")
		}
		m.Number = n
	default:
		p.failAt(t.at, t.end, fmt.Sprintf("%q is no address; names are not looked up", t.text), "write the address")
	}
}

// checkQualifier fails if a value and its qualifier do not go together.
func (p *parser) checkQualifier(m *Match) {
	isIP := m.Net.IsValid()
	switch m.Type {
	case "port", "portrange":
		if isIP {
			p.failAt(m.at, m.end, m.Text+" is an address, not a port", "")
		}
		if _, ok := map[string]bool{"": true, "udp": true, "tcp": true, "sctp": true}[m.Proto]; !ok {
			p.failAt(m.at, m.end, m.Proto+" has no ports", "udp, tcp and sctp have ports")
		}
		if n := m.Transport; n != 0 && m.Proto != "" && overIP[m.Proto].number != n {
			p.failAt(m.at, m.end, fmt.Sprintf("%s is no port of %s", m.Text, m.Proto), "write its number")
		}
	case "proto":
		if isIP {
			p.failAt(m.at, m.end, m.Text+" is an address, not a protocol", "")
		}
		if _, ok := map[string]bool{"": true, "ip": true, "ip6": true, "ether": true}[m.Proto]; !ok {
			p.failAt(m.at, m.end, m.Proto+" has no field for a protocol", "ip proto, ip6 proto and ether proto have")
		}
		if m.Proto == "ether" && m.Number <= maxLLC {
			panic(&Error{Text: p.scan.text, At: m.at, End: m.end, Unsupported: true,
				Message: fmt.Sprintf("%q is a protocol of LLC, which only libpcap compiles", m.Text)})
		}
	default:
		switch six := isIP && m.Net.Addr().Is6(); {
		case m.IsMAC:
		case m.Proto == "ether":
			p.failAt(m.at, m.end, m.Text+" is no address of Ethernet", "write ip host "+m.Text)
		case six && (m.Proto == "ip" || m.Proto == "arp" || m.Proto == "rarp"),
			isIP && !six && m.Proto == "ip6":
			p.failAt(m.at, m.end, m.Text+" is no address of "+m.Proto, "")
		}
		switch m.Proto {
		case "", "ether", "ip", "ip6", "arp", "rarp", "udp", "tcp":
		default:
			p.failAt(m.at, m.end, m.Proto+" has no hosts", "write "+m.Proto+" and host "+m.Text)
		}
	}
}

// nearWord returns a hint on the keyword that a word was meant to be, or "".
func nearWord(word string) string {
	best, bestDistance := "", 3
	for k := range keywords {
		if d := distance(strings.ToLower(word), k); len(k) > 2 && (d < bestDistance || d == bestDistance && d < 3 && k < best) {
			best, bestDistance = k, d
		}
	}
	if best == "" || bestDistance*2 > len(best) {
		return ""
	}
	return "did you mean " + best + "?"
}

// distance returns how many letters have to be changed, added, removed or swapped to make b of a.
func distance(a, b string) int {
	if len(a) > 20 {
		return len(a)
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		for j := range rows[i] {
			switch {
			case i == 0:
				rows[i][j] = j
			case j == 0:
				rows[i][j] = i
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
				}
			}
		}
	}
	return rows[len(a)][len(b)]
}
