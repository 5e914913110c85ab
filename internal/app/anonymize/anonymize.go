// Package anonymize makes captures fit to be shared: addresses, names and texts in packets
// are replaced by others of the same length, the same by the same, so that what is left
// decodes to the same messages. It names no protocol: the definitions of fields have flags
// for what identifies somebody (dissect.Identifying, dissect.Prose). It decodes and writes
// nothing: packages pipeline and subset do.
//
// NotHidden lists what stays as it is.
package anonymize

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"

	"qsniff/capture/packet"
	"qsniff/capture/packet/rewrite"
	"qsniff/dissect"
	"qsniff/internal/pipeline/subset"
	"qsniff/internal/render"
)

// NotHidden lists what an anonymised capture still shows.
var NotHidden = [...]string{
	"times (--shift moves them), sizes, ports, time to live, IP IDs, options of TCP, extension headers of IPv6",
	"numbers of tags and tunnels",
	"versions, maps, games, tags, numbers of players, scores and settings that are numbers",
	"which addresses share their first 8, 16 or 24 bits (IPv6: any multiple of 4), not those between; and which are private",
	"how many digits an octet has, and digits of IPv6 that are 0: addresses in texts stay as long",
	"which names and texts are equal, how long they are, and common words of consoles in texts",
}

// Anonymizer replaces what identifies somebody. It may be used by several goroutines at a
// time, but for Change.
type Anonymizer struct {
	key    [sha256.Size]byte
	digits [256]byte                 // what stands for a byte of binary numbers
	known  map[netip.Addr]netip.Addr // of Change
	work   sync.Pool                 // of *work
}

// work is memory that one goroutine at a time works with.
type work struct {
	a      *Anonymizer
	source rand.ChaCha8
	random *rand.Rand // of source
	seed   [2 + 16]byte
	lower  []byte // a word
	done   []bool // bytes of a message that are replaced
	// addrs has the addresses of IPv4 that were asked for last, by hash: lists of servers
	// repeat the same ones.
	addrs [1 << addrBits]struct{ from, to [4]byte }
}

// addrBits is the size of work.addrs: 32 KiB. Chosen: more than one list of servers has.
const addrBits = 12

// hashFactor spreads addresses of one network: 2^32 divided by the golden ratio.
const hashFactor = 2654435769

// New returns an Anonymizer. The same key replaces the same by the same.
func New(key []byte) *Anonymizer {
	a := &Anonymizer{key: sha256.Sum256(key), known: make(map[netip.Addr]netip.Addr)}
	a.work.New = func() any {
		w := &work{a: a}
		w.random = rand.New(&w.source)
		return w
	}
	w := a.work.Get().(*work)
	for i := range a.digits {
		a.digits[i] = byte(i)
	}
	w.cycle(a.digits[1:255], 0, []byte{0}) // 0 and -1 stand for none
	a.work.Put(w)
	return a
}

// purpose separates what is replaced by one key.
type purpose byte

const (
	forAddress purpose = iota
	forHardware
	forWord
	forNumber
)

// draw returns bytes that depend on the key, the purpose and b, and look random.
func (a *Anonymizer) draw(p purpose, b ...byte) [sha256.Size]byte {
	var buf [sha256.Size + 1 + 64]byte
	return sha256.Sum256(append(append(append(buf[:0], a.key[:]...), byte(p)), b...))
}

// AddEdits implements subset.Editor.
func (a *Anonymizer) AddEdits(to *subset.Edits, e *render.Event) {
	m := e.Msg
	if e.Origin.Packed != nil && m.Type == nil { // it could not be unpacked: its contents are unknown
		to.List = append(to.List, subset.Edit{New: none[:]})
		return
	}
	to.Data = append(to.Data[:0], m.Data...)
	out := to.Data
	w := a.work.Get().(*work)
	defer a.work.Put(w)
	w.done = slices.Grow(w.done[:0], len(out))[:len(out)]
	clear(w.done)
	for _, isAux := range [...]bool{false, true} { // first the fields with bytes of their own, then what was decoded from these
		for i := range m.Fields {
			if f := &m.Fields[i]; f.Flags&dissect.Aux != 0 == isAux && f.Flags&dissect.Generated == 0 {
				if isBinary(m, f) {
					continue // the fields decoded from it show what it is
				}
				w.replaceField(out, f, m.Bytes(f))
			}
		}
	}
	for lo := 0; lo < len(out); lo++ {
		hi := lo
		for hi < len(out) && out[hi] != m.Data[hi] {
			hi++
		}
		if hi > lo {
			to.List = append(to.List, subset.Edit{Off: uint32(lo), New: out[lo:hi]})
			lo = hi
		}
	}
}

