package rcon

import (
	"bytes"
	"strconv"
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
)

// Flags in B of a finding about an unanswered request, above the nanoseconds that it waited.
const (
	endedLogin  = 1 << 63 // the request was a login
	endedReset  = 1 << 62 // the connection was reset
	endedOpen   = 1 << 61 // neither end closed it: the capture ended, or it was idle too long
	endedUnsure = 1 << 60 // packets of the connection are missing in the capture
	endedFlags  = endedLogin | endedReset | endedOpen | endedUnsure
)

// Times of what has no answer.
const (
	// patience is from when on a client that ends the connection waited in vain. Chosen: programs give up
	// after 3 to 10 s; one that does not care for the answer is gone within a second.
	patience = 3 * time.Second
	// openPatience is how long a request must have waited where the connection is still open at the end of
	// the capture. Chosen: no client is known that waits longer.
	openPatience = 10 * time.Second
)

// Findings about the end of a connection. A is the number of further commands that wait.
var (
	codeServerEnded = finding.Code{ID: "RCN-15", Severity: finding.Warn, Fault: finding.Server,
		Seen:   "the server ended the connection while a login or a command had no answer",
		Means:  "after a login: the password is wrong (Squad closes then), the address is banned, or it may not use the console; after a command: the server crashed on it, refused it without a word, or took too long for itself. A reset is what a system sends for a program that is gone or that left bytes unread",
		Owner:  "look in the server's log at this time, and for a ban of the address",
		Client: "report \"closed without an answer\", neither \"wrong password\" nor an empty answer, and connect anew before the next command",
		Text: func(dst []byte, e *finding.Expert) []byte {
			return appendEnded(dst, e, "server", ", without an answer")
		}}
	codeNoAnswer = finding.Code{ID: "RCN-16", Severity: finding.Warn, Fault: finding.Server,
		Seen:   "a login or a command without an answer, though its client waited for seconds",
		Means:  "the server takes the connection and does not answer: it hangs, its console is busy with another client, or commands without output get no packet at all, as in Rust, Factorio and 7 Days to Die",
		Owner:  "try the command in the server's own console",
		Client: "give each command a time-out of its own and treat its end as \"no answer\", not as a lost connection",
		Text: func(dst []byte, e *finding.Expert) []byte {
			dst = appendWait(append(append(dst, requestName(e)...), " got no answer in "...), e)
			switch {
			case e.B&endedOpen != 0:
				return appendMore(dst, e)
			case e.B&endedReset != 0:
				return appendMore(append(dst, "; then the client reset the connection"...), e)
			}
			return appendMore(append(dst, "; then the client closed the connection"...), e)
		}}
	codeClientLeft = finding.Code{ID: "RCN-17", Severity: finding.Note, Fault: finding.Client,
		Seen:   "the client ended the connection shortly after a login or a command, before the answer",
		Means:  "it does not want the answer, or its time-out is shorter than the server takes: whether the command ran is unknown",
		Owner:  "nothing: the server was not given the time to answer",
		Client: "read the answer before closing, and wait for at least 3 s",
		Text: func(dst []byte, e *finding.Expert) []byte {
			return appendEnded(dst, e, "client", ", before the answer")
		}}
)

func requestName(e *finding.Expert) string {
	if e.B&endedLogin != 0 {
		return "the login"
	}
	return "the command"
}

// appendEnded appends how an end closed or reset the connection after a request.
func appendEnded(dst []byte, e *finding.Expert, who, what string) []byte {
	verb := " closed"
	if e.B&endedReset != 0 {
		verb = " reset"
	}
	dst = append(append(append(append(dst, "the "...), who...), verb...), " the connection "...)
	dst = append(append(appendWait(dst, e), " after "...), requestName(e)...)
	return appendMore(append(dst, what...), e)
}

func appendWait(dst []byte, e *finding.Expert) []byte {
	return digits.AppendElapsed(dst, int64(e.B&^uint64(endedFlags)), " ")
}

