package flood

import (
	"math"

	"qsniff/dissect"
	"qsniff/flood/measure"
	"qsniff/internal/digits"
)

// writeEvidence fills in the evidence of a verdict on a server, in sentences, and the figures
// that go with it.
func writeEvidence(in *Incident, family family, t *measure.Server, f *measure.Features, lim *Thresholds, now int32) {
	switch family {
	case ofGuesses:
		writeGuessEvidence(in, t, now)
	case ofJunk:
		writeJunkEvidence(in, t, now)
	default:
		in.Completion, in.Challenged = orUnknown(f[measure.Completion]), int(f[measure.Challenged])
		in.Answered = orUnknown(f[measure.Answered])
		in.Missing = listMissing(in.Missing[:0], f, in.Proto)
		if t.LastCut > 0 {
			in.Missing = append(in.Missing, "challenge values (snap length)")
		}
		in.Features = listFeatures(in.Features[:0], f)
		writeQueryEvidence(in, t, f, lim, now)
	}
}

// orUnknown returns x, or -1 for NaN: incidents hold an unknown figure as -1.
func orUnknown(x float64) float64 {
	if math.IsNaN(x) {
		return -1
	}
	return x
}

// writeQueryEvidence writes the evidence of floods, reflections, crowds and pollers.
func writeQueryEvidence(in *Incident, t *measure.Server, f *measure.Features, lim *Thresholds, now int32) {
	s := sentences(in.Evidence[:0])
	rate, usual := count(f[measure.RateNow]), count(in.Baseline)
	switch {
	case in.Kind == Reflection:
		out := t.Sum(now, 10).BytesOut / 10
		s.add("the server is used against %s: %s queries/s in, %s/s out, %s as large", plural("host", max(f[measure.RepeatCount], 1)), rate, bytesOf(out), times(f[measure.Gain]))
	case f[measure.Top1] >= 0.5 && len(in.Top) > 0:
		s.add("%s sends %s of %s queries/s (usual: %s)", in.Top[0].Addr, percent(f[measure.Top1]), rate, usual)
	default:
		s.add("%s queries/s (usual: %s) from %s, %s each in %.0f s", rate, usual, plural("source", f[measure.Sources]), count(f[measure.Each]), f[measure.Window])
	}
	if f[measure.Prefix] >= 0.5 && f[measure.PrefixHosts] > 1 && len(in.Prefixes) > 0 {
		s.add("%s of it from %s (%.0f hosts seen)", percent(f[measure.Prefix]), in.Prefixes[0].Prefix, f[measure.PrefixHosts])
	}
	oneWay := f[measure.OneWay] > 0
	switch {
	case f[measure.Completion] >= 0:
		s.add("%s of %s brought the challenge back", percent(f[measure.Completion]), digits.Counted(uint64(f[measure.Challenged]), "challenged source"))
	case oneWay && f[measure.EchoLike] > 0:
		s.add("%s of the queries were followed by what looks like a challenge brought back", percent(f[measure.EchoLike]))
	case !oneWay && t.LastChallenge == 0:
		s.add("the server asks for no challenge, so that no address is proved")
	}
	s.addSourceOddities(f, lim)
	if f[measure.Answered] >= 0 {
		s.add("%s of the requests were answered, %s as large", percent(min(f[measure.Answered], 1)), times(f[measure.Gain]))
	}
	if f[measure.Unreach] >= 0.005 {
		s.add("%s of the replies came back as ICMP errors: their receivers had not asked", percent(f[measure.Unreach]))
	}
	if in.Kind == FloodSuspect {
		s.add("a crowd with unusual habits cannot be ruled out")
	}
	in.Evidence = s
}

// addSourceOddities adds a sentence for each feature of the sources that clients do not have.
func (s *sentences) addSourceOddities(f *measure.Features, lim *Thresholds) {
	sources := f[measure.Sources]
	if f[measure.Alien] >= 0.005 && sources >= 20 {
		s.add("%s of the source addresses are impossible (random ones: 14 %%)", percent(f[measure.Alien]))
	}
	if f[measure.TTL1] >= 0.7 && sources >= 20 {
		s.add("time to live %.0f on %s", f[measure.TTL], percent(f[measure.TTL1]))
	}
	if f[measure.TTLX] >= 0.1 {
		s.add("%s with a time to live that no usual system sends", percent(f[measure.TTLX]))
	}
	if f[measure.Port1] >= 0.5 && sources >= 3 {
		s.add("source port %.0f on %s", f[measure.Port], percent(f[measure.Port1]))
	}
	if f[measure.HeavyCount] >= 8 && f[measure.Heavy] >= 0.3 {
		s.add("%.0f sources send %s/s and more", f[measure.HeavyCount], count(lim.FewUnproven))
	}
	if f[measure.Pace] < 0.4 && f[measure.RateNow] >= 200 {
		s.add("evenly paced, as one sender does")
	}
	if f[measure.Print1] >= 0.9 {
		s.add("%s have the same payload", percent(f[measure.Print1]))
	}
}

// writeGuessEvidence writes the evidence of challenges that were never issued.
func writeGuessEvidence(in *Incident, t *measure.Server, now int32) {
	one, ten := t.Sum(now, 1), t.Sum(now, 10)
	s := sentences(in.Evidence[:0])
	guesses := t.CountGuesses(&ten, 10, now)
	s.add("%.0f/s challenges that the server never gave, %s of all that were brought", t.CountGuesses(&one, 1, now), percent(measure.Share(guesses, max(float64(ten.WithChallenge), guesses))))
	if len(in.Top) > 0 {
		s.add("most from %s", in.Top[0].Addr)
	}
	in.Answered = min(1, measure.Share(float64(ten.Replies), float64(ten.Packets)))
	s.add("the server answered %s of all requests", percent(in.Answered))
	in.Evidence = s
}

// writeJunkEvidence writes the evidence of datagrams that are nothing known.
func writeJunkEvidence(in *Incident, t *measure.Server, now int32) {
	one, ten := t.Sum(now, 1), t.Sum(now, 10)
	s := sentences(in.Evidence[:0])
	if one.Junk >= one.Strange {
		s.add("%d/s datagrams that begin with FF FF FF FF and are nothing known", one.Junk)
	} else {
		s.add("%d/s datagrams that are no query and belong to no session", one.Strange)
	}
	s.add("%s of what the server got, from %s", percent(measure.Share(float64(ten.Junk+ten.Strange), float64(ten.Junk+ten.Strange+ten.Packets))), plural("source", in.Sources))
	s.add("%s in ten seconds, to all that it got", digits.Counted(uint64(ten.Replies), "reply", "replies"))
	in.Evidence = s
}

// listMissing appends the names of the features that the capture could not give. The
// completion of a protocol without a challenge is none of them: no capture can give it.
func listMissing(dst []string, f *measure.Features, p *dissect.Proto) []string {
	oneWay, proves := f[measure.OneWay] > 0, p == nil || p.Proof() == dissect.TokenProof
	if proves && (oneWay || math.IsNaN(f[measure.Completion])) {
		dst = append(dst, "C")
	}
	if oneWay {
		dst = append(dst, "ans", "amp", "icmp", "bad")
	}
	if math.IsNaN(f[measure.Pace]) {
		dst = append(dst, "iod")
	}
	return append(dst, "known")
}

// listFeatures appends the published features with their names.
func listFeatures(dst []FeatureValue, f *measure.Features) []FeatureValue {
	for i, v := range f[:measure.Published] {
		dst = append(dst, FeatureValue{measure.Meanings[i].Name, v})
	}
	return dst
}
