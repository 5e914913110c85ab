package dissect

import (
	"bytes"
	"slices"

	"qsniff/dissect/finding"
)

// Pattern is what the payloads of some UDP datagrams have in common: bytes at a
// fixed place, and lengths. A type lists one for each of its forms; a datagram of
// the type matches at least one of them, if the capture did not cut it. A pattern is
// necessary and not sufficient: Probe decides
// whether a datagram that matches is a message.
//
// Packet filters are made of patterns: what has to be looked at in a kernel, a
// firewall or a capture filter is declared here and nowhere else.
type Pattern struct {
	Offset int    // of Value, from the first byte of the payload
	Value  []byte // where Mask is 0 it is 0
	Mask   []byte // as long as Value; nil: every bit counts
	// MinLen and MaxLen bound the length of the payload in bytes. A MaxLen of 0 is no
	// bound.
	MinLen, MaxLen int
	// AtPort is set where too much other traffic looks the same: such a datagram is a
	// message at a port of the protocol, or after others of its flow. Its text names, in
	// the plural, what is missed elsewhere.
	AtPort string
	// IsMistake is set for a form that some servers send by mistake, and no client: a
	// filter that has little room can do without it.
	IsMistake bool
}

// Begins is the pattern of payloads that begin with s.
func Begins(s string) Pattern { return Pattern{Value: []byte(s), MinLen: len(s)} }

// BeginsFold is Begins for text whose letters may be small or large. Bytes of s
// that are no letters match as they are.
func BeginsFold(s string) Pattern {
	const anyCase = 0xdf
	p := Begins(s)
	p.Mask = bytes.Repeat([]byte{0xff}, len(s))
	for i, x := range p.Value {
		if x >= 'a' && x <= 'z' || x >= 'A' && x <= 'Z' {
			p.Mask[i], p.Value[i] = anyCase, x&anyCase
		}
	}
	return p
}

// BeginsMasked is the pattern of payloads that begin with s in the bits of mask,
// which is as long.
func BeginsMasked(s, mask string) Pattern {
	p := Begins(s)
	p.Mask = []byte(mask)
	return p
}

// Sized is p for payloads of lo to hi bytes alone; a hi of 0 is no bound.
func (p Pattern) Sized(lo, hi int) Pattern {
	p.MinLen, p.MaxLen = lo, hi
	return p
}

// OnlyAtPort is p with AtPort.
func (p Pattern) OnlyAtPort(what string) Pattern {
	p.AtPort = what
	return p
}

// Match reports whether a payload of wire bytes, of which b was captured, has the
// pattern.
func (p *Pattern) Match(b []byte, wire int) bool {
	if wire < p.MinLen || p.MaxLen > 0 && wire > p.MaxLen || len(b) < p.Offset+len(p.Value) {
		return false
	}
	b = b[p.Offset:]
	for i, want := range p.Value {
		have := b[i]
		if p.Mask != nil {
			have &= p.Mask[i]
		}
		if have != want {
			return false
		}
	}
	return true
}

// Matches reports whether one of the type's patterns fits a payload.
func (t *Type) Matches(b []byte, wire int) bool { return matchesAny(t.Wire, b, wire) }

// matchesAny reports whether one of the patterns fits a payload.
func matchesAny(patterns []Pattern, b []byte, wire int) bool {
	for i := range patterns {
		if patterns[i].Match(b, wire) {
			return true
		}
	}
	return false
}

// MatchesAnywhere reports whether a payload has a form of the type that is looked for at any
// port, see Pattern.AtPort.
func (t *Type) MatchesAnywhere(b []byte, wire int) bool {
	for i := range t.Wire {
		if t.Wire[i].AtPort == "" && t.Wire[i].Match(b, wire) {
			return true
		}
	}
	return false
}

// Token is a number that a server gives to an address and that a request from there
// brings back: who can do that receives what is sent to its address. A reply that
// has one gives it, a request brings it back.
type Token struct {
	FromEnd int // offset of the token's first byte, counted back from the end of the payload
	Len     int // in bytes
	// Plain are the forms of a request that bring none back: without a token, or
	// with a placeholder for it.
	Plain []Pattern
}

