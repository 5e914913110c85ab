package a2s

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// pairCodes are the findings that several messages of this protocol show together.
// The exchanges and the servers that they belong to are kept elsewhere.
var pairCodes = dissect.PairCodes{
	Ignored: &codeIgnored, Foreign: &codeForeign, Swapped: &codeSwapped, Rotates: &codeRotates,
	Unheeded: &codeUnheeded, Shared: &codeShared, TwoForms: &codeTwoForms,
	Partial: &codePartial, Ruleless: &codeRuleless,
	Unused: &codeUnused, Vain: &codeVain, Eager: &codeEager, Mixed: &codeMixed, Demanded: &codeDemanded,
}

// ofRules is B of codePartial and codeVain where they are about rules.
const ofRules = 1

// codeIgnored is raised by a request without the challenge that the client was given:
// A is the challenge, B the time since in nanoseconds. In A << 32 is how many in a row the client did
// not bring back, if that is what shows it.
var codeIgnored = finding.Code{ID: "A2S-C01", Severity: finding.Error, Fault: finding.Client,
	Seen:  "a client that was given a challenge sends the plain request again, at once or each time it asks",
	Means: "the client does not know that a request can be answered with a challenge, or never reads it: the server works, and will not answer it; or its requests with the challenge are lost before the place of this capture. Who asks in the name of that address, and slowly, looks the same: only a challenge that comes back shows who asks; more than sixteen such a minute at one server are taken for that, or for a scan, and not reported",
	Do:    "update the panel or monitor at that address; in the client, read the 0x41 reply and send its four bytes with the next request: after the text of A2S_INFO, in place of FF FF FF FF for players and rules",
	Ref:   "Valve developer wiki, Server queries",
	Text: func(dst []byte, e *finding.Expert) []byte {
		if n := e.A >> 32; n > 0 {
			dst = strconv.AppendUint(dst, n, 10)
			dst = strconv.AppendUint(append(dst, " challenges in a row not brought back: plain request again "...), e.B/1e6, 10)
			return finding.AppendUnsure(append(dst, " ms after the last of them"...), e)
		}
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		dst = strconv.AppendUint(append(dst, " ignored: plain request "...), e.B/1e6, 10)
		return append(dst, " ms after it"...)
	}}

// codeForeign is raised by a request with a challenge that the server did not give to
// this client: A is the one that it gave, B the one sent.
var codeForeign = finding.Code{ID: "A2S-C03", Severity: finding.Warn, Fault: finding.Client,
	Seen:  "a request with another challenge than the one that its client was just given",
	Means: "a stale cache, damage on the way through the client's code, or a challenge of another server; the server will not answer it",
	Do:    "send back the challenge of the last 0x41 reply from the same server to the same socket",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.B)
		dst = appendChallenge(append(dst, " was not given to this client, "...), e.A)
		return append(dst, " was"...)
	}}

// codeSwapped is raised by a request whose challenge is the one given with its bytes in
// the opposite order: A is the one given, B the one sent.
var codeSwapped = finding.Code{ID: "A2S-C04", Severity: finding.Error, Fault: finding.Client,
	Seen:  "the challenge comes back with its bytes in the opposite order",
	Means: "the client reads it as a number in one byte order and writes it in the other",
	Do:    "copy the four bytes as they came; they mean nothing to a client",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		return appendChallenge(append(dst, " sent back in the opposite byte order: "...), e.B)
	}}

// codeRotates is raised by a challenge that answers the right challenge: A is the one
// brought back, B the new one.
var codeRotates = finding.Code{ID: "A2S-S03", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "a request with the right challenge is answered with a different challenge",
	Means: "challenges live very short, several engines share the address, or a proxy has its own",
	Do:    "clients: send the new one back, for a bounded number of rounds; servers: make challenges last longer than a round trip",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		return appendChallenge(append(dst, " came back and is answered with another: "...), e.B)
	}}

