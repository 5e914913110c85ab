package split

import "qsniff/finding"

// raise adds a finding about the whole set, with its first and last frame.
func (o *Set) raise(code *finding.Code, sev finding.Severity, x, y uint64) *finding.Expert {
	e := finding.Expert{Code: code, Severity: sev, Field: -1, A: x, B: y, Addr: o.Src}
	if n := len(o.Frames); n > 0 {
		e.Frames = [2]uint64{o.Frames[0], o.Frames[n-1]}
	}
	o.Expert = append(o.Expert, e)
	return &o.Expert[len(o.Expert)-1]
}

// raise notes what there is to say about a set.
func (a *Assembler) raise(s *set, why reason) {
	o := &a.out
	if !s.done() {
		a.raiseMissing(s, why)
	}
	if s.dups > 0 {
		o.raise(DuplicatePart, DuplicatePart.Severity, s.dups, 0).Frames = s.dupFrames
	}
	if s.again && s.done() {
		o.raise(DuplicatePart, DuplicatePart.Severity, uint64(s.n), 1)
	}
	if s.clashes > 0 {
		o.raise(ConflictingPart, ConflictingPart.Severity, s.clashes, 0).Frames = s.clashFrames
	}
	if s.odd > 0 {
		o.raise(ConflictingPart, ConflictingPart.Severity, 0, s.odd)
	}
	if s.infer {
		var hinted uint64
		if s.hint == s.engine {
			hinted = 1
		}
		o.raise(FormInferred, FormInferred.Severity, uint64(s.engine), hinted)
	}
	if s.plain {
		o.raise(BadStream, finding.Warn, uint64(notPacked), 0)
	}
	a.raiseStream(s)
}

func (a *Assembler) raiseMissing(s *set, why reason) {
	o := &a.out
	if why == reused {
		o.raise(IDReused, IDReused.Severity, uint64(o.ID), uint64(s.n))
		return
	}
	first := 0
	for s.has(uint8(first)) {
		first++
	}
	sev := PartMissing.Severity
	if why != timeout { // nothing is known about the rest of the wait
		sev = finding.Note
	}
	if s.over > 0 { // they came, and were refused
		why, sev = evicted, finding.Note
	}
	o.raise(PartMissing, sev, uint64(int(s.total)-s.n), packMissing(s.total, first, why))
}

func (a *Assembler) raiseStream(s *set) {
	o := &a.out
	switch s.flaw {
	case sound:
	case tooLarge:
		o.raise(Bomb, Bomb.Severity, uint64(s.flawSize), uint64(a.lim.Inflated))
	case endless:
		o.raise(Bomb, Bomb.Severity, 0, uint64(a.lim.Inflated))
	case refused:
		o.raise(Bomb, finding.Note, 0, 0)
	case trailing:
		o.raise(BadStream, finding.Note, uint64(trailing), 0)
	case badCRC:
		o.raise(BadStream, BadStream.Severity, uint64(badCRC), uint64(o.CRC)<<32|uint64(s.flawSum))
	default:
		o.raise(BadStream, BadStream.Severity, uint64(s.flaw), uint64(o.Declared)<<32|uint64(s.flawSize))
	}
}
