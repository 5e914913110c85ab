package pipeline

import (
	"qsniff/dissect"
	"qsniff/reassembly/tcpstream"
)

// claims finds the protocol of a connection by asking all of them.
type claims struct {
	reg      *dissect.Registry
	decodeAs []DecodeAs
	ctx      dissect.Context
	stream   dissect.Stream // of ctx
}

// findForced returns the protocol that a rule of -d gives to a port of c, nil if none
// does, and sets k.server: the end that did not open the connection, or the one with that
// port if the opener is unknown.
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

// seek looks for the start of a message in b. It returns how many bytes before it to
// skip, and how many bytes it needs to go on, 0 if it found one.
func (q *claims) seek(c *tcpstream.Conn, b []byte) (skip, need int) {
	q.stream = dissect.Stream{Dir: dissect.Unsure}
	q.ctx = dissect.Context{Src: c.Ends[0], Dst: c.Ends[1], Stream: &q.stream}
	return q.reg.Seek(&q.ctx, b)
}

// pickProtocol asks the protocols about b, which end dir sent, and returns the best claim
// and whether dir speaks to the server. The end that opened the connection is the client.
// If that is unknown, b is read in both directions and the more certain claim counts; of
// two equal ones the one that the ports suggest.
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

// startsWithMessage reports whether b, the first captured bytes of end dir, starts with a
// message: with a whole one, and nothing or another message follows it. Programs send
// each message at once, so this is usual even if the start of the connection was not
// captured.
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

// findReason returns why the whole message at the start of b is believed to be one, ""
// if it is not. A claim that is certain is believed; a weaker one needs the protocol's
// port, or a second message in either direction.
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
