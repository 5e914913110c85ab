package goldsource

import (
	"strconv"

	"qsniff/dissect/finding"
)

// refused is B of codeOldConsole where the server refused the challenge.
const refused = 1

// codeOldConsole is raised by a command of UDP rcon whose challenge is A nanoseconds old, 0 if
// that is unknown: the server refused it (B), or did not answer.
var codeOldConsole = finding.Code{ID: "RCN-06", Severity: finding.Warn, Fault: finding.Client,
	Seen:  "\"Bad challenge\" in answer to a command of UDP rcon, or no answer to one whose challenge is more than 30 s old",
	Means: "the challenge is not valid any more: HLTV forgets challenges after about 30 s and then answers nothing; game servers keep them longer",
	Do:    "ask for a new challenge (\"challenge rcon\") before each command, or when one stays without an answer",
	Ref:   "koraktor/steam-condenser#2",
	Text: func(dst []byte, e *finding.Expert) []byte {
		if e.B == refused {
			dst = append(dst, "the server refused the challenge of a command"...)
		} else {
			dst = append(dst, "no answer to a command with a challenge"...)
		}
		if e.A > 0 {
			dst = append(dst, ", which is "...)
			dst = append(strconv.AppendUint(dst, e.A/1e9, 10), " s old"...)
		}
		return finding.AppendUnsure(dst, e)
	}}
