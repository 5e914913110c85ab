package track

import (
	"strconv"

	"qsniff/finding"
)

// Elsewhere is raised by a reply from another address or port than the one that the
// client asked: Addr is its source, A the time since the request in nanoseconds.
var Elsewhere = finding.Code{ID: "NET-01", Severity: finding.Error, Fault: finding.Server,
	Seen:  "a reply to what a client asked, from another address or port than the one it asked",
	Means: "the server has several addresses and answers from the wrong one, or NAT changes the port; most clients drop such a reply, and firewalls do",
	Do:    "bind the server to the address that clients ask, or let the router translate replies back",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = e.Addr.AppendTo(append(dst, "a reply came from "...))
		dst = append(dst, ", which this client did not ask, "...)
		dst = strconv.AppendUint(dst, e.A/1e6, 10)
		return finding.AppendUnsure(append(dst, " ms after the request"...), e)
	}}
