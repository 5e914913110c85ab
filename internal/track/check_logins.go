package track

import (
	"time"

	"qsniff/dissect"
	"qsniff/dissect/finding"
	"qsniff/internal/base/lru"
)

// logins finds clients that guess the password of a console, or have an old one.
type logins struct {
	*Hosts
	open    *lru.Table[loginKey, uint32] // passwords of logins without an answer so far
	sources *lru.Table[Host, loginSource]
}

func newLogins(h *Hosts) check {
	c := &logins{Hosts: h, open: newTable[loginKey, uint32](h, maxLogins), sources: newTable[Host, loginSource](h, maxSources)}
	return check{wants: []want{{login, c.addLogin}}}
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
func (c *logins) addLogin(f *view) {
	k := loginKey{EndOf(f.Server), EndOf(f.Client)}
	if !f.Reply {
		secret, _ := c.open.Put(k)
		*secret = f.Secret
		return
	}
	if f.Step != Answer { // a refused command, or a login that was not captured
		return
	}
	secret := uint32(0)
	if p := c.open.Peek(k); p != nil {
		secret = *p
		c.open.Delete(k)
	}
	from := Host(f.Client.Addr().As16())
	if f.Refused {
		c.addRefusedLogin(f, from, secret)
		return
	}
	if s := c.sources.Peek(from); s != nil {
		if s.guessReported {
			c.Report(f.Fact, s.first, finding.Expert{Code: pairCodes(f.Proto).Guessing, A: s.failures, B: dissect.GuessedRight | uint64(s.countPasswords(never))}, false)
		}
		c.sources.Delete(from)
	}
}

// addRefusedLogin counts a login that was refused, and raises guessing or a stale password.
func (c *logins) addRefusedLogin(f *view, from Host, secret uint32) {
	s := enter(c.Hosts, c.sources, from)
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
			c.Report(f.Fact, s.first, finding.Expert{Code: pairCodes(f.Proto).Guessing, A: s.failures}, true)
		}
	case inTime >= guessRefusals && different >= guessPasswords,
		s.failures >= uint64(guessInAll) && inAll >= guessPasswords:
		s.guessReported = true
		c.Report(f.Fact, s.first, finding.Expert{Code: pairCodes(f.Proto).Guessing, A: s.failures, B: uint64(inAll)}, false)
	case s.n >= guessRefusals && inAll == 1 && !s.staleReported:
		s.staleReported = true
		c.Report(f.Fact, s.first, finding.Expert{Code: pairCodes(f.Proto).Stale, A: s.failures}, false)
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
	// limit: maxLogins is how many logins can wait for their answers, and maxSources how many addresses
	// are kept that were refused one: a TCP connection takes a real address, of which botnets have
	// thousands.
	maxLogins  = 1024
	maxSources = 1024
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
)
