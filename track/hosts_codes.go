package track

import (
	"strconv"

	"qsniff/finding"
)

// Elsewhere is raised by a reply from another address or port than the one that the
// client asked: Addr is where it came from, A the time since the request in nanoseconds.
var Elsewhere = finding.Code{ID: "NET-01", Severity: finding.Error, Fault: finding.Server,
	Seen:  "a reply to what a client asked, from another address or port than the one it asked",
	Means: "the server has several addresses and answers from the wrong one, or NAT changes the port; most clients drop such a reply, and firewalls do",
	Do:    "bind the server to the address that clients ask, or let the router translate replies back",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = e.Addr.AppendTo(append(dst, "a reply came from "...))
		dst = append(dst, ", which this client did not ask, "...)
		dst = strconv.AppendUint(dst, e.A/1e6, 10)
		return appendUnsure(append(dst, " ms behind the request"...), e)
	}}

// Unheeded is raised when A exchanges in a row with one valid challenge ended
// without an answer, and the server answered others meanwhile.
var Unheeded = finding.Code{ID: "A2S-S02", Severity: finding.Error, Fault: finding.Server,
	Seen:  "requests with a valid challenge stay without an answer, while the server answers others",
	Means: "the server, or a filter in front of it, drops the request with the challenge, which is longer than the one without",
	Do:    "let requests of 29 bytes for A2S_INFO and of 9 for the others pass; clients can do nothing about it",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return appendUnsure(append(dst, " times no answer to the valid challenge within 3 s, while the server answers others"...), e)
	}}

// Shared is raised when a server gives many addresses one challenge: A is the
// challenge, B how often it was given << 32 and of how many challenges.
var Shared = finding.Code{ID: "A2S-S04", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "one challenge is given to many addresses",
	Means: "who knows it can ask with forged addresses: it proves nothing, and the server can be used against others",
	Do:    "derive challenges from the client's address and a secret that changes",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = appendChallenge(append(dst, "challenge "...), e.A)
		dst = strconv.AppendUint(append(dst, " is given to all: "...), e.B>>32, 10)
		dst = strconv.AppendUint(append(dst, " of "...), e.B&0xffff_ffff, 10)
		return append(dst, " challenges"...)
	}}

// Partial is raised when A valid requests for players, or for rules where players
// are not answered either, stay without an answer; B is the kind.
var Partial = finding.Code{ID: "A2S-S05", Severity: finding.Note, Fault: finding.Server,
	Seen:  "valid requests for players or rules stay without an answer, from several addresses, and the server tells its information",
	Means: "the server does not tell them (host_players_show, host_rules_show, or a rule of its engine), or the reply is too long for the path",
	Do:    "clients: make that part optional, and do not call the server offline; servers: look for replies that IP fragments",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		if e.B == queryRules {
			dst = append(dst, " valid requests for rules"...)
		} else {
			dst = append(dst, " valid requests for players"...)
		}
		return appendUnsure(append(dst, " without an answer, while the server tells its information"...), e)
	}}

// Ruleless is Partial where only the rules are missing: A is how many valid
// requests stay without an answer.
var Ruleless = finding.Code{ID: "A2S-S06", Severity: finding.Note, Fault: finding.Server,
	Seen:  "valid requests for rules stay without an answer, from several addresses, and the server tells its information",
	Means: "rules are often too long: some engines drop what does not fit one packet",
	Do:    "clients: make rules optional; servers: shorten them",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return appendUnsure(append(dst, " valid requests for rules without an answer, while the server tells its information"...), e)
	}}

// OverBudget is raised when a master server falls silent behind A requests of one
// address within B nanoseconds.
var OverBudget = finding.Code{ID: "MST-01", Severity: finding.Warn, Fault: finding.Client,
	Seen:  "more than 30 requests to a master server in a minute from one address, then silence",
	Means: "public master servers answer about 30 requests a minute from an address, and then none for a while",
	Do:    "ask for whole lists with one filter, keep them, and pause for a minute when pages stay away",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = strconv.AppendUint(append(dst, " requests in "...), (e.B+5e8)/1e9, 10)
		return appendUnsure(append(dst, " s, then silence: more than the master server answers one address"...), e)
	}}

// guessedRight in B of Guessing says that a login was accepted in the end.
const guessedRight = 1 << 63

// Guessing is raised by refused logins from one address: A is how many, B how many
// different passwords are among the last ones; 0 if the capture does not have all.
var Guessing = finding.Code{ID: "RCN-07", Severity: finding.Error, Fault: finding.Client,
	Seen:  "many refused logins from one address",
	Means: "somebody guesses the password of the remote console; where a login is accepted in the end, the server is theirs",
	Do:    "let only known addresses reach the port, and change the password; it was right if this says that a login was accepted",
	Text: func(dst []byte, e *finding.Expert) []byte {
		if e.B&guessedRight != 0 {
			dst = append(dst, "login accepted behind "...)
		}
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = append(dst, " refused logins from this address, "...)
		if n := e.B &^ guessedRight; n > 0 {
			dst = strconv.AppendUint(append(dst, "with at least "...), n, 10)
			return append(dst, " different passwords"...)
		}
		return append(dst, "perhaps with one password: the capture does not have all"...)
	}}

// Stale is raised by refused logins with one password from one address: A is how
// many.
var Stale = finding.Code{ID: "RCN-10", Severity: finding.Note, Fault: finding.Client,
	Seen:  "refused logins from one address, all with the same password",
	Means: "a tool that nobody thinks of has an old password; servers ban its address",
	Do:    "find the tool at that address, and give it the new password or end it",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(dst, " refused logins from this address, all with the same password"...)
	}}

// appendUnsure says why a finding is less severe than its kind.
func appendUnsure(dst []byte, e *finding.Expert) []byte {
	if e.Severity == e.Code.Severity {
		return dst
	}
	return append(dst, ", unless packets that the capture lacks say otherwise"...)
}
