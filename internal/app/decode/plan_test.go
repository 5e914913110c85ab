package decode

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/payload"
	"qsniff/internal/test/protos"
)

// talk is a protocol over TCP of one message from either end: a letter, upper case
// from the client, and a point.
type talk struct{ dissect.StreamDissector }

var talkProto = dissect.Proto{Name: "talk"}

func (talk) Proto() *dissect.Proto { return &talkProto }

func (talk) Frame(c *dissect.Context, b []byte) dissect.Record {
	switch upper := b[0] >= 'A' && b[0] <= 'Z'; {
	case c.Stream.Dir == dissect.ToServer && !upper, c.Stream.Dir == dissect.ToClient && (b[0] < 'a' || b[0] > 'z'):
		return dissect.Record{}
	case len(b) < 2:
		return dissect.Record{Conf: dissect.Maybe, Len: 2, Need: 2}
	case b[1] != '.':
		return dissect.Record{}
	}
	return dissect.Record{Conf: dissect.Likely, Len: 2}
}

// TestPlanTCP: payloads of a protocol over TCP become one connection, whose
// client says what requests are.
func TestPlanTCP(t *testing.T) {
	const c, s = "client", "server"
	tests := []struct {
		name    string
		as, dir string
		in      []string
		want    []string // who says each payload; nil for UDP
	}{
		{"told", "talk", "", []string{"A.", "a."}, []string{c, s}},
		{"by the first", "", "", []string{"A.", "a."}, []string{c, s}},
		{"in pieces", "talk", "", []string{"a", ".", "A", "."}, []string{s, s, c, c}},
		{"direction", "talk", "reply", []string{"A.", "B."}, []string{s, s}},
		{"half of something weak", "", "", []string{"A"}, nil},
		{"told otherwise", "a2s", "", []string{"A."}, nil},
		{"a datagram among them", "", "", []string{"A.", "\xff\xff\xff\xffi"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			all := append(protocols.All(), talk{})
			reg, err := dissect.NewRegistry(all...)
			if err != nil {
				t.Fatal(err)
			}
			p := Plan{Options: Options{Registry: reg, Protocols: all, As: reg.ProtoNamed(tt.as), Dir: tt.dir}}
			var in []payload.Payload
			for _, s := range tt.in {
				in = append(in, payload.Payload{Data: []byte(s)})
			}
			p.AddPayloads(in)
			if diff := cmp.Diff(tt.want, speakers(t, &p)); diff != "" {
				t.Errorf("want -, got +\n%s", diff)
			}
		})
	}
}

// speakers says who sent each segment with data that p made.
func speakers(t *testing.T, p *Plan) (who []string) {
	t.Helper()
	var b capture.Batch
	_ = p.Source.Read(&b) // io.EOF comes with the packets
	for i := range b.Packets {
		var d packet.Packet
		p.Source.Decode(&d, &b.Packets[i])
		switch {
		case d.Stop != packet.TCP || len(d.Payload) == 0:
		case d.Dst.Port() == serverPort:
			who = append(who, "client")
		case d.Src.Port() == serverPort:
			who = append(who, "server")
		}
	}
	return who
}

// TestPlanPorts: no protocol is met on the ports that payloads get, so that
// nothing is believed for their sake.
func TestPlanPorts(t *testing.T) {
	reg := protos.Registry(t)
	for port := uint16(clientPort); port < protoPort+uint16(len(reg.Protos())); port++ {
		if reg.ToServer(0, port) {
			t.Errorf("port %d is a protocol's", port)
		}
	}
	if reg.ToServer(0, serverPort) {
		t.Errorf("port %d is a protocol's", serverPort)
	}
}
