package stats

import (
	"net/netip"

	"qsniff/dissect"
	"qsniff/internal/track"
)

// A protocol with a question, a challenge and an answer.
var (
	typeAsk       = dissect.Type{Name: "ASK", Asks: dissect.AskInfo, Token: &dissect.Token{}}
	typePlain     = dissect.Type{Name: "PLAIN", Asks: dissect.AskInfo}
	typeRules     = dissect.Type{Name: "ASK_RULES", Asks: dissect.AskRules}
	typeChallenge = dissect.Type{Name: "CHALLENGE", Reply: true, Asks: dissect.AskInfo | dissect.AskRules | dissect.AskChallenge, Token: &dissect.Token{}}
	typeAnswer    = dissect.Type{Name: "ANSWER", Reply: true, Asks: dissect.AskInfo}
	typeLog       = dissect.Type{Name: "LOG", Notice: true}
	toy           = dissect.Proto{Name: "toy", Types: []*dissect.Type{&typeAsk, &typePlain, &typeRules, &typeChallenge, &typeAnswer, &typeLog}}

	server1 = netip.MustParseAddrPort("198.18.0.1:27015")
	server2 = netip.MustParseAddrPort("198.18.0.2:27015")
	client1 = netip.MustParseAddrPort("10.64.0.1:40001")
	client2 = netip.MustParseAddrPort("10.64.0.2:40002")
)

// start is when the facts of tests begin.
const start = 1_700_000_000_000_000_000

// none is the part of a message that is of no exchange.
var none = track.Part{Took: -1, Trip: -1}

// fact is a message of 100 bytes, 128 on the wire, between the first server and
// the first client.
func fact(frame uint64, typ *dissect.Type, step track.Step) track.Fact {
	f := track.Fact{Frame: frame, Nanos: start + int64(frame)*1e6, Server: server1, Client: client1,
		Proto: &toy, Type: typ, Reply: typ.Reply, Bytes: 100, Wire: 128, Packets: 1, Part: none}
	f.Step = step
	return f
}

func ask(frame uint64) track.Fact {
	f := fact(frame, &typeAsk, track.Ask)
	f.Bytes, f.Wire = 25, 53
	return f
}

func echo(frame uint64) track.Fact {
	f := fact(frame, &typeAsk, track.Echo)
	f.Bytes, f.Wire = 29, 57
	return f
}

func challenge(frame uint64, took int64) track.Fact {
	f := fact(frame, &typeChallenge, track.Challenge)
	f.Bytes, f.Wire, f.Took = 9, 37, took
	return f
}

func answer(frame uint64, took int64) track.Fact {
	f := fact(frame, &typeAnswer, track.Answer)
	f.Took = took
	return f
}

// afterChallenge makes an answer follow a challenge.
func afterChallenge(f track.Fact, trip int64) track.Fact {
	f.BroughtChallenge = true
	f.Trip = trip
	return f
}

// keyed makes an answer that of a request with a challenge.
func keyed(f track.Fact) track.Fact {
	f.BroughtChallenge = true
	return f
}

func silence(frame uint64) track.Fact {
	f := fact(frame, &typeAsk, track.Silence)
	f.Bytes, f.Wire, f.Packets = 0, 0, 0
	return f
}

// afterEcho is a silence after a request that brought back the challenge it was given.
func afterEcho(f track.Fact) track.Fact {
	f.BroughtChallenge, f.GotChallenge = true, true
	return f
}

// collect gives facts to a collector and returns what it says.
func collect(opt Options, facts ...track.Fact) *Summary {
	c := New(opt)
	end := int64(start)
	for i := range facts {
		c.AddFact(&facts[i], nil, nil)
		end = max(end, facts[i].Nanos)
	}
	return c.Summary(end)
}
