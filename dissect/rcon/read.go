package rcon

import (
	"bytes"
	"net/netip"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/console"
	"qsniff/internal/base/lru"
)

// reader reads one message.
type reader struct {
	*dissect.Cursor
	c *dissect.Context
	m *dissect.Message
	view
}

// Dissect fills m with the packet in b, or with the seven bytes that Squad's server
// sends without a header. The type that Frame returned is not used: where the
// direction is unknown, the whole packet shows it better than its start.
func (*Dissector) Dissect(c *dissect.Context, _ *dissect.Type, b []byte, m *dissect.Message) {
	r := reader{Cursor: m.Cursor(c), c: c, m: m, view: viewOf(c)}
	if r.dir == dissect.Unsure {
		r.dir = guessDirection(b, m.Wire)
	}
	h := parseHeader(b)
	m.Type = h.typeOf(r.dir)
	switch {
	case r.dir == dissect.ToClient && m.Wire == strayLen && beginsStray(b):
		m.Type = &typeOtherReply
		r.Rest(&dissect.Trailing)
		r.Expert(&codeStray, 0, 0)
		r.Derived(&defRole, roleNames[trailer])
	case h.n < sizeLen && r.mayLeak():
		r.Take(&defHidden, sizeLen) // fails: it is not there
	case !h.fits(r.maxBelieved(r.dir)) && !r.isMiscounted(h):
		r.readBadSize(h)
	default:
		r.readPacket(h)
	}
	if r.dir == dissect.ToServer && r.mayLeak() {
		r.Rest(&defHidden)
	}
	r.Done()
}

// mayLeak reports whether bytes that are not where they should be can be part of a
// password: those of a client that has not logged in, and those after a command or
// output that a wrong size cut. So can those of which it is unknown what the receiver read.
func (r *reader) mayLeak() bool {
	if r.isDisputed {
		return true
	}
	if r.dir == dissect.ToServer {
		return r.s.auth != authDone || r.s.clientTorn
	}
	return r.s.serverTorn
}

// guessDirection guesses who sent b, of n bytes, by the bytes alone.
func guessDirection(b []byte, n int) dissect.Direction {
	if ratePacket(dissect.ToClient, b, n) > ratePacket(dissect.ToServer, b, n) {
		return dissect.ToClient
	}
	return dissect.ToServer
}

// readBadSize reads what stands where a size should be. If the client lost its place in
// the stream it can be part of the password.
func (r *reader) readBadSize(h header) {
	if r.mayLeak() {
		r.Rest(&defHidden)
		r.Expert(&codeSize, 0, sizeHidden)
	} else {
		r.I32(&defSize)
		r.Expert(&codeSize, uint64(h.size), sizeImpossible)
		r.I32(&defID)
		r.I32(&defType)
	}
	if r.m.Status == dissect.Complete && !r.Cut() {
		r.m.Status = dissect.Malformed
	}
}

// readPacket reads a packet whose size can be one.
func (r *reader) readPacket(h header) {
	r.I32(&defSize)
	sizeField := r.Fields() - 1
	if h.n >= sizeLen && h.size > usualSize && !r.isMiscounted(h) {
		r.ExpertAt(&codeSize, finding.Note, sizeField, uint64(h.size), sizeLarge)
	}
	r.I32(&defID)
	r.I32(&defType)
	if !r.OK() {
		return
	}
	e := r.findExtent(h)
	if e.wide {
		r.ExpertAt(&codeCharacters, codeCharacters.Severity, sizeField, uint64(h.size), uint64(r.m.Wire-sizeLen))
	}
	if e.miscounted {
		code := &codeUncounted
		if r.m.Wire < h.length() {
			code = &codeShortBody
		}
		r.ExpertAt(code, code.Severity, sizeField, uint64(h.size), uint64(r.m.Wire-sizeLen))
	}
	p := packet{id: h.id, num: h.num, body: r.Peek(e.body), n: e.body}
	if !e.whole {
		p.n = max(p.n, int(h.size)-minSize)
	}
	pl := r.placePacket(&p)
	r.readBody(&p, &pl, e)
	if e.whole && p.num == numAuth && r.dir == dissect.ToServer {
		r.m.Secret = secretOf(p.body)
	}
	if e.whole {
		at := r.Offset()
		if e.end > 0 {
			r.Take(&defTerminators, e.end)
		}
		if e.end != endLen {
			r.Expert(&codeTerminators, uint64(e.end), uint64(at))
		}
	} else {
		r.Take(&defTerminators, endLen) // fails: they are not there
	}
	r.addRole(&p, &pl)
	if r.dir == dissect.ToServer {
		r.raiseRequestFindings(&p, &pl)
	} else {
		r.raiseReplyFindings(&p, &pl)
	}
}

