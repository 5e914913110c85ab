package main

import (
	"errors"
	"slices"

	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
)

// datagramFilter chooses datagrams by a display filter. It looks at nothing but the datagram itself: at
// no exchange, and at no flow.
type datagramFilter struct {
	reg     *dissect.Registry
	matcher *filter.Matcher
	msg     dissect.Message
	event   render.Event
	stream  *dissect.Proto             // the first one over TCP: it stands for segments in which no message begins
	known   map[dissect.Dissector]bool // those with a message that was believed: from then on their weak claims are, too
}

// datagramFilter returns what -Y chooses datagrams by, nil for all.
func (o *diffOptions) datagramFilter(reg *dissect.Registry) (func(*packet.Packet, uint64, int64) bool, error) {
	if err := o.checkFilter(reg); err != nil || o.display.program == nil {
		return nil, err
	}
	if p := o.display.program; p.NeedsAnswers() || p.NeedsPairs() {
		return nil, &usageError{errors.New("-Y: diff chooses datagrams, each by itself: it knows no exchanges and clients"),
			"use fields of the message, of ip and udp; qsniff exchanges -Y knows the others"}
	}
	x := &datagramFilter{reg: reg, matcher: o.display.program.Matcher(), known: map[dissect.Dissector]bool{}}
	if i := slices.IndexFunc(reg.Protos(), reg.IsStream); i >= 0 {
		x.stream = reg.Protos()[i]
	}
	return x.wants, nil
}

// wants reports whether a datagram matches. Of messages with passwords, or with texts that may repeat
// them, nothing but the type is compared.
func (x *datagramFilter) wants(p *packet.Packet, frame uint64, nanos int64) bool {
	if p.Stop == packet.TCP {
		return x.wantsSegment(p, frame, nanos)
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
	x.event = render.Event{Frame: frame, Nanos: nanos, File: -1, Iface: -1, Src: p.Src, Dst: p.Dst, Reply: v.Type.FromServer(), Msg: m}
	return x.matcher.Match(&x.event).At(0)
}

// wantsSegment reports whether a TCP segment matches, by the type of the message that begins with it and by its
// ends. Values of consoles are not compared.
func (x *datagramFilter) wantsSegment(p *packet.Packet, frame uint64, nanos int64) bool {
	c := dissect.Context{Src: p.Src, Dst: p.Dst, Wire: p.Wire, Stream: &dissect.Stream{}}
	if x.reg.OnStreamPort(p.Dst.Port()) != x.reg.OnStreamPort(p.Src.Port()) {
		c.Stream.Dir = dissect.ToClient
		if x.reg.OnStreamPort(p.Dst.Port()) {
			c.Stream.Dir = dissect.ToServer
		}
	}
	v := x.reg.PickStream(&c, p.Payload)
	if v.Dissector == nil {
		return x.matchSegment(p, frame, nanos, c.Stream.Dir, x.stream, nil)
	}
	return x.matchSegment(p, frame, nanos, c.Stream.Dir, v.Dissector.Proto(), v.Type)
}

func (x *datagramFilter) matchSegment(p *packet.Packet, frame uint64, nanos int64, dir dissect.Direction, proto *dissect.Proto, t *dissect.Type) bool {
	m := &x.msg
	m.Reset(proto, nil)
	m.Type = t
	x.event = render.Event{Frame: frame, Nanos: nanos, File: -1, Iface: -1, Src: p.Src, Dst: p.Dst, TCP: true, Reply: dir == dissect.ToClient, Msg: m}
	return x.matcher.Match(&x.event).At(0)
}
