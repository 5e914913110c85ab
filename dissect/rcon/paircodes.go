package rcon

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// codeGuessing is raised by refused logins from one address: A is how many, B how many
// different passwords are among the last ones; 0 if the capture does not have all.
var codeGuessing = finding.Code{ID: "RCN-07", Severity: finding.Error, Fault: finding.Client,
	Seen:  "many refused logins from one address",
	Means: "somebody tries passwords of the remote console; where a login is accepted in the end, that address can run any command, whether it guessed or its owner remembered",
	Do:    "block the address, and let only known ones reach the port; if the text says that a login was accepted and you do not know the address, change the password at once and look what was commanded (qsniff follow)",
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
	Means: "a tool that was not told of the new password goes on trying the old one; some servers ban its address for that",
	Do:    "find the tool at that address, and give it the new password or end it",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(dst, " refused logins from this address, all with the same password"...)
	}}
