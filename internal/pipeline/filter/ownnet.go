package filter

import (
	"net/netip"

	"qsniff/internal/base/communityid"
)

// Fields of addresses, ports and frames.

// ends are the ends of a message, or of what a finding or an incident is about.
type ends uint8

const (
	srcEnd ends = 1 << iota
	dstEnd
	serverEnd
	clientEnd
)

// eachEnd calls t for the ends in which.
func (m *Matcher) eachEnd(which ends, t func(m *Matcher, end netip.AddrPort) bool) bool {
	switch {
	case m.record != nil:
		return which&(serverEnd|srcEnd) != 0 && m.record.Server.IsValid() && t(m, m.record.Server) ||
			which&(clientEnd|dstEnd) != 0 && m.record.Client.IsValid() && t(m, m.record.Client)
	case m.incident != nil:
		return which == serverEnd && m.eachTarget(t) || which == srcEnd|dstEnd && m.eachTarget(t)
	}
	server, client := dstEnd, srcEnd
	if e := m.event; e.Reply || e.Msg.Type != nil && e.Msg.Type.FromServer() {
		server, client = srcEnd, dstEnd
	}
	if which&serverEnd != 0 {
		which |= server
	}
	if which&clientEnd != 0 {
		which |= client
	}
	return which&srcEnd != 0 && t(m, m.event.Src) || which&dstEnd != 0 && t(m, m.event.Dst)
}

// eachTarget calls t for the targets of the incident that are addresses.
func (m *Matcher) eachTarget(t func(m *Matcher, end netip.AddrPort) bool) bool {
	in := m.incident
	if in.Target.End.IsValid() && !in.Target.IsNetwork() && t(m, in.Target.End) {
		return true
	}
	for _, end := range in.Targets {
		if t(m, end) {
			return true
		}
	}
	return false
}

// newEnds returns the field of addresses of one family, or of both.
func newEnds(name, doc string, family uint8, which ends) *field {
	return &field{name: name, doc: doc, typ: address, family: family, of: ofAll, each: func(m *Matcher, t test) bool {
		return m.eachEnd(which, func(m *Matcher, end netip.AddrPort) bool {
			a := end.Addr().Unmap()
			if family == 4 && !a.Is4() || family == 6 && !a.Is6() {
				return false
			}
			m.v.end, m.v.ported = netip.AddrPortFrom(a, end.Port()), true
			return t(m)
		})
	}}
}

// transports that a port can be of.
type transport uint8

const (
	anyTransport transport = iota
	onlyUDP
	onlyTCP
)

// isOver reports whether what is matched is a message over transport x.
func (m *Matcher) isOver(x transport) bool {
	return x == anyTransport || m.event.TCP == (x == onlyTCP)
}

func newPorts(name, doc string, x transport, which ends) *field {
	f := newNumber(name, doc, nil)
	if x == anyTransport {
		f.of = ofAll
	}
	f.each = func(m *Matcher, t test) bool {
		return m.isOver(x) && m.eachEnd(which, func(m *Matcher, end netip.AddrPort) bool { return m.setNum(uint64(end.Port())) && t(m) })
	}
	return f
}

// networkFields are addresses, ports and ways.
func networkFields() []*field {
	all := []*field{
		newName("transport", "what the message came over", []string{"udp", "tcp"}, func(m *Matcher) bool { return m.setName(m.event.Transport()) }),
		newEnds("addr", "either end: an address, one with a port, or a network", 0, srcEnd|dstEnd),
		newEnds("src", "sender", 0, srcEnd),
		newEnds("dst", "receiver", 0, dstEnd),
		newEnds("server", "the server; of an incident, its target", 0, serverEnd),
		newEnds("client", "the client", 0, clientEnd),
		newPorts("port", "port of either end", anyTransport, srcEnd|dstEnd),
		newPorts("server.port", "port of the server", anyTransport, serverEnd),
		newPorts("client.port", "port of the client", anyTransport, clientEnd),
		newText("community_id", "Community ID 1 of the flow, as other tools write it", loadCommunityID),
	}
	for _, f := range []struct {
		name, words string
		family      uint8
	}{{"ip", "IPv4", 4}, {"ipv6", "IPv6", 6}} {
		either := newEnds(f.name+".addr", f.words+" address of either end", f.family, srcEnd|dstEnd)
		all = append(all, newPresence(f.name, "the message came over "+f.words, func(m *Matcher) bool { return either.each(m, always) }),
			either, newEnds(f.name+".src", f.words+" address of the sender", f.family, srcEnd),
			newEnds(f.name+".dst", f.words+" address of the receiver", f.family, dstEnd))
	}
	for _, f := range []struct {
		name, words string
		is          transport
	}{{"udp", "UDP", onlyUDP}, {"tcp", "TCP", onlyTCP}} {
		all = append(all, newPresence(f.name, "the message came over "+f.words, func(m *Matcher) bool { return m.isOver(f.is) }),
			newPorts(f.name+".port", f.words+" port of either end", f.is, srcEnd|dstEnd),
			newPorts(f.name+".srcport", f.words+" port of the sender", f.is, srcEnd),
			newPorts(f.name+".dstport", f.words+" port of the receiver", f.is, dstEnd))
	}
	return append(all, wayFields()...)
}

