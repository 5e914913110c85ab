// Package other measures what else comes to hosts with game servers than queries: SYN
// floods, floods of random UDP, fragments, ICMP, tunnels, the replies of amplifiers, and
// what clients of other games send. It counts the packets of each class in each second,
// and decides whether they are a flood. Package flood writes the incidents. Queries, and packets that begin
// like one, are not counted here.
//
// # Whose packets count
//
// A host is known once a query was sent to it, or a packet to a port where our protocols
// are met. Packets to other hosts are not looked at. A host that gets promote packets in a
// second is watched closely, with a count for each class.
//
// # What is ordinary
//
// A game server gets thousands of packets a second from its players, and a server of
// downloads gets as many acknowledgements. Packets that a host answers are therefore no flood: a flow in
// which the host sends as well is a session, and counts as nothing else. A capture of one
// direction shows no sessions; there it takes ten times as many packets for a flood
// (BlindFactor), and the rate since the start of the capture is the baseline.
//
// What makes a class a flood, how many packets a second at least, stands with its reason in
// classes.go, that of amplifiers with their ports in this file.
//
// # State
//
// Of fixed size: at the default budget 2.4 MiB from the first packets on, 3.4 MiB with all hosts that there is
// room for and all that is counted of their sources. Single-threaded; the caller passes the time.
package other

