package tcpstream

import (
	"strconv"

	"qsniff/dissect/finding"
)

// The findings about connections. A is a number of bytes.
var (
	Missing = finding.Code{ID: "NET-06", Severity: finding.Note, Fault: finding.Capture,
		Seen:  "segments of a TCP connection are not in the capture, or were cut by its snap length",
		Means: "the ends of the connection had these bytes, or they would not have gone on: the capture lost them; messages in them are missing, and those around them may be cut",
		Do:    "capture with a larger buffer, without a snap length, and on a port that mirrors both directions",
		Text: func(dst []byte, e *finding.Expert) []byte {
			return append(appendBytes(dst, e.A), " of the connection are missing in the capture"...)
		}}
	Conflict = finding.Code{ID: "NET-07", Severity: finding.Warn, Fault: finding.Path,
		Seen:  "a TCP segment repeats bytes with another content",
		Means: "something on the way changes packets, or a sender hides from those who listen: shown is what Linux gives its program, and other systems may read the other copy; no text of a console that the bytes are in is shown",
		Do:    "look for a proxy or a firewall that rewrites; otherwise treat the sender as hostile",
		Text: func(dst []byte, e *finding.Expert) []byte {
			return append(appendBytes(dst, e.A), " came again with another content; shown is the copy that Linux takes"...)
		}}
	Skipped = finding.Code{ID: "NET-08", Severity: finding.Note, Fault: finding.Capture,
		Seen:  "bytes of a TCP connection that belong to no message that could be read",
		Means: "after a gap, an impossible length, or at the start of a capture that began in the middle, the next message has to be found by its form",
		Do:    "nothing, if it stands after a gap; otherwise see what was reported before it",
		Text: func(dst []byte, e *finding.Expert) []byte {
			return append(appendBytes(dst, e.A), " of the connection could not be read, up to the next message"...)
		}}
	Dropped = finding.Code{ID: "LIM-02", Severity: finding.Warn, Fault: finding.Capture,
		Seen:  "bytes of a TCP connection were kept, and dropped before they were read because memory was needed",
		Means: "many connections wait for missing segments at once, or one sends more than a message may have; messages in these bytes are missing",
		Do:    "read with a larger --memory, or fewer connections",
		Text: func(dst []byte, e *finding.Expert) []byte {
			return append(appendBytes(dst, e.A), " of the connection were dropped to stay within memory"...)
		}}
)

// Codes lists the findings of this package.
var Codes = []*finding.Code{&Missing, &Conflict, &Skipped, &Dropped}

// IsGap reports whether the stream goes on after bytes that are missing.
func (r Reason) IsGap() bool { return r <= GivenUp }

func appendBytes(dst []byte, n uint64) []byte {
	dst = strconv.AppendUint(dst, n, 10)
	if n == 1 {
		return append(dst, " byte"...)
	}
	return append(dst, " bytes"...)
}
