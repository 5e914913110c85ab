package tcpstream

import (
	"fmt"
	"testing"

	"qsniff/internal/test/lrutest"
)

// Used is the memory in buffers, in bytes.
func (a *Assembler) Used() int { return a.mem.used }

// Spans is the number of stretches that are kept.
func (a *Assembler) Spans() int { return a.mem.inUse }

// Live is the number of connections.
func (a *Assembler) Live() int { return a.index.Len() }

// Check returns what contradicts what in an Assembler, empty if nothing.
func (a *Assembler) Check() string {
	spans, bytes, live := 0, 0, 0
	for cl := range a.classes {
		var prev *Conn
		for c := a.classes[cl].oldest; c != nil; prev, c = c, c.links[byClass].next {
			live++
			if c.class != class(cl) || c.classify() != c.class || c.links[byClass].prev != prev {
				return fmt.Sprintf("slot %d is in class %d, says %d, is %d", c.Slot, cl, c.class, c.classify())
			}
			if c.links[byHolding].inList != (c.halves[0].isHolding() || c.halves[1].isHolding()) {
				return fmt.Sprintf("slot %d: in the list of holders is %v", c.Slot, c.links[byHolding].inList)
			}
			for side := range c.halves {
				s, b, problem := a.checkHalf(&c.halves[side])
				if problem != "" {
					return fmt.Sprintf("slot %d, side %d: %s", c.Slot, side, problem)
				}
				spans += s
				bytes += b
			}
		}
		if prev != a.classes[cl].newest {
			return "the newest of a class is not the last"
		}
	}
	switch {
	case live != a.index.Len():
		return fmt.Sprintf("%d connections in classes, %d in the index", live, a.index.Len())
	case spans != a.mem.inUse:
		return fmt.Sprintf("%d spans found, %d in use", spans, a.mem.inUse)
	case bytes != a.mem.used || bytes > a.lim.Bytes:
		return fmt.Sprintf("%d bytes of buffers found, %d in use, %d allowed", bytes, a.mem.used, a.lim.Bytes)
	}
	return ""
}

// checkHalf counts the spans and the memory of h.
func (a *Assembler) checkHalf(h *half) (spans, bytes int, problem string) {
	kept, runs := 0, 0
	add := func(i uint32) {
		s := &a.mem.items[i]
		spans++
		kept += int(s.n)
		if s.hasBuffer {
			bytes += s.room()
		}
		if s.hasBuffer != (s.n > 0) {
			problem = fmt.Sprintf("%d bytes, buffer %v", s.n, s.hasBuffer)
		}
		off := uint32(0)
		for _, p := range a.mem.piecesOf(i) {
			if p.Off != off || p.Len == 0 {
				problem = "pieces do not lie side by side"
			}
			off += p.Len
		}
		if off != s.n || int(s.off+s.n) > s.room() || int32(s.sent-s.end()) < 0 && i != h.waits {
			problem = fmt.Sprintf("span %+v, pieces end at %d", *s, off)
		}
	}
	if h.waits != 0 {
		add(h.waits)
		if a.mem.items[h.waits].end() != h.next {
			problem = "bytes that wait do not end where the next ones are expected"
		}
	}
	at := h.next
	for i := h.runs; i != 0; i = a.mem.items[i].next {
		if int32(a.mem.items[i].seq-at) < 0 || runs == 0 && a.mem.items[i].seq == at {
			problem = "a run is not after a hole"
		}
		at = a.mem.items[i].end()
		runs++
		add(i)
	}
	if kept != h.kept || runs != int(h.nruns) || kept > a.lim.DirBytes || runs > maxRuns {
		problem = fmt.Sprintf("%d bytes in %d runs, counted %d in %d", kept, runs, h.kept, h.nruns)
	}
	return spans, bytes, problem
}

// TestChosenKeys: nobody can choose keys that collide in the tables.
func TestChosenKeys(t *testing.T) {
	lrutest.Check[key](t)
}
