package advice

import (
	"slices"

	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/track"
)

// toy is a protocol that declares its types and a token, and nothing else. It stands for
// one that is added later: advice for it must be right without a word about it here.
var (
	askToy = &dissect.Type{Name: "ASK", Asks: dissect.AskStatus, Wire: []dissect.Pattern{dissect.Begins("TOY?")},
		Token: &dissect.Token{FromEnd: 4, Len: 4, Plain: []dissect.Pattern{dissect.Begins("TOY?").Sized(4, 4),
			dissect.Begins("TOY?none").Sized(8, 8)}}}
	tokenToy = &dissect.Type{Name: "TOKEN", Reply: true, Asks: dissect.AskStatus, Wire: []dissect.Pattern{dissect.Begins("TOY#").Sized(8, 8)},
		Token: &dissect.Token{FromEnd: 4, Len: 4}}
	giveToy  = &dissect.Type{Name: "GIVE", Reply: true, Asks: dissect.AskStatus, Wire: []dissect.Pattern{dissect.Begins("TOY!").Sized(20, 0)}}
	protoToy = &dissect.Proto{Name: "toy", Types: []*dissect.Type{askToy, tokenToy, giveToy}}
)

type declared struct{ proto *dissect.Proto }

func (d declared) Proto() *dissect.Proto { return d.proto }

// The packets of the protocol.
var (
	pktToy      = track.Sighting{What: track.IsRequest, Proto: protoToy, Type: askToy, Asks: askToy.Asks, Bytes: 4}
	pktToyNone  = track.Sighting{What: track.IsRequest, Proto: protoToy, Type: askToy, Asks: askToy.Asks, Bytes: 8}
	pktToyAgain = track.Sighting{What: track.IsRequest, Proto: protoToy, Type: askToy, Asks: askToy.Asks, Bytes: 8,
		Flags: track.HasKey, Key: 7}
	pktToyToken  = track.Sighting{What: track.IsReply, Proto: protoToy, Type: tokenToy, Asks: tokenToy.Asks, Bytes: 8}
	pktToyAnswer = track.Sighting{What: track.IsReply, Proto: protoToy, Type: giveToy, Asks: giveToy.Asks, Bytes: 120}
)

// advisor knows the toy and the protocols that the tests are about: lines for a server of
// which nothing is known name all, and would change with each that is added.
var advisor = func() *Advisor {
	about := slices.DeleteFunc(protocols.All(), func(p dissect.Protocol) bool {
		return !slices.Contains([]string{"goldsource", "a2s", "master", "ase", "rcon"}, p.Proto().Name)
	})
	reg, err := dissect.NewRegistry(append(about, declared{protoToy})...)
	if err != nil {
		panic(err)
	}
	return New(reg, DefaultExpiry)
}()

// protoNamed returns a protocol, nil if there is none of the name.
func protoNamed(name string) *dissect.Proto {
	for _, p := range advisor.reg.Protos() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// typeNamed returns a type of message.
func typeNamed(proto, name string, isReply bool) *dissect.Type {
	for _, t := range protoNamed(proto).Types {
		if t.Name == name && t.Reply == isReply {
			return t
		}
	}
	panic(proto + " has no " + name)
}
