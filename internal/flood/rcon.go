package flood

import (
	"fmt"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/lru"
	"qsniff/internal/flood/sketch"
	"qsniff/internal/track"
)

// consoles finds sources that guess passwords of remote consoles over TCP, and tools that
// use an old one. It keeps hashes of passwords and never a password.
type consoles struct {
	*book
	table   *lru.Table[track.End, console]
	pending *lru.Table[loginKey, pendingLogin]

	hasEvicted bool // refusals were evicted from table
}

// loginKey is the two ends of a connection.
type loginKey struct{ server, client track.End }

// Hash mixes the key.
func (k loginKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(k.server.Hash(seed), k.client.Host[:]), uint64(k.client.Port))
}

// pendingLogin is a login that waits for its answer.
type pendingLogin struct{ secret uint32 }

// console is a server that refused at least one login, and the incident there.
type console struct {
	refusals     [rconKept]refusal
	n, next      int // how many refusals are kept, and where the next one goes
	failures     uint64
	in           *Incident // nil: none is open
	trial        Trial
	runStart     int64 // time of the first refusal of this run
	frame        uint64
	lastSec      int32 // of the last refusal, or success
	lastEnd      int64 // and its time stamp
	sec          int32
	count        uint32 // refusals in second sec
	peak         uint32 // the largest count
	hasSucceeded bool   // a source that had been refused logged in
	proto        *dissect.Proto
	sources      sketch.Distinct
}

// refusal is a login that was refused.
type refusal struct {
	sec    int32
	source uint32
	secret uint32
	host   track.Host
}

// How long refusals count, in seconds; rconWindow and rconAll are with the thresholds.
// Chosen: a person who mistypes needs longer for as many passwords, and a run of guesses
// pauses for less.
const (
	rconMinute = 60
	rconPause  = 120 // a longer pause begins another run of guesses
	endsAfter  = 10  // an incident that was silent for longer when the capture ended is over
)

func newConsoles(b *book, servers, logins int) consoles {
	return consoles{book: b, table: lru.New[track.End, console](servers), pending: lru.New[loginKey, pendingLogin](logins)}
}

// countLogin keeps a login until its answer arrives, and counts the answer.
func (x *consoles) countLogin(s *track.Sighting) {
	if s.What == track.IsLogin {
		w, _ := x.pending.Put(loginKey{s.To(), s.From()})
		w.secret = s.Secret
		return
	}
	server, client := s.From(), s.To()
	k := loginKey{server, client}
	w := x.pending.Peek(k)
	if w == nil { // the answer refuses a command, or the login was not captured
		return
	}
	secret := w.secret
	x.pending.Delete(k)
	if s.What == track.IsWelcome {
		x.recordWelcome(server, client.Host)
		return
	}
	c := x.table.Get(server)
	if c == nil {
		var gone *lru.Evicted[track.End, console]
		c, gone = x.table.Put(server)
		x.hasEvicted = x.hasEvicted || gone != nil
		if gone != nil && gone.Val.in != nil {
			gone.Val.closeIncident(x.book)
		}
		*c = console{}
	}
	c.recordRefusal(x.book, s, refusal{x.Now, 0, secret, client.Host})
}

// countConnection applies the rules that are tried to a new connection to a server, because
// they count connections.
func (x *consoles) countConnection(s *track.Sighting) {
	if x.table.Len() == 0 {
		return
	}
	c := x.table.Peek(s.To())
	if c == nil || c.trial == nil {
		return
	}
	isGuesser := false
	h := uint32(x.key.HashHost(&s.Src))
	for i := range c.refusals[:c.n] {
		isGuesser = isGuesser || c.refusals[i].source == h
	}
	c.trial.Apply(s, !isGuesser)
}

