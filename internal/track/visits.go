package track

import (
	"time"

	"qsniff/dissect"
	"qsniff/internal/track/fingerprint"
)

// visit is what the answered exchanges of one flow show of the program that asks, in a stretch
// without a longer pause. The clock of its times is that of packets' stamps, but for begun.
type visit struct {
	flow   uint32 // its number; 0: there is no visit
	signs  fingerprint.Signs
	begun  int64         // age at which the last exchange began
	sent   int64         // when its last request was sent
	echoed int64         // when a challenge was first brought back; 0: none was
	kinds  dissect.Asked // what was answered
	port   uint16        // of the client, in the last exchange
}

// visits are those of the latest flows, by the number of the flow modulo visitSlots: only an
// answer takes a place, so a flood from invented addresses that nobody answers takes none.
type visits struct {
	slots   []visit // nil before the first answer
	evicted uint64  // visits under way whose place another took
}

// at returns the place of a flow.
func (v *visits) at(flow uint32) *visit {
	if v.slots == nil {
		v.slots = make([]visit, visitSlots)
	}
	return &v.slots[flow%visitSlots]
}

// move gives a flow the visit of another, which it takes the place of; 0: of none.
func (v *visits) move(from, to uint32) {
	if from == 0 || v.slots == nil {
		return
	}
	if old := v.at(from); old.flow == from {
		moved := *old
		moved.flow, *old = to, visit{}
		*v.at(to) = moved
	}
}

// observed are the questions whose exchanges are looked at.
const observed = dissect.Queries | dissect.AskChallenge

// recordVisit adds an answered exchange between the ends at hand to its visit, and returns what
// the visit shows.
func (x *Exchanges) recordVisit(e *exchange) fingerprint.Signs {
	if x.at.flow == 0 || !e.asks().Has(observed) {
		return 0
	}
	v := x.visits.at(x.at.flow)
	signs := signsOf(e)
	_, sent := e.lastRequest()
	switch isRepeated := v.kinds.Has(e.asks()); {
	case v.flow != x.at.flow, e.begun-v.begun > int64(visitGap):
		if v.flow != x.at.flow && v.flow != 0 && e.begun-v.begun <= int64(visitGap) {
			x.visits.evicted++
		}
		*v = visit{}
	case isRepeated && e.asks() == dissect.AskInfo && v.kinds == dissect.AskInfo && e.begun-v.begun <= int64(soon):
		signs |= fingerprint.InfoTwice
	case isRepeated:
		*v = visit{}
	default:
		signs |= v.compare(e, x.at.key.clientPort)
	}
	if e.state&challengeEchoed != 0 && v.echoed == 0 {
		v.echoed = e.echoNanos
	}
	v.flow, v.begun, v.sent, v.port = x.at.flow, max(v.begun, e.begun), sent, x.at.key.clientPort
	v.kinds |= e.asks()
	v.signs |= signs
	return v.signs
}

// shownBefore returns what the visit shows to which the exchange e, which began just now, may
// belong.
func (x *Exchanges) shownBefore(e *exchange) fingerprint.Signs {
	if x.visits.slots == nil || x.at.flow == 0 || !e.asks().Has(observed) {
		return 0
	}
	if v := x.visits.at(x.at.flow); v.flow == x.at.flow && e.begun-v.begun <= int64(visitGap) {
		return v.signs
	}
	return 0
}

// signsOf returns what an exchange shows by itself.
func signsOf(e *exchange) (s fingerprint.Signs) {
	bare, ones, zero, token := fingerprint.PageBare, fingerprint.PageOnes, fingerprint.PageZero, fingerprint.PageToken
	switch e.asks() {
	case dissect.AskInfo:
		bare, ones, zero, token = fingerprint.InfoBare, fingerprint.InfoOnes, fingerprint.InfoZero, fingerprint.InfoToken
	case dissect.AskChallenge:
		return fingerprint.AsksToken
	}
	for _, x := range [...]struct {
		form dissect.Form
		sign fingerprint.Signs
	}{
		{dissect.NoToken, bare}, {dissect.TokenOnes, ones}, {dissect.TokenZero, zero}, {dissect.BytesAfter, fingerprint.BytesAfter},
		{dissect.Padded, fingerprint.Padded}, {dissect.WordNUL, fingerprint.WordNUL}, {dissect.WordBare, fingerprint.WordBare}, {dissect.OddToken, fingerprint.OddToken},
	} {
		if e.forms&x.form != 0 {
			s |= x.sign
		}
	}
	if e.state&beganWithToken != 0 {
		s |= token
	}
	if e.state&(beganWithToken|challengeEchoed) == 0 && e.headers&startTTL != 0 {
		if s |= fingerprint.StartTTL; e.headers&fixedID != 0 {
			s |= fingerprint.FixedID
		}
	}
	return s
}

// headers are what the headers of requests show.
type headers uint8

const (
	startTTL headers = 1 << iota
	fixedID
)

func headersOf(m *Message) (h headers) {
	const (
		half        = 128   // the next lower value that systems begin with
		zmapsNumber = 54321 // that zmap had in every packet until 2024
	)
	if m.TTL > half {
		h |= startTTL
	}
	if m.IPID == zmapsNumber {
		h |= fixedID
	}
	return h
}

// compare returns what e, which the client began at a port, shows beside the exchange before.
func (v *visit) compare(e *exchange, port uint16) (s fingerprint.Signs) {
	if port == v.port {
		s = fingerprint.OnePort
	} else {
		s = fingerprint.ManyPorts
	}
	if e.state&beganWithToken == 0 && e.forms&(dissect.NoToken|dissect.TokenOnes|dissect.TokenZero) != 0 && v.echoed != 0 && e.plainNanos > v.echoed {
		s |= fingerprint.Anew
	}
	if e.asks() == dissect.AskPlayers && v.kinds.Has(dissect.AskRules) {
		s |= fingerprint.RulesFirst
	}
	next := e.plainNanos
	if next < v.sent && e.state&challengeEchoed != 0 { // v was asked and answered while e waited for its challenge to be brought back
		next = e.echoNanos
	}
	if pause := next - v.sent; pause >= int64(minPause) && pause <= int64(maxPause) {
		s |= fingerprint.Paused
	}
	return s
}

const (
	// limit: soon is within what time a program asks for information again if it asks twice in one visit.
	// Chosen: a round trip around the world, less than any poll's period.
	soon = 300 * time.Millisecond
	// limit: visitSlots is how many visits of clients one partition holds, 40 KiB: 16,384 in all. Chosen:
	// a visit takes seconds, and a server answers some thousand requests a second at most.
	visitSlots = 1024
	// limit: visitGap is how long after the begin of an exchange the next one of a visit may begin: a
	// program waits answerWait at most for what does not come, and asks the next.
	visitGap = 5 * time.Second
	// limit: minPause and maxPause bound the half second that qstat waits between two requests, 500 to 541
	// ms where it was recorded, of which the network may make more or less.
	minPause = 480 * time.Millisecond
	maxPause = 650 * time.Millisecond
)
