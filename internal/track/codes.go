package track

import (
	"strconv"

	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// CaptureDamaged is raised where a stretch of a capture could not be read: A is the number of
// bytes that were skipped. The detail is where and why.
var CaptureDamaged = finding.Code{ID: "CAP-01", Severity: finding.Warn, Fault: finding.Capture,
	Seen:  "a part of the capture file could not be read",
	Means: "packets are missing: what looks like loss or silence after this place may be the file's fault",
	Do:    "capture again, or copy the file again: it is cut, or bytes in it are corrupted",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = append(dst, "capture incomplete: "...)
		dst = strconv.AppendUint(dst, e.A, 10)
		return append(append(dst, digits.Noun(e.A, " byte", " bytes")...), " could not be read, packets are missing: "...)
	}}

// Refused is raised by an ICMP error that quotes a query or a reply: A is its
// type and B its code. The detail is their meaning and the quoted packet.
var Refused = finding.Code{ID: "NET-04", Severity: finding.Error, Fault: finding.Server,
	Seen:  "an ICMP error that quotes a query or a reply",
	Means: "it did not arrive: of a query, nothing listens on that port, or a firewall rejects it; of a reply, the client has closed its port, often because it stopped waiting",
	Do:    "of a query, check the port (the query port is often not the game port), whether the server runs, and the firewall of the host that sent the error; of a reply, look how late it was",
	Text: func(dst []byte, _ *finding.Expert) []byte {
		return append(dst, "ICMP error: "...)
	}}

// LateReply is raised by a reply that came after the wait for it was over: A is the time since
// the last request, in nanoseconds.
var LateReply = finding.Code{ID: "NET-05", Severity: finding.Note, Fault: finding.Path,
	Seen:  "a reply more than 3 s after the last request that it can answer",
	Means: "most clients have stopped waiting by then, and show the server as offline though it answers",
	Do:    "look for the delay on the path or in the server, or raise the client's time-out",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "reply "...), e.A/1e6, 10)
		return append(dst, " ms after the last request"...)
	}}

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

// Codes lists the findings of this package. Findings that belong to a protocol are declared
// by the protocol, see dissect.PairCodes.
var Codes = []*finding.Code{&CaptureDamaged, &Refused, &LateReply, &Elsewhere, &OtherGamePort, &OneAddress, &ForeignPort, &Misfit, &SentBack, &OpenAmplifier, &ObsoleteAmplifier,
	&Cached, &Reframed, &Unrequested, &MonitorUnanswered}