// none stands for what is not known: any edit of it will do.
var none [1]byte

// replaceField replaces the value of a field in data, but for bytes that are done. Of an Aux
// field, value is what was made of these bytes.
func (w *work) replaceField(data []byte, f *dissect.Field, value []byte) {
	off, n := subset.ValueOf(f)
	b := data[off : off+n]
	own := w.done[off : off+n]
	d := f.Def
	isUnread := d.Kind == dissect.Bytes && d.Flags&dissect.Size == 0 // it may be anything
	switch {
	case d.Kind == dissect.Addr:
		w.replaceBinaryAddr(b)
	case d.Flags&(dissect.Identifying|dissect.Prose|dissect.Secret) == 0 && !isUnread:
		return
	case d.Kind == dissect.Uint || d.Kind == dissect.Int:
		w.a.replaceNumber(b, d.Flags&dissect.AsString != 0)
	default:
		if f.Flags&dissect.Aux != 0 { // of a pair, the value
			if at := bytes.LastIndex(b, value); at >= 0 {
				b, own = b[at:at+len(value)], own[at:at+len(value)]
			}
		}
		w.replaceText(b, own, d.Flags&dissect.Prose != 0 || isUnread)
	}
	for i := range own {
		own[i] = true
	}
}

// isBinary reports whether a text holds bytes that no text has, from which values are decoded.
func isBinary(m *dissect.Message, f *dissect.Field) bool {
	return f.Def.Kind == dissect.Text && f.Def.Flags&dissect.Prose != 0 && f.Flags&dissect.Aux == 0 &&
		bytes.ContainsFunc(m.Raw(f), func(c rune) bool { return c < 0x20 && c > 7 && c != '\t' && c != '\n' && c != '\r' }) &&
		slices.ContainsFunc(m.Fields, func(x dissect.Field) bool {
			return x.Flags&dissect.Aux != 0 && x.Off < f.Off+f.Len && f.Off < x.Off+x.Len
		})
}

// replaceNumber replaces a number that proves or names somebody: all digits, or of a SteamID
// those of the account. 0 and -1 stand for none.
func (a *Anonymizer) replaceNumber(b []byte, isSteamID bool) {
	lo, hi := digitsIn(b)
	if hi > lo {
		if !isSteamID || !a.replaceSteamDigits(b[lo:hi]) {
			a.replaceDigits(b[lo:hi])
		}
		return
	}
	if len(b) == 8 && binary.LittleEndian.Uint32(b) != 0 { // of a SteamID, the account
		binary.LittleEndian.PutUint32(b, a.account(binary.LittleEndian.Uint32(b)))
	}
	if len(b) == 4 { // some clients send it back in the other byte order: byte by byte
		for i, c := range b {
			if c != 0 && c != 0xff {
				b[i] = a.digits[c]
			}
		}
	}
}

// digitsIn returns where a number is in b, if b is one in digits, perhaps with blanks.
func digitsIn(b []byte) (lo, hi int) {
	for lo < len(b) && b[lo] == ' ' {
		lo++
	}
	for hi = lo; hi < len(b) && isDigit(b[hi]); hi++ {
	}
	for i := hi; i < len(b); i++ {
		if b[i] != ' ' {
			return 0, 0
		}
	}
	return lo, hi
}

// replaceDigits replaces a number, which stays as long.
func (a *Anonymizer) replaceDigits(b []byte) {
	for i := range b {
		if b[i] != '0' {
			x := a.draw(forNumber, b...)
			for i := range b {
				b[i] = '1' + x[i%len(x)]%9
			}
			if len(b) == len("4294967295") {
				b[0] = '1' // it stays one of 32 bits
			}
			return
		}
	}
}

