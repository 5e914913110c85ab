package track

import (
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

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

// hostPair is the hosts of a server and of a client.
type hostPair struct{ server, client Host }

// Hash mixes the key.
func (k hostPair) Hash(seed uint64) uint64 {
	return lru.Mix16(lru.Mix16(seed, (*[16]byte)(&k.server)), (*[16]byte)(&k.client))
}

// AddHandshake adds a TCP connection that failed before anything was said: f has its frame, times, ends and the protocol
// whose port it is, how is one of dissect.HandshakeRefused and those after it. It is raised once for two hosts: a
// client tries again, and a scan tries all ports. Of resets and silence towards addresses that may be forged nothing is
// kept but the pair.
func (h *Hosts) AddHandshake(f *Fact, how int) {
	k := hostPair{HostOf(f.Server), HostOf(f.Client)}
	if h.handshakes.Get(k) != nil {
		return
	}
	h.handshakes.Put(k)
	h.raise(f, f.Frame, finding.Expert{Code: pairCodes(f.Proto).Handshake, A: uint64(how), B: uint64(f.Server.Port())}, h.isUnsure(f.Age-int64(aliveFor)))
}
