package testpcap

import (
	"errors"
	"fmt"
	"net/netip"
)

// side is one end of a connection.
type side int

const (
	clientSide side = iota
	serverSide
)

func (s side) other() side { return 1 - s }

// ends are the key of a connection.
type ends struct{ client, server netip.AddrPort }

// connection holds the number of the next byte that each side sends.
type connection struct{ next [2]uint32 }

// tcp is the state of a source's connections, and of the directives for them.
type tcp struct {
	isOn        bool // payloads are writes, not datagrams
	mss         int  // 0: what the MTU leaves
	noAcks      bool
	connections map[ends]*connection
	opened      uint32 // connections so far

	isn      *[2]uint32 // initial numbers of the next connection
	segments []int      // of the next write
	seek     int64      // where the next write begins, from where the last one ended
}

func (p *parser) ends() ends { return ends{p.client, p.server} }

// openConnection begins a connection between the present ends, and replaces the one
// that they may have: with a handshake, or with none because the capture began later. A
// SYN alone begins none.
func (p *parser) openConnection(how string) error {
	if !p.client.IsValid() || !p.server.IsValid() {
		return errors.New("connection before @ client and @ server")
	}
	isn := [2]uint32{
		firstClientISN + p.tcp.opened*nextISN,
		firstServerISN + p.tcp.opened*nextISN,
	}
	if p.tcp.isn != nil {
		isn = *p.tcp.isn
	}
	p.tcp.isn = nil
	p.tcp.opened++
	c := &connection{next: isn}
	if how != "none" {
		p.clock.startMessage()
		if err := p.addHandshake(c, how == "handshake"); err != nil {
			return err
		}
	}
	if how != "syn" {
		c.next = [2]uint32{isn[clientSide] + 1, isn[serverSide] + 1}
		p.tcp.connections[p.ends()] = c
	}
	return nil
}

// addHandshake adds the SYN of the client and, with answered, the rest of a handshake.
func (p *parser) addHandshake(c *connection, answered bool) error {
	room, err := p.segmentRoom()
	if err != nil {
		return err
	}
	syn := Segment{Seq: c.next[clientSide], Flags: SYN, MSS: uint16(room)}
	if err := p.addSegment(clientSide, syn, 0); err != nil || !answered {
		return err
	}
	c.next[clientSide]++
	synAck := Segment{Seq: c.next[serverSide], Ack: c.next[clientSide], Flags: SYN | ACK, MSS: uint16(room)}
	if err := p.addSegment(serverSide, synAck, 1); err != nil {
		return err
	}
	c.next[serverSide]++
	return p.acknowledge(c, clientSide, 2)
}

// closeConnection ends the connection between the present ends.
func (p *parser) closeConnection(how string, from side) error {
	c := p.tcp.connections[p.ends()]
	if c == nil {
		return fmt.Errorf("no connection from %v to %v", p.client, p.server)
	}
	delete(p.tcp.connections, p.ends())
	p.clock.startMessage()
	flags := FIN | ACK
	if how == "rst" {
		flags = RST | ACK
	}
	if err := p.addSegment(from, c.nextSegment(from, flags), 0); err != nil || how == "rst" {
		return err
	}
	c.next[from]++
	if err := p.addSegment(from.other(), c.nextSegment(from.other(), flags), 1); err != nil {
		return err
	}
	c.next[from.other()]++
	return p.acknowledge(c, from, 2)
}

// addWrite adds b in segments. Segments that @ segments does not list were sent and not
// captured: the acknowledgement covers them.
func (p *parser) addWrite(b []byte, from side) error {
	if p.split != nil || p.icmp != nil || p.fragments != nil {
		return errors.New("split, fragments and icmp belong to datagrams")
	}
	c := p.tcp.connections[p.ends()]
	if c == nil {
		if err := p.openConnection("handshake"); err != nil {
			return err
		}
		c = p.tcp.connections[p.ends()]
	}
	p.clock.startMessage()
	room, err := p.segmentRoom()
	if err != nil {
		return err
	}
	if p.tcp.mss != 0 {
		room = min(room, p.tcp.mss)
	}
	segments, err := pick(c.cut(b, from, room, p.tcp.seek), p.tcp.segments, "segment")
	if err != nil {
		return err
	}
	p.tcp.segments, p.tcp.seek = nil, 0
	for i, s := range segments {
		if err := p.addSegment(from, s, i); err != nil {
			return err
		}
	}
	if p.tcp.noAcks || len(b) == 0 {
		return nil
	}
	return p.acknowledge(c, from.other(), len(segments))
}

// cut makes segments of b, which begins seek bytes from what from has sent, and
// counts what is new of it as sent.
func (c *connection) cut(b []byte, from side, room int, seek int64) []Segment {
	start := c.nextSegment(from, ACK)
	start.Seq += uint32(seek)
	var out []Segment
	next := start
	for _, payload := range chunks(b, room) {
		next.Payload = payload
		out = append(out, next)
		next.Seq += uint32(len(payload))
	}
	if len(b) > 0 {
		out[len(out)-1].Flags |= PSH
	}
	if seek+int64(len(b)) > 0 {
		c.next[from] = next.Seq
	}
	return out
}

// nextSegment returns a segment without a payload from one side, with the next sequence
// numbers.
func (c *connection) nextSegment(from side, flags Flags) Segment {
	return Segment{Seq: c.next[from], Ack: c.next[from.other()], Flags: flags}
}

// acknowledge adds an acknowledgement of all that one side has received.
func (p *parser) acknowledge(c *connection, from side, sent int) error {
	return p.addSegment(from, c.nextSegment(from, ACK), sent)
}

// segmentRoom returns how many bytes of payload a packet has room for.
func (p *parser) segmentRoom() (int, error) {
	headers := ipv6HeaderLen + tcpHeaderLen
	if p.client.Addr().Is4() {
		headers = ipv4HeaderLen + tcpHeaderLen
	}
	if p.mtu <= headers {
		return 0, fmt.Errorf("mtu %d leaves no room for a segment", p.mtu)
	}
	return p.mtu - headers, nil
}

// addSegment adds the packet of a segment; sent is the number of packets of this burst
// before it.
func (p *parser) addSegment(from side, s Segment, sent int) error {
	p.id++
	s.TTL = p.ttl
	if p.client.Addr().Is4() {
		s.ID = p.id
	}
	s.Src, s.Dst = p.client, p.server
	if from == serverSide {
		s.Src, s.Dst = p.server, p.client
	}
	ip, err := s.IP()
	if err != nil {
		return err
	}
	if err := p.addPacket(ip, from == clientSide, sent); err != nil {
		return err
	}
	p.capture.Segments = append(p.capture.Segments, s)
	return nil
}

const (
	// limit: The initial sequence numbers of the first connection, and how much those of
	// the next one are higher: numbers of one pair of ends never meet, as those of
	// RFC 9293 section 3.4.1 do not.
	firstClientISN = 1_000_000
	firstServerISN = 3_000_000_000
	nextISN        = 64_000_000
)
