package a2s

import (
	"bytes"
	"encoding/binary"

	"qsniff/dissect"
)

// usual are the fields of messages whose Key is found.
var usual = []*dissect.Def{&defHeader, &defOpcode, &defPayload, &defChallenge}

// Key returns the challenge of requests and challenges of the usual lengths, which
// have it at their end; every other form is for Dissect.
func (*Dissector) Key(c *dissect.Context, t *dissect.Type, b []byte) (key uint64, ok bool) {
	n := len(b)
	if c.Wire > n || n < bodyOff || hasHeaderTwice(b) {
		return 0, false
	}
	plain := bodyOff
	if t == &typeInfoReq {
		if plain += len(infoText) + 1; n < plain || b[plain-1] != 0 || !bytes.HasPrefix(b[bodyOff:], infoText) {
			return 0, false
		}
		if n == plain {
			return 0, true
		}
	}
	if n != plain+challengeLen {
		return 0, false
	}
	v := binary.LittleEndian.Uint32(b[plain:])
	switch t {
	case &typeInfoReq, &typePlayersReq, &typeRulesReq:
		if v == 0 || v == 0xffff_ffff { // asks for one
			return 0, true
		}
	case &typeChallenge:
	default:
		return 0, false
	}
	return 1<<32 | uint64(v), true
}
