package flood

// call is a verdict on one family of traffic of a target in one second.
type call struct {
	kind       Kind
	score      float64
	confidence float64
	rate       float64 // packets that count, in this second
	quick      bool    // it needs to hold for a short time only
}

// families of kinds: a target has one open incident of each at a time, because each
// looks at packets of its own.
const (
	ofQueries  = iota // flood_few to reflection
	ofGuesses         // challenge_bypass
	ofNonsense        // junk_flood
	ofLoad            // crowd, poller: queries, too, but no attack
	families
)

// Families of incidents that are not a target's queries.
const (
	ofReplies = families + iota
	ofScans
	ofLogins
	ofPosture
)

// junkCall judges what is nothing known.
func (d *Detector) junkCall(t *target) call {
	one, ten := t.sum(d.now, 1), t.sum(d.now, 10)
	nonsense := func(b *bin) float64 {
		n := float64(b.junk)
		if t.heard > 0 && d.now-t.heard < 10 && b.strange >= strangeLeast {
			n += float64(b.strange)
		}
		return n
	}
	now, mean := nonsense(&one), nonsense(&ten)/10
	c := call{rate: now, score: 4, quick: true}
	fresh := now >= d.lim.JunkRate && share(now, now+float64(one.packets)) >= d.lim.JunkShare
	lasting := mean >= d.lim.JunkRate && share(10*mean, 10*mean+float64(ten.packets)) >= d.lim.JunkShare
	if fresh || lasting && now > 0 {
		c.kind = JunkFlood
	}
	if now >= 100 {
		c.score += 2
	}
	c.quick = now >= quickRate
	return c
}

// strangeLeast is how many datagrams of an unknown session in a second are not
// those of somebody who joins the game.
const strangeLeast = 100

// quickRate is the rate from which on a verdict needs less time.
const quickRate = 500

// guessCall judges challenges that were never issued.
func (d *Detector) guessCall(t *target) call {
	three, ten := t.sum(d.now, 3), t.sum(d.now, 10)
	strays := func(b *bin, n float64) uint32 {
		if t.challenged == 0 || d.now-t.first < freshFor || float64(b.orphans) < max(orphansLeast, 4*t.habit.orphans)*n {
			return 0
		}
		return b.orphans
	}
	three.bad += strays(&three, 3)
	ten.bad += strays(&ten, 10)
	one := t.sum(d.now, 1)
	c := call{rate: float64(one.bad + strays(&one, 1)), score: 5, quick: true}
	over := func(b *bin, n float64) bool {
		return float64(b.bad) >= d.lim.BypassRate*n && share(float64(b.bad), float64(max(b.keyed, b.bad))) >= d.lim.BypassShare
	}
	many := float64(ten.bad) >= 10*10*d.lim.BypassRate && share(float64(ten.bad), float64(ten.keyed)) >= bypassAmong
	if (over(&ten, 10) || many) && c.rate > 0 || over(&three, 3) && float64(three.bad) >= d.lim.BadChallenge {
		c.kind = ChallengeBypass
	}
	return c
}

// bypassAmong is the share of wrong challenges that is too much where they are ten
// times as many as elsewhere: on a busy server they hide among right ones.
const bypassAmong = 0.2

// orphansLeast is how many sources a second may come with a challenge that the capture
// did not show before that is no leftover of earlier visits.
const orphansLeast = 20

// queryCall judges queries: the first rule that fits. f is of this second.
func (d *Detector) queryCall(t *target, f *features) call {
	c := call{rate: f.now, quick: f.now >= quickRate}
	if s := d.reflects(f); s > 0 {
		c.kind, c.score = Reflection, s
		return c
	}
	if s := d.few(f); s > 0 {
		c.kind, c.score = FloodFew, s
		return c
	}
	s, proof := d.many(f)
	c.score = s
	switch {
	case s >= d.lim.ManyScore && proof:
		c.kind = FloodSpoofed
	case s >= d.lim.ManyScore:
		c.kind = FloodDistributed
	case s >= d.lim.SuspectScore:
		c.kind = FloodSuspect
	case f.sources >= crowdSources:
		c.kind = Crowd
	default:
		c.kind = Poller
	}
	return c
}

// crowdSources is how many clients make a crowd.
const crowdSources = 50

// reflects is the evidence that the sources are victims: the server sends them much
// more than they ask for, and they never show that they are there. 0: not enough.
func (d *Detector) reflects(f *features) float64 {
	lim := &d.lim
	if f.oneWay || f.gainTop < lim.Amplified || f.answered < lim.AnsweredLeast || f.r10 < lim.ReflectRate || f.topProven >= 0.3 {
		return 0
	}
	signs := 0.0
	if f.unreach >= 0.02 {
		signs += 2
	}
	if f.low > 0.01 || f.port1 >= 0.5 && f.repeatCount >= 3 { // that one client has one port says nothing
		signs++
	}
	if f.challenged >= 30 && f.completion >= 0 && f.completion < 0.2 {
		signs++
	}
	aimed := (f.top16 >= 0.6 || f.hot >= 0.3) && f.biggestCount >= 20 && !f.biggestProven &&
		!f.biggestNAT && (f.biggest >= lim.FewUnproven || f.biggest >= lim.ReflectSource && f.repeatCount >= 3)
	carpet := f.prefix >= 0.6 && f.prefixHosts >= 8 && f.prefixProven < 0.3
	if aimed || carpet {
		s := 2 + signs
		if f.biggestPorts >= 16 && float64(f.biggestPorts) >= 0.6*min(f.biggestCount, 256) || f.portsEach >= 0.8 { // one for each query
			s++
		}
		if s >= lim.ReflectScore {
			return s + 1
		}
	}
	if f.repeat < 0.4 || f.repeatCount < 3 || f.r10 < 2*lim.ReflectRate {
		return 0
	}
	s := 1 + signs
	if f.repeatTTL >= 0.6 && f.repeatCount >= 8 { // networks apart do not share a path's length
		s += 2
	}
	if f.portsEach >= 0.8 {
		s++
	}
	if s < lim.ReflectScore+1 {
		return 0
	}
	return s
}