func appendMore(dst []byte, e *finding.Expert) []byte {
	if e.A > 0 {
		dst = strconv.AppendUint(append(dst, ", "...), e.A, 10)
		dst = append(dst, digits.Noun(e.A, " more request waits", " more requests wait")...)
	}
	if e.B&endedUnsure != 0 {
		return append(dst, ", unless packets that the capture lacks say otherwise"...)
	}
	return dst
}

// quitting are commands that end the server or the connection, so that no answer is none of a fault.
var quitting = [][]byte{[]byte("quit"), []byte("exit"), []byte("stop"), []byte("restart"), []byte("_restart"), []byte("shutdown"),
	[]byte("doexit"), []byte("killserver"), []byte("server.quit"), []byte("server.stop"), []byte("disconnect"), []byte("logout"),
	[]byte("adminshutdown"), []byte("global.quit"), []byte("global.restart"), []byte("restart_server")}

// isQuitting reports whether a command ends the server or the connection.
func isQuitting(command []byte) bool {
	word := bytes.TrimLeft(command, "/ ")
	if i := bytes.IndexAny(word, " \t\r\n;"); i >= 0 {
		word = word[:i]
	}
	for _, q := range quitting {
		if bytes.EqualFold(word, q) {
			return true
		}
	}
	return false
}

// ReportEnd returns that the last login, or the first command after those that were answered, has no answer at
// the end of a connection.
func (*Dissector) ReportEnd(c *dissect.Context, e dissect.Ending) (x finding.Expert, text []byte, ok bool) {
	v := viewOf(c)
	s := v.s
	if !v.known || e.By == dissect.Unsure && !v.opened && !s.serverSpoke {
		return x, nil, false
	}
	since, isWhole := s.authNanos, s.authWhole
	x.B = endedLogin
	switch {
	case s.auth == authAsked:
		if since == 0 {
			return x, nil, false
		}
		if s.saidBan {
			x = finding.Expert{Code: &codeBanned, Severity: codeBanned.Severity, Field: -1, A: uint64(s.preambleLen)}
			return x, nil, true
		}
	default:
		q := s.firstWaiting()
		if q == nil {
			return x, nil, false
		}
		since, isWhole, x.B, text = q.nanos, q.whole, 0, q.command[:q.ncommand]
		x.A = s.countWaiting() - 1
		if e.By != dissect.Unsure && isQuitting(text) {
			return x, nil, false
		}
	}
	waited := min(max(e.Nanos-since, 0), endedUnsure-1)
	switch {
	case e.By == dissect.ToClient:
		x.Code = &codeServerEnded
	case waited >= int64(patience) && e.By == dissect.ToServer:
		x.Code = &codeNoAnswer
	case e.By == dissect.ToServer:
		x.Code = &codeClientLeft
	case waited >= int64(openPatience):
		x.Code = &codeNoAnswer
		x.B |= endedOpen
	default:
		return x, nil, false
	}
	if e.IsReset {
		x.B |= endedReset
	}
	x.B |= uint64(waited)
	x.Severity, x.Field = x.Code.Severity, -1
	if !isWhole || v.gap {
		x.Severity--
		x.B |= endedUnsure
	}
	return x, text, true
}

// firstWaiting returns the first command without an answer after those that were answered;
// nil if there is none, or if the server has sent text since that may be the answer.
func (s *session) firstWaiting() *request {
	for i := range s.asked {
		if q := &s.asked[i]; !q.probe && q.seq > s.answered {
			return q
		}
	}
	return nil
}

// countOpen counts those of them with an id.
func (s *session) countOpen(id int32) (n uint64) {
	for i := range s.asked {
		if q := &s.asked[i]; !q.probe && q.seq > s.answered && q.id == id {
			n++
		}
	}
	return n
}

// countWaiting counts the commands after those that were answered.
func (s *session) countWaiting() (n uint64) {
	for i := range s.asked {
		if q := &s.asked[i]; !q.probe && q.seq > s.answered {
			n++
		}
	}
	return n
}
