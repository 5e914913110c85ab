package flood

import (
	"qsniff/flood/sketch"
	"qsniff/internal/lru"
	"qsniff/track"
)

// consoles finds who guesses passwords for remote console, and who has a wrong one.
// It keeps hashes of passwords and never a password.
type consoles struct {
	table  *lru.Table[track.End, console]
	logins *lru.Table[login, waiting]
}

// login names the two ends of a connection.
type login struct{ server, client track.End }

// Hash mixes the key.
func (k login) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(k.server.Hash(seed), k.client.Host[:]), uint64(k.client.Port))
}

// waiting is a login whose answer is to come.
type waiting struct{ secret uint32 }

// console is a server that refused logins.
type console struct {
	kept     [rconKept]refusal
	n, next  int
	failures uint64
	secrets  sketch.Linear
	in       *Incident
	trial    *trial
	begun    int64 // time of the first refusal of this run
	frame    uint64
	last     int32
	lastAt   int64
	sec      int32
	count    uint32
	peak     uint32
	welcomed uint64 // logins that succeeded
	broken   bool   // by a source that had been refused
	proto    string
	sources  sketch.Distinct
}

// refusal is a login that was refused.
type refusal struct {
	sec    int32
	source uint32
	secret uint32
	host   track.Host
}

// How long refusals count, in seconds.
const (
	rconWindow = 600
	rconAll    = 1800
	rconMinute = 60
	rconPause  = 120 // between one run of guesses and the next
)

func newConsoles(targets, logins int) consoles {
	return consoles{table: lru.New[track.End, console](targets), logins: lru.New[login, waiting](logins)}
}

// take takes a login, or the answer to one.
func (x *consoles) take(d *Detector, s *track.Sighting) {
	if s.What == track.IsLogin {
		w, _ := x.logins.Put(login{s.To(), s.From()})
		w.secret = s.Secret
		return
	}
	server, client := s.From(), s.To()
	k := login{server, client}
	w := x.logins.Peek(k)
	if w == nil { // it refuses a command, or the login was not captured
		return
	}
	secret := w.secret
	x.logins.Delete(k)
	if s.What == track.IsWelcome {
		x.welcome(d, server, client.Host)
		return
	}
	c := x.table.Get(server)
	if c == nil {
		var gone *lru.Evicted[track.End, console]
		c, gone = x.table.Put(server)
		if gone != nil && gone.Val.in != nil {
			gone.Val.conclude(d)
		}
		*c = console{}
	}
	c.refuse(d, s, server, client.Host, secret)
}

// opened takes a new connection to a server: the lines that are tried count them.
func (x *consoles) opened(d *Detector, s *track.Sighting) {
	if x.table.Len() == 0 {
		return
	}
	c := x.table.Peek(s.To())
	if c == nil || c.trial == nil {
		return
	}
	guesser := false
	h := uint32(d.key.hostHash(s.Src))
	for i := range c.kept[:c.n] {
		guesser = guesser || c.kept[i].source == h
	}
	c.trial.packet(s, !guesser)
}

// refuse counts a refused login.
func (c *console) refuse(d *Detector, s *track.Sighting, server track.End, client track.Host, secret uint32) {
	if c.in == nil && c.n > 0 && d.now-c.last > rconAll {
		*c = console{}
	}
	if c.in == nil && (c.n == 0 || d.now-c.last > rconPause) { // what was long before is another story
		c.begun, c.frame = d.nanos, s.Frame
	}
	if c.proto == "" && s.Proto != nil {
		c.proto = s.Proto.Name
	}
	h := d.key.hostHash(client)
	c.kept[c.next] = refusal{d.now, uint32(h), secret, client}
	c.next = (c.next + 1) % rconKept
	c.n = min(c.n+1, rconKept)
	c.failures++
	c.last, c.lastAt = d.now, d.nanos
	c.sources.Add(h)
	if secret != 0 {
		c.secrets.Add(uint64(secret) * 0x9e3779b97f4a7c15)
	}
	if c.sec != d.now {
		c.sec, c.count = d.now, 0
	}
	c.count++
	c.peak = max(c.peak, c.count)
	c.judge(d, server, uint32(h))
}

