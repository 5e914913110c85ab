package filter_test

import (
	"testing"

	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/test/protos"
)

// message returns an event of a message of no known type, in an exchange or not.
func message(reg *dissect.Registry, exchange uint64) *render.Event {
	m := new(dissect.Message)
	m.Reset(reg.Protos()[0], []byte("\xff\xff\xff\xffx"))
	return &render.Event{Frame: 7, File: -1, Iface: -1, Msg: m, Exchange: render.Exchange{ID: exchange, RTT: -1, ChallengeRTT: -1}}
}

// TestLate: what is known when the exchange is over gives for each outcome what the
// expression says, and for a message without an exchange that there is no answer.
func TestLate(t *testing.T) {
	reg := protos.Registry(t)
	outcomes := []filter.Outcome{
		{Answered: false, RTT: -1, ChallengeRTT: -1},
		{Answered: true, RTT: 50e6, ChallengeRTT: -1},
		{Answered: true, RTT: 200e6, ChallengeRTT: 20e6},
		{Answered: false, RTT: -1, ChallengeRTT: 20e6},
	}
	for _, tc := range []struct {
		text  string
		want  string // for the outcomes, and without an exchange
		needs bool
	}{
		{"exchange.answered", ".xx..", true},
		{"!exchange.answered", "x..xx", true},
		{"exchange.answered == false", "x..x.", true},
		{"exchange.answered != true", "x..x.", true},
		{"exchange && !exchange.answered", "x..x.", true},
		{"exchange.rtt", ".xx..", true},
		{"exchange.rtt > 100ms", "..x..", true},
		{"exchange.rtt != 50ms", "..x..", true},
		{"exchange.rtt in {40ms..60ms, 1s}", ".x...", true},
		{"not exchange.rtt > 100ms", "xx.xx", true},
		{"exchange.challenge_rtt < 0.03", "..xx.", true},
		{"exchange.answered or exchange.challenge_rtt", ".xxx.", true},
		{"exchange.answered xor exchange.challenge_rtt", ".x.x.", true},
		{"exchange.answered and frame.number == 7", ".xx..", true},
		{"exchange.answered and frame.number == 8", ".....", true},
		{"exchange.answered or frame", "xxxxx", true},
		{"exchange.answered or not exchange.answered", "xxxxx", true},
		{"exchange.answered and exchange.rtt > 10ms and exchange.rtt < 100ms and exchange.rtt > 20ms and not exchange.challenge_rtt and exchange.rtt != 1s", ".x...", true},
		{"exchange.rtt > 10ms xor exchange.rtt > 60ms xor exchange.challenge_rtt xor exchange.answered xor exchange.challenge_rtt > 10ms xor exchange.rtt in {40ms..60ms}", ".xx..", true},
		{"frame.number == 7", "xxxxx", false},
	} {
		p := compile(t, tc.text, filter.Options{})
		if p.NeedsAnswers() != tc.needs {
			t.Errorf("%s: needs answers: %v", tc.text, p.NeedsAnswers())
		}
		m, got := p.Matcher(), ""
		mark := func(b bool) {
			if b {
				got += "x"
			} else {
				got += "."
			}
		}
		truth := m.Match(message(reg, 5))
		for i := range outcomes {
			mark(truth.At(p.Index(&outcomes[i])))
		}
		alone := m.Match(message(reg, 0))
		if alone != filter.All && alone != filter.None {
			t.Errorf("%s: %x without an exchange", tc.text, alone)
		}
		mark(alone == filter.All)
		if got != tc.want {
			t.Errorf("%s\ngot  %s\nwant %s", tc.text, got, tc.want)
		}
	}
}

// TestIndexAllocations: what decides about held messages takes no memory.
func TestIndexAllocations(t *testing.T) {
	p := compile(t, "exchange.rtt > 100ms or exchange.rtt in {1ms, 5ms..7ms} or exchange.answered", filter.Options{})
	o := filter.Outcome{Answered: true, RTT: 1, ChallengeRTT: 1}
	if n := testing.AllocsPerRun(100, func() { p.Index(&o) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
