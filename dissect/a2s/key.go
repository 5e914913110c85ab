package a2s

import (
	"bytes"
	"encoding/binary"

	"qsniff/dissect"
)

// usual are the fields of messages whose Key is found.
var usual = []*dissect.Def{&defHeader, &defOpcode, &defPayload, &defChallenge}

// Key returns the challenge and the form of requests and challenges of the usual lengths, which
// have a challenge at their end; every other form is for Dissect.
func (*Dissector) Key(c *dissect.Context, t *dissect.Type, b []byte) (key uint64, form dissect.Form, ok bool) {
	n := len(b)
	if c.Wire > n || n < bodyOff || hasHeaderTwice(b) {
		return 0, 0, false
	}
	plain := bodyOff
	if t == &typeInfoReq {
		if plain += len(infoText) + 1; n < plain || b[plain-1] != 0 || !bytes.HasPrefix(b[bodyOff:], infoText) {
			return 0, 0, false
		}
		if n == plain {
			return 0, dissect.NoToken, true
		}
	}
	if n != plain+challengeLen {
		return 0, 0, false
	}
	v := binary.LittleEndian.Uint32(b[plain:])
	switch t {
	case &typeInfoReq, &typePlayersReq, &typeRulesReq:
		if form = placeholderIn(v); form != 0 {
			return 0, form, true
		}
	case &typeChallenge:
	default:
		return 0, 0, false
	}
	return 1<<32 | uint64(v), 0, true
}

// placeholderIn returns the form of a request with v in place of a challenge, 0 if v is one.
func placeholderIn(v uint32) dissect.Form {
	switch v {
	case 0:
		return dissect.TokenZero
	case 0xffff_ffff:
		return dissect.TokenOnes
	}
	return 0
}

// formOf returns the form of the request in m, which Dissect has read.
func formOf(m *dissect.Message) (form dissect.Form) {
	f := m.Find(&defChallenge)
	switch {
	case f == nil:
		form = dissect.NoToken
	case f.Flags&dissect.Cut == 0:
		form = placeholderIn(uint32(f.Num))
	}
	if m.Find(&dissect.Trailing) != nil {
		form = form&^dissect.NoToken | dissect.BytesAfter
	}
	if m.Find(&defPadding) != nil {
		form |= dissect.Padded
	}
	return form
}
