package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"qsniff/capture"
	"qsniff/internal/base/digits"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
)

// printRemarks prints on standard error what cannot be seen in the output: how many packets
// hold no message and why, and what was lost.
func printRemarks(w io.Writer, run *tally.Run) {
	printLeftOut(w, run)
	printTrouble(w, run)
}

// printLeftOut prints how many packets hold no message, and why.
func printLeftOut(w io.Writer, run *tally.Run) {
	switch {
	case run.Packets == 0:
		fmt.Fprintln(w, "qsniff: the capture has no packets")
	case run.Messages == 0 && run.Unmatched > 0:
		fmt.Fprintf(w, "qsniff: none of %s matches the filter\n", count(run.Unmatched, "message"))
	case run.Unmatched > 0:
		fmt.Fprintf(w, "qsniff: %d of %s match the filter\n", run.Messages, count(run.Messages+run.Unmatched, "message"))
	case run.Messages == 0:
		fmt.Fprintf(w, "qsniff: no query traffic in %s%s\n", count(run.Packets, "packet"), formatReasons(": ", run))
	case len(run.Skipped) > 0:
		fmt.Fprintf(w, "qsniff: %s in %s%s\n", count(run.Messages, "message"), count(run.Packets, "packet"),
			formatReasons("; left out: ", run))
	}
}

// printTrouble prints what may be missing from the output, and why.
func printTrouble(w io.Writer, run *tally.Run) {
	printSentences(w, run)
	printHints(w, &counters.Result{Run: *run}, counters.Input, counters.Reassembly)
}

// printHints prints the hint of each counter of the groups that is not zero and has one.
func printHints(w io.Writer, r *counters.Result, groups ...counters.Group) {
	for _, sentence := range r.Hints(groups...) {
		fmt.Fprintln(w, "qsniff:", sentence)
	}
}

// printRekeyed prints that tables changed their seeds n times, because somebody chose
// addresses that collide in them; see lru.Rekeyed.
func printRekeyed(w io.Writer, n uint64) {
	if n > 0 {
		fmt.Fprintf(w, "qsniff: addresses in the traffic were chosen to collide in tables, which changed their seeds %s: nothing is missing, it took longer\n",
			count(n, "time"))
	}
}

// printSentences prints what people must know before they read figures of the run.
func printSentences(w io.Writer, run *tally.Run) {
	for _, s := range run.Sentences() {
		fmt.Fprintln(w, "qsniff:", s)
	}
}

func formatReasons(lead string, run *tally.Run) string {
	parts := make([]string, len(run.Skipped))
	for i, r := range run.Skipped {
		parts[i] = fmt.Sprintf("%d %s", r.Count, r.Why)
		if r.Hint != "" {
			parts[i] += fmt.Sprintf(" (%.0f %%; %s)", 100*float64(r.Count)/float64(max(run.Packets, 1)), r.Hint)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return lead + strings.Join(parts, ", ")
}

// count formats a number of things. words are the singular and, where that does not end in
// just another s, the plural.
func count(n uint64, words ...string) string {
	return fmt.Sprintf("%d %s", n, digits.Noun(n, words...))
}

const (
	// minProgressSize is the size of input, in bytes, from which progress is shown. Chosen:
	// less is read before anybody wonders.
	minProgressSize = 64 << 20

	// progressInterval is how often the line is written. Chosen: often enough to look
	// alive, and rarely enough for a slow connection.
	progressInterval = 200 * time.Millisecond

	// echoCells is how many cells of the line stay free for the ^C that a terminal writes
	// after it: of a line that wraps, eraseLine would leave a part.
	echoCells = 3
)

// eraseLine moves the cursor to the start of the line and clears the line.
const eraseLine = "\r\x1b[K"

// startProgress returns a function to call with the source's totals as it is read, and one
// to call at the end, which clears the line. Nothing is shown unless standard error is a
// terminal and the input is large, nor if the output is printed to a terminal meanwhile:
// that shows by itself how far the run is.
func (j *job) startProgress() (update func(capture.Stats, func() tally.Run), done func()) {
	w := j.io.err
	if e, ok := w.(errLines); ok {
		w = e.to
	}
	size := j.src.Stats().Size
	if size < minProgressSize || !isTerminal(w) || j.streamsOutput && isTerminal(j.io.out) {
		return nil, func() {}
	}
	p := progressLine{size: size}
	start := time.Now()
	var last time.Time
	update = func(s capture.Stats, _ func() tally.Run) {
		if now := time.Now(); now.Sub(last) >= progressInterval {
			last = now
			_, _ = io.WriteString(w, eraseLine+p.text(s, now.Sub(start), width(w)-echoCells)) // no reason to stop
		}
	}
	return update, func() { _, _ = io.WriteString(w, eraseLine) }
}

// startPasses returns a function to call with what is done, and with how far it is, of captures that are
// read more than once, and one to call at the end. It shows the line as startProgress does.
func startPasses(w io.Writer) (update func(what string, s capture.Stats), done func()) {
	if e, ok := w.(errLines); ok {
		w = e.to
	}
	if !isTerminal(w) {
		return func(string, capture.Stats) {}, func() {}
	}
	var last, start time.Time
	pass := ""
	return func(what string, s capture.Stats) {
			now := time.Now()
			if what != pass {
				pass, start = what, now
			}
			if s.Size < minProgressSize || now.Sub(last) < progressInterval {
				return
			}
			last = now
			line := what + ": " + progressLine{size: s.Size}.text(s, now.Sub(start), width(w)-echoCells-len(what)-2)
			_, _ = io.WriteString(w, eraseLine+line) // no reason to stop
		}, func() {
			if !last.IsZero() {
				_, _ = io.WriteString(w, eraseLine)
			}
		}
}

// progressLine makes the line of progress for an input of size bytes.
type progressLine struct{ size int64 }

// text returns as much of the line as fits into room cells, the most important part first.
func (p progressLine) text(s capture.Stats, passed time.Duration, room int) string {
	parts := []string{fmt.Sprintf("%3.0f %%", 100*min(1, float64(s.Bytes)/float64(p.size)))}
	if left := time.Duration(float64(passed) * float64(p.size-s.Bytes) / float64(max(s.Bytes, 1))); left >= time.Second {
		parts = append(parts, digits.Span(left.Round(time.Second))+" left")
	}
	parts = append(parts, digits.Bytes(float64(s.Bytes))+" of "+digits.Bytes(float64(p.size)))
	if sec := passed.Seconds(); sec > 0 {
		parts = append(parts, digits.Grouped(int64(float64(s.Received)/sec))+" packets/s")
	}
	line := ""
	for _, part := range parts {
		if line != "" {
			part = ", " + part
		}
		if len(line)+len(part) > room {
			break
		}
		line += part
	}
	return line
}