// wayFields are the tags, labels and tunnels around the packet.
func wayFields() []*field {
	each := func(load func(m *Matcher, i int) bool) func(*Matcher, test) bool {
		return func(m *Matcher, t test) bool {
			for i := range m.event.Ways {
				if load(m, i) && t(m) {
					return true
				}
			}
			return false
		}
	}
	return []*field{
		{name: "via", doc: "kinds of the tags, labels and tunnels around the packet", typ: name, names: wayNames(),
			each: each(func(m *Matcher, i int) bool { return m.setName(m.event.Ways[i].Kind) })},
		{name: "via.id", doc: "their numbers", typ: unsigned,
			each: each(func(m *Matcher, i int) bool { return m.setNum(uint64(m.event.Ways[i].ID)) })},
		{name: "via.src", doc: "where tunnels begin", typ: address,
			each: each(func(m *Matcher, i int) bool { return m.setTunnelEnd(m.event.Ways[i].Src) })},
		{name: "via.dst", doc: "where tunnels end", typ: address,
			each: each(func(m *Matcher, i int) bool { return m.setTunnelEnd(m.event.Ways[i].Dst) })},
	}
}

func (m *Matcher) setTunnelEnd(a netip.AddrPort) bool {
	m.v.end, m.v.ported = netip.AddrPortFrom(a.Addr().Unmap(), a.Port()), a.Port() != 0
	return a.IsValid()
}

// The numbers of the protocols in IP's header.
const (
	protoTCP = 6
	protoUDP = 17
)

func loadCommunityID(m *Matcher) bool {
	var number uint8 = protoUDP
	if m.event.TCP {
		number = protoTCP
	}
	m.name = communityid.Append(m.name[:0], m.event.Src, m.event.Dst, number)
	m.v.text = m.name
	return true
}

// times returns the time stamps of what is matched and of the first packet.
func (m *Matcher) times() (at, start int64) {
	switch {
	case m.record != nil:
		return m.record.Nanos, m.record.Start
	case m.incident != nil:
		return m.incident.Nanos, m.incident.First
	}
	return m.event.Nanos, m.event.Start
}

// frameFields are what concerns packets.
func frameFields() []*field {
	loadTime := func(m *Matcher) bool {
		at, _ := m.times()
		return m.setNum(uint64(at))
	}
	return []*field{
		{name: "frame", doc: "always", typ: presence, of: ofAll, each: one(always), exists: always},
		{name: "frame.number", doc: "numbers of the packets that the message came in, from 1", typ: unsigned, of: ofAll, each: eachFrame},
		newNumber("frame.count", "how many packets it came in", func(m *Matcher) bool { return m.setNum(uint64(max(len(m.event.Frames), 1))) }),
		{name: "frame.time", doc: "time of the packet that completed it", typ: moment, of: ofAll, each: one(loadTime)},
		{name: "frame.time_epoch", doc: "the same, in seconds since 1970", typ: moment, of: ofAll, each: one(loadTime)},
		{name: "frame.time_relative", doc: "time since the first packet", typ: duration, of: ofAll, each: one(func(m *Matcher) bool {
			at, start := m.times()
			return m.setNum(uint64(at - start))
		})},
		{name: "frame.span", doc: "time from the first packet of the message to the last", typ: duration,
			each: one(func(m *Matcher) bool { return m.event.Train > 0 && m.setNum(uint64(m.event.Train)) })},
		{name: "frame.comment", doc: "what somebody wrote about the packet in a pcapng file", typ: text, each: eachComment},
		newNumber("file", "which of several inputs it came from, from 0", func(m *Matcher) bool { return m.event.File >= 0 && m.setNum(uint64(m.event.File)) }),
		newNumber("interface", "interface number, where the capture names any", func(m *Matcher) bool {
			return m.event.Iface >= 0 && m.setNum(uint64(m.event.Iface))
		}),
		newText("interface_name", "name of that interface", func(m *Matcher) bool { return m.setName(m.event.IfName) }),
	}
}

func eachFrame(m *Matcher, t test) bool {
	var frames []uint64
	switch {
	case m.record != nil:
		frames = m.record.Frames
	case m.incident != nil:
		return m.setNum(m.incident.Frame) && t(m)
	case len(m.event.Frames) == 0:
		return m.setNum(m.event.Frame) && t(m)
	default:
		frames = m.event.Frames
	}
	for _, n := range frames {
		if m.setNum(n) && t(m) {
			return true
		}
	}
	return false
}

func eachComment(m *Matcher, t test) bool {
	for _, c := range m.event.Comments {
		if m.v.text = c; t(m) {
			return true
		}
	}
	return false
}
