package stats

import (
	"qsniff/dissect"
	"qsniff/internal/base/lru"
	"qsniff/internal/track"
)

// questionKey is one question of a protocol.
type questionKey struct {
	proto *dissect.Proto
	asks  dissect.Asked
}

// questionTally counts the messages of one question and their bytes.
type questionTally struct {
	name                            string // of the first request's type
	isTCP                           bool   // then the source cannot be forged, and large answers are no danger
	requests, echoes                tally
	plainAnswers, challengedAnswers tally // replies to clients that were not challenged, and that were
}

// questionOf returns the question that a message asks or answers, one bit: the first of
// several. A challenge answers the question for a challenge, whatever was asked.
func questionOf(f *track.Fact) dissect.Asked {
	switch {
	case f.Type == nil:
		return 0
	case f.Reply && f.Type.Asks&dissect.AskChallenge != 0:
		return dissect.AskChallenge
	}
	return f.Type.Asks & -f.Type.Asks
}

// findQuestion returns the counters of the question that a message asks or answers, new ones if
// there are none. Protocols declare a fixed number of questions.
func (c *Collector) findQuestion(f *track.Fact) *questionTally {
	k := questionKey{f.Proto, questionOf(f)}
	x := c.questions[k]
	if x == nil {
		x = &questionTally{isTCP: f.TCP}
		c.questions[k] = x
	}
	if x.name == "" && !f.Reply && f.Type != nil {
		x.name = f.Type.Name
	}
	return x
}

// pairKey is a server and a client's address: query tools ask each question
// from a socket of its own, and challenges are for addresses.
type pairKey struct {
	server, client hostKey
	port           uint16
}

// Hash mixes the key.
func (k pairKey) Hash(seed uint64) uint64 {
	return lru.Mix(lru.MixBytes(lru.MixBytes(seed, k.server[:]), k.client[:]), uint64(k.port))
}

// pairOf returns the pair of f.
func pairOf(f *track.Fact) pairKey {
	return pairKey{f.Server.Addr().As16(), f.Client.Addr().As16(), f.Server.Port()}
}

// addAnswerSize adds a reply to its question, and reports whether the client had been
// challenged: in this exchange, or in an earlier one whose challenge it may have
// brought again.
func (c *Collector) addAnswerSize(k *questionTally, f *track.Fact) (challenged bool) {
	if !givesToken(f) && (f.Trip >= 0 || c.challenged.Get(pairOf(f)) != nil) {
		k.challengedAnswers.add(f)
		return true
	}
	k.plainAnswers.add(f)
	return false
}

// givesToken reports whether a reply is a challenge. A client needs none to get that.
func givesToken(f *track.Fact) bool { return f.Type != nil && f.Type.GivesToken() }

// gainOf returns the mean size of the answers divided by that of the requests.
func gainOf(requests, answers *tally) Gain {
	g := Gain{Answers: answers.n}
	if answers.n == 0 || requests.n == 0 || requests.bytes == 0 {
		return g
	}
	perAnswer, perRequest := 1/float64(answers.n), 1/float64(requests.n)
	g.Payload = float64(answers.bytes) * perAnswer / (float64(requests.bytes) * perRequest)
	g.Wire = float64(answers.wire) * perAnswer / (float64(requests.wire) * perRequest)
	return g
}