// codeUnheeded is raised when A exchanges in a row with one valid challenge ended
// without an answer, and the server answered others meanwhile.
var codeUnheeded = finding.Code{ID: "A2S-S02", Severity: finding.Error, Fault: finding.Server,
	Seen:  "requests with a valid challenge stay without an answer, while the server answers others",
	Means: "the server, or a filter in front of it, drops the request with the challenge, which is longer than the one without",
	Do:    "let requests of 29 bytes for A2S_INFO and of 9 for the others pass; clients can do nothing about it",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return finding.AppendUnsure(append(dst, " times no answer to the valid challenge within 3 s, while the server answers others"...), e)
	}}

// codeShared is raised when a server gives many addresses one challenge: A is the
// challenge, B how often it was given << 32 and of how many challenges.
var codeShared = finding.Code{ID: "A2S-S04", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "one challenge is given to many addresses",
	Means: "who knows it can ask with forged addresses: it proves nothing, and the server can be used against others",
	Do:    "update the plugin, cache or server that gives the challenges; its authors derive them from the client's address and a secret that changes",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		dst = strconv.AppendUint(append(dst, " is given to all: "...), e.B>>32, 10)
		dst = strconv.AppendUint(append(dst, " of "...), e.B&0xffff_ffff, 10)
		return append(dst, " challenges"...)
	}}

// codePartial is raised when A valid requests for players, or for rules where players
// are not answered either, stay without an answer; B is ofRules for the latter.
var codePartial = finding.Code{ID: "A2S-S05", Severity: finding.Note, Fault: finding.Server,
	Seen:  "valid requests for players or rules stay without an answer, from several addresses, and the server answers requests for information",
	Means: "the server does not tell them (host_players_show, host_rules_show, or a rule of its engine), or the reply is too long for the path",
	Do:    "clients: make that part optional, and do not call the server offline; servers: look for replies that IP fragments",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		if e.B == ofRules {
			dst = append(dst, " valid requests for rules"...)
		} else {
			dst = append(dst, " valid requests for players"...)
		}
		return finding.AppendUnsure(append(dst, " without an answer, while the server answers requests for information"...), e)
	}}

// codeRuleless is codePartial where only the rules are missing: A is how many valid
// requests stay without an answer.
var codeRuleless = finding.Code{ID: "A2S-S06", Severity: finding.Note, Fault: finding.Server,
	Seen:  "valid requests for rules stay without an answer, from several addresses, and the server answers requests for information",
	Means: "rules are often too long: some engines drop what does not fit one packet",
	Do:    "clients: make rules optional; servers: shorten them",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return finding.AppendUnsure(append(dst, " valid requests for rules without an answer, while the server answers requests for information"...), e)
	}}

// codeDemanded is raised by the first challenge of a server in place of information.
var codeDemanded = finding.Code{ID: "A2S-S01", Severity: finding.Chat, Fault: finding.Server,
	Seen:  "a request for information is answered with a challenge",
	Means: "the server sends information only to who proves to be at its address, so that it cannot be used against others; old clients cannot read that",
	Do:    "nothing; a client that does not show this server must learn to send the challenge back",
	Ref:   "Valve developer wiki, Server queries",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "this server demands a challenge for information"...)
	}}

// codeTwoForms is raised by the second of two replies to one request for information.
var codeTwoForms = finding.Code{ID: "A2S-S08", Severity: finding.Note, Fault: finding.Server,
	Seen:  "one request for information, replies in two forms",
	Means: "the server speaks to old and new clients at once, as with dproto or ReUnion",
	Do:    "take the last S2A_INFO_SRC and do not treat the other as an error",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "a further form of the answer to the same request"...)
	}}

// appendChallenge appends a challenge as renderers show it.
func appendChallenge(dst []byte, v uint64) []byte {
	return strconv.AppendInt(dst, int64(int32(v)), 10)
}