// Proof is how a protocol proves that a client receives what is sent to its address.
type Proof uint8

// The proofs.
const (
	NoProof    Proof = iota
	TokenProof       // servers give a token, and clients bring it back
)

// Proof is TokenProof if servers of the protocol give tokens and requests bring
// them back.
func (p *Proto) Proof() Proof {
	gives, brings := false, false
	for _, t := range p.Types {
		gives = gives || t.GivesToken()
		brings = brings || t.BringsToken()
	}
	if gives && brings {
		return TokenProof
	}
	return NoProof
}

// GivesToken reports whether messages of the type give a token to who asked.
func (t *Type) GivesToken() bool { return t.Token != nil && t.Reply }

// BringsToken reports whether messages of the type may bring a token back.
func (t *Type) BringsToken() bool { return t.Token != nil && !t.Reply }

// TokenRoles are the roles of the questions in whose place a token may be given.
func (p *Proto) TokenRoles() (asks Asked) {
	for _, t := range p.Types {
		if t.GivesToken() {
			asks |= t.Asks
		}
	}
	return asks
}

// WithoutToken returns b in two pieces around the token that a message of type t has,
// b and nothing if there is none.
func (t *Type) WithoutToken(b []byte) (before, after []byte) {
	if t == nil || t.Token == nil || len(b) < t.Token.FromEnd {
		return b, nil
	}
	at := len(b) - t.Token.FromEnd
	return b[:at], b[at+t.Token.Len:]
}

// TokenLen is how many bytes a token adds to a message of type t.
func (t *Type) TokenLen() int {
	if t == nil || t.Token == nil {
		return 0
	}
	return t.Token.Len
}

// PairCodes are the findings about what several messages of a protocol show
// together: they are raised by who pairs them. One that is nil is not raised.
type PairCodes struct {
	Ignored  *finding.Code // a request without the token that its client was given: A is the token, and << 32 how many in a row were not brought back, 0 where the request shows one; B the time since in nanoseconds
	Foreign  *finding.Code // a request with a token that was not given to its client: A is the one given, B the one sent
	Swapped  *finding.Code // a token in the opposite byte order: A is the one given, B the one sent
	Rotates  *finding.Code // a token that answers the right token: A is the one brought back, B the new one
	Unheeded *finding.Code // A exchanges in a row with a valid token ended without an answer; B is UnheededAlone or 0
	Shared   *finding.Code // one token for many addresses: A is the token, B how often it was given << 32 and of how many
	TwoForms *finding.Code // the second of two replies, in different forms, to one request for information
	Partial  *finding.Code // A valid requests for players, or for rules where players are not answered either, stay without an answer; B is 1 for rules
	Ruleless *finding.Code // Partial where only the rules are missing
	Unused   *finding.Code // a further token asked for within a short time of one that was accepted: A is that one, B the time since in nanoseconds
	Vain     *finding.Code // a client asks for players, or for rules if B is 1, of which A such requests of all clients stay without an answer
	Eager    *finding.Code // a request repeated A nanoseconds after the one before it, without a reply; B is the time in nanoseconds that 5 % of the answers exceed, 0 if the least time decided, or ThirdRequest
	Mixed    *finding.Code // tokens given for one question in the order A, B, and brought back in the order B, A
	Demanded *finding.Code // a token given in place of information
	Chain    *finding.Code // a question for servers from address A on, as in Page, that ended no page before; Addr ended the last one
	Budget   *finding.Code // a master server falls silent after A requests of one address within B nanoseconds
	Guessing *finding.Code // A refused logins from one address; B as GuessedRight says
	Stale    *finding.Code // A refused logins from one address, all with one password

	Handshake *finding.Code // a TCP connection to port B, a usual one, failed before anything was said: A is how

	WrongPort  *finding.Code // queries to port A stay without an answer, port B of the same host answers such
	Silent     *finding.Code // a master server left A exchanges in a row without an answer; B is the Unix time in seconds
	Unjoined   *finding.Code // a master server gave a server none of A tokens that it asked for, within B nanoseconds
	OldConsole *finding.Code // a command with a token that is A nanoseconds old, 0 if that is unknown; B is 1 if the server refused it, 0 if it did not answer
}

