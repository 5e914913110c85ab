package rcon

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/finding"
)

// codeGuessing is raised by refused logins from one address: A is how many, B how many
// different passwords are among the last ones; 0 if the capture does not have all.
var codeGuessing = finding.Code{ID: "RCN-07", Severity: finding.Error, Fault: finding.Client,
	Seen:  "many refused logins from one address",
	Means: "somebody guesses the password of the remote console; where a login is accepted in the end, the server is theirs",
	Do:    "let only known addresses reach the port, and change the password; it was right if this says that a login was accepted",
	Text: func(dst []byte, e *finding.Expert) []byte {
		if e.B&dissect.GuessedRight != 0 {
			dst = append(dst, "login accepted after "...)
		}
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = append(dst, " refused logins from this address, "...)
		if n := e.B &^ dissect.GuessedRight; n > 0 {
			dst = strconv.AppendUint(append(dst, "with at least "...), n, 10)
			return append(dst, " different passwords"...)
		}
		return append(dst, "perhaps with one password: the capture does not have all"...)
	}}

// codeStale is raised by refused logins with one password from one address: A is how
// many.
var codeStale = finding.Code{ID: "RCN-10", Severity: finding.Note, Fault: finding.Client,
	Seen:  "refused logins from one address, all with the same password",
	Means: "a tool that nobody thinks of has an old password; servers ban its address",
	Do:    "find the tool at that address, and give it the new password or end it",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(dst, " refused logins from this address, all with the same password"...)
	}}
