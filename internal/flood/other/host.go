package other

import (
	"qsniff/internal/flood/measure"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// Host is one that is watched closely.
type Host struct {
	Addr track.Host

	slot        int
	known       *known
	born        int32 // when it came to be watched
	lastIn      int32 // it got something
	isForgotten bool  // the table has no place for it any more: known is own
	own         known

	// In this second:
	now       [maxClasses]tally
	errors    uint32 // ICMP errors about what the host sent
	sent      uint32 // packets by the host
	sentLast  uint32 // in the second before
	completed uint32 // handshakes
	toServers uint32 // TCP SYN to ports of game servers

	spells [maxClasses]Spell
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
	v.Add(key, s, hash, h.lastIn)
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
	h.errors, h.sent, h.completed, h.toServers = 0, 0, 0, 0
}

// amplifier is a service that answers anybody over UDP with more than it was sent, and is
// made to answer who did not ask. Its replies are told by the port that they come from.
type amplifier struct {
	port   uint16
	name   string // in classes: amplified_NAME
	says   string
	source string
}

// Where it is said that a service is used so. The first has the factors of most of them.
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
