// Package decode decodes payloads that people paste. An Input has them read, in the forms that
// package payload knows. A Plan decides which end sent each payload and of which protocol it
// is, gives the pipeline packets and rules made of that, corrects in messages what the
// pipeline cannot know, and explains the payloads that were not decoded.
package decode

import (
	"net/netip"
	"slices"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/app/payload"
	"qsniff/internal/pipeline"
	"qsniff/reassembly/wire"
)

// The two ends that payloads are given. They are of a private network, so that no finding
// is about the path between them. The client has a port for each protocol, which a rule
// names, and the server one that no protocol has.
var (
	serverAddr = netip.AddrFrom4([4]byte{10, 0, 0, 1})
	clientAddr = netip.AddrFrom4([4]byte{10, 0, 0, 2})
)

const (
	serverPort = 9
	clientPort = 50_000         // of no protocol in particular
	partsPort  = clientPort + 1 // of parts of split messages
	protoPort  = clientPort + 2 // of the first protocol; the others have the ports after it
)

// Options are what the user states about the payloads of a Plan.
type Options struct {
	Registry  *dissect.Registry
	Protocols []dissect.Protocol // of Registry
	As        *dissect.Proto     // whose the payloads are; nil: their bytes decide
	Dir       string             // "request" or "reply"; "": their bytes decide
}

// Plan decides which end sent each payload and of which protocol it is, and makes the
// packets and rules of it that the pipeline is given. A run of the pipeline takes Source,
// Rules and Renderer of one Plan.
type Plan struct {
	Options
	Source    pipeline.PayloadSource
	Rules     []pipeline.DecodeAs
	payloads  []plannedPayload
	isWeakTCP bool // they are a connection's, and only because nothing else reads them
}

// plannedPayload is a payload with what was decided about it.
type plannedPayload struct {
	payload.Payload
	packet   payload.Packet // of a whole packet
	isPacket bool
	readings []reading // of all protocols that read it, in their order
	chosen   *reading  // nil if there is none, or if none is better than the others
	isReply  bool
	isTCP    bool
}

// reading is what a payload is to one protocol.
type reading struct {
	proto *dissect.Proto
	typ   *dissect.Type
	conf  dissect.Confidence
}

// content returns what the packet carries, or the payload itself if it is no packet.
func (m *plannedPayload) content() []byte {
	if m.isPacket {
		return m.packet.Payload
	}
	return m.Data
}

// AddPayloads chooses a reading and a sender for each payload, and adds it to Source. It is
// called once.
func (p *Plan) AddPayloads(ps []payload.Payload) {
	for _, x := range ps {
		m := plannedPayload{Payload: x}
		m.packet, m.isPacket = payload.AsPacket(x.Data)
		m.readings = p.probe(m.content())
		m.chosen = p.choose(m.readings)
		p.payloads = append(p.payloads, m)
	}
	tcp := p.pickStream()
	for i := range p.payloads {
		m := &p.payloads[i]
		m.isReply = p.isReply(m)
		switch no := uint64(i + 1); {
		case m.isPacket:
			p.Source.AddPacket(no, m.packet.Link, m.Data, m.packet.Wire)
			p.addPacketRule(m)
		case tcp != nil:
			p.addSegment(no, m, tcp)
		default:
			p.addDatagram(no, m)
		}
	}
}

// probe returns the readings of a datagram's payload, in the order of the protocols.
func (p *Plan) probe(b []byte) []reading {
	var out []reading
	for _, x := range p.Protocols {
		d, ok := x.(dissect.Dissector)
		if !ok {
			continue
		}
		c := dissect.Context{Wire: len(b)}
		if k, t := d.Probe(&c, b); k > dissect.No && t != nil {
			out = append(out, reading{d.Proto(), t, k})
		}
	}
	return out
}

// choose returns the reading of the protocol of Options.As, else the most confident one
// if that is more than weak, else the only one, else nil. If Options.Dir allows any of the
// readings, only those count.
func (p *Plan) choose(all []reading) *reading {
	var fits []*reading
	for i := range all {
		if r := &all[i]; p.Dir == "" || r.typ.FromServer() == (p.Dir == "reply") {
			fits = append(fits, r)
		}
	}
	if len(fits) == 0 {
		for i := range all {
			fits = append(fits, &all[i])
		}
	}
	var best *reading
	for _, r := range fits {
		if r.proto == p.As {
			return r
		}
		if best == nil || r.conf > best.conf {
			best = r
		}
	}
	if best != nil && (best.conf > dissect.Maybe || len(fits) == 1) {
		return best
	}
	return nil
}

// isReply reports whether a server sent a payload. The chosen reading decides, else
// Options.Dir; without both, parts of split messages are a server's.
func (p *Plan) isReply(m *plannedPayload) bool {
	switch b := m.content(); {
	case m.chosen != nil && !wire.IsSplit(b):
		return m.chosen.typ.FromServer()
	case p.Dir != "":
		return p.Dir == "reply"
	default:
		return wire.IsSplit(b)
	}
}

