// Package progress shows on a terminal how far a program has read its captures.
package progress

import (
	"fmt"
	"io"
	"time"

	"qsniff/capture"
	"qsniff/internal/base/digits"
)

const (
	// MinSize is the size of input, in bytes, from which progress is shown. Chosen:
	// less is read before anybody wonders.
	MinSize = 64 << 20

	// interval is how often the line is written. Chosen: often enough to look
	// alive, and rarely enough for a slow connection.
	interval = 200 * time.Millisecond

	// echoCells is how many cells of the line stay free for the ^C that a terminal writes
	// after it: of a line that wraps, eraseLine would leave a part.
	echoCells = 3
)

// eraseLine moves the cursor to the start of the line and clears the line.
const eraseLine = "\r\x1b[K"

// Line is a line of progress. A nil one shows nothing.
type Line struct {
	to          io.Writer
	width       func() int
	what        string
	start, last time.Time
}

// New returns a line on a terminal, which has as many columns as width returns.
func New(to io.Writer, width func() int) *Line { return &Line{to: to, width: width, start: time.Now()} }

// Update shows how far a source is read, if its input is large. what is done stands before that, if it is not
// empty.
func (l *Line) Update(what string, s capture.Stats) {
	if l == nil {
		return
	}
	now := time.Now()
	if what != l.what {
		l.what, l.start = what, now
	}
	if s.Size < MinSize || now.Sub(l.last) < interval {
		return
	}
	l.last = now
	if what != "" {
		what += ": "
	}
	_, _ = io.WriteString(l.to, eraseLine+what+format(s, now.Sub(l.start), l.width()-echoCells-len(what))) // no reason to stop
}

// Done clears the line.
func (l *Line) Done() {
	if l != nil && !l.last.IsZero() {
		_, _ = io.WriteString(l.to, eraseLine)
	}
}

// format returns as much of the line as fits into room cells, the most important part first.
func format(s capture.Stats, passed time.Duration, room int) string {
	parts := []string{fmt.Sprintf("%3.0f %%", 100*min(1, float64(s.Bytes)/float64(s.Size)))}
	if left := time.Duration(float64(passed) * float64(s.Size-s.Bytes) / float64(max(s.Bytes, 1))); left >= time.Second {
		parts = append(parts, digits.Span(left.Round(time.Second))+" left")
	}
	parts = append(parts, digits.Bytes(float64(s.Bytes))+" of "+digits.Bytes(float64(s.Size)))
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
