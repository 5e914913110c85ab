package main

import (
	"fmt"
	"io"
	"time"

	"qsniff/capture"
	"qsniff/internal/base/digits"
	"qsniff/internal/render/tally"
)

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
