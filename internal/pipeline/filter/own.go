package filter

import (
	"slices"
	"strings"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/flood"
	"qsniff/reassembly/wire"
)

// ownFields lists the fields that are no protocol's. Those that are not restricted to other
// subjects are restricted to messages.
func ownFields(reg *dissect.Registry, o Options) []*field {
	all := slices.Concat(messageFields(reg), networkFields(), frameFields(), splitFields(reg), exchangeFields(),
		findingFields(o), guard(ofIncidents, isIncident, incidentFields(reg)), roleFields(reg), protocolFields(reg), []*field{payloadField(o)})
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
