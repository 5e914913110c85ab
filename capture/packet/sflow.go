package packet

import "encoding/binary"

// SFlowPort is the port of collectors of sFlow (https://sflow.org/sflow_version_5.txt).
const SFlowPort = 6343

// The formats of sFlow version 5 that are read, and the lengths of their fixed parts in bytes.
const (
	sflowVersion      = 5
	sflowFlow         = 1 // a flow sample
	sflowExpandedFlow = 3 // one with interface numbers of 32 bits
	sflowRawHeader    = 1 // a record with the start of a packet
	sflowAgentIPv4    = 1
	sflowAgentIPv6    = 2
	sflowFlowLen      = 32
	sflowExpandedLen  = 44
	sflowHeaderLen    = 16

	sflowEthernet = 1 // header_protocol
	sflowPPP      = 7
	sflowIPv4     = 11
	sflowIPv6     = 12
	sflowMPLS     = 13
)

// Sample is the start of a packet that an agent of sFlow sampled.
type Sample struct {
	Rate   uint32 // it is one of so many packets
	Source uint32 // the interface, or what else was sampled, by the agent's number
	Header []byte // the start of the packet, from its link header on; points into the datagram
	Wire   int    // length of the packet in bytes, without what the agent stripped

	protocol uint32
}

// SFlow reads the samples of an sFlow datagram, one by one.
type SFlow struct {
	// Skipped counts samples and records without the start of a packet: counters, and those of other
	// formats.
	Skipped int

	rest    []byte // samples that follow
	records []byte // of the sample at hand
	left    uint32 // samples that follow, as the datagram says
	rate    uint32
	source  uint32
}

// NewSFlow returns a reader of the payload b. It reports false if that is no sFlow datagram of version 5.
func NewSFlow(b []byte) (s SFlow, ok bool) {
	const fixed = 8 // version and type of address
	if len(b) < fixed || binary.BigEndian.Uint32(b) != sflowVersion {
		return s, false
	}
	n := fixed + 4
	switch binary.BigEndian.Uint32(b[4:]) {
	case sflowAgentIPv4:
	case sflowAgentIPv6:
		n += 12
	default:
		return s, false
	}
	n += 12 // sub-agent, sequence number, uptime
	if len(b) < n+4 {
		return s, false
	}
	s.left, s.rest = binary.BigEndian.Uint32(b[n:]), b[n+4:]
	return s, s.left > 0
}

// cutBlock cuts a block with its format and length from the start of b. Of one that ends beyond b it
// returns what there is.
func cutBlock(b []byte) (format uint32, block, rest []byte, ok bool) {
	if len(b) < 8 {
		return 0, nil, nil, false
	}
	format, n := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:])
	b = b[8:]
	if uint64(n) > uint64(len(b)) {
		return format, b, nil, true
	}
	return format, b[:n], b[n:], true
}

// Next reads the next sample with the start of a packet. It reports false after the last one.
func (s *SFlow) Next(x *Sample) bool {
	for {
		for len(s.records) > 0 {
			format, record, rest, ok := cutBlock(s.records)
			s.records = rest
			if ok && format == sflowRawHeader && s.readHeader(record, x) {
				return true
			}
			if ok {
				s.Skipped++
			}
		}
		if s.left == 0 || !s.beginSample() {
			return false
		}
	}
}

// beginSample reads the head of the next sample. It reports false if there is none.
func (s *SFlow) beginSample() bool {
	format, b, rest, ok := cutBlock(s.rest)
	if !ok {
		return false
	}
	s.left--
	s.rest = rest
	switch {
	case format == sflowFlow && len(b) >= sflowFlowLen:
		s.source, s.rate, s.records = binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), b[sflowFlowLen:]
	case format == sflowExpandedFlow && len(b) >= sflowExpandedLen:
		s.source, s.rate, s.records = binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:]), b[sflowExpandedLen:]
	default:
		s.Skipped++
	}
	return true
}

// readHeader reads a record with the start of a packet of a link that is decoded.
func (s *SFlow) readHeader(b []byte, x *Sample) bool {
	if len(b) < sflowHeaderLen {
		return false
	}
	protocol, wire, stripped, n := binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]), binary.BigEndian.Uint32(b[12:])
	switch protocol {
	case sflowEthernet, sflowPPP, sflowIPv4, sflowIPv6, sflowMPLS:
	default:
		return false
	}
	b = b[sflowHeaderLen:]
	b = b[:min(uint64(n), uint64(len(b)))]
	const longest = 1 << 18 // no link carries longer packets
	*x = Sample{Rate: s.rate, Source: s.source, Header: b, protocol: protocol,
		Wire: max(int(min(wire, longest))-int(min(stripped, longest)), len(b))}
	return true
}

// DecodeSample makes p, the datagram that brought a sample, the sampled packet. It is a way in: Outer
// has the ends of the datagram.
func (p *Packet) DecodeSample(s *Sample) {
	p.Payload, p.Wire, p.Frag, p.Stop, p.TCP = nil, 0, Frag{}, OK, TCPHeader{}
	if !p.enter(WaySFlow, s.Source) {
		return
	}
	switch s.protocol {
	case sflowEthernet:
		p.decodeEthernet(s.Header, s.Wire)
	case sflowPPP:
		p.decodePPP(s.Header, s.Wire)
	case sflowMPLS:
		p.decodeMPLS(s.Header, s.Wire)
	default:
		p.decodeIP(s.Header, s.Wire)
	}
}
