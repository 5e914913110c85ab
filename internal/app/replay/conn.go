package replay

import (
	"net/netip"

	"qsniff/dissect"
)

// Conn answers the requests of one connection. Conns of a Server are not safe for concurrent
// use with each other or with the Server.
type Conn struct {
	server     *Server
	dissector  dissect.StreamDissector
	ctx        dissect.Context
	stream     dissect.Stream
	buf        []byte
	isAccepted bool // a login was
}

// NewConn returns what answers a connection from client; nil if the server was not asked
// over TCP.
func (s *Server) NewConn(client netip.AddrPort) *Conn {
	p := s.book.streamProto()
	if p == nil {
		return nil
	}
	c := &Conn{server: s, dissector: s.reg.StreamOf(p)}
	c.stream = dissect.Stream{Dir: dissect.ToServer, Opened: true,
		Session: c.dissector.AppendSessions(nil, 1, &dissect.Budget{Limit: maxRequest})[0]}
	c.ctx = dissect.Context{Src: client, Dst: s.book.Server, Stream: &c.stream}
	return c
}

// Receive takes bytes that the client sent, and calls send with the reply to each request
// in them. It returns false if the connection is to be closed.
func (c *Conn) Receive(b []byte, send func(Reply)) bool {
	c.buf = append(c.buf, b...)
	for len(c.buf) > 0 {
		c.ctx.Wire = len(c.buf)
		rec := c.dissector.Frame(&c.ctx, c.buf)
		if rec.Conf == dissect.No || rec.Bad || rec.Len > maxRequest || len(c.buf) > 2*maxRequest {
			send(Reply{Outcome: Unread, Closes: true})
			return false
		}
		if rec.Len == 0 || rec.Len > len(c.buf) {
			return true
		}
		r := c.answer(c.buf[:rec.Len])
		c.buf = c.buf[rec.Len:]
		send(r)
		if r.Closes {
			return false
		}
	}
	c.buf = nil
	return true
}

// answer returns the reply to one request.
func (c *Conn) answer(request []byte) Reply {
	m := &c.server.msg
	c.ctx.Wire = len(request)
	m.Reset(c.dissector.Proto(), request)
	c.dissector.Dissect(&c.ctx, nil, request, m)
	c.dissector.Learn(&c.ctx, m)
	if m.Type == nil {
		return Reply{Outcome: Unread, Closes: true}
	}
	number, at := numberOf(m)
	isLogin := m.Type.Asks.Has(dissect.AskLogin)
	r := Reply{Outcome: Unknown, Type: m.Type}
	k := c.server.book.find(m.Type, true, without(request, at))
	switch {
	case k == nil && isLogin: // a password that nobody sent in the capture
		if k = c.server.book.refusal(); k == nil {
			r.Closes = true
			return r
		}
	case k == nil || !isLogin && !c.isAccepted:
		return r
	}
	if isLogin {
		c.isAccepted = !k.refuses && len(k.answer) > 0
	}
	r.Outcome = Answered
	for i := range k.answer {
		x := &k.answer[i]
		r.Datagrams = append(r.Datagrams, withNumber(x.datagrams[0], x.numberAt, x.number, number))
	}
	return r
}
