package dissect

import (
	"strconv"

	"qsniff/finding"
)

// MaxFields bounds the fields of one message. The longest honest message known
// has 261 rules, 784 fields; a 64 KiB reply of empty rules would make 98,000.
// At 48 bytes a field this keeps a message's list below 600 KiB.
const MaxFields = 12_288

// maxDepth bounds nesting: message, list, group, list, group are in use.
const maxDepth = 8

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
		return append(dst, " bytes left undecoded"...)
	},
}

// Codes lists the findings that any protocol can raise.
var Codes = []*finding.Code{&TooManyFields}