// addDatagram adds a payload as a UDP datagram, and the rule that its protocol needs.
func (p *Plan) addDatagram(no uint64, m *plannedPayload) {
	port := uint16(clientPort)
	switch {
	case m.chosen != nil:
		port = p.portOf(m.chosen.proto)
		if m.needsRule(p) {
			p.addRule(pipeline.DecodeAs{Port: port, Proto: m.chosen.proto})
		}
	case p.As != nil:
		port = p.portOf(p.As)
		p.addRule(pipeline.DecodeAs{Port: port, Proto: p.As})
	case wire.IsSplit(m.Data):
		port = partsPort
		p.addRule(pipeline.DecodeAs{Port: port})
	}
	client, server := netip.AddrPortFrom(clientAddr, port), netip.AddrPortFrom(serverAddr, serverPort)
	if m.isReply {
		client, server = server, client
	}
	p.Source.AddDatagram(no, client, server, m.Data)
}

// needsRule reports whether the pipeline would not choose the same reading by itself.
func (m *plannedPayload) needsRule(p *Plan) bool {
	return m.chosen.conf == dissect.Maybe || m.chosen.proto == p.As || p.Dir != ""
}

// portOf returns the client's port for a protocol.
func (p *Plan) portOf(proto *dissect.Proto) uint16 {
	return protoPort + uint16(slices.Index(p.Registry.Protos(), proto))
}

// addRule adds r, unless the plan has it.
func (p *Plan) addRule(r pipeline.DecodeAs) {
	if !slices.Contains(p.Rules, r) {
		p.Rules = append(p.Rules, r)
	}
}

// addPacketRule adds the rule that the protocol of a whole packet needs at its server's
// port.
func (p *Plan) addPacketRule(m *plannedPayload) {
	server := m.packet.Dst.Port()
	if m.isReply {
		server = m.packet.Src.Port()
	}
	switch {
	case server == 0:
	case m.packet.Stop == packet.TCP && p.As != nil && p.Registry.StreamOf(p.As) != nil:
		p.addRule(pipeline.DecodeAs{TCP: true, Port: server, Proto: p.As})
	case m.packet.Stop != packet.OK:
	case m.chosen != nil && m.needsRule(p):
		p.addRule(pipeline.DecodeAs{Port: server, Proto: m.chosen.proto})
	case p.As != nil || wire.IsSplit(m.packet.Payload):
		p.addRule(pipeline.DecodeAs{Port: server, Proto: p.As})
	}
}

// pickStream returns the protocol over TCP whose connection the payloads are, or nil: that
// of --as, or, if no payload has a reading as a datagram, the one that claims the first
// payload.
func (p *Plan) pickStream() dissect.StreamDissector {
	if p.As != nil {
		return p.Registry.StreamOf(p.As)
	}
	for i := range p.payloads {
		if m := &p.payloads[i]; m.isPacket || len(m.readings) > 0 || wire.IsSplit(m.Data) {
			return nil
		}
	}
	best, _ := p.claimStream(nil, p.payloads[0].Data)
	if best.Conf == dissect.Maybe && best.Need > 0 { // weak, and the message is not complete
		return nil
	}
	p.isWeakTCP = best.Conf == dissect.Maybe
	return best.Dissector
}

// claimStream returns the claim of d, or the best of all protocols over TCP if d is nil, on
// b as the beginning of a message, and whether that is a reply. Of two equal claims it
// returns the one as a request.
func (p *Plan) claimStream(d dissect.StreamDissector, b []byte) (best dissect.Claim, reply bool) {
	for _, dir := range []dissect.Direction{dissect.ToServer, dissect.ToClient} {
		c := dissect.Context{Wire: len(b), Stream: &dissect.Stream{Dir: dir, Opened: true}}
		v := dissect.Claim{Dissector: d}
		if d == nil {
			v = p.Registry.PickStream(&c, b)
		} else {
			v.Record = d.Frame(&c, b)
		}
		if v.Conf > best.Conf {
			best, reply = v, dir == dissect.ToClient
		}
	}
	return best, reply
}

// addSegment adds a payload as a segment of a connection. A payload that d does not claim
// continues the message in the one before it.
func (p *Plan) addSegment(no uint64, m *plannedPayload, d dissect.StreamDissector) {
	v, reply := p.claimStream(d, m.Data)
	if m.isTCP, m.isReply = true, reply; v.Conf == dissect.No && no > 1 {
		m.isReply = p.payloads[no-2].isReply // it goes on with the message before it
	}
	if p.Dir != "" {
		m.isReply = p.Dir == "reply"
	}
	r := pipeline.DecodeAs{TCP: true, Port: serverPort, Proto: d.Proto()}
	p.addRule(r)
	p.Source.AddSegment(no, netip.AddrPortFrom(clientAddr, clientPort), netip.AddrPortFrom(serverAddr, serverPort), !m.isReply, m.Data)
}
