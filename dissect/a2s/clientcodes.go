package a2s

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// codeUnused is raised by a challenge that a client need not have asked for: A is the one that
// it had, B the time since the server accepted that, in nanoseconds.
var codeUnused = finding.Code{ID: "A2S-C06", Severity: finding.Note, Fault: finding.Client,
	Seen:  "a request for players or rules asks for a challenge, less than 30 s after the server accepted one from the same socket",
	Means: "each such query takes a round trip more than it needs: servers give a challenge to an address, and it is good for all queries",
	Do:    "keep the last challenge of each server and send it at once; if the server answers with another, send that",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendMillis(append(dst, "asks for a challenge "...), e.B)
		dst = appendChallenge(append(dst, " after the server accepted "...), e.A)
		return append(dst, " from this socket"...)
	}}

// codeVain is raised when a client asks again for what its server never sends: A requests of all
// clients stayed without an answer; B is ofRules if they are for rules, and else 0.
var codeVain = finding.Code{ID: "A2S-C08", Severity: finding.Warn, Fault: finding.Client,
	Seen:  "a client asks again for players or rules, which the server has sent to nobody in this capture, while it answers requests for information",
	Means: "each refresh waits until the client's time-out for a reply that this server does not send, and the server may be shown as offline",
	Do:    "make that part optional: show the information as it comes, and do not ask such a server for the rest each time",
	Text: func(dst []byte, e *finding.Expert) []byte {
		what := "players"
		if e.B == ofRules {
			what = "rules"
		}
		dst = append(append(dst, "waits in vain for "...), what...)
		dst = strconv.AppendUint(append(dst, ": the server answered none of "...), e.A, 10)
		return finding.AppendUnsure(append(dst, " such requests of anybody, and does answer requests for information"...), e)
	}}

// codeEager is raised by a request that comes too soon after an equal one: A is the time between
// them, B the time that 5 % of the answers exceed, both in nanoseconds; B is 0 if the least time
// decided, and dissect.ThirdRequest if the request is the third of a second.
var codeEager = finding.Code{ID: "A2S-C09", Severity: finding.Warn, Fault: finding.Client,
	Seen:  "a request is repeated before most answers of this server come, or three times within a second, without a reply in between",
	Means: "the copies count in the limits of the engine, which takes them for a flood and answers less; nothing is won, as the answer is on its way",
	Do:    "wait a second or more before each repetition, longer each time, and repeat two or three times at most",
	Text: func(dst []byte, e *finding.Expert) []byte {
		switch e.B {
		case 0:
			dst = appendMillis(append(dst, "repeated after "...), e.A)
		case dissect.ThirdRequest:
			dst = append(dst, "the third equal request within a second"...)
		default:
			dst = appendMillis(append(dst, "repeated after "...), e.A)
			dst = appendMillis(append(dst, ", while 5 % of the answers of this server take more than "...), e.B)
		}
		return finding.AppendUnsure(append(dst, ", without a reply in between"...), e)
	}}

// codeMixed is raised by a request that brings back an older challenge after a newer one, both
// given for one query: A is the older one, B the newer.
var codeMixed = finding.Code{ID: "A2S-C10", Severity: finding.Error, Fault: finding.Client,
	Seen:  "two equal queries of one socket wait at a time, the server sends a challenge to each, and they come back in the opposite order",
	Means: "several queries to one server share a socket, and each takes the reply that comes next, whose ever it is: answers reach the wrong query or none",
	Do:    "use a socket for each query, or give each reply to the query that its kind and challenge belong to",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		dst = appendChallenge(append(dst, " was given before "...), e.B)
		return append(dst, " and comes back after it: two equal queries share a socket"...)
	}}

// appendMillis appends a time in nanoseconds as milliseconds.
func appendMillis(dst []byte, nanos uint64) []byte {
	return append(digits.AppendMillis(dst, int64(nanos)), " ms"...)
}
