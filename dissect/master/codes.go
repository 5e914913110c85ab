package master

import (
	"strconv"

	"qsniff/finding"
)

// codeChain is an error where the pages of a list do not join. One page without
// an end mark proves no more than that another should follow: it is raised as
// chat.
var codeChain = finding.Code{ID: "MST-03", Severity: finding.Error, Fault: finding.Client,
	Seen:  "a page whose seed is not the last address of the page before, or a last page without the end mark 0.0.0.0:0",
	Means: "the chain of pages is broken, by the client or by loss: the list is not complete",
	Do:    "ask on with the last address as the seed until 0.0.0.0:0 comes, and ask again for a page that does not come",
	Ref:   "Valve developer wiki, Master Server Query Protocol",
	Text: func(dst []byte, e *finding.Expert) []byte {
		switch e.A {
		case 0:
			return append(dst, "no server and no end mark"...)
		case 1:
			return append(dst, "1 server and no end mark: the list goes on from it"...)
		}
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(dst, " servers and no end mark: the list goes on from the last one"...)
	}}

var codes = []*finding.Code{&codeChain, &codeOverBudget, &codeSilent}
