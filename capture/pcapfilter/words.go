package pcapfilter

// keywords are the words of the language, and the name under which the parser knows each.
var keywords = map[string]string{
	"and": "and", "or": "or", "not": "not",
	"src": "src", "dst": "dst", "host": "host", "net": "net", "mask": "mask", "port": "port", "portrange": "portrange", "proto": "proto",
	"ether": "ether", "link": "ether", "fddi": "ether", "tr": "ether",
	"ip": "ip", "ip6": "ip6", "arp": "arp", "rarp": "rarp",
	"tcp": "tcp", "udp": "udp", "sctp": "sctp", "icmp": "icmp", "icmp6": "icmp6", "igmp": "igmp", "igrp": "igrp",
	"pim": "pim", "vrrp": "vrrp", "carp": "carp", "ah": "ah", "esp": "esp",
	"aarp": "aarp", "decnet": "decnet", "lat": "lat", "sca": "sca", "moprc": "moprc", "mopdl": "mopdl",
	"vlan": "vlan", "less": "less", "greater": "greater", "len": "len", "length": "len",
	"broadcast": "broadcast", "multicast": "multicast", "inbound": "inbound", "outbound": "outbound", "ifindex": "ifindex",
}

// otherWords are words of the language that libpcap alone compiles.
var otherWords = map[string]bool{
	"gateway": true, "protochain": true, "mpls": true, "pppoed": true, "pppoes": true, "geneve": true, "byte": true,
	"wlan": true, "ppp": true, "slip": true, "type": true, "subtype": true, "dir": true, "direction": true,
	"address1": true, "addr1": true, "address2": true, "addr2": true, "address3": true, "addr3": true, "address4": true, "addr4": true,
	"ra": true, "ta": true, "atalk": true, "iso": true, "esis": true, "isis": true, "clnp": true, "stp": true, "ipx": true,
	"netbeui": true, "llc": true, "radio": true, "lane": true, "vpi": true, "vci": true, "ifname": true, "on": true,
	"rnr": true, "rulenum": true, "srnr": true, "subrulenum": true, "reason": true, "rset": true, "ruleset": true, "action": true,
	"es-is": true, "is-is": true, "l1": true, "l2": true, "iih": true, "lsp": true, "snp": true, "csnp": true, "psnp": true,
	"oam": true, "oamf4": true, "oamf4ec": true, "oamf4sc": true, "sc": true, "ilmic": true, "metac": true, "bcc": true,
	"connectmsg": true, "metaconnect": true, "fisu": true, "lssu": true, "lsu": true, "msu": true, "sio": true, "opc": true, "dpc": true, "sls": true,
	"hfisu": true, "hlssu": true, "hmsu": true, "hsio": true, "hopc": true, "hdpc": true, "hsls": true,
}

// constants are names of numbers.
var constants = map[string]uint32{
	"icmptype": 0, "icmpcode": 1, "icmp-echoreply": 0, "icmp-unreach": 3, "icmp-sourcequench": 4, "icmp-redirect": 5,
	"icmp-echo": 8, "icmp-routeradvert": 9, "icmp-routersolicit": 10, "icmp-timxceed": 11, "icmp-paramprob": 12,
	"icmp-tstamp": 13, "icmp-tstampreply": 14, "icmp-ireq": 15, "icmp-ireqreply": 16, "icmp-maskreq": 17, "icmp-maskreply": 18,
	"icmp6type": 0, "icmp6code": 1, "icmp6-destinationunreach": 1, "icmp6-packettoobig": 2, "icmp6-timeexceeded": 3,
	"icmp6-parameterproblem": 4, "icmp6-echo": 128, "icmp6-echoreply": 129, "icmp6-routersolicit": 133, "icmp6-routeradvert": 134,
	"icmp6-neighborsolicit": 135, "icmp6-neighboradvert": 136, "icmp6-redirect": 137,
	"tcpflags": 13, "tcp-fin": 1, "tcp-syn": 2, "tcp-rst": 4, "tcp-push": 8, "tcp-ack": 16, "tcp-urg": 32, "tcp-ece": 64, "tcp-cwr": 128,
}

// services are the ports that have a name here, each with the transport that it has it for
// (0: for all). They are those that people filter by; names in /etc/services differ between hosts.
var services = map[string]struct {
	port      uint16
	transport uint32
}{
	"domain": {53, 0}, "http": {80, protoTCP}, "https": {443, 0}, "ssh": {22, protoTCP}, "telnet": {23, protoTCP},
	"smtp": {25, protoTCP}, "ftp": {21, protoTCP}, "ntp": {123, protoUDP}, "snmp": {161, 0}, "syslog": {514, protoUDP},
	"tftp": {69, protoUDP}, "bootps": {67, protoUDP}, "bootpc": {68, protoUDP}, "sip": {5060, 0}, "mysql": {3306, protoTCP},
}

// ipProtocols are names of protocols over IP for "proto".
var ipProtocols = map[string]uint32{
	"icmp": protoICMP, "igmp": protoIGMP, "ipencap": 4, "tcp": protoTCP, "igp": protoIGRP, "udp": protoUDP, "gre": 47, "esp": protoESP,
	"ah": protoAH, "ipv6": 41, "ipv6-icmp": protoICMPv6, "icmp6": protoICMPv6, "ospf": 89, "pim": protoPIM, "vrrp": protoVRRP, "l2tp": 115, "sctp": protoSCTP,
}

// etherProtocols are names of EtherTypes for "ether proto", and of those that stand alone.
var etherProtocols = map[string]uint32{
	"ip": etherIPv4, "ip6": etherIPv6, "arp": etherARP, "rarp": etherRARP,
	"aarp": 0x80f3, "decnet": 0x6003, "lat": 0x6004, "sca": 0x6007, "moprc": 0x6002, "mopdl": 0x6001,
}

// Values in headers.
const (
	etherIPv4 = 0x0800
	etherARP  = 0x0806
	etherRARP = 0x8035
	etherVLAN = 0x8100
	etherQinQ = 0x88a8
	etherOldQ = 0x9100
	etherIPv6 = 0x86dd

	protoICMP     = 1
	protoIGMP     = 2
	protoTCP      = 6
	protoIGRP     = 9
	protoUDP      = 17
	protoFragment = 44
	protoESP      = 50
	protoAH       = 51
	protoICMPv6   = 58
	protoPIM      = 103
	protoVRRP     = 112
	protoSCTP     = 132

	maxLLC = 1500 // the largest length in place of an EtherType
)
