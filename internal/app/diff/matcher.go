// Package diff has what qsniff diff has beside the comparison of two captures, which is package
// internal/track/diff: the choice of packets by a display filter, and files with the packets of each class.
package diff

import (
	"slices"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
)

// Matcher chooses datagrams and segments by a display filter. It looks at nothing but the packet itself: at no
// exchange, and at no flow.
type Matcher struct {
	reg     *dissect.Registry
	matcher *filter.Matcher
	msg     dissect.Message
	event   render.Event
	stream  *dissect.Proto             // the first one over TCP: it stands for segments in which no message begins
	known   map[dissect.Dissector]bool // those with a message that was believed: from then on their weak claims are, too
}

// NewMatcher returns a Matcher for a filter that asks for nothing but messages.
func NewMatcher(reg *dissect.Registry, p *filter.Program) *Matcher {
	x := &Matcher{reg: reg, matcher: p.Matcher(), known: map[dissect.Dissector]bool{}}
	if i := slices.IndexFunc(reg.Protos(), reg.IsStream); i >= 0 {
		x.stream = reg.Protos()[i]
	}
	return x
}

// Match reports whether a packet matches. Of messages with passwords, or with texts that may repeat
// them, nothing but the type is compared.
func (x *Matcher) Match(p *packet.Packet, frame uint64, nanos int64) bool {
	if p.Stop == packet.TCP {
		return x.matchSegment(p, frame, nanos)
	}
	c := dissect.Context{Src: p.Src, Dst: p.Dst, Wire: p.Wire}
	v := x.reg.Pick(&c, p.Payload)
	if v.Dissector == nil || v.Type == nil {
		return false
	}
	if x.reg.Believe(&c, &v) {
		x.known[v.Dissector] = true
	} else if !x.known[v.Dissector] {
		return false
	}
	m := &x.msg
	if v.Type.Prints != nil || v.Type.Asks.Has(dissect.Remote) {
		m.Reset(v.Dissector.Proto(), nil)
	} else {
		m.Reset(v.Dissector.Proto(), p.Payload)
		v.Dissector.Dissect(&c, v.Type, p.Payload, m)
	}
	m.Type = v.Type
	return x.matchMessage(p, frame, nanos, v.Type.FromServer())
}

// matchSegment reports whether a TCP segment matches, by the type of the message that begins with it and by its
// ends. Values of consoles are not compared.
func (x *Matcher) matchSegment(p *packet.Packet, frame uint64, nanos int64) bool {
	c := dissect.Context{Src: p.Src, Dst: p.Dst, Wire: p.Wire, Stream: &dissect.Stream{}}
	if x.reg.OnStreamPort(p.Dst.Port()) != x.reg.OnStreamPort(p.Src.Port()) {
		c.Stream.Dir = dissect.ToClient
		if x.reg.OnStreamPort(p.Dst.Port()) {
			c.Stream.Dir = dissect.ToServer
		}
	}
	proto, v := x.stream, x.reg.PickStream(&c, p.Payload)
	if v.Dissector != nil {
		proto = v.Dissector.Proto()
	}
	x.msg.Reset(proto, nil)
	if v.Dissector != nil {
		x.msg.Type = v.Type
	}
	return x.matchMessage(p, frame, nanos, c.Stream.Dir == dissect.ToClient)
}

// matchMessage reports whether x.msg, the message of a packet, matches.
func (x *Matcher) matchMessage(p *packet.Packet, frame uint64, nanos int64, isReply bool) bool {
	x.event = render.Event{
		Frame: frame,
		Nanos: nanos,
		File:  -1,
		Iface: -1,
		Src:   p.Src,
		Dst:   p.Dst,
		TCP:   p.Stop == packet.TCP,
		Reply: isReply,
		Msg:   &x.msg,
	}
	return x.matcher.Match(&x.event).At(0)
}
