package track

import (
	"strconv"

	"qsniff/finding"
	"qsniff/internal/digits"
)

// CaptureDamaged is raised where a capture could not be read for a stretch: A is
// how many bytes were skipped. The detail says where and why.
var CaptureDamaged = finding.Code{ID: "CAP-01", Severity: finding.Warn, Fault: finding.Capture,
	Seen:  "a part of the capture file could not be read",
	Means: "packets are missing: what looks like loss or silence behind this place may be the file's fault",
	Do:    "capture again, or copy the file again if it was damaged on the way",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = append(dst, "capture incomplete: "...)
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(append(dst, digits.Noun(e.A, " byte", " bytes")...), " could not be read, packets are missing: "...)
	}}

// Refused is raised by an ICMP error that quotes a query or a reply: A is its
// type and B its code. The detail says which and what it quotes.
var Refused = finding.Code{ID: "NET-04", Severity: finding.Error, Fault: finding.Server,
	Seen:  "an ICMP error that quotes a query",
	Means: "nothing listens on that port, or a firewall says no; the query did not arrive",
	Do:    "check the port (the query port is often not the game port) and the firewall of the host that sent the error",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "ICMP error: "...)
	}}

// Ignored is raised by a request without the challenge that the client was given:
// A is the challenge, B the time since in nanoseconds.
var Ignored = finding.Code{ID: "A2S-C01", Severity: finding.Error, Fault: finding.Client,
	Seen:  "a client that was given a challenge sends the plain request again",
	Means: "it does not know that A2S_INFO can be answered with a challenge, or never reads it; the server will not answer it",
	Do:    "read the 0x41 reply, append its four bytes to the request and send that",
	Ref:   "Valve developer wiki, Server queries",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		dst = strconv.AppendUint(append(dst, " ignored: plain request "...), e.B/1e6, 10)
		return append(dst, " ms behind it"...)
	}}

// Foreign is raised by a request with a challenge that the server did not give to
// this client: A is the one that it gave, B the one sent.
var Foreign = finding.Code{ID: "A2S-C03", Severity: finding.Warn, Fault: finding.Client,
	Seen:  "a request with another challenge than the one that its client was just given",
	Means: "a stale cache, damage on the way through the client's code, or a challenge of another server; the server will not answer it",
	Do:    "send back the challenge of the last 0x41 reply from the same server to the same socket",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.B)
		dst = appendChallenge(append(dst, " was not given to this client, "...), e.A)
		return append(dst, " was"...)
	}}

// Swapped is raised by a request whose challenge is the one given with its bytes in
// the opposite order: A is the one given, B the one sent.
var Swapped = finding.Code{ID: "A2S-C04", Severity: finding.Error, Fault: finding.Client,
	Seen:  "the challenge comes back with its bytes in the opposite order",
	Means: "the client reads it as a number in one byte order and writes it in the other",
	Do:    "copy the four bytes as they came; they mean nothing to a client",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		return appendChallenge(append(dst, " sent back in the opposite byte order: "...), e.B)
	}}

// Rotates is raised by a challenge that answers the right challenge: A is the one
// brought back, B the new one.
var Rotates = finding.Code{ID: "A2S-S03", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "a request with the right challenge is answered with a different challenge",
	Means: "challenges live very short, several engines share the address, or a proxy has its own",
	Do:    "clients: send the new one back, for a bounded number of rounds; servers: make challenges last longer than a round trip",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		return appendChallenge(append(dst, " came back and is answered with another: "...), e.B)
	}}

// TwoForms is raised by the second of two replies to one request for information.
var TwoForms = finding.Code{ID: "A2S-S08", Severity: finding.Note, Fault: finding.Server,
	Seen:  "one request for information, replies in two forms",
	Means: "the server speaks to old and new clients at once, as with dproto or ReUnion",
	Do:    "take the last S2A_INFO_SRC and do not treat the other as an error",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "a further form of the answer to the same request"...)
	}}

// LateReply is raised by a reply when the wait for it was over: A is the time since
// the last request, in nanoseconds.
var LateReply = finding.Code{ID: "NET-05", Severity: finding.Note, Fault: finding.Path,
	Seen:  "a reply more than 3 s behind the last request that it can answer",
	Means: "the client has given up by then and takes the server for dead",
	Do:    "look for the delay on the path or in the server, or raise the client's time-out",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "reply "...), e.A/1e6, 10)
		return append(dst, " ms behind the last request"...)
	}}

// appendChallenge appends a challenge as renderers show it.
func appendChallenge(dst []byte, v uint64) []byte {
	return strconv.AppendInt(dst, int64(int32(v)), 10)
}

// Codes lists the findings of this package.
var Codes = []*finding.Code{&CaptureDamaged, &Refused, &Ignored, &Foreign, &Swapped, &Rotates, &TwoForms, &LateReply,
	&Elsewhere, &Unheeded, &Shared, &Partial, &Ruleless, &OverBudget, &Guessing, &Stale}
