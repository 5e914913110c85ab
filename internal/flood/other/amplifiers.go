package other

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
