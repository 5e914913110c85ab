package dissect

import (
	"strconv"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// Codes lists the findings that any protocol can raise.
var Codes = []*finding.Code{&TooManyFields, &Deprecated}

// TooManyFields is raised where a message has more than MaxFields fields.
var TooManyFields = finding.Code{
	ID: "LIM-01", Severity: finding.Warn, Fault: finding.Server,
	Seen:  "a message with more values than a server has reason to send",
	Means: "decoding stopped at the limit; the rest is shown as bytes",
	Do:    "look at the sender: such messages are built to exhaust parsers",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = append(dst, "decoding stopped after "...)
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = append(dst, " fields, "...)
		dst = strconv.AppendUint(dst, e.B, 10)
		return append(dst, digits.Noun(e.B, " byte left undecoded", " bytes left undecoded")...)
	},
}

// Deprecated is raised for a request that current engines ignore, a letter or a word.
var Deprecated = finding.Code{
	ID: "A2S-C07", Severity: finding.Note, Fault: finding.Client,
	Seen:  "a request that current engines ignore",
	Means: "many servers stay silent: that is no sign of a dead server",
	Do:    "ask with A2S_INFO, or with A2S_PLAYER and challenge -1 for a challenge",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "obsolete request: most servers no longer answer it"...)
	},
}
