package filter

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/communityid"
	"qsniff/internal/flood"
	"qsniff/reassembly/wire"
)

// ownFields lists the fields that are no protocol's. Those that are not restricted to other
// subjects are restricted to messages.
func ownFields(reg *dissect.Registry, o Options) []*field {
	all := slices.Concat(messageFields(reg), networkFields(), frameFields(), splitFields(reg), exchangeFields(),
		findingFields(o), guard(ofIncidents, isIncident, incidentFields(reg)), roleFields(reg), protocolFields(reg), payloadFields(o))
	rest := slices.DeleteFunc(slices.Clone(all), func(f *field) bool { return f.of != nil })
	guard(ofMessages, isMessage, rest)
	return all
}

func isMessage(m *Matcher) bool  { return m.event != nil }
func isIncident(m *Matcher) bool { return m.incident != nil }

// guard restricts fields to the subjects for which of returns true, and evaluates them for these
// only. It returns the fields.
func guard(of func(*subject) bool, is test, all []*field) []*field {
	for _, f := range all {
		each, exists := f.each, f.exists
		f.of = of
		f.each = func(m *Matcher, t test) bool { return is(m) && each(m, t) }
		if exists != nil {
			f.exists = func(m *Matcher) bool { return is(m) && exists(m) }
		}
	}
	return all
}

// Constructors of fields, by type.

func newText(name, doc string, load test) *field {
	return &field{name: name, doc: doc, typ: text, each: one(load)}
}

func newName(n, doc string, names []string, load test) *field {
	return &field{name: n, doc: doc, typ: name, names: names, each: one(load)}
}

func newNumber(name, doc string, load test) *field {
	return &field{name: name, doc: doc, typ: unsigned, each: one(load)}
}

func newFlag(name, doc string, load test) *field {
	return &field{name: name, doc: doc, typ: boolean, each: one(load)}
}

func newPresence(name, doc string, holds test) *field {
	return &field{name: name, doc: doc, typ: presence, each: one(holds), exists: holds}
}

// setName stores a name as the value, and reports whether it is not empty.
func (m *Matcher) setName(s string) bool {
	m.name = append(m.name[:0], s...)
	m.v.text = m.name
	return s != ""
}

// setNum stores a number as the value, and returns true.
func (m *Matcher) setNum(n uint64) bool {
	m.v.num = n
	return true
}

func (m *Matcher) setBool(b bool) bool { return m.setNum(uint64(truthOf(b) & 1)) }

// protocolNames returns the names of the registry's protocols.
func protocolNames(reg *dissect.Registry) (all []string) {
	for _, p := range reg.Protos() {
		all = append(all, p.Name)
	}
	return all
}

