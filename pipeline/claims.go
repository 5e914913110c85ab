package pipeline

import (
	"qsniff/dissect"
	"qsniff/reassembly/tcpstream"
)

// claims asks the protocols what stands in a connection that is nobody's yet.
type claims struct {
	reg      *dissect.Registry
	decodeAs []DecodeAs
	ctx      dissect.Context
	stream   dissect.Stream // of ctx
}

// findForced returns the protocol that -d gives to a port of c, and takes that port's
// end for the server's.
func (q *claims) findForced(c *tcpstream.Conn, k *connection) dissect.StreamDissector {
	for _, as := range q.decodeAs {
		for i, end := range c.Ends {
			if as.TCP && end.Port() == as.Port {
				k.server = i
				if c.OpenerKnown {
					k.server = 1
				}
				return q.reg.StreamOf(as.Proto)
			}
		}
	}
	return nil
}

// seek looks for a place where a message may begin.
func (q *claims) seek(c *tcpstream.Conn, b []byte) (skip, need int) {
	q.stream = dissect.Stream{Dir: dissect.Unsure}
	q.ctx = dissect.Context{Src: c.Ends[0], Dst: c.Ends[1], Stream: &q.stream}
	return q.reg.Seek(&q.ctx, b)
}

// pickProtocol asks the protocols about b, which end dir sent. Who opened the connection
// is its client; where that was not seen, the better of both readings counts, and
// of two that are equal the one that the ports speak for.
func (q *claims) pickProtocol(c *tcpstream.Conn, dir int, b []byte) (v dissect.Claim, toServer bool) {
	ask := func(d dissect.Direction) dissect.Claim {
		q.stream = dissect.Stream{Dir: d, Opened: c.HasBothSYNs()}
		q.ctx = dissect.Context{Src: c.Ends[dir], Dst: c.Ends[1-dir], Stream: &q.stream}
		return q.reg.PickStream(&q.ctx, b)
	}
	if c.OpenerKnown {
		toServer = dir == 0
		if toServer {
			return ask(dissect.ToServer), true
		}
		return ask(dissect.ToClient), false
	}
	request, reply := ask(dissect.ToServer), ask(dissect.ToClient)
	switch {
	case request.Conf == reply.Conf:
		toServer = q.reg.ServerSide([2]uint16{c.Ends[0].Port(), c.Ends[1].Port()}) != dir
	default:
		toServer = request.Conf > reply.Conf
	}
	if toServer {
		return request, true
	}
	return reply, false
}

// startsWithMessage reports whether messages begin where the capture of a connection does: a
// whole one stands there, and either nothing follows it or another one does. Who
// writes a message sends it at once, so that this is the usual case.
func (q *claims) startsWithMessage(c *tcpstream.Conn, dir int, b []byte) bool {
	v, _ := q.pickProtocol(c, dir, b)
	if v.Conf == dissect.No || v.Need > 0 || v.Bad {
		return false
	}
	if v.Len == len(b) {
		return true
	}
	next, _ := q.pickProtocol(c, dir, b[v.Len:])
	return next.Conf != dissect.No && !next.Bad
}

// findReason returns what the belief in a whole message at the start of b rests on,
// and nothing if it is too weak. A message that is certain speaks for itself; another
// needs the protocol's port, or a second one in either direction.
func (q *claims) findReason(c *tcpstream.Conn, k *connection, dir int, v *dissect.Claim, toServer bool, b []byte) string {
	server := c.Ends[serverEnd(dir, toServer)]
	switch {
	case v.Conf == dissect.Certain:
		return "structure"
	case q.reg.OnPort(v.Dissector, server.Port()):
		return "port"
	case k.dirs[1-dir].hasWeakMessage:
		return "messages of both ends"
	}
	if v.Len < len(b) {
		if next, _ := q.pickProtocol(c, dir, b[v.Len:]); next.Dissector == v.Dissector && next.Conf != dissect.No && next.Need == 0 {
			return "two messages in a row"
		}
	}
	return ""
}