// recordRefusal keeps a refused login and judges the refusals up to it. It fills in the hash
// of the source. The console begins anew after rconAll seconds without a refusal, a run after
// rconPause.
func (c *console) recordRefusal(b *book, s *track.Sighting, x refusal) {
	if c.in == nil && c.n > 0 && b.Now-c.lastSec > rconAll {
		*c = console{}
	}
	if c.in == nil && (c.n == 0 || b.Now-c.lastSec > rconPause) { // another run
		c.runStart, c.frame, c.failures, c.peak = b.Nanos, s.Frame, 0, 0
	}
	if c.proto == nil {
		c.proto = s.Proto
	}
	h := b.key.HashHost(&x.host)
	x.source = uint32(h)
	c.refusals[c.next] = x
	c.next = (c.next + 1) % rconKept
	c.n = min(c.n+1, rconKept)
	c.failures++
	c.lastSec, c.lastEnd = b.Now, b.Nanos
	c.sources.Add(h)
	if c.sec != b.Now {
		c.sec, c.count = b.Now, 0
	}
	c.count++
	c.peak = max(c.peak, c.count)
	c.judgeRefusals(b, s.From(), x.source)
}

// In a minute people do not mistype as many different passwords: the thresholds for ten
// minutes, times these. Chosen: 20 refused logins and 15 passwords by default.
const (
	rconMinuteFailures  = 2
	rconMinutePasswords = 3
)

// kindOf returns the kind of the refusals up to now, of source and of all sources together.
func (c *console) kindOf(b *book, source uint32) Kind {
	lim := &b.lim
	one := c.tally(b.Now-rconWindow, &source)
	all, minute := c.tally(b.Now-rconAll, nil), c.tally(b.Now-rconMinute, nil)
	switch {
	case one.failures >= lim.RconFailures && one.passwords >= lim.RconPasswords,
		all.failures >= lim.RconAllFailures && all.passwords >= lim.RconAllPasswords,
		minute.failures >= rconMinuteFailures*lim.RconFailures && minute.passwords >= rconMinutePasswords*lim.RconPasswords:
		return RconBruteforce
	case one.failures >= lim.RconFailures:
		return RconMisconfig
	}
	return NoKind
}

// judgeRefusals opens an incident after a refusal of source if there were enough, or turns
// an open misconfiguration into guessing.
func (c *console) judgeRefusals(b *book, server track.End, source uint32) {
	kind := c.kindOf(b, source)
	switch {
	case kind == NoKind || c.in != nil && (c.in.Kind == kind || kind == RconMisconfig):
		return
	case c.in != nil:
		b.changeKind(c.in, kind, b.Nanos)
		c.describe(b)
		c.trial = b.restartTrial(c.in, c.trial)
		b.announce(c.in, Changes)
		return
	}
	in := b.openIncident(Target{End: server.AddrPort(), TCP: true}, kind, ofLogins, c.runStart)
	if in == nil {
		return
	}
	in.Detected = max(b.Nanos, in.Start)
	c.in = in
	in.Proto, in.Frame = c.proto, c.frame
	c.describe(b)
	c.trial = b.advisor.Try(in)
	b.announce(in, Begins)
}

// refusalTally is how many refusals there were, with how many different passwords and from
// how many sources.
type refusalTally struct{ failures, passwords, sources int }

// tally counts the kept refusals from second since on, of one source or, with nil, of all.
func (c *console) tally(since int32, source *uint32) refusalTally {
	var t refusalTally
	var secrets, sources [rconKept]uint32
	for i := range c.refusals[:c.n] {
		r := &c.refusals[i]
		if r.sec < since || source != nil && r.source != *source {
			continue
		}
		t.failures++
		if r.secret != 0 && !slices.Contains(secrets[:t.passwords], r.secret) {
			secrets[t.passwords] = r.secret
			t.passwords++
		}
		if !slices.Contains(sources[:t.sources], r.source) {
			sources[t.sources] = r.source
			t.sources++
		}
	}
	return t
}