import (
	"encoding/binary"

	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/base/mem"
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Table holds the hosts that are known to have servers, and what comes to them besides
// queries.
type Table struct {
	// Judged reports whether the datagrams to an end that are no query and of no session are
	// judged elsewhere; nil: none are.
	Judged func(*track.Sighting) bool
	// Decide is called with each event of a spell. What it returns for Ripens says whether an
	// incident was opened, and the spell is followed to its end.
	Decide func(h *Host, class int, s *Spell, e Event) bool
	// IsCounted reports whether Total, Peak and Sessions count what comes to a host; nil: all.
	IsCounted func(*track.Host) bool
	// Total is what came in all, Peak the second in which most of no session came to one
	// host, and Sessions how many packets of sessions came to one in a second at most.
	Total    Traffic
	Peak     Peak
	Sessions uint64

	classes     []Class
	serverPorts portSet
	amplifying  portSet

	key       measure.Key
	now       int32
	known     *lru.Table[track.Host, known]
	heavy     []*Host
	most      int
	noRoom    uint64                     // packets whose host could not be watched closely
	forgotten int                        // hosts that are watched closely and not known any more
	marks     [1 << markBits / 64]uint64 // of hosts that were known
	cache     [cachePlaces]cached
	session   *sketch.Recent
	half      *sketch.Recent // flows in which the host agreed to a connection
	agreed    *sketch.Recent // the same, with the number to acknowledge
	fresh     *sketch.Recent // flows to hosts of which nothing is captured; nil: there was none
	pieces    [fragmentPlaces]piece
	views     []*view
	spare     []*view
}

// cached is a host that was looked up, and what is known of it: nil if nothing is.
type cached struct {
	host  track.Host
	known *known
	isSet bool
}

// known is a host with servers.
type known struct {
	id          uint64 // hash of its address
	sec         int32
	sessions    uint32   // packets of sessions in that second
	others      uint32   // and all others
	bytes       uint64   // of these others
	lastOut     int32    // it sent something; 0: never
	lead        uint8    // class of the first of the others
	leads       [2]tally // of that class, in this second and the one before
	heavy       *Host    // nil: it is not watched closely
	isUncounted bool     // not of those that IsCounted names
}

// piece says of what class the fragments of a datagram are.
type piece struct {
	sum   uint32
	sec   int32
	class uint8
}

// Traffic counts packets and their bytes, with the headers of IP and of what is on top.
type Traffic struct{ Packets, Bytes uint64 }

func (t *Traffic) add(bytes uint32) {
	t.Packets++
	t.Bytes += uint64(bytes)
}

// New returns a table of size times the default size.
func New(size float64) *Table {
	t := &Table{most: min(max(int(heavyHosts*size), 8), heavyHosts),
		known:   lru.New[track.Host, known](max(int(knownHosts*size), 16)),
		session: sketch.NewRecent(sessionBytes), half: sketch.NewRecent(handshakeBytes), agreed: sketch.NewRecent(handshakeBytes)}
	for i := range amplifiers {
		t.amplifying.add(amplifiers[i].port)
	}
	t.Know(nil, nil)
	return t
}

// Know sets at which ports servers are met, and which messages of other games sightings
// have the numbers of.
func (t *Table) Know(ports []uint16, foreign []*dissect.ForeignType) {
	for _, port := range ports {
		t.serverPorts.add(port)
	}
	t.classes = Classes(foreign)
}

// Classes lists the classes.
func (t *Table) Classes() []Class { return t.classes }

// IsFull reports whether hosts that get much could not be watched closely.
func (t *Table) IsFull() bool { return t.noRoom > 0 }

// find returns what is known of a host; nil if nothing is.
func (t *Table) find(h *track.Host) *known {
	i := placeOf(h)
	c := &t.cache[i%cachePlaces]
	if c.isSet && c.host == *h {
		return c.known
	}
	if t.marks[i/64]&(1<<(i%64)) == 0 {
		return nil
	}
	*c = cached{*h, t.known.Peek(*h), true}
	return c.known
}

// placeOf is a cheap hash of a host: who aims at one place makes searches slower and
// nothing else.
func placeOf(h *track.Host) uint32 {
	x := binary.LittleEndian.Uint64(h[8:]) ^ binary.LittleEndian.Uint64(h[:8])
	return uint32(x * 0x9e3779b97f4a7c15 >> (64 - markBits))
}

// learn notes that a host has servers, and returns what is known of it.
func (t *Table) learn(h *track.Host) *known {
	k := t.find(h)
	if k != nil && k.sec == t.now {
		return k
	}
	if k = t.known.Get(*h); k == nil {
		k = t.addHost(h)
	}
	k.begin(t.now)
	return k
}

// addHost makes room for a host that is new.
func (t *Table) addHost(h *track.Host) *known {
	k, gone := t.known.Put(*h)
	*k = known{id: t.key.HashHost(h), sec: t.now, isUncounted: t.IsCounted != nil && !t.IsCounted(h)}
	if gone != nil {
		t.cache[placeOf(&gone.Key)%cachePlaces] = cached{}
		if gone.Val.heavy != nil {
			gone.Val.heavy.forget(&gone.Val)
			t.forgotten++
		}
	}
	if t.forgotten > 0 {
		t.recall(k, h)
	}
	i := placeOf(h)
	t.marks[i/64] |= 1 << (i % 64)
	t.cache[i%cachePlaces] = cached{*h, k, true}
	return k
}

// forget gives a host that is watched closely what was known of it: the table has other
// use for the place.
func (h *Host) forget(k *known) {
	h.own = *k
	h.known, h.isForgotten = &h.own, true
}

// recall finds a host among those that were evicted from known and are still watched closely.
func (t *Table) recall(k *known, host *track.Host) {
	for _, h := range t.heavy {
		if h.isForgotten && h.Addr == *host {
			*k = h.own
			h.known, h.isForgotten = k, false
			t.forgotten--
			return
		}
	}
}

// begin begins a second.
func (k *known) begin(now int32) {
	if k.sec == now {
		return
	}
	k.leads[1] = tally{}
	if k.sec == now-1 {
		k.leads[1] = k.leads[0]
	}
	k.sec, k.sessions, k.others, k.bytes, k.leads[0] = now, 0, 0, 0, tally{}
}

// Sight takes a packet, and reports whether it is of a class that has a name of its own,
// the replies of an amplifier or a message of another game: then it is nobody else's.
func (t *Table) Sight(s *track.Sighting, key measure.Key) (isNamed bool) {
	t.key = key
	switch s.What {
	case track.IsLogin, track.IsWelcome, track.IsRejected: // said of packets that were sighted
		return false
	case track.IsRequest:
		if s.Flags&track.Weak == 0 {
			t.learn(&s.Dst)
			return false
		}
	case track.IsReply, track.IsChallenge, track.IsPart:
		if k := t.find(&s.Src); k != nil {
			t.countSent(k, s)
		}
		return false
	case track.IsUnreachable: // it goes to who sent what it quotes
		if k := t.find(&s.Src); k != nil {
			t.countError(k, s)
		}
		return false
	}
	if k := t.find(&s.Src); k != nil {
		t.countSent(k, s)
		t.noteSession(k, s)
	}
	k := t.find(&s.Dst)
	if k == nil {
		if !t.isToServer(s) { // a server's answer to its client is no junk
			return t.isReply(s) && t.find(&s.Src) != nil
		}
		k = t.learn(&s.Dst)
	}
	if s.Flags&track.Joined != 0 { // its fragments were counted
		return s.What == track.IsOther && t.amplifying.has(s.SrcPort) && !t.session.Has(flow(k.id, s.DstPort, overUDP, s.FromHash()))
	}
	class := t.classify(k, s)
	if class == noClass {
		return false
	}
	t.count(k, class, s)
	return class >= ownClasses && class < inSession
}

// isToServer reports whether a packet tells by itself that its receiver has servers.
func (t *Table) isToServer(s *track.Sighting) bool {
	if s.Foreign != 0 {
		return !t.isReply(s)
	}
	switch s.What {
	case track.IsOther, track.IsJunk, track.IsOpened:
		return t.serverPorts.has(s.DstPort) && !t.serverPorts.has(s.SrcPort)
	}
	return false
}

// isReply reports whether a message of another game is one that servers send.
func (t *Table) isReply(s *track.Sighting) bool {
	return t.foreignClass(s) != noClass && t.classes[t.foreignClass(s)].Sessions
}

// foreignClass returns the class of a message of another game.
func (t *Table) foreignClass(s *track.Sighting) int {
	class := ownClasses + len(amplifiers) + int(s.Foreign) - 1
	if s.Foreign == 0 || class >= len(t.classes) {
		return noClass
	}
	return class
}

// count counts a packet to a host.
func (t *Table) count(k *known, class int, s *track.Sighting) {
	k.begin(t.now)
	if !k.isUncounted {
		t.Total.add(s.Wire)
	}
	if class == inSession {
		k.sessions++
		if !k.isUncounted {
			t.Sessions = max(t.Sessions, uint64(k.sessions))
		}
		return
	}
	k.others++
	k.bytes += uint64(s.Wire)
	k.countLead(class, s)
	if h := k.heavy; h != nil {
		t.countAt(h, class, s)
	} else if k.others >= promote || k.leads[0].packets >= promoteFew && t.classes[k.lead].FromFew > 0 {
		t.watch(k, s)
	}
	if n := uint64(k.others); n > t.Peak.Packets && !k.isUncounted {
		t.Peak = Peak{Traffic: Traffic{n, k.bytes}, Host: s.Dst, sec: t.now}
		if s.What == track.IsUnreachable {
			t.Peak.Host = s.Src
		}
	}
}

// countAt counts a packet to a host that is watched closely. Once there are promote of its
// class in a second, or promoteFew of one of which few sources may send most, their sources are counted one
// by one.
func (t *Table) countAt(h *Host, class int, s *track.Sighting) {
	x := &h.spells[class]
	if x.view == nil && (h.now[class].packets == promote-1 || h.now[class].packets == promoteFew-1 && t.classes[class].FromFew > 0) {
		t.openView(h, class)
	}
	h.count(class, s, t.key)
	if x.Try != nil {
		x.Try(s)
	}
	switch {
	case class == synClass && t.serverPorts.has(s.DstPort):
		h.toServers++
	case class == udpClass && h.isBlind(t.now):
		t.countFresh(h, s)
	}
}

// countFresh counts a datagram of a flow that did not come before, to a host of which nothing is captured:
// players come in flows that last, and a flood from invented ports or addresses does not.
func (t *Table) countFresh(h *Host, s *track.Sighting) {
	if t.fresh == nil {
		t.fresh = sketch.NewRecent(freshBytes)
	}
	if f := flow(h.known.id, s.DstPort, overUDP, s.FromHash()); !t.fresh.Has(f) {
		t.fresh.Add(f)
		h.fresh++
	}
}

// openView begins to count the sources of a class, if there is a view left.
func (t *Table) openView(h *Host, class int) {
	h.spells[class].view = t.takeView()
	if t.classes[class].FromFew > 0 {
		h.asked = class
	}
}

// countError counts an ICMP error about something that the host sent, or did not.
func (t *Table) countError(k *known, s *track.Sighting) { t.count(k, icmpClass, s) }

// countSent counts what a host sends, and what of it goes to the busiest sources of a message of another game.
func (t *Table) countSent(k *known, s *track.Sighting) {
	k.lastOut = t.now
	h := k.heavy
	if h == nil {
		return
	}
	h.sent++
	if h.asked != 0 && s.Flags&track.Connection == 0 {
		if x := &h.spells[h.asked]; x.view != nil {
			x.view.AddReply(s, t.key.HashHost(&s.Dst))
		}
	}
}

// countLead counts a packet of the class that leads, so that those are known which came
// before the host was watched closely. Another one leads where none of the old came in this
// second or the one before.
func (k *known) countLead(class int, s *track.Sighting) {
	if k.lead != uint8(class) {
		if k.leads[0].packets+k.leads[1].packets > 0 {
			return
		}
		k.lead = uint8(class)
	}
	k.leads[0].add(s)
}

// watch begins to watch a host closely, if there is room.
func (t *Table) watch(k *known, s *track.Sighting) {
	h := t.makeRoom()
	if h == nil {
		t.noRoom++
		return
	}
	host := s.Dst
	if s.What == track.IsUnreachable {
		host = s.Src
	}
	*h = Host{Addr: host, slot: h.slot, born: t.now, lastIn: t.now, known: k}
	h.now[k.lead], h.spells[k.lead].before = k.leads[0], k.leads[1]
	t.openView(h, int(k.lead))
	k.heavy = h
}

// makeRoom returns a place for one more host: a new one, or that of the host that was quiet
// longest; nil if none was for idleFor seconds, or all have open incidents.
func (t *Table) makeRoom() *Host {
	if len(t.heavy) < t.most {
		h := &Host{slot: len(t.heavy)}
		t.heavy = append(t.heavy, h)
		return h
	}
	var oldest *Host
	for _, h := range t.heavy {
		if (h.isForgotten || t.now-h.lastIn >= idleFor) && !h.isBusy() && (oldest == nil || h.lastIn < oldest.lastIn) {
			oldest = h
		}
	}
	switch {
	case oldest == nil:
	case oldest.isForgotten:
		t.forgotten--
	default:
		oldest.known.heavy = nil
	}
	return oldest
}

// idleFor is how many seconds a host must be quiet to make room for another.
const idleFor = 60

// FixedBytes returns what a table of the default size takes from the first packet on, in bytes.
func FixedBytes() int { return 2*(sessionBytes+2*handshakeBytes) + mem.SizeOf[Table]() }

// KnownBytes returns what it takes besides with the first host that is known.
func KnownBytes() int {
	return knownHosts * (mem.SizeOf[lru.Evicted[track.Host, known]]() + 3*4 + 2*8)
}

// MostBytes returns what it takes besides with all that there is room for.
func MostBytes() int {
	item := mem.SizeOf[sketch.Item[track.Host, measure.Activity]]() + 2*4
	return 2*freshBytes + heavyHosts*mem.SizeOf[Host]() + views*(mem.SizeOf[view]()+mem.SizeOf[measure.Senders]()+topSources*item)
}

// Peak is the second in which most packets came to one host, queries and sessions aside.
type Peak struct {
	Traffic
	Host  track.Host
	Class *Class // that most of them were of; nil: not known
	Port  uint16 // where most of these went; 0: not known
	sec   int32
}

// finishPeak fills in what most of the packets were, if the second that ends is the one.
func (t *Table) finishPeak() {
	p := &t.Peak
	if p.sec != t.now || p.Packets == 0 {
		return
	}
	p.Class, p.Port = nil, 0
	k := t.known.Peek(p.Host)
	if k == nil || k.heavy == nil {
		return
	}
	h, most := k.heavy, uint32(0)
	for i := range t.classes {
		n := h.now[i].packets
		if n <= most {
			continue
		}
		most, p.Class, p.Port = n, &t.classes[i], 0
		if port, share := h.spells[i].Port(); p.Class.Ports && share >= PortShare {
			p.Port = port
		}
	}
}

// PortShare is the share of its packets from which on a class goes to one port.
const PortShare = 0.9

// Host is one that is watched closely.
type Host struct {
	Addr track.Host

	slot        int
	known       *known
	born        int32 // when it came to be watched
	lastIn      int32 // it got something
	asked       int   // the class with FromFew whose sources are counted; 0: none
	isForgotten bool  // the table has no place for it any more: known is own
	own         known

	// In this second:
	now       [maxClasses]tally
	errors    uint32 // ICMP errors about what the host sent
	sent      uint32 // packets by the host
	sentLast  uint32 // in the second before
	completed uint32 // handshakes
	toServers uint32 // TCP SYN to ports of game servers
	fresh     uint32 // datagrams of no query, of flows that did not come before

	spells     [maxClasses]Spell
	usualFresh float64 // usual rate of fresh
}

// tally counts the packets of a class in a second.
type tally struct {
	packets uint32
	frame   uint64 // of the first of them
	bytes   uint64
}

// add adds a packet.
func (n *tally) add(s *track.Sighting) {
	if n.packets == 0 {
		n.frame = s.Frame
	}
	n.packets++
	n.bytes += uint64(s.Wire)
}

// view tells apart the sources of a class at a host, and the ports that it goes to.
type view struct {
	*measure.Senders
	ports sketch.Dominant
}

// count counts a packet to the host.
func (h *Host) count(class int, s *track.Sighting, key measure.Key) {
	if s.What == track.IsUnreachable {
		h.errors++
	}
	h.now[class].add(s)
	v := h.spells[class].view
	if v == nil {
		return
	}
	hash := s.ClientHash
	switch s.What {
	case track.IsAgreed:
		hash = key.HashHost(&s.Src)
	case track.IsUnreachable: // who sent it is not known
		return
	}
	place := hash
	if h.asked != 0 && h.asked == class {
		place = key.HashHost(&s.Src)
	}
	v.Add(key, s, hash, place, h.lastIn)
	if s.DstPort != 0 { // a fragment has none
		v.ports.Add(uint32(s.DstPort))
	}
}

// isBusy reports whether an incident is open at the host, or about to be.
func (h *Host) isBusy() bool {
	for i := range h.spells {
		if h.spells[i].heat > 0 {
			return true
		}
	}
	return false
}

// isBlind reports whether nothing that the host sends is in the capture: what is a session
// cannot be told.
func (h *Host) isBlind(now int32) bool {
	return h.known.lastOut == 0 || now-h.known.lastOut > blindAfter
}

// blindAfter is how many seconds of silence make a host one of which nothing is captured:
// a server that a flood brought down is silent, too, but not from the begin.
const blindAfter = 60

// forgiveErrors takes away the ICMP errors that answer what the host sent: there cannot be
// more of them than packets.
func (h *Host) forgiveErrors() {
	n := &h.now[icmpClass]
	forgiven := min(h.errors, h.sent+h.sentLast)
	if forgiven == 0 || n.packets == 0 {
		return
	}
	n.bytes -= n.bytes * uint64(forgiven) / uint64(n.packets)
	n.packets -= forgiven
}

// endSecond clears what was counted in the second.
func (h *Host) endSecond() {
	clear(h.now[:])
	h.sentLast = h.sent
	h.errors, h.sent, h.completed = 0, 0, 0
	h.toServers, h.fresh = 0, 0
}

// amplifier is a service that answers anybody over UDP with more than it was sent, and is
// made to answer who did not ask. Its replies are recognised by their source port.
type amplifier struct {
	port   uint16
	name   string // in classes: amplified_NAME
	says   string
	source string
}

// Sources that describe a service as an amplifier. The first has the factors of most of them.
const (
	cisa       = "CISA alert TA14-017A, UDP-based amplification attacks"
	shadow     = "Shadowserver, reports on open and accessible UDP services"
	netscout   = "NETSCOUT ASERT, threat summaries on reflection and amplification"
	akamai     = "Akamai, threat advisories on reflection"
	cloudflare = "Cloudflare, DDoS threat reports"
)

// leastAmplified is a bound for all of them, packets/s: a hundredth of a line of 100 Mbit/s,
// with replies of 600 bytes. What the host asked for itself is no flood at any rate.
const leastAmplified = 200

var amplifiers = []amplifier{
	{17, "qotd", "QOTD", cisa},
	{19, "chargen", "chargen", cisa},
	{53, "dns", "DNS", cisa},
	{69, "tftp", "TFTP", cisa},
	{111, "portmap", "portmap", cisa},
	{123, "ntp", "NTP", cisa},
	{137, "netbios", "NetBIOS", cisa},
	{161, "snmp", "SNMP", cisa},
	{389, "cldap", "CLDAP", cisa},
	{427, "slp", "SLP", cloudflare},
	{520, "rip", "RIP", cisa},
	{623, "ipmi", "IPMI", shadow},
	{1434, "mssql", "SQL Server browser", akamai},
	{1604, "citrix", "Citrix browser", netscout},
	{1900, "ssdp", "SSDP", cisa},
	{3283, "ard", "Apple Remote Desktop", netscout},
	{3478, "stun", "STUN", netscout},
	{3702, "wsd", "WS-Discovery", akamai},
	{5093, "sentinel", "Sentinel licences", akamai},
	{5353, "mdns", "mDNS", cisa},
	{5683, "coap", "CoAP", netscout},
	{10001, "ubiquiti", "Ubiquiti discovery", shadow},
	{11211, "memcached", "memcached", cisa},
	{32414, "plex", "Plex discovery", netscout},
	{37810, "dvr", "DVR discovery", netscout},
	{47808, "bacnet", "BACnet", shadow},
}

// portSet is a set of ports.
type portSet [1 << 16 / 64]uint64

func (p *portSet) add(port uint16)      { p[port/64] |= 1 << (port % 64) }
func (p *portSet) has(port uint16) bool { return p[port/64]&(1<<(port%64)) != 0 }

const (
	// limit: knownHosts is how many hosts with servers are known: the one that was asked longest ago makes
	// room.
	knownHosts = 8192
	// limit: markBits is the logarithm of the number of bits that say of a host, without a search, that it
	// is not known: eight for each that can be.
	markBits = 16
	// limit: cachePlaces is how many of the hosts looked up last are found without a search.
	cachePlaces = 1024
	// limit: heavyHosts is how many are watched closely, 12 KiB each. The one that was quiet longest makes
	// room, never one with an open incident.
	heavyHosts = 64
	// limit: promote is how many packets a second that are no query and of no session make a host worth
	// watching closely: half of what the smallest flood has.
	promote = 50
	// limit: promoteFew is the same of a message of another game of which few sources may send most: two
	// thirds of what the smallest such flood has.
	promoteFew = 20
	// limit: sessionBytes is the size of each of two filters that hold whom hosts sent something in the
	// last sessionTurn to two of these: a thousand players take a thousandth of it, the answers to 20,000
	// forged packets a second a quarter.
	sessionBytes = 512 << 10
	// limit: freshBytes is the size of each of two filters for flows to hosts of which nothing is captured, in
	// the last sessionTurn to two of these: those of 1,200 a second take a tenth of it.
	freshBytes = 128 << 10
	// limit: handshakeBytes is the size of each of two filters for half of a TCP handshake, and
	// handshakeTurn, in seconds, how long they keep it at least: the kernel repeats its half for as long.
	handshakeBytes = 64 << 10
	handshakeTurn  = 15
)
