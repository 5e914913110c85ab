package monitor

import (
	"time"

	"qsniff/internal/track/stats"
)

// Lately is what was counted of a server in the last minute, or since the begin, if that is less.
// Outcomes and response times count at the time of the request.
type Lately struct {
	stats.Cell               // bytes are of payloads
	WireIn, WireOut   uint64 // bytes with headers
	Late, Unreachable uint32 // of Answered, and of Unanswered
	Response          stats.Times
	// Points are the requests in each point of the last hour, of Snapshot.Point each. If there are
	// fewer than Snapshot.Points, the missing ones are zero, and come last.
	Points []uint32
}

// lately returns what a row has from a point on.
func (r *row) lately(from int) Lately {
	var all cell
	points := make([]uint32, len(r.cells))
	for i := range r.cells {
		points[i] = r.cells[i].Requests
		if i >= from {
			all.add(&r.cells[i])
		}
	}
	return Lately{Cell: all.Cell, WireIn: all.wireIn, WireOut: all.wireOut, Late: all.late, Unreachable: all.unreachable,
		Response: timesOf(&r.times, from, all.slowest), Points: points}
}

// latelyFrom returns the point with which the last minute begins.
func (w *window) latelyFrom() int { return max(0, w.at+1-int(latelySpan/pointLengths[w.step])) }

// latelySpan returns how long the last minute is as yet.
func (w *window) latelySpan() time.Duration {
	return min(latelySpan, time.Duration(w.last-w.start))
}