// How a connection failed, in A of a finding that is PairCodes.Handshake.
const (
	HandshakeRefused    = iota // the SYN was answered by a RST
	HandshakeUnanswered        // at least three SYNs were not answered
	HandshakeClosed            // it was accepted, and the server closed it
	HandshakeReset             // it was accepted, and the server reset it
)

// UnheededAlone is B of a finding that is PairCodes.Unheeded where tokens that the server goes on giving show that it
// lives, and not answers to others.
const UnheededAlone = 1

// GuessedRight in B of a finding that is PairCodes.Guessing is set where a login was
// accepted in the end. The other bits are how many different passwords are among the
// last ones, 0 if the capture does not have all.
const GuessedRight = 1 << 63

// ThirdRequest is B of a finding that is PairCodes.Eager where the request is the third of a second.
const ThirdRequest = 1 << 63

// Operator holds sentences for those who run servers of a protocol, and the rates that
// such servers withstand. The advice against floods is made of it.
type Operator struct {
	Limits   string // what servers answer at most by themselves
	Settings string // what to set in the server
	// ChallengeFor are the questions for which Settings have servers demand a challenge, and
	// OtherSettings is what is left to set where they do already, or something else is
	// asked. ChallengeFor is 0 where there is no such setting.
	ChallengeFor  Asked
	OtherSettings string
	Reflected     string // what makes a server that answers forged queries stop that
	Logins        string // what to set against guessers of the console's password
	Crowded       string // what helps a server that real clients ask too much
	Polled        string // what spares a server one that asks too often
	Challenge     string // what makes servers demand a challenge, as part of a sentence
	// Cap is how many queries a second of all clients together a server withstands; 0 if
	// that is unknown.
	Cap int
	// Each is how many queries a second one client may ask, Burst how many at once; 0
	// where the protocol needs no other figures than all.
	Each, Burst int
}

// BitsAt returns byte i of a payload with the pattern, and which of its bits are known.
func (p *Pattern) BitsAt(i int) (value, mask byte) {
	if i -= p.Offset; i < 0 || i >= len(p.Value) {
		return 0, 0
	}
	mask = 0xff
	if p.Mask != nil {
		mask = p.Mask[i]
	}
	return p.Value[i] & mask, mask
}

// shortest returns the length of the shortest payload with the pattern.
func (p *Pattern) shortest() int { return max(p.MinLen, p.Offset+len(p.Value)) }

// HasBytesOf reports whether every payload with p has the bytes of q.
func (p *Pattern) HasBytesOf(q *Pattern) bool {
	for i := q.Offset; i < q.Offset+len(q.Value); i++ {
		want, mask := q.BitsAt(i)
		if have, known := p.BitsAt(i); mask&^known != 0 || have&mask != want {
			return false
		}
	}
	return true
}

// Covers reports whether every payload with q has p.
func (p *Pattern) Covers(q *Pattern) bool {
	return q.HasBytesOf(p) && p.shortest() <= q.shortest() && (p.MaxLen == 0 || q.MaxLen > 0 && q.MaxLen <= p.MaxLen)
}

// Needed lists the patterns that no other one covers: what one of all has, one of them
// has.
func Needed(all []Pattern) (kept []Pattern) {
	for i := range all {
		p := &all[i]
		if slices.ContainsFunc(kept, func(q Pattern) bool { return q.Covers(p) }) {
			continue
		}
		kept = slices.DeleteFunc(kept, func(q Pattern) bool { return p.Covers(&q) })
		kept = append(kept, *p)
	}
	return kept
}
