package rcon

import (
	"bytes"
	"slices"

	"qsniff/dissect"
)

// packet is a message without its framing. n is the length of its body on the wire, more than
// len(body) where the capture cut it.
type packet struct {
	id, num int32
	body    []byte
	n       int
}

// role is what a packet is for that is neither a question nor an answer.
type role uint8

const (
	noRole role = iota
	probe
	mirror
	trailer
	keepalive
	push
)

var roleNames = [...][]byte{probe: []byte("probe"), mirror: []byte("mirror"), trailer: []byte("trailer"),
	keepalive: []byte("keepalive"), push: []byte("push")}

// place is where a packet stands in the conversation.
type place struct {
	role role
	// asked is the index of the request it is the first answer to, -1 if none.
	asked int
	// part is which packet of its reply it is, from 1; 0 if it is of none.
	part int
	// byOrder is set where the request was not found by its id: Palworld's and Conan
	// Exiles' servers put the same one into all replies.
	byOrder bool
	// isGuess is set where several requests have the id, one of them an end probe without an
	// answer: whether the packet continues the open reply or answers the next command is unknown.
	isGuess bool
	// preamble marks a packet of type 0 before the answer to a login: an empty one of the Source engine, or the
	// reason of a refusal.
	preamble bool
	// isLoginAnswer marks the answer to a login in a type of the server's own.
	isLoginAnswer bool
}

// Bodies with a meaning.
var (
	// trailerBody follows the mirror of an end probe from servers of the Source
	// engine.
	trailerBody   = []byte{0x00, 0x01, 0x00, 0x00}
	keepAliveBody = []byte("Keep Alive")      // ARK, every few seconds
	unknownBody   = []byte("Unknown request") // Minecraft, for types other than 2 and 3
)

const trailerSize = minSize + 4

// placeRequest places a client's packet. An empty one can only be an end probe. One
// with a few letters is, once the client has logged in; before that it may be
// anything.
func (s *session) placeRequest(p *packet) place {
	pl := place{asked: -1}
	empty := p.n == 0 && p.num != numAuth
	if empty || p.num != numAuth && p.num != numExec && s.auth == authDone {
		pl.role = probe
	}
	return pl
}

// placeReply places a server's packet; sure is set where the capture has every request.
func (s *session) placeReply(p *packet, sure bool) place {
	pl := place{asked: -1}
	switch {
	case p.num == numAuthResponse:
	case p.num != numValue && s.auth == authAsked && p.id == s.authID:
		pl.isLoginAnswer = true
	case p.num != numValue:
		if s.findRequest(p.id) < 0 && !(s.cur.open && s.cur.id == p.id) {
			pl.role = push
		}
	case bytes.Equal(p.body, trailerBody):
		pl.role = trailer
	case s.auth == authAsked && p.id == s.authID && (p.n == 0 && !s.preamble || p.n > 0 && len(s.asked) == 0):
		pl.preamble = true
	case p.id == 0 && bytes.HasPrefix(p.body, keepAliveBody):
		pl.role = keepalive
	default:
		s.placeOutput(&pl, p, sure)
	}
	return pl
}

// placeOutput places output. It belongs to the request with its id, if the
// client gives each request its own and the server repeats them, else to the next one
// in order.
func (s *session) placeOutput(pl *place, p *packet, sure bool) {
	k := s.findRequest(p.id)
	switch {
	case s.cur.open && p.id == s.cur.id:
		if k < 0 && s.hasFixedID {
			k = s.nextByOrder(p)
		}
		isNext := k >= 0 && (s.asked[k].probe && isMirror(p) || !s.asked[k].probe && !s.cur.full())
		if k >= 0 && s.asked[k].probe && !isNext {
			if c := s.findCommand(p.id); c >= 0 {
				pl.isGuess = true
				k, isNext = c, !s.cur.full() && (s.neverMirrors || s.asked[c].seq > s.cur.asked)
			}
		}
		if !isNext {
			pl.part = s.cur.parts + 1
			return
		}
	case k >= 0:
	case p.id == failedID, p.id == 0 && (s.echoesIDs || sure && len(s.asked) == 0):
		pl.role = push
		return
	case !s.echoesIDs && len(s.asked) > 0:
		k, pl.byOrder = s.nextByOrder(p), true
	}
	pl.asked, pl.part = k, 1
	if k >= 0 && s.asked[k].probe && isMirror(p) {
		pl.role, pl.part = mirror, 0
	}
}

// isMirror reports whether p can be the answer to an end probe.
func isMirror(p *packet) bool { return p.n == 0 || bytes.HasPrefix(p.body, unknownBody) }

// findRequest returns the index of the oldest waiting request with this id, or -1.
func (s *session) findRequest(id int32) int {
	for i := range s.asked {
		if s.asked[i].id == id {
			return i
		}
	}
	return -1
}

// findCommand returns the index of the oldest waiting command with this id, or -1.
func (s *session) findCommand(id int32) int {
	return slices.IndexFunc(s.asked, func(q request) bool { return q.id == id && !q.probe })
}

// nextByOrder returns the index of the request that p answers by its order, or -1: the
// oldest command, or a probe before all commands that p can be the mirror of.
func (s *session) nextByOrder(p *packet) int {
	if len(s.asked) > 0 && s.asked[0].probe && isMirror(p) {
		return 0
	}
	for i := range s.asked {
		if !s.asked[i].probe {
			return i
		}
	}
	return len(s.asked) - 1
}

// hasProbe reports whether an end probe for the open reply waits for its answer.
func (s *session) hasProbe() bool {
	for i := range s.asked {
		if s.asked[i].probe && s.asked[i].seq > s.cur.seq {
			return true
		}
	}
	return false
}

// placePacket finds where a packet stands.
func (v *view) placePacket(p *packet) place {
	if v.dir == dissect.ToServer {
		return v.s.placeRequest(p)
	}
	return v.s.placeReply(p, v.sure())
}

// unmirrored returns the oldest end probe that was sent before the request that pl
// certainly answers and has no answer, though nothing is missing from the capture since; nil
// if there is none, or the server is known to mirror none.
func (v *view) unmirrored(pl *place) *request {
	s := v.s
	if pl.asked < 0 || pl.isGuess || s.neverMirrors || v.gap {
		return nil
	}
	for i := range s.asked[:pl.asked] {
		if q := &s.asked[i]; q.probe && q.whole {
			return q
		}
	}
	return nil
}

// Texts of transcripts.
var (
	speechAuth         = dissect.Speech{Text: &defPassword, Gist: func(*dissect.Message) string { return "login" }}
	speechAuthResponse = dissect.Speech{Text: &defBody, Gist: loginResult}
	speechText         = dissect.Speech{Text: &defBody, Part: &defPart}
)

// loginResult reads the only sign that a password was refused.
func loginResult(m *dissect.Message) string {
	f := m.Find(&defID)
	switch {
	case f == nil || f.Flags&dissect.Cut != 0:
		return "login, answer cut"
	case int32(f.Num) == failedID:
		return "login refused"
	}
	return "login ok"
}
