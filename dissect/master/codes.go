package master

import (
	"strconv"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// codeChain is an error where a question goes on from an address that ended no page: Addr ended the
// last one, A is the address asked for as in dissect.Page. One page without an end mark proves no
// more than that another should follow: it is raised as chat, with A servers and no Addr.
var codeChain = finding.Code{ID: "MST-03", Severity: finding.Error, Fault: finding.Client,
	Seen:  "a question that goes on from an address that ended none of the last pages, or a short page without the end mark 0.0.0.0:0, as a mark of severity chat",
	Means: "after a question from another address servers come twice or are left out; after a page without the end mark more servers should follow. Lists of IPv6 addresses are not followed: no master is known that gives these out in pages",
	Do:    "in the client: ask on with the last address of the page as the seed until 0.0.0.0:0 comes, and where a page does not come ask for the same one again",
	Ref:   "Valve developer wiki, Master Server Query Protocol",
	Text: func(dst []byte, e *finding.Expert) []byte {
		switch {
		case e.Addr.IsValid():
			dst = dissect.Page{At: e.A}.AddrPort().AppendTo(append(dst, "the client asks on from "...))
			dst = e.Addr.AppendTo(append(dst, ", which ended none of the last pages; the last one ended with "...))
			return finding.AppendUnsure(dst, e)
		case e.A == 0:
			return append(dst, "no server and no end mark"...)
		case e.A == 1:
			return append(dst, "1 server and no end mark: the list goes on from it"...)
		}
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(dst, " servers and no end mark: the list goes on from the last one"...)
	}}

var codes = []*finding.Code{&codeChain, &codeOverBudget, &codeSilent}
