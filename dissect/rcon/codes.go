package rcon

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

var (
	codeAuthFailed = finding.Code{ID: "RCN-01", Severity: finding.Warn, Fault: finding.Client,
		Seen:   "an answer to a login with id -1",
		Means:  "the password was wrong, or a command came before a login: id -1 is the only sign, the type is the same as that of a success",
		Owner:  "give the right password to a client that should have it, and look whether its address is banned by now",
		Client: "check the password before the next login; after a few failures servers ban the address and close connections without a word",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.A == 0 {
				return append(dst, "refused, though no login waits for an answer"...)
			}
			return append(dst, "login refused: wrong password"...)
		}}
	codeBanned = finding.Code{ID: "RCN-22", Severity: finding.Warn, Fault: finding.Client,
		Seen:   "a refused login, and a text of the server before it that says that the address is banned",
		Means:  "the server bans an address after wrong passwords, 10 in Source engines, and then refuses the right one, too: the password may be right",
		Owner:  "remove the ban (removeip ADDRESS, or writeip and banned_ip.cfg), and find the tool with the old password first",
		Client: "show the server's text, do not say \"wrong password\", and stop trying",
		Format: "login refused: the address is banned, as the {a} bytes of text before it say"}
	codeTwoOpen = finding.Code{ID: "RCN-21", Severity: finding.Note, Fault: finding.Client,
		Seen:   "a command with the id of another one that has no answer yet",
		Means:  "replies carry the id and nothing else: which command the next one answers cannot be determined, and parts of one may be taken for the other's",
		Owner:  "nothing: it answers with the ids that it gets",
		Client: "count the id up with each command, and start at 1; servers send id 0 and -1 for other purposes",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = strconv.AppendUint(dst, e.B, 10)
			dst = append(dst, " commands with id "...)
			dst = strconv.AppendInt(dst, int64(int32(e.A)), 10)
			return append(dst, " wait for answers"...)
		}}
	codeHandshake = finding.Code{ID: "RCN-18", Severity: finding.Note, Fault: finding.Server,
		Seen:   "a TCP connection to a usual port of consoles that was refused, not answered, or taken and ended by the server before anything was said",
		Means:  "refused: nothing listens there, as where no console password is set; not answered: a firewall drops it; taken and ended: the address is banned, or has too many connections",
		Owner:  "set a console password and its port, look at the bans, let the client's address through the firewall",
		Client: "say which of the three it was, and do not call it a wrong password",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = strconv.AppendUint(append(dst, "a connection to the console port "...), e.B, 10)
			switch e.A {
			case dissect.HandshakeUnanswered:
				return append(dst, " got no answer"...)
			case dissect.HandshakeClosed:
				return append(dst, " was taken, and closed by the server before a login"...)
			case dissect.HandshakeReset:
				return append(dst, " was taken, and reset by the server before a login"...)
			}
			return append(dst, " was refused with a reset"...)
		}}
	codeAuthOrder = finding.Code{ID: "RCN-02", Severity: finding.Note, Fault: finding.Server,
		Seen:   "which packets answer a login",
		Means:  "the Source engine sends an empty RESPONSE_VALUE before AUTH_RESPONSE, most others do not",
		Owner:  "nothing: both orders are in use",
		Client: "accept both: skip packets of type 0 until one of type 2 comes",
		Text: func(dst []byte, e *finding.Expert) []byte {
			switch {
			case e.A == 1 && e.B > 0:
				dst = strconv.AppendUint(append(dst, "a RESPONSE_VALUE of "...), e.B, 10)
				return append(dst, " bytes came before this answer to the login"...)
			case e.A == 1:
				return append(dst, "an empty RESPONSE_VALUE came before this answer to the login"...)
			}
			return append(dst, "no empty RESPONSE_VALUE came before this answer to the login"...)
		}}
	codeContinues = finding.Code{ID: "RCN-03", Severity: finding.Warn, Fault: finding.Client,
		Seen:   "the next command, while the reply to the last one was not over",
		Means:  "the end of a reply is not marked: the client took its first packets for all of it, and what follows is lost or taken for the next reply",
		Owner:  "nothing: the protocol has no mark for the end of a reply",
		Client: "send an empty packet of type 0, or a second command, after each command and read up to its answer",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.B > 0 {
				dst = append(dst, "the reply continues with part "...)
				dst = strconv.AppendUint(dst, e.A, 10)
				return append(dst, " after the client's next command"...)
			}
			dst = append(dst, "next command, but the last packet of the open reply was full: "...)
			return append(strconv.AppendUint(dst, e.A, 10), " bytes"...)
		}}
	codeNoAuth = finding.Code{ID: "RCN-04", Severity: finding.Error, Fault: finding.Client,
		Seen:   "a command before a login succeeded",
		Means:  "servers drop it, answer with id -1 or with nothing in it",
		Owner:  "nothing: a command before a login must not run",
		Client: "wait for AUTH_RESPONSE with the id of the login before the first command",
		Text: func(dst []byte, e *finding.Expert) []byte {
			switch authState(e.A) {
			case authNone:
				return append(dst, "command without a login"...)
			case authFailed:
				return append(dst, "command after a refused login"...)
			}
			return append(dst, "command before the login was answered"...)
		}}
	codeNoMirror = finding.Code{ID: "RCN-05", Severity: finding.Note, Fault: finding.Server,
		Seen:   "a reply to a later request, while an end probe has no answer",
		Means:  "only servers of the Source engine and some that copy it send an empty packet of type 0 back",
		Owner:  "nothing: a server need not mirror an empty packet",
		Client: "find the end of replies in another way: a second command, a full packet followed by a shorter one, time",
		Format: "end probe with id {a.int} was not mirrored"}
	codeSameID = finding.Code{ID: "RCN-14", Severity: finding.Note, Fault: finding.Client,
		Seen:   "an answer with the id of several requests, one of them an end probe without an answer",
		Means:  "the ids cannot decide whether it goes on with the reply before it or answers the next command: order and sizes suggest what is shown",
		Owner:  "nothing: a reply carries the id of its request, and that stood twice",
		Client: "give each command and each end probe an id of its own",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = append(dst, "id "...)
			dst = strconv.AppendInt(dst, int64(int32(e.A)), 10)
			if e.B == 1 {
				return append(dst, " cannot decide: taken for the answer to the next command, may belong to the reply before"...)
			}
			return append(dst, " cannot decide: taken for a part of the reply before, may answer the next command"...)
		}}
	codeClearText = finding.Code{ID: "RCN-08", Severity: finding.Warn, Fault: finding.Path,
		Seen:   "a login from or to a public address",
		Means:  "everybody on the way can read the password: RCON has no encryption",
		Owner:  "change the password; then reach the console through a VPN or an SSH tunnel only, and close its TCP port to the Internet in the firewall",
		Client: "warn before a password goes to a public address",
		Format: "password in clear text over a public path"}
	codeSize = finding.Code{ID: "RCN-09", Severity: finding.Error, Fault: finding.Server,
		Seen:   "a size that cannot be, or a packet larger than the engine sends",
		Means:  "below 10 or above 1 MiB the sender lost its place in the stream or speaks another protocol; from 4,107 on many clients give up",
		Owner:  "look at the packet before: its size may be wrong; look which program listens at this port",
		Client: "take sizes of up to 512 KiB at least, and allocate by what comes, not by what the size says",
		Text: func(dst []byte, e *finding.Expert) []byte {
			if e.B == sizeHidden {
				return append(dst, "impossible size: 10 to 1,048,572 are allowed"...)
			}
			dst = append(append(dst, e.Place.Name...), ' ')
			dst = e.Place.AppendAt(strconv.AppendInt(dst, int64(int32(e.A)), 10))
			if e.B == sizeLarge {
				return append(dst, " is more than the usual 4,106"...)
			}
			return append(dst, " is impossible: 10 to 1,048,572 are allowed"...)
		}}
	codeCharacters = finding.Code{ID: "RCN-11", Severity: finding.Note, Fault: finding.Server,
		Seen:   "a size that counts characters instead of bytes",
		Means:  "the server measures its text before encoding it, as Palworld does: clients that read as many bytes lose the end of the packet and their place in the stream",
		Owner:  "tell the server's author: the size counts the bytes of the encoded text",
		Client: "read beyond the size, to the two NULs",
		Format: "{field} counts characters: {a}, the bytes are {b}"}
	codeShortBody = finding.Code{ID: "RCN-19", Severity: finding.Warn, Fault: finding.Server,
		Seen:   "a size above the bytes of its packet, which ends with its two NULs before that",
		Means:  "the server counts the bytes of its text and then sends as many as the text has characters (Palworld with names that are not ASCII): the rest of the text is lost, and a client that reads as many bytes waits, or swallows the next answer",
		Owner:  "update the server, or use names in ASCII",
		Client: "end the packet at its two NULs where the next packet begins after them or nothing follows for a second, and treat the text as cut",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = strconv.AppendUint(append(e.Place.Append(dst), " says "...), e.A, 10)
			dst = strconv.AppendUint(append(dst, ", but the packet ends after "...), e.B, 10)
			if e.A == e.B+countedItself {
				return append(dst, " bytes: the size counts itself"...)
			}
			if e.A > 4*e.B { // a character has four bytes at most
				return append(dst, " bytes"...)
			}
			return append(dst, " bytes: its text was cut"...)
		}}
	codeUncounted = finding.Code{ID: "RCN-20", Severity: finding.Note, Fault: finding.Server,
		Seen:   "a size below the bytes of its packet, by what it leaves out",
		Means:  "the server counts its text alone, or up to the first NUL: clients that read as many bytes take the rest for the next packet and lose their place in the stream",
		Owner:  "report it to the server's author: the size counts id, type, text and two NULs",
		Client: "where no size fits after the packet, read on to the two NULs",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = strconv.AppendUint(append(e.Place.Append(dst), " says "...), e.A, 10)
			dst = strconv.AppendUint(append(dst, ", the bytes are "...), e.B, 10)
			switch e.B - e.A {
			case uncountedAll:
				return append(dst, ": the text is counted alone"...)
			case uncountedHeader:
				return append(dst, ": text and NULs are counted alone"...)
			case uncountedNULs:
				return append(dst, ": it goes up to the first NUL"...)
			}
			return append(dst, ": the last NUL is not counted"...)
		}}
	codeStray = finding.Code{ID: "RCN-12", Severity: finding.Note, Fault: finding.Server,
		Seen:   "seven bytes without a header after the answer to an end probe",
		Means:  "Squad's server ends the answer so: clients that read them as a size of 256 wait for ever",
		Owner:  "nothing: Squad's server sends them, and no setting stops that",
		Client: "after an empty packet of type 0, skip bytes 00 01 00 00 00 and the two that follow",
		Format: "seven bytes without a header after an empty packet"}
	codeTerminators = finding.Code{ID: "RCN-13", Severity: finding.Note, Fault: finding.Server,
		Seen:   "a packet that does not end with exactly two NULs",
		Means:  "its size is wrong by a byte or two, or the sender forgets a NUL or writes one too many",
		Owner:  "tell the server's author: the text ends with a NUL, one more follows for the empty second text, and the size counts both",
		Client: "take the text up to its first NUL, and the packet by its size",
		Format: "ends with {a} {a:NUL|NULs} from byte {b} on, not 2"}
)

