package track

import (
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// consoles finds commands that did not run because of their challenge.
type consoles struct {
	*Hosts
	given *lru.Table[pairKey, consoleChallenge]
}

func newConsoles(h *Hosts) check {
	c := &consoles{Hosts: h, given: newTable[pairKey, consoleChallenge](h, maxConsoles)}
	return check{wants: []want{{rconChallenge, c.addConsoleChallenge}, {refusedCommand | noCommand, c.checkConsole}}}
}

// consoleChallenge is the challenge that a server gave a client for commands to its console.
type consoleChallenge struct {
	key        uint32
	age        int64  // of the gift
	frame      uint64 // likewise
	isReported bool
}

// addConsoleChallenge adds a challenge for commands.
func (c *consoles) addConsoleChallenge(f *view) {
	if f.Key == 0 {
		return
	}
	x := enter(c.Hosts, c.given, pairOf(f.Fact))
	*x = consoleChallenge{key: uint32(f.Key), age: f.Age, frame: f.Frame}
}

// checkConsole raises that a command did not run because of its challenge: f is the refusal, or
// an answer that did not come to a challenge that is too old.
func (c *consoles) checkConsole(f *view) {
	x := c.given.Get(pairOf(f.Fact))
	e := finding.Expert{Code: pairCodes(f.Proto).OldConsole}
	first := f.Frame
	if x != nil {
		e.A, first = uint64(f.Age-x.age), x.frame
	}
	switch {
	case x != nil && x.isReported:
		return
	case f.Step != Silence:
		e.B = 1
		if x == nil { // the challenge is from before the capture
			x, _ = c.given.Put(pairOf(f.Fact))
		}
	case x == nil || f.Key == 0 || uint32(f.Key) != x.key || f.Age-x.age <= int64(consoleFresh):
		return
	}
	x.isReported = true
	c.Report(f.Fact, first, e, f.Step == Silence && (c.isUnsure(f.Age) || c.isOneSided(f.Server, f.Age)))
}

const (
	// limit: maxConsoles is how many clients are kept that were given a challenge for console commands.
	// Chosen: few use consoles.
	maxConsoles = 256
	// limit: consoleFresh is how long challenges for the console last at least: HLTV forgets them after
	// about that long.
	consoleFresh = 30 * time.Second
)