// judge looks at the refusals after one of source.
func (c *console) judge(d *Detector, server track.End, source uint32) {
	lim := &d.lim
	one := c.tally(d.now-rconWindow, &source)
	all, minute := c.tally(d.now-rconAll, nil), c.tally(d.now-rconMinute, nil)
	kind := NoKind
	switch {
	case one.failures >= lim.RconFailures && one.passwords >= lim.RconPasswords,
		all.failures >= lim.RconAllFailures && all.passwords >= lim.RconAllPassword,
		minute.failures >= 2*lim.RconFailures && minute.passwords >= 3*lim.RconPasswords: // people do not know so many
		kind = RconBruteforce
	case one.failures >= lim.RconFailures && one.passwords < lim.RconPasswords:
		kind = RconMisconfig
	}
	switch {
	case kind == NoKind || c.in != nil && (c.in.Kind == kind || kind == RconMisconfig):
		return
	case c.in != nil:
		c.in.History = append(c.in.History, Change{c.in.Kind, d.nanos})
		c.in.Kind, c.in.Level = kind, kind.Level()
		c.describe(d)
		c.trial = d.retry(c.in, c.trial)
		d.Found(c.in, Changes)
		return
	}
	start := c.begun
	in := d.book.register(Target{End: server.AddrPort(), TCP: true}, kind, ofLogins, start)
	if in == nil {
		return
	}
	in.Detected = max(d.nanos, in.Start)
	c.in = in
	in.Protocol, in.Frame, in.Pulses = c.proto, c.frame, 1
	c.describe(d)
	c.trial = d.try(in)
	d.Found(in, Begins)
}

// tallied is what a stretch of time shows.
type tallied struct{ failures, passwords, sources int }

// tally counts the refusals kept since a second, of one source or of all.
func (c *console) tally(since int32, source *uint32) tallied {
	var t tallied
	var secrets, sources [rconKept]uint32
	for i := range c.kept[:c.n] {
		r := &c.kept[i]
		if r.sec < since || source != nil && r.source != *source {
			continue
		}
		t.failures++
		if r.secret != 0 && !contains(secrets[:t.passwords], r.secret) {
			secrets[t.passwords] = r.secret
			t.passwords++
		}
		if !contains(sources[:t.sources], r.source) {
			sources[t.sources] = r.source
			t.sources++
		}
	}
	return t
}

func contains(list []uint32, x uint32) bool {
	for _, y := range list {
		if x == y {
			return true
		}
	}
	return false
}

// welcome takes a login that succeeded: behind refusals of the same source it is
// what a guesser wants.
func (x *consoles) welcome(d *Detector, server track.End, client track.Host) {
	c := x.table.Get(server)
	if c == nil {
		return
	}
	c.welcomed++
	source := uint32(d.key.hostHash(client))
	if one := c.tally(d.now-rconAll, &source); c.in != nil && c.in.Kind == RconBruteforce && one.failures > 0 {
		c.broken, c.last, c.lastAt = true, d.now, d.nanos
		c.in.Succeeded = true
		c.describe(d)
		d.Found(c.in, Changes)
	}
}

func (c *console) describe(d *Detector) {
	in := c.in
	in.Requests, in.Peak = c.failures, float64(c.peak)
	in.Mean = float64(c.failures) / max(float64(c.lastAt-in.Start)/1e9, 1)
	in.Sources = c.sources.Count()
	score := 5.0
	if c.broken {
		score = 7
	}
	in.Confidence = d.confidence(score, false, 0)
	in.Top = in.Top[:0]
	for i := range c.kept[:c.n] {
		r := &c.kept[i]
		a := r.host.Addr()
		known := false
		for k := range in.Top {
			if in.Top[k].Addr == a {
				in.Top[k].Low++
				in.Top[k].High++
				known = true
			}
		}
		if !known && len(in.Top) < listedSources {
			in.Top = append(in.Top, Source{Addr: a, Low: 1, High: 1, Verified: true, TTL: -1})
		}
	}
	d.rconEvidence(c)
}

// conclude ends the incident.
func (c *console) conclude(d *Detector) {
	c.describe(d)
	c.in.End = c.lastAt
	d.conclude(c.in, c.trial, false)
	c.trial = nil
	d.book.finish(c.in, ofLogins)
	c.in = nil
}

// tick closes what is over.
func (x *consoles) tick(d *Detector) {
	for _, c := range x.table.All() {
		if c.in != nil && float64(d.now-c.last) >= d.lim.Quiet.Seconds() {
			c.conclude(d)
			*c = console{}
		}
	}
}

// end tells of the incidents that the capture leaves open.
func (x *consoles) end(d *Detector) {
	for _, c := range x.table.All() {
		if c.in == nil {
			continue
		}
		if d.now-c.last > paneSeconds {
			c.conclude(d)
			continue
		}
		c.describe(d)
		d.conclude(c.in, c.trial, false)
		c.trial = nil
		d.Found(c.in, Ends)
		c.in = nil
	}
}
