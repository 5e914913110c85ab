package main

import (
	"fmt"
	"io"
	"strings"

	"qsniff/internal/digits"
	"qsniff/report"
)

// remark says on standard error what a reader of the output could not guess: what
// was left out and why, and what was lost.
func remark(w io.Writer, run *report.Run) {
	leftOut(w, run)
	trouble(w, run)
}

// leftOut says what of the packets is no message.
func leftOut(w io.Writer, run *report.Run) {
	switch {
	case run.Packets == 0:
		fmt.Fprintln(w, "qsniff: the capture has no packets")
	case run.Messages == 0:
		fmt.Fprintf(w, "qsniff: no query traffic in %s%s\n", count(run.Packets, "packet"), reasons(": ", run.Skipped))
	case len(run.Skipped) > 0:
		fmt.Fprintf(w, "qsniff: %s in %s%s\n", count(run.Messages, "message"), count(run.Packets, "packet"),
			reasons("; left out: ", run.Skipped))
	}
}

// trouble says what may be missing from what was found, and why.
func trouble(w io.Writer, run *report.Run) {
	if run.Dropped > 0 {
		fmt.Fprintf(w, "qsniff: the capturing program lost %s: what looks unanswered may not have been\n", count(run.Dropped, "packet"))
	}
	doubled(w, run)
	if run.Joining.Evicted > 0 {
		fmt.Fprintf(w, "qsniff: %s given up early: too many were open at once, in all or from one sender\n",
			count(run.Joining.Evicted, "unfinished message was", "unfinished messages were"))
	}
	if n := run.Joining.TCPGivenUp; n > 0 {
		fmt.Fprintf(w, "qsniff: %s given up: too many were open at once; what they said later is not shown\n",
			count(n, "connection was", "connections were"))
	}
	if n := run.Joining.TCPEvicted; n > 0 {
		fmt.Fprintf(w, "qsniff: %s room for others: too many were open at once\n",
			count(n, "TCP connection made", "TCP connections made"))
	}
	if run.Backwards > 0 {
		fmt.Fprintf(w, "qsniff: %s older than one before: time went backwards in the capture\n",
			count(run.Backwards, "packet was", "packets were"))
	}
}

// aimed says that somebody found out the seeds of tables, n times; see lru.Rekeyed.
func aimed(w io.Writer, n uint64) {
	if n > 0 {
		fmt.Fprintf(w, "qsniff: addresses in the traffic were chosen to collide in tables, which changed their seeds %s: nothing is missing, it took longer\n",
			count(n, "time"))
	}
}

// doubled says what detection left out.
func doubled(w io.Writer, run *report.Run) {
	if run.Doubled > 0 {
		fmt.Fprintf(w, "qsniff: %s, as mirror ports do it: where floods are looked for, copies do not count\n",
			count(run.Doubled, "packet was captured twice", "packets were captured twice"))
	}
}

func reasons(lead string, rs []report.Reason) string {
	parts := make([]string, len(rs))
	for i, r := range rs {
		parts[i] = fmt.Sprintf("%d %s", r.Count, r.Why)
	}
	if len(parts) == 0 {
		return ""
	}
	return lead + strings.Join(parts, ", ")
}

// count writes a number of things; words are the singular and, where an s does
// not make it, the plural.
func count(n uint64, words ...string) string {
	return fmt.Sprintf("%d %s", n, digits.Noun(n, words...))
}