// Change replaces the addresses in the headers of a packet, and what is not the packet's:
// options of IP, and bytes after its end. So are those in the header of a proxy before the payload.
func (a *Anonymizer) Change(x *rewrite.Packet) {
	for _, h := range x.Headers() {
		switch h.Kind {
		case packet.HeaderEthernet:
			a.replaceHardware(h.B[0:6])
			a.replaceHardware(h.B[6:12])
		case packet.HeaderIPv4, packet.HeaderIPv6:
			b := rewrite.Addresses(&h)
			a.replaceKnown(b[:len(b)/2])
			a.replaceKnown(b[len(b)/2:])
			if h.Kind == packet.HeaderIPv4 {
				for i := 20; i < min(int(h.B[0]&0x0f)*4, len(h.B)); i++ {
					h.B[i] = 1 // no operation
				}
			}
		}
	}
	a.replaceHardware(x.CookedSender())
	if b := x.Carried(); b != nil {
		clear(x.After(b))
		if x.Frag.Set && x.Frag.Off == 0 && len(b) >= udpHeaderLen {
			b = b[udpHeaderLen:]
		}
		a.replaceProxied(b)
	}
}

const udpHeaderLen = 8

// replaceProxied replaces the addresses in the header of a proxy, if b, a payload, begins with one: the
// address of a client is the same there as in a header of IP. Of what follows them, which may name the
// client, zeros are left.
func (a *Anonymizer) replaceProxied(b []byte) {
	h, ok := packet.ParseProxyHeader(b)
	if !ok {
		return
	}
	client, proxy, tlvs := h.ProxyAddresses(b)
	a.replaceKnown(client)
	a.replaceKnown(proxy)
	clear(tlvs)
}

// maxKnown is how many addresses are remembered. Chosen: more than one capture has of
// servers and clients; another one costs 10 µs.
const maxKnown = 1 << 16

// replaceKnown replaces an address of 4 or 16 bytes.
func (a *Anonymizer) replaceKnown(b []byte) {
	ip, ok := netip.AddrFromSlice(b)
	if !ok {
		return
	}
	to, ok := a.known[ip]
	if !ok {
		if len(a.known) >= maxKnown {
			clear(a.known)
		}
		to = a.Addr(ip)
		a.known[ip] = to
	}
	putAddr(b, to)
}

// replaceHardware replaces a MAC address. Those of groups, and none, stay.
func (a *Anonymizer) replaceHardware(b []byte) {
	const group, local = 1, 2
	if len(b) < 6 || b[0]&group != 0 || string(b[:6]) == "\x00\x00\x00\x00\x00\x00" {
		return
	}
	x := a.draw(forHardware, b[:6]...)
	bits := b[0] & (group | local)
	copy(b[:6], x[:])
	b[0] = b[0]&^(group|local) | bits
}

// replaceBinaryAddr replaces an address of IPv4 or IPv6, perhaps with a port after it.
func (w *work) replaceBinaryAddr(b []byte) {
	if ip, ok := netip.AddrFromSlice(b[:len(b)&^3]); ok {
		putAddr(b, w.addr(ip))
	}
}

// putAddr writes the 4 or 16 bytes of an address to b.
func putAddr(b []byte, ip netip.Addr) {
	if ip.Is4() {
		x := ip.As4()
		copy(b, x[:])
		return
	}
	x := ip.As16()
	copy(b, x[:])
}

// Addr returns the address that stands for ip. Two addresses whose first 8, 16 or 24 bits
// are equal (IPv6: any multiple of 4) get addresses of which the same is true, and others
// do not. Each octet gets one with as many digits, and a digit of IPv6 that is 0 stays so:
// written as text, the address is as long. Loopback, multicast, broadcast and no address
// stay; what is private, link-local or for documentation stays that.
//
// Prefixes are not kept bit by bit, as Crypto-PAn does: addresses are in texts, too, where
// they must stay as long, and an octet of two digits would become one of three. Only bits
// whose change leaves all octets below them as long, and makes none special, could be kept
// so: 5.5 of 8 on average where an octet now becomes one of 2^6.8, 1 bit of 8 to 11, and
// none of 193, which would stay itself.
func (a *Anonymizer) Addr(ip netip.Addr) netip.Addr {
	w := a.work.Get().(*work)
	defer a.work.Put(w)
	return w.addr(ip)
}

func (w *work) addr(ip netip.Addr) netip.Addr {
	switch {
	case ip.Is4():
		return w.addr4(ip)
	case ip.Is4In6():
		return netip.AddrFrom16(w.addr4(ip.Unmap()).As16())
	}
	return w.addr6(ip)
}

// documentation6 is the network of IPv6 for documentation, which stays itself.
var documentation6 = netip.MustParsePrefix("2001:db8::/32")