// B of RCN-09: what is wrong with the size.
const (
	sizeImpossible = iota
	sizeLarge
	sizeHidden // it may be letters of a password
)

var codes = []*finding.Code{&codeGuessing, &codeStale, &codeAuthFailed, &codeAuthOrder, &codeContinues, &codeNoAuth, &codeNoMirror, &codeSameID, &codeClearText,
	&codeSize, &codeCharacters, &codeStray, &codeTerminators, &codeShortBody, &codeUncounted, &codeServerEnded, &codeNoAnswer, &codeClientLeft, &codeHandshake, &codeTwoOpen, &codeBanned}

// codeGuessing is raised by refused logins from one address: A is how many, B how many
// different passwords are among the last ones; 0 if the capture does not have all.
var codeGuessing = finding.Code{ID: "RCN-07", Severity: finding.Error, Fault: finding.Client,
	Seen:   "many refused logins from one address",
	Means:  "somebody tries passwords of the remote console; where a login is accepted in the end, that address can run any command, whether it guessed or its owner remembered",
	Owner:  "block the address, and let only known ones reach the port; if the text says that a login was accepted and you do not know the address, change the password at once and look what was commanded (qsniff follow)",
	Client: "end at the first refused login and ask for the password: each further one leads to a ban",
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
	Seen:   "refused logins from one address, all with the same password",
	Means:  "a tool that was not told of the new password goes on trying the old one; some servers ban its address for that",
	Owner:  "find the tool at that address, and give it the new password or end it",
	Client: "stop after a refused login until its settings change",
	Format: "{a} refused logins from this address, all with the same password"}
