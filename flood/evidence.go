package flood

import (
	"fmt"
	"math"

	"qsniff/internal/digits"
)

// evidence says in words and numbers what the verdict on a target rests on.
func (d *Detector) evidence(t *target, c *course) {
	in, f := c.in, &t.feat
	switch c.family {
	case ofGuesses:
		d.guessEvidence(t, in)
	case ofNonsense:
		d.junkEvidence(t, in)
	default:
		in.Completion, in.Challenged, in.Answered = f.completion, f.challenged, f.answered
		in.Missing = missing(in.Missing[:0], f)
		if t.cut > 0 {
			in.Missing = append(in.Missing, "challenge values (snap length)")
		}
		in.Features = f.named(in.Features[:0])
		d.queryEvidence(t, in)
	}
}

// sentences are evidence in words.
type sentences []string

func (s *sentences) add(format string, args ...any) { *s = append(*s, fmt.Sprintf(format, args...)) }

// queryEvidence is for floods and reflections.
func (d *Detector) queryEvidence(t *target, in *Incident) {
	f := &t.feat
	s := sentences(in.Evidence[:0])
	switch {
	case in.Kind == Reflection:
		s.add("the server is used against %s: %s queries/s in, %s/s out, %s as large", plural("host", float64(max(f.repeatCount, 1))), count(f.now), bytesOf(t.sum(d.now, 10).bytesOut/10), times(f.gain))
	case f.top1 >= 0.5 && len(in.Top) > 0:
		s.add("%s sends %s of %s queries/s (usual: %s)", in.Top[0].Addr, percent(f.top1), count(f.now), count(in.Baseline))
	default:
		s.add("%s queries/s (usual: %s) from about %s sources, %s each in %.0f s", count(f.now), count(in.Baseline), count(f.sources), count(f.each), f.window)
	}
	if f.prefix >= 0.5 && f.prefixHosts > 1 && len(in.Prefixes) > 0 {
		s.add("%s of it from %s (%d hosts seen)", percent(f.prefix), in.Prefixes[0].Prefix, f.prefixHosts)
	}
	switch {
	case f.completion >= 0:
		s.add("%s of %s challenged sources brought the challenge back", percent(f.completion), count(float64(f.challenged)))
	case f.oneWay && f.looksComplete > 0:
		s.add("%s of the queries were followed by what looks like a challenge brought back", percent(f.looksComplete))
	case !f.oneWay && t.challenged == 0:
		s.add("the server asks for no challenge, so that no address is proved")
	}
	d.originEvidence(&s, f)
	if f.answered >= 0 {
		s.add("%s of the requests were answered, %s as large", percent(min(f.answered, 1)), times(f.gain))
	}
	if f.unreach >= 0.005 {
		s.add("%s of the replies came back as ICMP errors: their receivers had not asked", percent(f.unreach))
	}
	if in.Kind == FloodSuspect {
		s.add("a crowd with unusual habits cannot be ruled out")
	}
	in.Evidence = s
}

// originEvidence says what is odd about the sources.
func (d *Detector) originEvidence(s *sentences, f *features) {
	if f.alien >= 0.005 && f.sources >= 20 {
		s.add("%s of the source addresses are impossible (random ones: 14 %%)", percent(f.alien))
	}
	if f.ttl1 >= 0.7 && f.sources >= 20 {
		s.add("time to live %d on %s", f.ttl, percent(f.ttl1))
	}
	if f.ttlX >= 0.1 {
		s.add("%s with a time to live that no usual system sends", percent(f.ttlX))
	}
	if f.port1 >= 0.5 && f.sources >= 3 {
		s.add("source port %d on %s", f.port, percent(f.port1))
	}
	if f.heavyCount >= 8 && f.heavy >= 0.3 {
		s.add("%d sources send 10/s and more", f.heavyCount)
	}
	if f.pace >= 0 && f.pace < 0.4 && f.now >= 200 {
		s.add("evenly paced, as one sender does")
	}
	if f.print1 >= 0.9 {
		s.add("%s have the same payload", percent(f.print1))
	}
}

// guessEvidence is for challenges that were never issued.
func (d *Detector) guessEvidence(t *target, in *Incident) {
	one, ten := t.sum(d.now, 1), t.sum(d.now, 10)
	s := sentences(in.Evidence[:0])
	s.add("%d/s challenges that the server never gave, %s of all that were brought", one.bad, percent(share(float64(ten.bad), float64(max(ten.keyed, ten.bad)))))
	if len(in.Top) > 0 {
		s.add("most from %s", in.Top[0].Addr)
	}
	s.add("the server answered %s of all requests", percent(min(1, share(float64(ten.replies), float64(ten.packets)))))
	in.Answered = min(1, share(float64(ten.replies), float64(ten.packets)))
	in.Evidence = s
}

// junkEvidence is for what is nothing known.
func (d *Detector) junkEvidence(t *target, in *Incident) {
	one, ten := t.sum(d.now, 1), t.sum(d.now, 10)
	s := sentences(in.Evidence[:0])
	if one.junk >= one.strange {
		s.add("%d/s datagrams that begin with FF FF FF FF and are nothing known", one.junk)
	} else {
		s.add("%d/s datagrams that are no query and belong to no session", one.strange)
	}
	s.add("%s of what the server got, from about %s sources", percent(share(float64(ten.junk+ten.strange), float64(ten.junk+ten.strange+ten.packets))), count(in.Sources))
	s.add("%d replies in ten seconds, to all that it got", ten.replies)
	in.Evidence = s
}

