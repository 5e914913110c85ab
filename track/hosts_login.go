package track

import (
	"qsniff/dissect"
	"qsniff/finding"
	"qsniff/internal/lru"
)

// loginKey names the two ends of a console.
type loginKey struct{ server, client End }

// Hash mixes the key.
func (k loginKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(k.server.Hash(seed), k.client.Host[:]), uint64(k.client.Port))
}

// source is an address that failed to log in.
type source struct {
	failures uint64
	first    uint64 // frame
	last     [lastRefusals]refusal
	n        int // of last
	guesses  bool
	stale    bool
}

// refusal is a login that was refused.
type refusal struct {
	age    int64
	secret uint32
}

// login takes a login over TCP, or the answer to one.
func (h *Hosts) login(f *Fact) {
	k := loginKey{EndOf(f.Server), EndOf(f.Client)}
	if !f.Reply {
		secret, _ := h.logins.Put(k)
		*secret = f.Secret
		return
	}
	if f.Step != Answer { // else it refuses a command, or the login was not captured
		return
	}
	secret := uint32(0)
	if p := h.logins.Peek(k); p != nil {
		secret = *p
		h.logins.Delete(k)
	}
	from := Host(f.Client.Addr().As16())
	if f.Refused {
		h.refused(f, from, secret)
		return
	}
	if s := h.sources.Peek(from); s != nil {
		if s.guesses {
			h.raise(f, s.first, finding.Expert{Code: pairCodes(f.Proto).Guessing, A: s.failures, B: dissect.GuessedRight | uint64(s.passwords(never))}, false)
		}
		h.sources.Delete(from)
	}
}

// refused counts a login that was refused.
func (h *Hosts) refused(f *Fact, from Host, secret uint32) {
	s, evicted := h.sources.Put(from)
	if evicted != nil {
		h.evicted++
	}
	if s.failures == 0 {
		s.first = f.Frame
	}
	s.failures++
	s.add(refusal{f.Age, secret})
	since := f.Age - int64(guessFor)
	inTime, different, inAll := s.since(since), s.passwords(since), s.passwords(never)
	switch {
	case s.guesses:
	case s.unknown():
		if inTime >= guessRefusals || s.failures >= uint64(guessInAll) {
			s.guesses = true
			h.raise(f, s.first, finding.Expert{Code: pairCodes(f.Proto).Guessing, A: s.failures}, true)
		}
	case inTime >= guessRefusals && different >= guessPasswords,
		s.failures >= uint64(guessInAll) && inAll >= guessPasswords:
		s.guesses = true
		h.raise(f, s.first, finding.Expert{Code: pairCodes(f.Proto).Guessing, A: s.failures, B: uint64(inAll)}, false)
	case s.n >= guessRefusals && inAll == 1 && !s.stale:
		s.stale = true
		h.raise(f, s.first, finding.Expert{Code: pairCodes(f.Proto).Stale, A: s.failures}, false)
	}
}

// add keeps a refusal; the oldest makes room.
func (s *source) add(r refusal) {
	if s.n == len(s.last) {
		copy(s.last[:], s.last[1:])
		s.n--
	}
	s.last[s.n] = r
	s.n++
}

// since counts the refusals kept since age.
func (s *source) since(age int64) (n int) {
	for _, r := range s.last[:s.n] {
		if r.age >= age {
			n++
		}
	}
	return n
}

// passwords counts the different ones in the refusals kept since age.
func (s *source) passwords(age int64) (n int) {
	for i, r := range s.last[:s.n] {
		again := r.age < age || r.secret == 0
		for _, b := range s.last[:i] {
			again = again || b.age >= age && b.secret == r.secret
		}
		if !again {
			n++
		}
	}
	return n
}

// unknown reports whether the capture does not have all passwords.
func (s *source) unknown() bool {
	for _, r := range s.last[:s.n] {
		if r.secret == 0 {
			return true
		}
	}
	return false
}
