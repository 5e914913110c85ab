package replay

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
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
	_, _ = rand.Read(s.key[:]) // it never fails
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

// Answer returns the reply to a datagram from client. What it refers to is not to be
// changed, and valid until the next call.
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