// victimEvidence is for replies that nobody asked for.
func (d *Detector) victimEvidence(x *victim) {
	in := x.in
	one := x.sum(d.now, 1)
	s := sentences(in.Evidence[:0])
	s.add("%d replies/s, %s/s, from about %s servers to %s", one.wild, bytesOf(one.bytes), count(in.Sources), x.host.Addr())
	if x.asked {
		s.add("%s of them answer no request of this host", percent(share(float64(one.wild), float64(one.wild+one.wanted))))
	} else {
		s.add("the capture has no request of this host at all")
		in.Missing = append(in.Missing[:0], "unsol")
	}
	in.Evidence = s
}

// scanEvidence is for scans and surveys.
func (d *Detector) scanEvidence(s *scanner, all, dead int) {
	x := sentences(s.in.Evidence[:0])
	x.add("about %d servers asked, %d of them without an answer", all, dead)
	x.add("%.1f requests/s, last to port %d", s.in.Mean, s.port)
	s.in.Evidence = x
	s.in.Answered = share(float64(all-dead), float64(all))
}

// rconEvidence is for refused logins.
func (d *Detector) rconEvidence(c *console) {
	in := c.in
	all := c.tally(c.last-rconAll, nil)
	s := sentences(in.Evidence[:0])
	if c.broken {
		s.add("A LOGIN SUCCEEDED behind refusals: change the password")
	}
	s.add("%d refused logins, %d different passwords among the last %d, %d sources", c.failures, all.passwords, all.failures, all.sources)
	switch {
	case in.Kind == RconMisconfig:
		s.add("the same %s again and again: a tool with an old one", digits.Noun(uint64(all.passwords), "password", "few passwords"))
	case !c.broken:
		s.add("no success")
	}
	in.Evidence = s
}

// postureEvidence is for servers that answer anybody.
func (d *Detector) postureEvidence(in *Incident) {
	s := sentences(in.Evidence[:0])
	s.add("open amplifier: %s measured on %d answers to sources that proved nothing", times(in.Amplification()), in.Replies)
	in.Evidence = s
}

// missing lists what the capture could not give.
func missing(dst []string, f *features) []string {
	if f.oneWay {
		dst = append(dst, "C", "ans", "amp", "icmp", "bad")
	} else if f.completion < 0 {
		dst = append(dst, "C")
	}
	if f.pace < 0 {
		dst = append(dst, "iod")
	}
	return append(dst, "known")
}

// named lists the features by the names of the documentation.
func (f *features) named(dst []Feature) []Feature {
	absent := func(v float64, gone bool) float64 {
		if gone {
			return math.NaN()
		}
		return v
	}
	return append(dst,
		Feature{"R1", f.now}, Feature{"R10", f.r10}, Feature{"R60", f.r60}, Feature{"B", f.base},
		Feature{"D", f.sources}, Feature{"D16", f.sites}, Feature{"q", f.each},
		Feature{"top1", f.top1}, Feature{"top8", f.top8}, Feature{"top16", f.top16},
		Feature{"biggest", f.biggest}, Feature{"pfx", f.prefix}, Feature{"rep", f.repeat}, Feature{"heavy", f.heavy},
		Feature{"verified", f.proven}, Feature{"C", absent(f.completion, f.completion < 0)}, Feature{"n", float64(f.challenged)},
		Feature{"ans", absent(f.answered, f.answered < 0)}, Feature{"amp", absent(f.gain, f.gain < 0)},
		Feature{"M", f.alien}, Feature{"ttl1", f.ttl1}, Feature{"ttlX", f.ttlX},
		Feature{"low", f.low}, Feature{"port1", f.port1}, Feature{"fp1", f.print1},
		Feature{"icmp", absent(f.unreach, f.oneWay)}, Feature{"iod", absent(f.pace, f.pace < 0)},
	)
}

// percent, count, times and bytesOf write numbers for people.
func percent(share float64) string {
	switch p := 100 * share; {
	case p > 0 && p < 1:
		return fmt.Sprintf("%.1f %%", p)
	case p > 99 && p < 100:
		return "99 %"
	default:
		return fmt.Sprintf("%.0f %%", p)
	}
}

func count(n float64) string {
	if n < 10 && n != math.Trunc(n) {
		return fmt.Sprintf("%.1f", n)
	}
	s := fmt.Sprintf("%.0f", n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func times(x float64) string {
	if x < 10 {
		return fmt.Sprintf("%.2fx", x)
	}
	return count(x) + "x"
}

func bytesOf(n uint64) string {
	switch {
	case n >= 10e6:
		return fmt.Sprintf("%.0f MB", float64(n)/1e6)
	case n >= 10e3:
		return fmt.Sprintf("%.0f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

func plural(what string, estimate float64) string {
	if estimate < 1.5 {
		return "one " + what
	}
	return "about " + count(estimate) + " " + what + "s"
}