// recordWelcome notes a login that succeeded after refusals of the same source, where
// passwords are guessed: the guesser got in.
func (x *consoles) recordWelcome(server track.End, client track.Host) {
	c := x.table.Get(server)
	if c == nil || c.in == nil || c.in.Kind != RconBruteforce {
		return
	}
	source := uint32(x.key.HashHost(&client))
	if one := c.tally(x.Now-rconAll, &source); one.failures > 0 {
		c.hasSucceeded, c.lastSec, c.lastEnd = true, x.Now, x.Nanos
		c.in.Succeeded = true
		c.describe(x.book)
		x.announce(c.in, Changes)
	}
}

// Scores of guesses, and of guesses of which one was right. Chosen: the least of the highest row
// of Calibration, and the least with weightMost.
const (
	guesserScore = 5
	successScore = 7
)

func (c *console) describe(b *book) {
	in := c.in
	in.Requests, in.Peak = c.failures, float64(c.peak)
	in.setMean(c.lastEnd)
	in.setSources(c.sources.Count())
	in.Weight = b.weigh(guesserScore, false)
	if c.hasSucceeded {
		in.Weight = b.weigh(successScore, false)
	}
	in.Top = c.appendTop(in.Top[:0])
	in.TopFrom, in.TopTo, in.TopOf = 0, 0, uint64(c.n)
	c.writeEvidence()
}

// appendTop appends the first listedSources sources of the kept refusals.
func (c *console) appendTop(dst []Source) []Source {
	for i := range c.refusals[:c.n] {
		a := c.refusals[i].host.Addr()
		k := slices.IndexFunc(dst, func(s Source) bool { return s.Addr == a })
		switch {
		case k >= 0:
			dst[k].Low++
			dst[k].High++
		case len(dst) < listedSources:
			dst = append(dst, Source{Addr: a, Low: 1, High: 1, Verified: true, TTL: -1})
		}
	}
	return dst
}

func (c *console) writeEvidence() {
	all := c.tally(c.lastSec-rconAll, nil)
	s := sentences(c.in.Evidence[:0])
	if c.hasSucceeded {
		s.add("A LOGIN SUCCEEDED after refusals: change the password")
	}
	whole := s.within(span{c.in.Start, c.lastEnd})
	last := ""
	if uint64(all.failures) < c.failures {
		last = fmt.Sprintf(" in the last %d of them", all.failures)
	}
	whole.add("%s; %s, from %s%s", digits.Counted(c.failures, "refused login"), digits.Counted(uint64(all.passwords), "different password"),
		digits.Counted(uint64(all.sources), "source"), last)
	switch {
	case c.in.Kind == RconMisconfig && all.passwords == 1:
		whole.add("the same password again and again: a tool with an old one")
	case c.in.Kind == RconMisconfig:
		whole.add("the same few passwords again and again: a tool with an old one")
	case !c.hasSucceeded:
		whole.add("none of them succeeded")
	}
	c.in.Evidence = s
}

// closeIncident ends the incident at the last refusal or success.
func (c *console) closeIncident(b *book) {
	c.describe(b)
	c.in.End = c.lastEnd
	b.concludeTrial(c.in, c.trial, false)
	c.trial = nil
	b.closeIncident(c.in, ofLogins)
	c.in = nil
}

// closeQuiet closes the incidents without a login for the quiet time.
func (x *consoles) closeQuiet() {
	for _, c := range x.table.All() {
		if c.in != nil && x.isQuiet(c.lastSec) {
			c.closeIncident(x.book)
			*c = console{}
		}
	}
}

// finish announces the incidents that are open when the capture ends.
func (x *consoles) finish() {
	for _, c := range x.table.All() {
		if c.in == nil {
			continue
		}
		if x.Now-c.lastSec > endsAfter {
			c.closeIncident(x.book)
			continue
		}
		c.describe(x.book)
		x.concludeTrial(c.in, c.trial, false)
		c.trial = nil
		x.announce(c.in, Ends)
		c.in = nil
	}
}

const (
	// limit: rconTargets is how many consoles that refused a login are kept, with the last rconKept
	// refusals of each; rconLogins is how many logins wait for their answer.
	rconTargets = 256
	rconKept    = 64
	rconLogins  = 1024
)
