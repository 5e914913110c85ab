// Package replay imitates a server that was recorded: it returns for requests the replies
// that the server of a capture gave. Only a Listener, its sockets, has goroutines and a clock.
// It is no model of a game: what was not asked in the capture is not answered.
//
// A Collector gets the messages of a run of the pipeline. It sorts the requests to each
// server into kinds, and keeps which packets brought the reply to the first request of each
// kind that was answered. Collector.Choose then decides on a server, and Book.Fetch takes the
// datagrams from the capture, which is read a second time: parts and compressed replies are
// sent as they came.
//
// A request arrives. Its protocol's dissector reads it, and without the number that proves
// its sender's address it is compared with those of the capture. If the recorded server
// demanded such a number for it, and the request does not bring the one that belongs to its
// address, the answer is a challenge; else it is the recorded reply.
//
// An attacker could forge the address of a victim, to which long replies would go. Addresses that prove nothing get nothing longer than their request, unless they
// are of the same machine.
package replay

import (
	"crypto/hmac"
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"strconv"

	"qsniff/dissect"
)

// Server answers requests as the server of a Book did. It is not safe for concurrent use.
type Server struct {
	book *Book
	reg  *dissect.Registry
	key  [sha256.Size]byte // of challenges
	msg  dissect.Message
}

// Outcome is what became of a request.
type Outcome uint8

// The outcomes.
const (
	Answered   Outcome = iota
	Challenged         // it was answered with a challenge
	Unknown            // the capture has no answer to it
	Unread             // it is no request of the protocols in the capture
	TooLarge           // the answer is longer than the request, and the source is not proven
	Outcomes           // how many there are
)

var outcomes = [...]string{"answered", "challenged", "not answered in the capture", "no request that was recorded",
	"not answered: longer than the request, from an address that is not proven"}

// String returns the outcome in words.
func (o Outcome) String() string { return outcomes[o] }

// Reply is what is sent for a request: the datagrams, or what is written to a connection.
type Reply struct {
	Outcome   Outcome
	Type      *dissect.Type // of the request; nil if it is not known
	Datagrams [][]byte
	Closes    bool // the connection ends after it
}

// Size returns the length of all datagrams.
func (r *Reply) Size() (n int) {
	for _, b := range r.Datagrams {
		n += len(b)
	}
	return n
}

// NewServer returns a Server with random challenges.
func NewServer(reg *dissect.Registry, book *Book) *Server {
	s := &Server{book: book, reg: reg}
	_, _ = crand.Read(s.key[:]) // it never fails
	return s
}

// numberOf returns the challenge of an address: a keyed hash, so that no table of addresses
// is needed. It fits into 31 bits and is not 0, as servers have it.
func (s *Server) numberOf(client netip.Addr) uint32 {
	h := hmac.New(sha256.New, s.key[:])
	a := client.As16()
	h.Write(a[:])
	return max(binary.LittleEndian.Uint32(h.Sum(nil))&0x7fff_ffff, 1)
}

// Answer returns the reply to a datagram from client. The memory it refers to must not be
// changed, and is valid until the next call.
func (s *Server) Answer(client netip.AddrPort, request []byte) Reply {
	number := s.numberOf(client.Addr())
	if !s.read(client, number, request) {
		return Reply{Outcome: Unread}
	}
	m := &s.msg
	brought, at := numberOf(m)
	text := request
	if at.hi > 0 {
		text = without(request, at)
	}
	r := Reply{Outcome: Unknown, Type: m.Type}
	k := s.book.find(m.Type, false, text)
	if k == nil {
		return r
	}
	isProven := at.hi > 0 && m.Key != 0 && uint32(brought) == number
	if k.demands() && !isProven {
		if x := s.book.challengeFor(k); x != nil {
			r.Outcome, r.Datagrams = Challenged, [][]byte{x.numbered(uint64(number))}
		}
	} else if len(k.answer) > 0 {
		r.Outcome = Answered
		for i := range k.answer {
			x := &k.answer[i]
			if x.numberAt.hi > 0 {
				r.Datagrams = append(r.Datagrams, x.numbered(uint64(number)))
			} else {
				r.Datagrams = append(r.Datagrams, x.datagrams...)
			}
		}
	}
	if !isProven && !client.Addr().Unmap().IsLoopback() && r.Size() > len(request) {
		return Reply{Outcome: TooLarge, Type: m.Type}
	}
	return r
}

// numbered returns the only datagram of x with another number.
func (x *part) numbered(number uint64) []byte {
	return withNumber(x.datagrams[0], x.numberAt, x.number, number)
}

// read dissects a request into s.msg, as one of the protocols in which the server was asked.
// It returns false if it is none.
func (s *Server) read(client netip.AddrPort, number uint32, request []byte) bool {
	c := dissect.Context{Src: client, Dst: s.book.Server, Wire: len(request)}
	c.ToServer.RconChallenge = number
	var best dissect.Verdict
	for _, p := range s.book.protos {
		if v, ok := s.reg.PickAs(&c, request, p); ok && v.Conf > best.Conf && !v.Type.FromServer() {
			best = v
		}
	}
	if best.Dissector == nil {
		return false
	}
	s.msg.Reset(best.Dissector.Proto(), request)
	best.Dissector.Dissect(&c, best.Type, request, &s.msg)
	return s.msg.Type != nil
}

// withNumber returns b with the number at s replaced, in the form that it has there: old in
// digits, or else little-endian.
func withNumber(b []byte, s span, old, number uint64) []byte {
	if s.hi == 0 {
		return b
	}
	out := append([]byte(nil), b[:s.lo]...)
	if v, err := strconv.ParseUint(string(b[s.lo:s.hi]), 10, 64); err == nil && v == old {
		out = strconv.AppendUint(out, number, 10)
	} else {
		var x [8]byte
		binary.LittleEndian.PutUint64(x[:], number)
		field := make([]byte, s.hi-s.lo)
		copy(field, x[:])
		out = append(out, field...)
	}
	return append(out, b[s.hi:]...)
}

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

// Torment is what is done to datagrams on their way to a client, as bad networks do.
type Torment struct {
	Loss     float64 // how likely a datagram is lost, 0 to 1
	Reorder  bool    // the datagrams of a reply arrive in another order
	Truncate int     // datagrams are cut to so many bytes; 0: not
}

// Apply returns what arrives of datagrams. The result is the same for the same state of rng.
func (t *Torment) Apply(rng *rand.Rand, datagrams [][]byte) [][]byte {
	out := make([][]byte, 0, len(datagrams))
	for _, b := range datagrams {
		if t.Loss > 0 && rng.Float64() < t.Loss {
			continue
		}
		if t.Truncate > 0 && len(b) > t.Truncate {
			b = b[:t.Truncate]
		}
		out = append(out, b)
	}
	if t.Reorder && len(out) > 1 {
		by := 1 + rng.IntN(len(out)-1) // never as they were
		out = append(out[by:len(out):len(out)], out[:by]...)
	}
	return out
}

// limit: maxRequest is the longest request over TCP in bytes. Chosen: consoles take 4 KB.
const maxRequest = 64 << 10
