package stats

import (
	"qsniff/dissect"
	"qsniff/internal/lru"
	"qsniff/track"
)

// kindKey is a question of a protocol.
type kindKey struct {
	proto *dissect.Proto
	asks  dissect.Asked
}

// kind adds up what one question costs and brings.
type kind struct {
	name         string // of the first request
	tcp          bool   // which cannot be forged: its answers are no danger
	asks, echoes tally
	open, after  tally // replies: to who was not challenged, and to who was
}

// asks is the question that a message asks or answers, one bit: the first of
// several, but a challenge in place of an answer answers the question for one.
func asks(f *track.Fact) dissect.Asked {
	switch {
	case f.Type == nil:
		return 0
	case f.Reply && f.Type.Asks&dissect.AskChallenge != 0:
		return dissect.AskChallenge
	}
	return f.Type.Asks & -f.Type.Asks
}

// kindOf returns the counters of the question that a message asks or answers.
// Protocols declare a fixed number of them.
func (c *Collector) kindOf(f *track.Fact) *kind {
	k := kindKey{f.Proto, asks(f)}
	x := c.kinds[k]
	if x == nil {
		x = &kind{tcp: f.TCP}
		c.kinds[k] = x
	}
	if x.name == "" && !f.Reply && f.Type != nil {
		x.name = f.Type.Name
	}
	return x
}

// pairKey names a server and a client's address: query tools ask each question
// from a socket of its own, and challenges are for addresses.
type pairKey struct {
	server, client hostKey
	port           uint16
}

// Hash mixes the key.
func (k pairKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(lru.MixBytes(seed, k.server[:]), k.client[:]), uint64(k.port))
}

func pairOf(f *track.Fact) pairKey {
	return pairKey{f.Server.Addr().As16(), f.Client.Addr().As16(), f.Server.Port()}
}

// bring counts a full reply with its kind, and reports whether the client had been
// challenged: in this exchange, or in an earlier one whose number it may have
// sent again.
func (c *Collector) bring(k *kind, f *track.Fact) (challenged bool) {
	if !givesToken(f) && (f.Trip >= 0 || c.challenged.Get(pairOf(f)) != nil) {
		k.after.add(f)
		return true
	}
	k.open.add(f)
	return false
}

// givesToken reports whether a reply is a challenge, which nobody needs one for.
func givesToken(f *track.Fact) bool { return f.Type != nil && f.Type.GivesToken() }

// gain compares answers with requests, by their means.
func gain(requests, answers *tally) Gain {
	g := Gain{Answers: answers.n}
	if answers.n == 0 || requests.n == 0 || requests.bytes == 0 {
		return g
	}
	perAnswer, perRequest := 1/float64(answers.n), 1/float64(requests.n)
	g.Payload = float64(answers.bytes) * perAnswer / (float64(requests.bytes) * perRequest)
	g.Wire = float64(answers.wire) * perAnswer / (float64(requests.wire) * perRequest)
	return g
}