// extent is what the bytes after the header consist of.
type extent struct {
	body, end int  // lengths of the body and of the NULs after it
	whole     bool // all is there
	wide      bool // the size counts characters
	// miscounted is set where the size is another one than that of the packet in another way.
	miscounted bool
}

// isMiscounted reports whether the message is a server's packet that is not as long as its size says.
func (r *reader) isMiscounted(h header) bool {
	return r.known && r.dir == dissect.ToClient && !r.Cut() && len(r.m.Data) == r.m.Wire && isMiscounted(r.m.Data, h)
}

// findExtent finds the end of the body. By the size two NULs follow it. A third one
// before them belongs to them, as after a login that failed on some servers;
// where the two are not there, all that is no NUL belongs to the body.
func (r *reader) findExtent(h header) extent {
	rest := r.Peek(r.Left())
	if r.isMiscounted(h) {
		return extent{body: r.m.Wire - minLen, end: endLen, whole: true, miscounted: true}
	}
	n := int(h.size) - minSize // of the body, as the size says
	if r.dir == dissect.ToClient && r.m.Wire > h.length() {
		if end, _ := wideEnd(r.m.Data, h); end == r.m.Wire && !r.Cut() {
			return extent{body: end - minLen, end: endLen, whole: true, wide: true}
		}
		if r.Cut() { // who framed it saw its end
			n = r.m.Wire - minLen
		}
	}
	if len(rest) < n+endLen {
		return extent{body: len(rest)}
	}
	rest = rest[:n+endLen]
	switch last, before := rest[n+1], rest[n]; {
	case last != 0:
		return extent{body: n + 2, whole: true}
	case before != 0:
		return extent{body: n + 1, end: 1, whole: true}
	case n == 1 && rest[0] == 0, n > 1 && rest[n-1] == 0 && rest[n-2] != 0:
		return extent{body: n - 1, end: endLen + 1, whole: true}
	}
	return extent{body: n, end: endLen, whole: true}
}

// readBody reads the body. Of a client all of it is a secret that is, or by its type or
// time may be, a password: some send it with the wrong type. That of a login is one
// from either end, because no server sends one: the direction is wrong then.
func (r *reader) readBody(p *packet, pl *place, e extent) {
	whole := &defBody
	if p.num == numAuth || r.dir == dissect.ToServer && p.num != numExec && p.n > 0 && r.mayLeak() {
		whole = &defPassword
	}
	switch {
	case e.body == 0 && e.whole:
		r.Derived(whole, nil)
		return
	case e.body == 0:
		return
	case whole == &defPassword:
		r.Run(whole, 0, e.body, 0)
		return
	}
	if r.c.Unread {
		r.Run(&defBody, 0, e.body, 0)
		return
	}
	k := r.secretFinder(p, pl, e)
	if lo, _ := k.Next(p.body); lo == 0 { // a text that begins with a secret is a text all the same
		r.Generated(&defBody, 0)
	}
	r.Pieces(&defBody, &defBodySecret, e.body, 0, k.Next)
}

// secretFinder finds what to hide in a command or in output.
func (r *reader) secretFinder(p *packet, pl *place, e extent) console.Finder {
	k := r.s.secretFinder(!e.whole)
	k.IsOutput = r.dir == dissect.ToClient
	output := p.num == numValue
	switch {
	case r.isDisputed: // the name of what follows it may be another one
		k.First = console.Span{Lo: 0, Hi: len(p.body)}
	case r.dir != dissect.ToClient, pl.role == trailer:
	case r.torn, output && r.s.outputMissing, output && pl.asked < 0 && pl.part <= 1 && !r.opened && !r.s.serverSpoke:
		k.First = console.FindTorn(p.body)
	default:
		k.First = r.s.passwords.Tail.FindRest(p.body, pl.part > 1, &r.s.passwords)
	}
	return k
}

// addRole adds what the packet is for, which part of a reply it is, and what it belongs
// to.
func (r *reader) addRole(p *packet, pl *place) {
	if pl.role != noRole {
		r.Derived(&defRole, roleNames[pl.role])
		r.m.Unasked = pl.role == keepalive || pl.role == push
	}
	if pl.part > 1 {
		r.Generated(&defPart, uint64(pl.part))
	}
	switch {
	case !r.known:
	case r.dir == dissect.ToServer:
		r.m.Key = r.s.seq + 1
	case pl.asked >= 0:
		r.m.Key = r.s.asked[pl.asked].seq
	case pl.part > 1:
		r.m.Key = r.s.cur.seq
	case pl.preamble, pl.isLoginAnswer, p.num == numAuthResponse && r.s.auth == authAsked:
		r.m.Key = r.s.authSeq
	}
}

// raise raises a finding about the whole message.
func (r *reader) raise(code *finding.Code, a, b uint64) { r.ExpertAt(code, code.Severity, -1, a, b) }

