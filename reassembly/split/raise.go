package split

import "qsniff/dissect/finding"

// addFinding adds a finding about the whole set, with its first and last frame.
func (o *Set) addFinding(code *finding.Code, sev finding.Severity, x, y uint64) *finding.Expert {
	e := finding.Expert{Code: code, Severity: sev, Field: -1, A: x, B: y, Addr: o.Src}
	if n := len(o.Frames); n > 0 {
		e.Frames = [2]uint64{o.Frames[0], o.Frames[n-1]}
	}
	o.Expert = append(o.Expert, e)
	return &o.Expert[len(o.Expert)-1]
}

// raiseFindings adds the findings about s, which is delivered for reason why, to a.out.
func (a *Assembler) raiseFindings(s *partSet, why reason) {
	o := &a.out
	if !s.isWhole() {
		a.raiseMissing(s, why)
	}
	if s.duplicates > 0 {
		o.addFinding(DuplicatePart, DuplicatePart.Severity, s.duplicates, 0).Frames = s.duplicateFrames
	}
	if s.isRepeat && s.isWhole() {
		o.addFinding(DuplicatePart, DuplicatePart.Severity, uint64(s.n), 1)
	}
	if s.conflicts > 0 {
		o.addFinding(ConflictingPart, ConflictingPart.Severity, s.conflicts, 0).Frames = s.conflictFrames
	}
	if s.otherTotals > 0 {
		o.addFinding(ConflictingPart, ConflictingPart.Severity, 0, s.otherTotals)
	}
	if s.isInferred {
		var hinted uint64
		if s.hint == s.engine {
			hinted = 1
		}
		o.addFinding(FormInferred, FormInferred.Severity, uint64(s.engine), hinted)
	}
	if s.isMislabelled {
		o.addFinding(BadStream, finding.Warn, uint64(notPacked), 0)
	}
	a.raiseStream(s)
}

func (a *Assembler) raiseMissing(s *partSet, why reason) {
	o := &a.out
	if why == reused {
		o.addFinding(IDReused, IDReused.Severity, uint64(o.ID), uint64(s.n))
		return
	}
	first := 0
	for s.has(uint8(first)) {
		first++
	}
	sev := PartMissing.Severity
	if why != expired { // the missing parts may have come within the rest of the wait
		sev = finding.Note
	}
	if s.refused > 0 { // they came, and were refused
		why, sev = evicted, finding.Note
	}
	o.addFinding(PartMissing, sev, uint64(int(s.total)-s.n), packMissing(s.total, first, why))
}

func (a *Assembler) raiseStream(s *partSet) {
	o := &a.out
	switch s.flaw {
	case sound:
	case declaredTooLarge:
		o.addFinding(Bomb, Bomb.Severity, uint64(s.flawSize), uint64(a.lim.Inflated))
	case outputTooLarge:
		o.addFinding(Bomb, Bomb.Severity, 0, uint64(a.lim.Inflated))
	case overBudget:
		o.addFinding(Bomb, finding.Note, 0, 0)
	case trailing:
		o.addFinding(BadStream, finding.Note, uint64(trailing), 0)
	case randomised:
		o.addFinding(Randomised, Randomised.Severity, 0, 0)
	default:
		a, b := uint64(s.flaw), uint64(o.Declared)<<32|uint64(s.flawSize)
		if s.flaw == badCRC {
			b = uint64(o.CRC)<<32 | uint64(s.flawSum)
		}
		if s.isSound {
			a |= soundStream
		}
		o.addFinding(BadStream, BadStream.Severity, a, b)
	}
}
