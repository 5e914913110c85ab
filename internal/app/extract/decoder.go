package extract

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"qsniff/dissect"
	"qsniff/internal/app/decode"
	"qsniff/internal/app/payload"
	"qsniff/internal/pipeline"
	"qsniff/internal/render"
)

// Decoder decodes the payloads of a request and of its reply, and returns the reply as JSON, or
// nil if that has another protocol or status than in the capture.
type Decoder func(x *Exchange, payloads [][]byte) ([]byte, error)

// decoderMemory is the budget of the tables by which the few payloads of an exchange are decoded:
// making tables of the usual size took most of the time of extract.
const decoderMemory = 4 << 20

// NewDecoder returns a Decoder that decodes as qsniff decode --raw --as does. protocols returns new ones, for
// those of an earlier run know what came in it; lines renders messages.
func NewDecoder(protocols func() []dissect.Protocol, lines render.Renderer) Decoder {
	return func(x *Exchange, payloads [][]byte) ([]byte, error) {
		if len(payloads) > payload.MaxPayloads {
			return nil, nil
		}
		var list []payload.Payload
		for _, b := range payloads {
			ps, err := payload.AsIs(b)
			if err != nil {
				return nil, nil // an empty datagram
			}
			list = append(list, ps...)
		}
		out, err := decodeAs(protocols(), x.Proto, list, lines)
		if err != nil {
			return nil, err
		}
		return lastReply(out, x)
	}
}

// decodeAs decodes payloads as messages of a protocol, and returns their lines.
func decodeAs(all []dissect.Protocol, proto string, list []payload.Payload, lines render.Renderer) ([]byte, error) {
	reg, err := dissect.NewRegistry(all...)
	if err != nil {
		return nil, err
	}
	p := decode.Plan{Options: decode.Options{Registry: reg, Protocols: all, As: reg.ProtoNamed(proto)}}
	p.AddPayloads(list)
	var out bytes.Buffer
	_, err = pipeline.Run(context.Background(), pipeline.Config{Source: &p.Source, Registry: reg, Out: &out, Jobs: 1,
		Memory: decoderMemory, DecodeAs: p.Rules, Renderer: p.NewRenderer(lines)})
	return out.Bytes(), err
}

// lastReply returns the last line that is a reply, nil if its protocol or status are not those of x.
func lastReply(out []byte, x *Exchange) ([]byte, error) {
	lines := slices.Collect(bytes.Lines(out))
	for _, line := range slices.Backward(lines) {
		var m struct{ Record, Direction, Protocol, Status string }
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, err
		}
		if m.Direction == "reply" && m.Record == "" {
			if m.Protocol != x.Proto || m.Status != x.Status {
				return nil, nil
			}
			return line, nil
		}
	}
	return nil, nil
}
