// Package anonymize makes captures fit to be shared: addresses, names and texts in packets
// are replaced by others of the same length, the same by the same, so that what is left
// decodes to the same messages. It names no protocol: the definitions of fields have flags
// for what identifies somebody (dissect.Identifying, dissect.Prose). It decodes and writes
// nothing: packages pipeline and subset do.
//
// What it does not hide is listed in NotHidden.
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
	if e.Origin.Packed != nil && m.Type == nil { // it could not be unpacked: nobody knows what is in it
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
