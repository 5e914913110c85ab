package ase

import (
	"math/bits"
	"strconv"

	"qsniff/dissect/finding"
)

var (
	codeLength = finding.Code{ID: "ASE-02", Severity: finding.Error, Fault: finding.Server,
		Seen:   "a string whose length byte is 0 or leads beyond the end of the reply",
		Means:  "the length counts itself: a server that leaves that out is one off for every string, and one that sends a name of 255 bytes or more wraps it; nothing after the place can be read",
		Owner:  "update the server, or tell its author: the length is that of the text plus one, and texts end at 254 bytes",
		Client: "keep the strings before that byte, and do not guess where the next one begins",
		Ref:    "MTA ASEQuerySDK.h",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.A == 0 {
				return append(e.Place.Append(append(dst, "length byte 0 of "...)), ": it counts itself, so 1 is the least"...)
			}
			dst = append(e.Place.Append(append(dst, "length byte of "...)), " says "...)
			dst = strconv.AppendUint(dst, e.A, 10)
			dst = append(dst, " bytes with itself, "...)
			dst = strconv.AppendUint(dst, e.B, 10)
			if e.B == 1 {
				return append(dst, " is left"...)
			}
			return append(dst, " are left"...)
		}}
	codeFlags = finding.Code{ID: "ASE-03", Severity: finding.Error, Fault: finding.Server,
		Seen:   "a player's flags announce texts that are not there",
		Means:  "the reply ends inside a player: the server wrote wrong flags, or its buffer was too small",
		Owner:  "look for a changed server or a plugin that writes the reply: no flag may stand without its text",
		Client: "keep the players before this one, and say that the list is cut",
		Ref:    "MTA ASE.cpp",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(append(dst, e.Place.Name...), " 0x"...)
			dst = e.Place.AppendAt(strconv.AppendUint(dst, e.A, 16))
			dst = append(dst, " announce "...)
			dst = strconv.AppendInt(dst, int64(bits.OnesCount8(uint8(e.A)&knownFlags)), 10)
			dst = append(dst, " texts, "...)
			dst = strconv.AppendUint(dst, e.B, 10)
			if e.B == 1 {
				return append(dst, " is there"...)
			}
			return append(dst, " are there"...)
		}}
)

var codes = []*finding.Code{&codeLength, &codeFlags}