// messageNames returns the names of message types of all protocols, sorted.
func messageNames(reg *dissect.Registry) (all []string) {
	for _, p := range reg.Protos() {
		for _, t := range p.Types {
			all = append(all, t.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// namesOf returns the names of n values that count from 0, without empty ones.
func namesOf[T interface {
	~uint8
	String() string
}](n T) (all []string) {
	for v := range n {
		if s := v.String(); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// messageFields are what every message has.
func messageFields(reg *dissect.Registry) []*field {
	all := []*field{
		newName("protocol", "protocol of the message", protocolNames(reg), func(m *Matcher) bool { return m.setName(m.msg.Proto.Name) }),
		newName("message", "type of the message", messageNames(reg), func(m *Matcher) bool {
			return m.msg.Type != nil && m.event.Record == "" && m.setName(m.msg.Type.Name)
		}),
		newName("direction", "one-way messages are requests", []string{"request", "reply"},
			func(m *Matcher) bool { return m.setName(m.event.Direction()) }),
		newName("status", "complete; truncated by the capture; malformed by the sender; or fragment: a set that stayed incomplete",
			namesOf(dissect.Fragment+1), func(m *Matcher) bool { return m.setName(m.msg.Status.String()) }),
		newFlag("weak", "nothing but the payload's own few bytes says what it is",
			func(m *Matcher) bool { return m.setBool(m.msg.Conf == dissect.Maybe) }),
		newNumber("length", "length of the message in bytes as it was sent, after joining and decompression",
			func(m *Matcher) bool { return m.setNum(uint64(m.msg.Wire)) }),
		newNumber("captured", "how many of its bytes are in the capture", func(m *Matcher) bool { return m.setNum(uint64(len(m.msg.Data))) }),
		{name: "record", doc: "what is no message: finding, incident, or reply: one that was joined from several messages", typ: name, of: ofAll,
			names: []string{"finding", "incident", "reply"}, each: one(loadRecord)},
	}
	all[0].isByKind, all[1].isByKind = true, true
	return all
}

func loadRecord(m *Matcher) bool {
	switch {
	case m.record != nil:
		return m.setName("finding")
	case m.incident != nil:
		return m.setName("incident")
	}
	return m.setName(m.event.Record)
}

// splitFields are how the engine split the message.
func splitFields(reg *dissect.Registry) []*field {
	var engines []string
	for _, p := range reg.Protos() {
		for _, e := range p.Splits {
			if e != wire.None {
				engines = append(engines, e.String())
			}
		}
	}
	slices.Sort(engines)
	isSplit := func(m *Matcher) bool { return m.event.Split != nil }
	of := func(load test) test { return func(m *Matcher) bool { return isSplit(m) && load(m) } }
	return []*field{
		newPresence("split", "the engine split the message", isSplit),
		newName("split.engine", "engine whose form the split has", slices.Compact(engines), of(func(m *Matcher) bool { return m.setName(m.event.Split.Engine.String()) })),
		newNumber("split.id", "number that the parts share, without the compression bit", of(func(m *Matcher) bool { return m.setNum(uint64(m.event.Split.ID)) })),
		newNumber("split.total", "how many parts there are", of(func(m *Matcher) bool { return m.setNum(uint64(m.event.Split.Total)) })),
		newNumber("split.received", "how many of them are in the capture", of(func(m *Matcher) bool { return m.setNum(uint64(m.event.Split.Received)) })),
		newNumber("split.size_field", "the header's part size in bytes, where it has one", of(func(m *Matcher) bool {
			return m.event.Split.Size > 0 && m.setNum(uint64(m.event.Split.Size))
		})),
		newFlag("split.compressed", "the parts hold a bzip2 stream", of(func(m *Matcher) bool { return m.setBool(m.event.Split.Compressed) })),
	}
}

// exchangeFields are the place of a message among the request and the replies it belongs to.
func exchangeFields() []*field {
	of := func(load test) test {
		return func(m *Matcher) bool { return m.event.Exchange.ID != 0 && load(m) }
	}
	nanos := func(name, doc string, load test) *field {
		return &field{name: name, doc: doc, typ: duration, each: one(of(load))}
	}
	later := func(name, doc string, typ valueType, late lateField) *field {
		return &field{name: name, doc: doc, typ: typ, late: late}
	}
	all := []*field{
		newPresence("exchange", "the message belongs to an exchange: a request and its replies", of(always)),
		newNumber("exchange.id", "frame of the exchange's first request", of(func(m *Matcher) bool { return m.setNum(m.event.Exchange.ID) })),
		newText("exchange.verb", `what the message does to a request: "answers", "challenges"; absent at the first request`,
			of(func(m *Matcher) bool { return m.setName(m.event.Exchange.Verb) })),
		newNumber("exchange.request_frame", "of a reply: frame of the request that it replies to", of(func(m *Matcher) bool {
			return m.event.Exchange.Request != 0 && m.setNum(m.event.Exchange.Request)
		})),
		nanos("rtt", "of a reply: time from its request to its first packet", func(m *Matcher) bool {
			x := &m.event.Exchange
			return x.Request != 0 && x.RTT >= 0 && m.setNum(uint64(x.RTT))
		}),
		nanos("challenge_rtt", "of an answer: round trip of the challenge before it", func(m *Matcher) bool {
			x := &m.event.Exchange
			return x.Request != 0 && x.ChallengeRTT >= 0 && m.setNum(uint64(x.ChallengeRTT))
		}),
		newText("client.name", "of a request or an answer: the program that asks, as far as the client's visit shows up to there (docs/clients.md)", of(func(m *Matcher) bool {
			if m.event.Exchange.Signs == 0 {
				return false
			}
			m.name, _ = m.event.Exchange.Signs.AppendName(m.name[:0])
			m.v.text = m.name
			return true
		})),
		later("exchange.answered", "the exchange of the message was answered, in time or late; known when it is over", boolean, lateAnswered),
		later("exchange.rtt", "time from request to answer, for every message of the exchange; known when it is over", duration, lateRTT),
		later("exchange.challenge_rtt", "round trip of the challenge, for every message of the exchange; known when it is over", duration, lateChallengeRTT),
	}
	for _, f := range all {
		f.isPaired = true
	}
	return all
}

// eachFinding returns the values of a property of findings. load stores it.
func eachFinding(load func(m *Matcher, e *finding.Expert) bool) func(*Matcher, test) bool {
	return func(m *Matcher, t test) bool {
		if m.record != nil {
			return load(m, m.record.Expert) && t(m)
		}
		if m.incident != nil {
			return false
		}
		for i := range m.msg.Expert {
			if load(m, &m.msg.Expert[i]) && t(m) {
				return true
			}
		}
		return false
	}
}

// findingFields are what is wrong with a message, as known when it completed.
func findingFields(o Options) []*field {
	var ids []string
	for _, c := range o.Codes {
		ids = append(ids, c.ID)
	}
	slices.Sort(ids)
	return []*field{
		{name: "finding", doc: "ids of what is wrong with the message, or of a finding that belongs to none", typ: name, of: ofFindings, isPaired: true, names: slices.Compact(ids),
			each: eachFinding(func(m *Matcher, e *finding.Expert) bool { return m.setName(e.Code.ID) })},
		{name: "finding.severity", doc: "how much it matters, as raised", typ: order, of: ofFindings, isPaired: true, names: namesOf(finding.Error + 1),
			each: eachFinding(func(m *Matcher, e *finding.Expert) bool { return m.setNum(uint64(e.Severity)) })},
		{name: "finding.fault", doc: "whose fault it is", typ: name, of: ofFindings, isPaired: true, names: namesOf(finding.Capture + 1),
			each: eachFinding(func(m *Matcher, e *finding.Expert) bool { return m.setName(e.Code.Fault.String()) })},
	}
}

// kindCodes returns the ids of the kinds of incidents, each once.
func kindCodes() (ids []string) {
	for k := flood.NoKind + 1; k < flood.NumKinds; k++ {
		ids = append(ids, k.Code())
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// incidentFields are those of incidents, which stand among the messages of a live capture.
func incidentFields(reg *dissect.Registry) []*field {
	return []*field{
		newPresence("incident", "an incident was detected, changed, or is over", always),
		newName("incident.event", "what happened to it", namesOf(flood.Ends+1), func(m *Matcher) bool { return m.setName(m.incident.Event.String()) }),
		newName("incident.kind", "kind of the incident", namesOf(flood.NumKinds), func(m *Matcher) bool { return m.setName(m.incident.Kind.String()) }),
		newName("incident.code", "stable id of that kind: qsniff explain ID", kindCodes(), func(m *Matcher) bool { return m.setName(m.incident.Kind.Code()) }),
		{name: "incident.level", doc: "how urgent it is", typ: order, names: namesOf(flood.Alert + 1),
			each: one(func(m *Matcher) bool { return m.setNum(uint64(m.incident.Level)) })},
		newText("incident.target", `what it is about: "udp/198.51.100.17:27015"`, func(m *Matcher) bool { return m.setName(m.incident.Target.String()) }),
		newNumber("incident.id", "its number, in the order of detection", func(m *Matcher) bool { return m.setNum(m.incident.ID) }),
		newName("incident.protocol", "protocol of its packets", protocolNames(reg), func(m *Matcher) bool { return m.setName(m.incident.Protocol()) }),
		newText("incident.class", "of a flood of what is no query: what came, as in tcp_syn", func(m *Matcher) bool {
			return m.incident.Class != nil && m.setName(m.incident.Class.Name)
		}),
	}
}

// protocolFields are the protocols, whose names alone are tests.
func protocolFields(reg *dissect.Registry) (all []*field) {
	for _, p := range reg.Protos() {
		all = append(all, newPresence(p.Name, "the message is of this protocol", func(m *Matcher) bool { return m.msg.Proto == p }))
		all[len(all)-1].isByKind, all[len(all)-1].isInside = true, true
	}
	return all
}

// wayNames are the kinds of tags, labels and tunnels.
func wayNames() (all []string) {
	for k := range packet.NumWayKinds {
		all = append(all, strings.ToLower(k.String()))
	}
	return all
}

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

// roleFields are properties of the server that each protocol names differently, as in the
// columns of tables.
func roleFields(reg *dissect.Registry) []*field {
	newRole := func(name, doc string, typ valueType, r dissect.Role) *field {
		hasRole := func(d *dissect.Def) bool { return d.Role == r }
		protos := slices.DeleteFunc(slices.Clone(reg.Protos()), func(p *dissect.Proto) bool { return !slices.ContainsFunc(p.Defs, hasRole) })
		return guard(ofProtos(protos, hasRole), isMessage, []*field{{name: name, doc: doc + ", in any protocol", typ: typ, isInside: true, hasTexts: typ == text, each: one(loadRole(r))}})[0]
	}
	return []*field{
		newRole("server_name", "name of the server", text, dissect.ServerName),
		newRole("map", "map being played", text, dissect.MapName),
		newRole("players", "players on the server", unsigned, dissect.PlayerCount),
		newRole("max_players", "slots", unsigned, dissect.MaxPlayers),
	}
}

// loadRole stores the first value of the message that has a role. A number that a protocol
// sends as text is parsed.
func loadRole(r dissect.Role) test {
	isNumber := r == dissect.PlayerCount || r == dissect.MaxPlayers
	return func(m *Matcher) bool {
		for i := range m.msg.Fields {
			f := &m.msg.Fields[i]
			switch {
			case f.Def.Role != r:
				continue
			case f.Def.Kind != dissect.Text:
				m.v.num = m.msg.Fields[m.msg.Tells(i)].Num
				return isNumber && f.Flags&dissect.Cut == 0
			case isNumber:
				n, ok := parseDecimal(m.msg.Bytes(f))
				m.v.num = n
				return ok && f.Flags&dissect.Cut == 0
			}
			return m.loadText(i)
		}
		return false
	}
}

// parseDecimal returns the number that b is in decimal digits; ok is false if it is none, or
// has more than 18 digits.
func parseDecimal(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 18 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// tens are the powers of ten that a float holds exactly, as far as 18 digits need them.
var tens = [19]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18}

// parseNumber returns the number that a text is: digits, with a sign and a point or without.
// strconv.ParseFloat would need a string in memory of its own.
func parseNumber(b []byte) (float64, bool) {
	digits, isNegative := bytes.CutPrefix(b, []byte{'-'})
	whole, fraction, _ := bytes.Cut(digits, []byte{'.'})
	n, ok := parseDecimal(whole)
	v := float64(n)
	if len(fraction) > 0 {
		f, isNumber := parseDecimal(fraction)
		v, ok = v+float64(f)/tens[min(len(fraction), 18)], ok && isNumber
	}
	if isNegative {
		v = -v
	}
	return v, ok
}

// payloadFields are the bytes of the message, also by the names that Wireshark has for those of a packet.
func payloadFields(o Options) []*field {
	load := (*Matcher).loadPayload
	if o.ShowSecrets {
		load = func(m *Matcher) bool {
			m.v.text = m.msg.Data
			return true
		}
	}
	over := func(is transport) test {
		return func(m *Matcher) bool { return m.isOver(is) && load(m) }
	}
	return []*field{
		{name: "payload", doc: "bytes of the message, after joining and decompression; those of secrets are '*'", typ: octets, hasTexts: true, each: one(load)},
		{name: "udp.payload", doc: "payload of a message over UDP", typ: octets, hasTexts: true, each: one(over(onlyUDP))},
		{name: "tcp.payload", doc: "payload of a message over TCP", typ: octets, hasTexts: true, each: one(over(onlyTCP))},
	}
}

// loadPayload stores the bytes of the message, with stars for those of secrets.
func (m *Matcher) loadPayload() bool {
	m.v.text = m.msg.Data
	isCopy := false
	for i := range m.msg.Fields {
		f := &m.msg.Fields[i]
		if f.Def.Flags&dissect.Secret == 0 {
			continue
		}
		if !isCopy {
			m.joined, isCopy = append(m.joined[:0], m.msg.Data...), true
			m.v.text = m.joined
		}
		for j := f.Off; j < f.Off+f.Len; j++ {
			m.joined[j] = '*'
		}
	}
	return true
}