// Networks returns what stands for the addresses of a network: one, or up to 128 where it ends
// within an octet, or a digit of IPv6, as these are replaced as a whole.
func (a *Anonymizer) Networks(n netip.Prefix) (all []netip.Prefix) {
	step := 8
	if n.Addr().Is6() {
		step = 4
		if n.Bits() < documentation6.Bits() && n.Overlaps(documentation6) {
			all = append(all, documentation6)
		}
	}
	bits := (n.Bits() + step - 1) / step * step
	b := n.Masked().Addr().AsSlice()
	for i := range 1 << (bits - n.Bits()) {
		sub := slices.Clone(b)
		if i > 0 {
			sub[(bits-1)/8] |= byte(i << (7 - (bits-1)%8))
		}
		base, _ := netip.AddrFromSlice(sub)
		all = append(all, netip.PrefixFrom(a.Addr(base), bits).Masked())
	}
	return all
}

func (w *work) addr4(ip netip.Addr) netip.Addr {
	b := ip.As4()
	if b[0] == 0 || b[0] == 127 || b[0] >= 224 {
		return ip
	}
	last := &w.addrs[binary.BigEndian.Uint32(b[:])*hashFactor>>(32-addrBits)]
	if last.from != b {
		out := b
		for i := range b {
			if !isFixed(b[:i], b[i]) {
				out[i] = w.octet(b[:i], b[i])
			}
		}
		last.from, last.to = b, out
	}
	return netip.AddrFrom4(last.to)
}

// isFixed reports whether the octet v after prefix stays: it makes the address special, or
// the next one can.
func isFixed(prefix []byte, v byte) bool {
	switch len(prefix) {
	case 0:
		switch v {
		case 0, 10, 100, 127, 169, 172, 192, 198, 203:
			return true
		}
		return v >= 224
	case 1:
		switch prefix[0] {
		case 100:
			return v >= 64 && v < 128
		case 169:
			return v == 254
		case 172:
			return v >= 16 && v < 32
		case 192:
			return v == 0 || v == 168
		case 198:
			return v == 18 || v == 19 || v == 51
		case 203:
			return v == 0
		}
	}
	return false
}

// octet returns the octet that stands for v after prefix: never v itself, and one with as
// many digits.
func (w *work) octet(prefix []byte, v byte) byte {
	lo, hi := 0, 9
	switch {
	case v >= 100:
		lo, hi = 100, 255
	case v >= 10:
		lo, hi = 10, 99
	}
	var all [256]byte
	n := 0
	at := 0
	for x := lo; x <= hi; x++ {
		if isFixed(prefix, byte(x)) {
			continue
		}
		if byte(x) == v {
			at = n
		}
		all[n] = byte(x)
		n++
	}
	return w.cycle(all[:n], at, append(append(w.seed[:0], 4, byte(hi)), prefix...))
}

// cycle returns what element at of all becomes by a permutation that the key and seed
// choose, of one cycle (Sattolo's algorithm): nothing stays in its place.
func (w *work) cycle(all []byte, at int, seed []byte) byte {
	w.source.Seed(w.a.draw(forAddress, seed...))
	for i := len(all) - 1; i > 0; i-- {
		j := w.random.IntN(i)
		all[i], all[j] = all[j], all[i]
	}
	return all[at]
}

func (w *work) addr6(ip netip.Addr) netip.Addr {
	if ip.IsUnspecified() || ip.IsLoopback() || ip.IsMulticast() {
		return ip
	}
	b := ip.As16()
	out := b
	keep := 1 // digits: 2 of 2000::/3, which is all that is routed
	switch {
	case ip.IsLinkLocalUnicast():
		keep = 4
	case ip.IsPrivate():
		keep = 2
	case binary.BigEndian.Uint32(b[:]) == 0x20010db8: // for documentation
		keep = 8
	}
	for i := keep; i < 32; i++ {
		v := b[i/2] >> (4 * (1 - i%2)) & 15
		if v == 0 {
			continue
		}
		digits := [...]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
		seed := append(append(w.seed[:0], 6, byte(i)), b[:i/2]...)
		if i%2 == 1 {
			seed = append(seed, b[i/2]>>4)
		}
		to := w.cycle(digits[:], int(v)-1, seed)
		shift := 4 * (1 - i%2)
		out[i/2] = out[i/2]&^(15<<shift) | to<<shift
	}
	return netip.AddrFrom16(out).WithZone(ip.Zone())
}
