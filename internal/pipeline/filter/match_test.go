package filter_test

import (
	"slices"
	"sync"
	"testing"

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
