package browse

import (
	"math"
	"sort"
	"sync"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/dissect/finding"
)

// entry is a line of the list: as little as it takes to find the message again, and to check
// that it is the same.
type entry struct {
	frame uint64
	print uint32 // of the reading, with the severity of the worst finding in its low bits
	after uint8  // marks between the frame and where the message was decided; 255: or more
	back  uint16 // marks between the first request of its exchange and the frame; 65,535: or more
}

// severityBits are the bits of entry.print for the severity; 0 is no finding.
const severityBits = 3

// severity returns that of the worst finding plus 1, or 0.
func (e entry) severity() int { return int(e.print & (1<<severityBits - 1)) }

// isFinding is the value of severity of findings that belong to no message; the rest of
// entry.print is their place in index.findings.
const isFinding = int(finding.Error) + 2

// index is the list of the messages that one run found, in its order. The run appends to it
// while it is read.
type index struct {
	mu       sync.RWMutex
	chunks   [][]entry
	n        int
	marks    []file.Mark
	findings []*Row
	start    int64 // of the first packet
	stats    capture.Stats
	isFull   bool // there are more than maxEntries
	isDone   bool
	err      error // of the run
}

// add appends a message that a frame completed and first began; what decided it precedes the
// last mark. The caller holds x.mu.
func (x *index) add(k ident, first uint64) {
	at := x.search(k.frame)
	e := entry{frame: k.frame, print: k.print, after: uint8(min(len(x.marks)-at, math.MaxUint8))}
	if first != 0 && first < k.frame {
		e.back = uint16(min(at-x.search(first), math.MaxUint16))
	}
	if x.n == maxEntries {
		x.isFull = true
		return
	}
	if x.n%chunkEntries == 0 {
		x.chunks = append(x.chunks, make([]entry, 0, chunkEntries))
	}
	last := &x.chunks[len(x.chunks)-1]
	*last = append(*last, e)
	x.n++
}

// at returns entry i. The caller holds x.mu.
func (x *index) at(i int) entry { return x.chunks[i/chunkEntries][i%chunkEntries] }

// len returns how many entries there are.
func (x *index) len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n
}

// done reports whether all is read.
func (x *index) done() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.isDone
}

// has reports whether a frame, or one after it, is listed, or never will be.
func (x *index) has(frame uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.isDone || x.n > 0 && x.at(x.n-1).frame >= frame
}

// first returns the time of the first packet.
func (x *index) first() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.start
}

// entries returns those from lo to hi, as far as there are any.
func (x *index) entries(lo, hi int) []entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []entry
	for i := max(lo, 0); i < min(hi, x.n); i++ {
		all = append(all, x.at(i))
	}
	return all
}

// findFrame returns the first entry of a frame, or of the nearest after it, or else the last.
func (x *index) findFrame(frame uint64) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	best, bestFrame := x.n-1, ^uint64(0)
	for i := range x.n { // frames do not only rise: incomplete messages come later
		if f := x.at(i).frame; f >= frame && f < bestFrame {
			if best, bestFrame = i, f; f == frame {
				break
			}
		}
	}
	return best
}

// findFinding returns the nearest entry after i, or before it, that has a finding of note or
// worse, or -1.
func (x *index) findFinding(i, step int) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i += step; i >= 0 && i < x.n; i += step {
		if x.at(i).severity() > int(finding.Note) {
			return i
		}
	}
	return -1
}

// search returns the index of the first mark that a frame precedes, which is after it. The caller
// holds x.mu.
func (x *index) search(frame uint64) int {
	return sort.Search(len(x.marks), func(i int) bool { return x.marks[i].Packets >= frame })
}

// span returns the marks between which the packets of an entry lie, back more before it: the
// index of the first, and how many packets precede the last.
func (x *index) span(e entry, back int) (from int, end uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	at := x.search(e.frame)
	end = math.MaxUint64
	if to := at + int(e.after); e.after < math.MaxUint8 && to < len(x.marks) {
		end = x.marks[to].Packets
	}
	return max(at-1-int(e.back)-back, 0), end
}

// mark returns mark i, or false where there is none.
func (x *index) mark(i int) (file.Mark, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i >= len(x.marks) {
		return file.Mark{}, false
	}
	return x.marks[i], true
}

// finding returns the row of a finding that belongs to no message.
func (x *index) finding(e entry) *Row {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i := int(e.print >> severityBits); i < len(x.findings) {
		return x.findings[i]
	}
	return &Row{Frame: e.frame, Reading: "a finding for which there was no room: qsniff findings lists all"}
}