// few is the evidence that few sources send most, and more than clients do.
func (d *Detector) few(f *features) float64 {
	lim := &d.lim
	concentrated := f.top8 >= lim.FewShare && (f.sources < 64 || f.biggest > 1.5*lim.FewUnproven)
	crowded := f.prefix >= lim.FewShare && f.prefixRate >= lim.FewPrefix && f.prefixProven < 0.5
	fast := f.lead >= lim.FewUnproven || f.leadProven >= lim.FewProven
	hot := f.hotRate >= 2*lim.FewUnproven && f.hot >= hotShare && f.heavyCount <= 16 // whoever else asks
	stubborn := f.stubborn >= lim.FewShare && f.stubbornCount <= 16 && f.r10 >= lim.SlowRate
	if f.r3 < lim.FewUnproven && !stubborn { // it was a burst
		return 0
	}
	if !(concentrated && fast) && !crowded && !hot && !stubborn {
		return 0
	}
	s := 4.0
	if max(f.lead, f.leadProven, f.prefixRate) >= 5*lim.FewUnproven {
		s++
	}
	if f.top8 >= 0.9 || crowded {
		s++
	}
	if f.answered >= 0 && f.answered < 0.5 || f.completion >= 0 && f.completion < 0.2 {
		s++
	}
	return s
}

// hotShare is the share of queries from which on sources that are too fast count by
// themselves.
const hotShare = 0.2

// many is the evidence that many sources are an attack; proof tells whether that is
// because their addresses are not their own.
func (d *Detector) many(f *features) (score float64, proof bool) {
	lim, s := &d.lim, 0.0
	add := func(points float64, yes bool) bool {
		if yes {
			s += points
		}
		return yes
	}
	completion := f.completion
	if f.added >= 0 && f.challenged >= 60 { // who came on top of the usual ones
		completion = min(completion, f.added)
	}
	if f.challenged >= 30 && completion >= 0 {
		switch c := completion; {
		case c <= 0.1:
			s += 3
		case c <= 0.3:
			s += 2
		case c >= 0.6 && f.speaksForAll():
			s -= 4
		}
		proof = completion <= 0.3 && f.each < 5 && f.repeat < 0.5
	}
	if f.oneWay && f.looksComplete >= 0.5 {
		s -= 4
	}
	proof = add(3, f.alien >= 0.01 && f.sources >= 100) || proof
	proof = add(2, f.ttl1 >= 0.7 && f.sources >= 200) || proof
	proof = add(2, f.ttlX >= 0.1 && f.sources >= 100) || proof
	rate := f.each / max(f.window, 1) // of a source
	pushed := f.repeat >= 0.5 && f.repeatCount >= 40
	if f.challenged == 0 { // nobody can prove anything, and pollers ask several questions a second
		rate = 0
	}
	add(7, f.heavy >= 0.6 && f.heavyCount >= 8 && f.r10 >= 100 || rate >= 3 && f.sources >= 100 || pushed && f.push >= 2*pushLeast)
	add(2, pushed && f.push >= pushLeast && f.push < 2*pushLeast || rate >= 1.5 && f.sources >= 40 && f.proven < 0.3)
	add(3, f.stubborn >= 0.5 && f.r10 >= lim.SlowRate)
	add(1, f.low >= 0.008 && f.sources >= 200)
	add(2, f.low >= 0.5) // clients cannot have such a port
	add(1.5, f.port1 >= 0.5 && f.sources >= 50)
	add(1, f.sources >= 2000 && f.sites >= 0.7*f.sources)
	add(1, f.refused)
	add(1, f.unreach >= 0.02)
	add(1, f.now >= 200 && f.pace >= 0 && (f.pace < 0.4 || f.pace > 6))
	add(1, f.r3 >= 3000)
	add(2, f.r3 >= 20000)
	return s, proof
}

// speaksForAll tells whether those who were challenged are so many that what they did
// says something of the others: a server that is overrun challenges nobody, and who was
// there before is not who came.
func (f *features) speaksForAll() bool {
	return float64(f.challenged) >= spokenFor*f.sources || f.proven >= 0.3
}

// spokenFor is the least share of sources that were challenged: of a crowd a server
// challenges most.
const spokenFor = 0.05

// pushLeast is what no client asks all the time, queries/s: monitors come to three.
const pushLeast = 4

// How sure a verdict can be at most.
const (
	sureMost    = 0.99
	sureOneWay  = 0.60
	sureVictim  = 0.75 // of replies, when its own requests were not captured
	sureLossy   = 0.70
	sureWarming = 0.70
	warmUp      = 30 // seconds
)

// confidence is how sure a score makes.
func (d *Detector) confidence(score float64, oneWay bool, born int32) float64 {
	c := min(sureMost, 0.5+0.07*score)
	if oneWay {
		c = min(c, sureOneWay)
	}
	if d.lost > 0 && float64(d.lost) > 0.2*float64(d.inbound) {
		c = min(c, sureLossy)
	}
	if d.now < warmUp {
		c = min(c, sureWarming)
	}
	return max(c, 0)
}
