package track

import "qsniff/dissect/finding"

// consoleChallenge is the challenge that a server gave a client for commands to its console.
type consoleChallenge struct {
	key        uint32
	age        int64  // of the gift
	frame      uint64 // likewise
	isReported bool
}

// addConsoleChallenge adds a challenge for commands.
func (h *Hosts) addConsoleChallenge(f *Fact) {
	if f.Key == 0 {
		return
	}
	c, evicted := h.consoles.Put(pairOf(f))
	if evicted != nil {
		h.evicted++
	}
	*c = consoleChallenge{key: uint32(f.Key), age: f.Age, frame: f.Frame}
}

// checkConsole raises that a command did not run because of its challenge: f is the refusal, or
// an answer that did not come to a challenge that is too old.
func (h *Hosts) checkConsole(f *Fact) {
	c := h.consoles.Get(pairOf(f))
	x := finding.Expert{Code: pairCodes(f.Proto).OldConsole}
	first := f.Frame
	if c != nil {
		x.A, first = uint64(f.Age-c.age), c.frame
	}
	switch {
	case c != nil && c.isReported:
		return
	case f.Step != Silence:
		x.B = 1
		if c == nil { // the challenge is from before the capture
			c, _ = h.consoles.Put(pairOf(f))
		}
	case c == nil || f.Key == 0 || uint32(f.Key) != c.key || f.Age-c.age <= int64(consoleFresh):
		return
	}
	c.isReported = true
	h.raise(f, first, x, f.Step == Silence && (h.isUnsure(f.Age) || h.isOneSided(f.Server, f.Age)))
}
