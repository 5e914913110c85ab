package master

import (
	"strconv"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
)

// codeChain is an error where a question goes on from an address that ended no page: Addr ended the
// last one, A is the address asked for as in dissect.Page. One page without an end mark proves no
// more than that another should follow: it is raised as chat, with A servers and no Addr.
var codeChain = finding.Code{ID: "MST-03", Severity: finding.Error, Fault: finding.Client,
	Seen:   "a question that goes on from an address that ended none of the last pages, or a short page without the end mark 0.0.0.0:0, as a mark of severity chat",
	Means:  "after a question from another address servers come twice or are left out; after a page without the end mark more servers should follow. Lists of IPv6 addresses are not followed: no master is known that gives these out in pages",
	Owner:  "end the last page with 0.0.0.0:0, if the master is yours and does not",
	Client: "ask on with the last address of the page as the seed until 0.0.0.0:0 comes, and where a page does not come ask for the same one again",
	Ref:    "Valve developer wiki, Master Server Query Protocol",
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

var codes = []*finding.Code{&codeChain, &codeOverBudget, &codeSilent, &codeUnjoined}

// codeOverBudget is raised when a master server falls silent after A requests of one
// address within B nanoseconds.
var codeOverBudget = finding.Code{ID: "MST-01", Severity: finding.Warn, Fault: finding.Client,
	Seen:   "more than 30 requests to a master server in a minute from one address, then silence",
	Means:  "public master servers answer about 30 requests a minute from an address, and then none for a while; Valve's over UDP answer none since October 2025",
	Owner:  "nothing: the master's limit does not concern a game server",
	Client: "ask for whole lists with one filter, keep them, and pause for a minute when pages stay away",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(dst, e.A, 10)
		dst = strconv.AppendUint(append(dst, " requests in "...), (e.B+5e8)/1e9, 10)
		return finding.AppendUnsure(append(dst, " s, then silence: more than the master server answers one address"...), e)
	}}

// retired is when Valve's master servers over UDP stopped, to the month.
var retired = uint64(time.Date(2025, time.October, 1, 0, 0, 0, 0, time.UTC).Unix())

// codeUnjoined is raised when a master server answered none of A attempts of a server to join, in B nanoseconds.
var codeUnjoined = finding.Code{ID: "MST-04", Severity: finding.Warn, Fault: finding.Path,
	Seen:   "a server that asks a master server for a challenge, at least twice, and never gets one",
	Means:  "the heartbeat, which needs the challenge, is never sent: the server is not in this master's list, and players who use that do not find it. The master is down or retired, or a filter drops its packets",
	Owner:  "let UDP to and from the master's address and port pass (27010 and 27011 of Steam's), and take masters that are gone off the list (setmaster, hl1masters); where another master answers, the server itself is in order",
	Client: "ask the server by its address: it may run although a list lacks it",
	Format: "no challenge for {a} attempts to join within {b.elapsed}: this master server never got a heartbeat{unsure}"}

// codeSilent is raised when a master server left A exchanges in a row without an answer; B is
// the Unix time in seconds.
var codeSilent = finding.Code{ID: "MST-02", Severity: finding.Warn, Fault: finding.Server,
	Seen:   "at least 2 requests in a row to a master server without an answer, each with its repetitions",
	Means:  "Valve's master servers over UDP were retired in October 2025, and nothing answers there any more; a master server of others is down, or a filter drops its packets",
	Owner:  "nothing at a game server; at a master of others, as for Xash3D, look for a filter of UDP before it",
	Client: "for lists of Steam's servers use the Steam Web API (IGameServersService/GetServerList), as waiting does not help; where the master is of others, tell its operator",
	Ref:    "PredatH0r/SteamServerBrowser#45",
	Text: func(dst []byte, e *finding.Expert) []byte {
		dst = strconv.AppendUint(append(dst, "no answer to "...), e.A, 10)
		dst = append(dst, " requests for lists of servers in a row, with their repetitions"...)
		if e.B >= retired {
			dst = append(dst, ": Valve's master servers over UDP were retired in October 2025, others may be down"...)
		} else {
			dst = append(dst, ": the master server is down, or a filter drops its packets"...)
		}
		return finding.AppendUnsure(dst, e)
	}}
