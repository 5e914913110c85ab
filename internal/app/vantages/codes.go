package vantages

import (
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// isSooner in B of FlatTimes: answers come sooner than the path allows.
const isSooner = 1 << 63

// FlatTimes is raised where answers at two clients differ by A nanoseconds, and the paths to the server by B.
var FlatTimes = finding.Code{ID: "LIE-02", Severity: finding.Note, Fault: finding.Middlebox,
	Seen: "answers that take the same time in captures of several clients (least and median, within 25 ms and a quarter of what the paths differ by), " +
		"while handshakes, echoes or other messages show paths to the server that differ: by 10 ms if answers come sooner than the path allows, else by 76 ms, and in both cases by more than the times vary",
	Means: "what answers is as near to one client as to the other, and the server is not: a cache at the edge of an anycast network, or a proxy that holds answers back to an equal time. " +
		"A list that is sorted by the time of answers is not sorted by the path to the game then, and the answers may be old",
	Do: "look at the times and paths, which qsniff vantages lists, and take the path's for the ping; who runs the server asks the provider what answers in its place, and for how long it keeps answers. " +
		"Capture once more, with the clients asking at irregular times, if the paths rest on few handshakes",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = digits.AppendElapsed(append(dst, "answers at two clients differ by "...), int64(e.A), " ")
		dst = digits.AppendElapsed(append(dst, ", and the paths to the server by "...), int64(e.B&^isSooner), " ")
		if e.B&isSooner != 0 {
			dst = append(dst, "; at the far one answers come sooner than the path allows"...)
		}
		return dst
	}}

// Codes lists the findings of this package.
var Codes = []*finding.Code{&FlatTimes}
