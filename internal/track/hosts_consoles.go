package track

import (
	"time"

	"qsniff/dissect"
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

// loginKey is the two ends of a console's connection.
type loginKey struct{ server, client End }

// Hash mixes the key.
func (k loginKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(k.server.Hash(seed), k.client.Host[:]), uint64(k.client.Port))
}

// loginSource is an address that failed to log in.
type loginSource struct {
	failures      uint64
	first         uint64 // frame
	last          [lastRefusals]refusal
	n             int  // refusals in last
	guessReported bool // Guessing was raised
	staleReported bool // Stale was raised
}

// refusal is a login that was refused.
type refusal struct {
	age    int64
	secret uint32 // the password's, see Fact; 0 if unknown
}

// addLogin adds a login over TCP, or the answer to one.
func (h *Hosts) addLogin(f *Fact) {
	k := loginKey{EndOf(f.Server), EndOf(f.Client)}
	if !f.Reply {
		secret, _ := h.logins.Put(k)
		*secret = f.Secret
		return
	}
	if f.Step != Answer { // a refused command, or a login that was not captured
		return
	}
	secret := uint32(0)
	if p := h.logins.Peek(k); p != nil {
		secret = *p
		h.logins.Delete(k)
	}
	from := Host(f.Client.Addr().As16())
	if f.Refused {
		h.addRefusedLogin(f, from, secret)
		return
	}
	if s := h.sources.Peek(from); s != nil {
		if s.guessReported {
			h.raise(f, s.first, finding.Expert{Code: pairCodes(f.Proto).Guessing, A: s.failures, B: dissect.GuessedRight | uint64(s.countPasswords(never))}, false)
		}
		h.sources.Delete(from)
	}
}

// addRefusedLogin counts a login that was refused, and raises guessing or a stale password.
func (h *Hosts) addRefusedLogin(f *Fact, from Host, secret uint32) {
	s, evicted := h.sources.Put(from)
	if evicted != nil {
		h.evicted++
	}
	if s.failures == 0 {
		s.first = f.Frame
	}
	s.failures++
	s.addRefusal(refusal{f.Age, secret})
	since := f.Age - int64(guessFor)
	inTime, different, inAll := s.countSince(since), s.countPasswords(since), s.countPasswords(never)
	switch {
	case s.guessReported:
	case s.hasUnknown():
		if inTime >= guessRefusals || s.failures >= uint64(guessInAll) {
			s.guessReported = true
			h.raise(f, s.first, finding.Expert{Code: pairCodes(f.Proto).Guessing, A: s.failures}, true)
		}
	case inTime >= guessRefusals && different >= guessPasswords,
		s.failures >= uint64(guessInAll) && inAll >= guessPasswords:
		s.guessReported = true
		h.raise(f, s.first, finding.Expert{Code: pairCodes(f.Proto).Guessing, A: s.failures, B: uint64(inAll)}, false)
	case s.n >= guessRefusals && inAll == 1 && !s.staleReported:
		s.staleReported = true
		h.raise(f, s.first, finding.Expert{Code: pairCodes(f.Proto).Stale, A: s.failures}, false)
	}
}

// addRefusal stores a refusal in place of the oldest one if there is no room.
func (s *loginSource) addRefusal(r refusal) {
	if s.n == len(s.last) {
		copy(s.last[:], s.last[1:])
		s.n--
	}
	s.last[s.n] = r
	s.n++
}

// countSince returns the number of stored refusals since age.
func (s *loginSource) countSince(age int64) (n int) {
	for _, r := range s.last[:s.n] {
		if r.age >= age {
			n++
		}
	}
	return n
}

// countPasswords returns the number of different passwords among the stored refusals since
// age.
func (s *loginSource) countPasswords(age int64) (n int) {
	for i, r := range s.last[:s.n] {
		isRepeat := r.age < age || r.secret == 0
		for _, b := range s.last[:i] {
			isRepeat = isRepeat || b.age >= age && b.secret == r.secret
		}
		if !isRepeat {
			n++
		}
	}
	return n
}

// hasUnknown reports whether a stored refusal is of an unknown password.
func (s *loginSource) hasUnknown() bool {
	for _, r := range s.last[:s.n] {
		if r.secret == 0 {
			return true
		}
	}
	return false
}

const (
	// limit: lastRefusals is how many refused logins of an address are kept: more than the finding needs
	// (guessInAll).
	lastRefusals = 16
	// limit: guessRefusals refused logins within guessFor, or guessInAll at any time, make a guesser if
	// guessPasswords different ones are among them: engines ban after 5, 10 and 30 failures, and people
	// rarely mistype more than twice.
	guessRefusals  = 5
	guessInAll     = 10
	guessPasswords = 5
	guessFor       = 30 * time.Second
	// limit: consoleFresh is how long challenges for the console last at least: HLTV forgets them after
	// about that long.
	consoleFresh = 30 * time.Second
)
