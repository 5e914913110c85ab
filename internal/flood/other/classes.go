package other

import (
	"fmt"
	"strconv"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// Class is a class of packets, and when there are too many of it.
type Class struct {
	Name  string // as output writes it: "tcp_syn"
	Says  string // for people: "TCP SYN"
	Means string // what an attacker does with it
	// Least is how many packets a second are a flood at least, and Why says where the number
	// comes from. Usual is how many times as many as usual it must be, too.
	Least float64
	Why   string
	// AtServers is the same of what goes to ports of game servers; 0: as elsewhere.
	AtServers float64
	// FromFew is the same of what goes to one port where few sources, each faster than a client, send most
	// of it; 0: as elsewhere.
	FromFew float64
	// Sessions: packets of flows in which the host sends as well do not count.
	Sessions bool
	TCP      bool // its ports are TCP's; else UDP's
	Ports    bool // it has ports: the one that most go to is named
	// Handshakes: each begins a connection, which is completed where its source is real.
	Handshakes bool
	// Reflected: servers that were asked in the host's name send it.
	Reflected bool
	// Joins: who sends it wants to play.
	Joins bool
	// Errors: what a server sends to forged addresses brings them back.
	Errors bool
	Source string
	// What filters on the host find the packets by, where there is one of these: the ports that reflectors
	// send from, the IP protocol, the forms of a message of another game.
	SourcePorts []uint16
	Protocol    uint8
	Wire        []dissect.Pattern
	Group       string   // of classes with one limit: "amplified" or "foreign"; else Name
	Advice      []string // paragraphs: what the class allows
}

// The classes that are always there. Those of amplifiers and of other games follow them.
const (
	synClass = iota
	synAckClass
	tcpClass
	bulkClass
	udpClass
	fragmentClass
	icmpClass
	greClass
	espClass
	ipClass
	ownClasses

	// Not classes: what belongs to a session, and what somebody else judges.
	inSession = maxClasses
	noClass   = maxClasses + 1
)

// Advice that several classes share.
const (
	atProvider = "The packets have already used the line when they get here: if it is full, no filter on this host helps. The" +
		" provider has to drop them. Give it the target, the class and the rates above."
	unneeded = "the provider can drop them for this address altogether, for nothing on a game server needs them."
)

// own are the classes that every capture can have, in the order of the constants.
var own = [ownClasses]Class{
	synClass: {Name: "tcp_syn", Says: "TCP SYN", Means: "connections are begun and not completed, until there is no room for more",
		Least: 1000, Why: "tcp_max_syn_backlog of Linux is some hundred to some thousand, and an entry stays for up to a minute",
		AtServers: 100, // chosen: consoles and status pages of games have some tens of users; crowds come to downloads, which are at ports of the web
		TCP:       true, Ports: true, Handshakes: true, Source: "RFC 4987",
		Advice: []string{"SYN cookies keep connections possible: \"sysctl net.ipv4.tcp_syncookies\" says 1 where they are on, as they" +
			" usually are. The game itself is UDP: if nobody needs TCP at this port (remote console, downloads), let the" +
			" provider drop TCP to it, or let only your own addresses through.", atProvider}},
	synAckClass: {Name: "tcp_synack", Says: "TCP SYN-ACK", Means: "servers are made to answer connections that this host did not begin",
		Least: 1000, Why: "chosen, as for tcp_syn", Sessions: true, TCP: true, Ports: true, Source: "Bock et al. 2021, Weaponizing Middleboxes",
		Advice: []string{"They come from servers that were asked in this host's name: do not block these one by one. A stateful" +
			" filter drops what belongs to no connection of this host.", atProvider}},
	tcpClass: {Name: "tcp_other", Says: "TCP of no connection", Means: "segments of connections that do not exist: ACK and RST floods",
		Least: 5000, Why: "chosen: what comes late, when a server with downloads restarts, is less",
		Sessions: true, TCP: true, Ports: true, Source: "Mirai attack_tcp.c (attack_tcp_ack)",
		Advice: []string{"A stateful filter drops what belongs to no connection of this host.", atProvider}},
	bulkClass: {Name: "tcp_bulk", Says: "TCP with much data to a server's port", Means: "connections that are fed, where commands of some tens of bytes come",
		Least: 200, Why: "chosen: 200 segments of 512 bytes and more are 100 kB/s, a thousand times what is typed into a console; games over TCP get short ones",
		TCP: true, Ports: true, Source: "RFC 4732",
		Advice: []string{"Consoles are asked by a handful of people: let only your own addresses through to this port, or let the provider drop TCP to it.", atProvider}},
	udpClass: {Name: "udp_other", Says: "UDP of no session", Means: "datagrams that are no query, to whom the host answers nothing",
		Least: LeastFresh, Why: "chosen: more than sixteen players send, 64 packets/s each, before the server answers the first",
		Sessions: true, Ports: true, Source: "Mirai attack_udp.c (attack_udp_plain)",
		Advice: []string{"Where they go to ports that no server of yours has, the provider can drop UDP to those ports. At the port of a" +
			" server only a list of who may send tells players from the flood: \"qsniff proven\" prints the clients that" +
			" proved their address.", atProvider}},
	fragmentClass: {Name: "fragments", Says: "IP fragments", Means: "pieces of datagrams, of which most filters see no ports",
		Least: 1000, Why: "chosen: games send what fits into one packet", Sessions: true, Source: "RFC 8900",
		Advice: []string{"Clients of games send none: " + unneeded, atProvider}},
	icmpClass: {Name: "icmp", Says: "ICMP", Means: "pings, or errors about packets that this host never sent",
		Least: 1000, Why: "Linux sends 1,000 a second at most by default (icmp_msgs_per_sec)", Errors: true, Source: "icmp(7)",
		Advice: []string{"Let the provider limit ICMP to this address to some hundred packets a second. Do not drop all of it: the errors" +
			" that say a packet is too big are needed.", atProvider}},
	greClass: {Protocol: packet.ProtoGRE, Name: "gre", Says: "GRE", Means: "tunnel packets, which hosts unpack and filters do not look into",
		Least: 1000, Why: "chosen: a tunnel that is in use is a session", Sessions: true, Source: "Mirai attack_gre.c",
		Advice: []string{"If this host ends no tunnel, " + unneeded + " If it does, allow the other end alone.", atProvider}},
	espClass: {Protocol: packet.ProtoESP, Name: "esp", Says: "ESP", Means: "packets of IPsec that nobody can decrypt",
		Least: 1000, Why: "chosen: a tunnel that is in use is a session", Sessions: true, Source: cloudflare,
		Advice: []string{"If this host speaks no IPsec, " + unneeded + " If it does, allow the other end alone.", atProvider}},
	ipClass: {Name: "ip_other", Says: "other IP protocols", Means: "protocols that nothing here speaks, or headers that are impossible",
		Least: 1000, Why: "chosen: games speak UDP and TCP", Sessions: true, Source: "RFC 5237",
		Advice: []string{"Games speak UDP and TCP: " + unneeded, atProvider}},
}

// LeastFresh is how many datagrams of no session are a flood at least, packets/s; where nothing that the host
// sends was captured, of flows that did not come before.
const LeastFresh = 1000

// leastForeign is a bound for messages of other games, packets/s: browsers of a busy server
// bring some tens, and 100 queries made one vanish from lists (burst_rate).
const leastForeign = 100

// fewForeign is the same where few sources send most of it: as slow_rate of queries, what GoldSource answers
// in all by default. Clients ping a server that their list shows once a second.
const fewForeign = 30

// classOf returns the class of an amplifier's replies.
func (a *amplifier) class() Class {
	return Class{Name: "amplified_" + a.name, Group: "amplified", Says: fmt.Sprintf("%s replies from port %d", a.says, a.port),
		Means: a.says + " servers are made to answer this host, which did not ask", Least: leastAmplified,
		Why: "a hundredth of a line of 100 Mbit/s, with replies of 600 bytes", Sessions: true, Reflected: true, Ports: true, Source: a.source, SourcePorts: []uint16{a.port},
		Advice: []string{fmt.Sprintf("The sources are servers that were asked in this host's name: do not block them one by one, and do not"+
			" report them as attackers. Let the provider drop or limit UDP from source port %d to this address%s", a.port, a.exception()), atProvider}}
}

// exception says what a filter of the amplifier's port would break.
func (a *amplifier) exception() string {
	switch a.port {
	case 53:
		return ", except from the resolvers that this host asks, which /etc/resolv.conf names."
	case 123:
		return ", except from the time servers that this host asks."
	}
	return ": no game needs replies from there."
}

// foreignClass returns the class of a message of another game.
func foreignClass(f *dissect.ForeignType) Class {
	c := Class{Name: f.Name, Group: "foreign", Says: f.Says, Means: "a server of another game is asked, or joined, more often than clients do",
		Least: leastForeign, Why: "100 queries made a server vanish from lists", FromFew: fewForeign, Ports: true,
		Source: f.Source, Wire: f.Wire}
	switch {
	case f.Reply:
		c.FromFew = 0
		c.Means, c.Sessions = "servers of another game are made to answer this host, which did not ask", true
		c.Advice = []string{"The sources are servers that were asked in this host's name: do not block them one by one.", atProvider}
	case f.Joins:
		c.Joins = true
		c.Advice = []string{"Players send the same to join, so a limit on it for all keeps them out as well. Limit it for each address to a" +
			" few a second. What a server of that game can do by itself, its manual says; qsniff knows no more of it than" +
			" how the packets begin."}
	default:
		c.Advice = []string{"Browsers and monitors send the same, so a limit on it for all hides the server from lists. Limit it for each" +
			" address to a few a second. What a server of that game can do by itself, its manual says; qsniff knows no more" +
			" of it than how the packets begin."}
	}
	return c
}

// Classes lists all classes: those that every capture can have, those of amplifiers, those
// of other games.
func Classes(foreign []*dissect.ForeignType) []Class {
	all := append(make([]Class, 0, maxClasses), own[:]...)
	for i := range all {
		all[i].Group = all[i].Name
	}
	for i := range amplifiers {
		all = append(all, amplifiers[i].class())
	}
	for _, f := range foreign[:min(len(foreign), maxClasses-len(all))] {
		all = append(all, foreignClass(f))
	}
	return all
}

// Together returns the class of what several kinds of reflectors, whose classes are given, send to one
// target.
func Together(classes []*Class) *Class {
	names, ports := "", ""
	var numbers []uint16
	for i, c := range classes {
		for j := range amplifiers {
			if a := &amplifiers[j]; "amplified_"+a.name == c.Name {
				sep := ", "
				switch {
				case i == 0:
					sep = ""
				case i == len(classes)-1:
					sep = " and "
				}
				numbers = append(numbers, a.port)
				names, ports = names+sep+a.says, ports+sep+strconv.Itoa(int(a.port))
			}
		}
	}
	c := amplifiers[0].class()
	c.SourcePorts = numbers
	c.Name, c.Says = "amplified", "replies of "+names
	c.Means = "servers of several kinds are made to answer this host, which did not ask"
	c.Advice = []string{"The sources are servers that were asked in this host's name: do not block them one by one, and do not" +
		" report them as attackers. Let the provider drop or limit UDP from the source ports " + ports + " to this address," +
		" except from the resolvers and time servers that this host asks.", atProvider}
	return &c
}

// Groups lists what classes have in common that have one limit: each that every capture
// can have, one for all amplifiers and one for all messages of other games.
func Groups() []Class {
	all := append([]Class(nil), own[:]...)
	for i := range all {
		all[i].Group = all[i].Name
	}
	amplified, foreign := amplifiers[0].class(), foreignClass(&dissect.ForeignType{})
	amplified.Says, foreign.Says = "replies of an amplifier, by the port they come from", "of one message that clients of another game send"
	return append(all, amplified, foreign)
}

// EdgeRule is a rule by which a firewall before the host, which looks at protocols, addresses
// and ports, drops all packets of a class.
type EdgeRule struct {
	Protocol   string // "UDP"
	SourcePort uint16 // 0: any
	AtPort     bool   // only what goes to the target's port, if it has one
	Fragments  bool   // only fragments
	Only       string // where the rule does no harm, as part of a sentence
}

// edgeRules are the rules by the names of classes. Others have none: what they are made of
// cannot be told from wanted packets without a state, or is needed in small numbers.
var edgeRules = map[string]EdgeRule{
	own[synClass].Name:      {Protocol: "TCP", AtPort: true, Only: "if nobody needs TCP at this port (remote console, downloads)"},
	own[bulkClass].Name:     {Protocol: "TCP", AtPort: true, Only: "after rules that permit the addresses from which you use the console"},
	own[fragmentClass].Name: {Protocol: "UDP", Fragments: true, Only: "if nothing but games comes in here: their clients send none"},
	own[greClass].Name:      {Protocol: "GRE", Only: "if this host ends no tunnel"},
	own[espClass].Name:      {Protocol: "ESP", Only: "if this host speaks no IPsec"},
}

// Edge returns the rule for a class, and whether there is one.
func (c *Class) Edge() (EdgeRule, bool) {
	for i := range amplifiers {
		if a := &amplifiers[i]; c.Reflected && a.class().Name == c.Name {
			return EdgeRule{Protocol: "UDP", SourcePort: a.port, Only: a.harmless()}, true
		}
	}
	r, ok := edgeRules[c.Name]
	return r, ok
}

// harmless returns where dropping what comes from the amplifier's port does no harm.
func (a *amplifier) harmless() string {
	switch a.port {
	case 53:
		return "after rules that permit the resolvers which this host asks"
	case 123:
		return "after rules that permit the time servers which this host asks"
	}
	return "if this host asks no such servers: no game does"
}

// Types of ICMP and ICMPv6 that ask for an answer, and those answers.
const (
	echoReply, echo   = 0, 8
	echo6, echoReply6 = 128, 129
)

// flow is a hash of the flow of a packet at one end, a host that has a port of its own
// there: the same for both directions. peer is a hash of the other end.
func flow(host uint64, port uint16, transport uint64, peer uint64) uint64 {
	return lru.Mix(peer, host^transport<<16^uint64(port))
}

// Kinds of flows besides those of IP protocols.
const (
	overUDP = iota + 1<<8
	overTCP
)

// transport is what the flow of a packet is of.
func transport(s *track.Sighting) uint64 {
	if s.Flags&track.Connection != 0 {
		return overTCP
	}
	return overUDP
}

// noteSession notes to whom a host sends.
func (t *Table) noteSession(k *known, s *track.Sighting) {
	switch s.What {
	case track.IsFragment, track.IsCarried:
		t.session.Add(flow(k.id, 0, uint64(s.Detail), t.key.HashHost(&s.Dst)))
		return
	case track.IsControl:
		if s.Detail == echo || s.Detail == echo6 {
			t.session.Add(flow(k.id, 0, packet.ProtoICMP, t.key.HashHost(&s.Dst)))
		}
		return
	case track.IsOther:
		if s.Flags&track.Connection != 0 { // a reset ends what there was, or was not
			return
		}
	case track.IsAgreed: // anybody gets one
		f := flow(k.id, s.SrcPort, overTCP, s.ToHash())
		t.half.Add(f)
		t.agreed.Add(lru.Mix(f, uint64(s.Key)))
		return
	}
	t.session.Add(flow(k.id, s.SrcPort, transport(s), s.ToHash()))
}

// classify returns the class of a packet to a host.
func (t *Table) classify(k *known, s *track.Sighting) int {
	switch s.What {
	case track.IsFragment:
		return t.classifyFragment(k, s)
	case track.IsControl:
		if (s.Detail == echoReply || s.Detail == echoReply6) && t.session.Has(flow(k.id, 0, packet.ProtoICMP, t.key.HashHost(&s.Src))) {
			return inSession
		}
		return icmpClass
	case track.IsCarried:
		if t.session.Has(flow(k.id, 0, uint64(s.Detail), t.key.HashHost(&s.Src))) {
			return inSession
		}
		switch s.Detail {
		case packet.ProtoGRE:
			return greClass
		case packet.ProtoESP:
			return espClass
		}
		return ipClass
	}
	if s.Flags&track.Connection != 0 {
		return t.classifySegment(k, s)
	}
	return t.classifyDatagram(k, s)
}

// classifySegment returns the class of a TCP segment.
func (t *Table) classifySegment(k *known, s *track.Sighting) int {
	if s.What == track.IsOpened {
		return synClass
	}
	if s.Bytes >= bulkBytes && t.serverPorts.has(s.DstPort) && !isWebPort(s.DstPort) {
		return bulkClass
	}
	f := flow(k.id, s.DstPort, overTCP, s.FromHash())
	switch {
	case t.session.Has(f):
		return inSession
	case s.What == track.IsAgreed:
		return synAckClass
	case s.What == track.IsAcked && t.agreed.Has(lru.Mix(f, uint64(s.Key))): // who does this got what was sent to its address
		if k.heavy != nil && s.Bytes == 0 {
			k.heavy.completed++
		}
		return inSession
	case s.What == track.IsOther && t.half.Has(f): // whose address was forged says that it did not begin this
		return noClass
	}
	return tcpClass
}

// bulkBytes is from how many bytes of data a segment is more than commands are made of. Chosen: most
// commands have less than 100 bytes, and a full segment about 1,400.
const bulkBytes = 512

// isWebPort reports whether crowds come to a TCP port, for downloads: a host of game servers has these
// beside its consoles.
func isWebPort(port uint16) bool {
	switch port {
	case 80, 443, 8080, 8443:
		return true
	}
	return false
}

// classifyDatagram returns the class of a UDP datagram.
func (t *Table) classifyDatagram(k *known, s *track.Sighting) int {
	if class := t.foreignClass(s); class != noClass {
		if t.classes[class].Sessions && t.session.Has(flow(k.id, s.DstPort, overUDP, s.FromHash())) {
			return inSession
		}
		return class
	}
	if s.What == track.IsJunk {
		return noClass
	}
	switch {
	case t.session.Has(flow(k.id, s.DstPort, overUDP, s.FromHash())):
		return inSession
	case t.amplifying.has(s.SrcPort) && s.What == track.IsOther:
		return amplifierClass(s.SrcPort)
	case t.Judged != nil && t.Judged(s):
		return noClass
	}
	return udpClass
}

// amplifierClass returns the class of what an amplifier sends from a port.
func amplifierClass(port uint16) int {
	for i := range amplifiers {
		if amplifiers[i].port == port {
			return ownClasses + i
		}
	}
	return udpClass
}

// classifyFragment returns the class of a fragment. The first one has the ports, and says
// for all of them what they are.
func (t *Table) classifyFragment(k *known, s *track.Sighting) int {
	peer := t.key.HashHost(&s.Src)
	sum := lru.Mix(peer, k.id^uint64(s.Key))
	p := &t.pieces[sum%fragmentPlaces]
	if s.Flags&track.First == 0 {
		if p.sum == uint32(sum>>32) && t.now-p.sec <= fragmentFor {
			return int(p.class)
		}
		if t.session.Has(flow(k.id, 0, uint64(s.Detail), peer)) {
			return inSession
		}
		return fragmentClass
	}
	class := fragmentClass
	switch {
	case t.session.Has(flow(k.id, 0, uint64(s.Detail), peer)),
		s.Detail == packet.ProtoUDP && t.session.Has(flow(k.id, s.DstPort, overUDP, s.FromHash())):
		class = inSession
	case s.Detail != packet.ProtoUDP:
	case t.amplifying.has(s.SrcPort):
		class = amplifierClass(s.SrcPort)
	case t.serverPorts.has(s.SrcPort): // it is a reply, and judged when it is whole
		class = noClass
	}
	*p = piece{uint32(sum >> 32), t.now, uint8(class)}
	return class
}

const (
	// limit: fragmentPlaces is for how many fragmented datagrams it is remembered what they are; a newer
	// one takes the place of an older one, and is taken for it for fragmentFor seconds at most, in which
	// Linux gives up a datagram.
	fragmentPlaces = 1 << 12
	fragmentFor    = 30
	// limit: maxClasses bounds the classes, those of other games included.
	maxClasses = 64
)