// raiseRequestFindings raises what a client's packet does wrong.
func (r *reader) raiseRequestFindings(p *packet, pl *place) {
	s := r.s
	switch {
	case p.num == numAuth:
		if !s.clearTextRaised && (isPublic(r.c.Src.Addr()) || isPublic(r.c.Dst.Addr())) {
			r.raise(&codeClearText, 0, 0)
		}
	case p.num == numExec:
		if r.known && r.sure() && s.auth != authDone {
			r.raise(&codeNoAuth, uint64(s.auth), 0)
		}
		if n := s.countOpen(p.id); n > 0 && r.known && !s.twoOpenRaised {
			r.raise(&codeTwoOpen, uint64(uint32(p.id)), n+1)
		}
		if pl.role == noRole && s.cur.open && s.cur.full() && !s.cur.continuesRaised && !s.hasProbe() {
			r.raise(&codeContinues, uint64(s.cur.last), 0)
		}
	}
}

// raiseReplyFindings raises what a server's packet shows.
func (r *reader) raiseReplyFindings(p *packet, pl *place) {
	s := r.s
	if p.num == numAuthResponse {
		asked := s.auth == authAsked
		if p.id == failedID {
			r.m.Refused = true
			r.raiseRefused(asked || !r.sure())
		}
		if asked && (s.preamble || s.authWhole && !r.gap) {
			r.raise(&codeAuthOrder, number(s.preamble), uint64(s.preambleLen))
		}
		return
	}
	if pl.isLoginAnswer && p.num == failedID {
		r.m.Refused = true
		r.raiseRefused(true)
	}
	if pl.part > 1 && s.cur.overtaken && !s.cur.continuesRaised {
		r.raise(&codeContinues, uint64(pl.part), 1)
	}
	if pl.isGuess {
		r.raise(&codeSameID, uint64(uint32(p.id)), number(pl.part == 1))
	}
	if q := r.unmirrored(pl); q != nil && pl.part == 1 {
		r.raise(&codeNoMirror, uint64(uint32(q.id)), 0)
	}
}

// raiseRefused raises that a login was refused. hasLogin is set unless it certainly answers none.
func (r *reader) raiseRefused(hasLogin bool) {
	if r.s.saidBan && r.s.auth == authAsked {
		r.raise(&codeBanned, uint64(r.s.preambleLen), 0)
		return
	}
	r.raise(&codeAuthFailed, number(hasLogin), 0)
}

// saysBan reports whether a server's text before the answer to a login says that the address is banned: a word
// that begins so.
func saysBan(text []byte) bool {
	for i := 0; i+len("ban") <= len(text); i++ {
		if bytes.EqualFold(text[i:i+len("ban")], []byte("ban")) && (i == 0 || !isLetter(text[i-1])) {
			return true
		}
	}
	return false
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func number(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// secretKey is the key of secretOf. It is fixed, so that the same capture gives the
// same findings; the numbers never leave the program.
const secretKey = 0x7173_6e69_6666_0003

// secretOf returns a hash of a password, by which passwords are compared; never 0, which
// stands for none.
func secretOf(password []byte) uint32 {
	h := lru.MixBytes(lru.Mix(secretKey, uint64(len(password))), password)
	return max(uint32(h>>32), 1)
}

// specialNetworks are those that IANA's registries of special-purpose addresses (RFC 6890, as of 2024) call
// not globally reachable, and multicast. Those for benchmarks are left out on purpose, 198.18.0.0/15 and
// 2001:2::/48: they are found in laboratories only, where they stand for public servers, as they do in
// the captures of this repository, and what is found of these has to be what is found of public ones.
var specialNetworks = parsePrefixes(
	"0.0.0.0/8",       // this network
	"10.0.0.0/8",      // private
	"100.64.0.0/10",   // shared by the customers of a provider
	"127.0.0.0/8",     // loopback
	"169.254.0.0/16",  // link-local
	"172.16.0.0/12",   // private
	"192.0.0.0/24",    // for protocols
	"192.0.2.0/24",    // documentation
	"192.168.0.0/16",  // private
	"198.51.100.0/24", // documentation
	"203.0.113.0/24",  // documentation
	"224.0.0.0/4",     // multicast
	"240.0.0.0/4",     // reserved, and broadcast
	"::/127",          // no address, loopback
	"64:ff9b:1::/48",  // translation within a network
	"100::/64",        // discarded
	"2001:db8::/32",   // documentation
	"3fff::/20",       // documentation
	"5f00::/16",       // segment routing
	"fc00::/7",        // private
	"fe80::/10",       // link-local
	"ff00::/8",        // multicast
)

func parsePrefixes(all ...string) (out []netip.Prefix) {
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// isPublic reports whether packets from or to a pass networks of others.
func isPublic(a netip.Addr) bool {
	if !a.IsValid() {
		return false
	}
	a = a.Unmap().WithZone("")
	for _, n := range specialNetworks {
		if n.Contains(a) {
			return false
		}
	}
	return true
}
