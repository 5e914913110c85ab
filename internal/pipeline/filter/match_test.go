package filter_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
)

// TestFieldsAreFound: each field of each message is found by its name: a message of one
// protocol may have fields that another declares.
func TestFieldsAreFound(t *testing.T) {
	s := captures(t)
	programs, matchers := map[string]*filter.Program{}, map[string]*filter.Matcher{}
	for _, e := range s.events {
		for i := range e.Msg.Fields {
			name := e.Msg.Fields[i].Def.Name
			m := matchers[name]
			if m == nil {
				programs[name] = compile(t, name, filter.Options{})
				m = programs[name].Matcher()
				matchers[name] = m
			}
			if m.Match(e) != filter.All || !programs[name].CanMatch(e.Msg.Proto, e.Msg.Type) {
				t.Fatalf("frame %d, a %s of %s, does not have %s", e.Frame, e.Msg.Type.Name, e.Msg.Proto.Name, name)
			}
		}
	}
	if len(matchers) < 200 {
		t.Errorf("only %d fields", len(matchers))
	}
}

// steady are expressions of every kind of test.
var steady = []string{
	"a2s.info.players > 10",
	"a2s.info.map matches r\"^de_\" and server_name contains \"a\" or players > 3 and max_players in {16, 24..64}",
	"ip.addr == 10.0.0.0/8 && server == 198.18.0.1:27015 xor udp.port in {1, 27000..28000}",
	"all a2s.player.players.score > 5 or count(a2s.player.players.name) > 3 or a2s.player.players.duration > 1.5",
	"a2s.rules.rules.value > 100 or a2s.rules.rules.name == a2s.rules.rules.value or upper(a2s.rules.rules.name) contains \"SV_\"",
	"payload[0:4] == ff:ff:ff:ff and payload contains 49.00 and payload[0,2:2,-1:] matches \"x\" and len(payload) > 10",
	"finding and finding.severity >= warn or finding.fault == server or finding == A2S-S02",
	"exchange.rtt > 10ms or !exchange.answered and frame.time_relative < 5s or rtt > 1ms or exchange.verb contains \"late\"",
	"message == S2A_RULES or protocol in {rcon, master} or direction == reply or status != complete or via == vxlan",
	"community_id contains \"1:\" and a2s.info.environment == linux and port & 1 and payload[0:2] & ff:00 and frame.number > 3",
	"rcon.body contains \"x\" or goldsource.print.text contains \"y\" or a2s.log.line contains \"z\"",
}

// TestAllocations: no expression takes memory for a message.
func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	s := captures(t)
	step := 1
	if testing.Short() {
		step = 3
	}
	for _, text := range steady {
		m := compile(t, text, filter.Options{}).Matcher()
		run := func() {
			for i := 0; i < len(s.events); i += step {
				m.Match(s.events[i])
			}
		}
		run()
		if n := testing.AllocsPerRun(2, run); n > 0 {
			t.Errorf("%s: %v allocations in %d messages", text, n, len(s.events))
		}
	}
}

// TestConcurrent: partitions share a program, and each has the results that one alone has.
func TestConcurrent(t *testing.T) {
	s := captures(t)
	for _, text := range steady {
		p := compile(t, text, filter.Options{})
		var results [4][]filter.Truth
		var wg sync.WaitGroup
		for i := range results {
			wg.Go(func() {
				m := p.Matcher()
				for _, e := range s.events[:500] {
					results[i] = append(results[i], m.Match(e))
				}
			})
		}
		wg.Wait()
		for i := range results {
			if !slices.Equal(results[i], results[0]) {
				t.Errorf("%s: results differ", text)
			}
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	s := captures(b)
	for _, text := range append([]string{"frame.number == 0"}, steady...) {
		b.Run(text, func(b *testing.B) {
			m := compile(b, text, filter.Options{}).Matcher()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.Match(s.events[i%len(s.events)])
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	reg := protos.Registry(b)
	for b.Loop() {
		if _, err := filter.Compile(steady[1], reg, filter.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAbsent: what a cheap expression costs on messages that do not have its field: of
// another protocol, of another type with few fields, and with many.
func BenchmarkAbsent(b *testing.B) {
	s := captures(b)
	most := map[string]*render.Event{}
	for _, e := range s.events {
		kind := ""
		switch {
		case e.Msg.Type == nil:
			continue
		case e.Msg.Proto.Name != "a2s":
			kind = "another protocol"
		case e.Msg.Type.Name == "A2S_INFO":
			kind = "a request"
		case e.Msg.Type.Name == "S2A_RULES":
			kind = "a long list"
		}
		if m := most[kind]; m == nil || len(m.Msg.Fields) < len(e.Msg.Fields) {
			most[kind] = e
		}
	}
	for _, kind := range []string{"another protocol", "a request", "a long list"} {
		b.Run(kind, func(b *testing.B) {
			m, e := compile(b, "a2s.info.players > 10", filter.Options{}).Matcher(), most[kind]
			for b.Loop() {
				m.Match(e)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(e.Msg.Fields)), "ns/field")
		})
	}
}

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

// TestTypes: each field takes the operators that its type is listed with, and no others.
func TestTypes(t *testing.T) {
	reg := protos.Registry(t)
	values := map[string]string{"presence": "1", "boolean": "true", "number": "3", "signed number": "-3", "character": "0x6c", "float": "1.5", "duration": "5ms",
		"time": "22:13", "text": `"a"`, "bytes": "ff", "address": "10.0.0.1"}
	for _, s := range filter.Fields(reg, filter.Options{})[filter.Own:] {
		for _, f := range s.Rows {
			value, has := values[f.Filter.Name]
			if !has { // one of its names
				value = "A2S_INFO"
				if len(f.Values) > 0 {
					value = f.Values[0].Name
				}
			}
			if strings.HasPrefix(f.Name, "ipv6.") {
				value = "2001:db8::1"
			}
			for _, op := range []string{"==", "!=", "<", "<=", ">", ">=", "in", "contains", "matches", "&"} {
				text := f.Name + " " + op + " " + value
				switch op {
				case "in":
					text = f.Name + " in {" + value + "}"
				case "contains", "matches":
					text = f.Name + " " + op + ` "ff"`
				}
				_, err := filter.Compile(text, reg, filter.Options{})
				if takes := slices.Contains(f.Filter.Operators, op); takes != (err == nil) {
					t.Errorf("%s: listed %v: %v", text, takes, err)
				}
			}
		}
	}
}
