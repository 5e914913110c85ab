package live

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"golang.org/x/net/bpf"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/test/testpcap"
)

const pcapfiles = "../../pcapfiles"

// packets reads a capture.
func packets(t *testing.T, name string) (all []capture.Packet) {
	t.Helper()
	r, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		var b capture.Batch
		err := r.Read(&b)
		all = append(all, b.Packets...)
		if err != nil {
			return all
		}
	}
}

// usual is a filter like those that are made of protocols: patterns of every sort, and
// some ports.
var usual = &AutoFilter{
	Payloads: []PayloadPattern{
		{Value: []byte("\xff\xff\xff\xff")}, {Value: []byte("\xfe\xff\xff\xff")},
		{Value: []byte("\xff\xff\xff\xffT")}, // which the first one covers
		{Value: []byte("s"), MaxLen: 1}, {Value: []byte("b"), MaxLen: 1},
		{Value: []byte("EYE"), MinLen: 4}, {Value: []byte("0\n\\"), MinLen: 4},
		{Value: []byte("1\x000"), Mask: []byte("\xff\x00\xf0"), MinLen: 4},
		{Value: []byte("1\x00["), Mask: []byte("\xff\x00\xff"), MinLen: 4},
		{Value: []byte("1\x00\x00\x00\x00\\"), Mask: []byte("\xff\x00\x00\x00\x00\xff")},
		{Value: []byte("2\x00\x00\x00\x00\\"), Mask: []byte("\xff\x00\x00\x00\x00\xff")},
	},
	UDP: []uint16{22126, 22127, 22128, 27010}, TCP: []uint16{27015, 27016, 27017, 25575},
	Missed: []Missed{{Protocol: "here", Forms: []string{"some", "others"}}, {Protocol: "there", TCP: true}},
}

// datagram goes from a client to a port of a server.
func datagram(payload []byte, port uint16) testpcap.Datagram {
	return testpcap.Datagram{
		Src: netip.AddrPortFrom(netip.MustParseAddr("10.64.0.1"), 40001), Dst: netip.AddrPortFrom(netip.MustParseAddr("198.18.0.1"), port),
		TTL: 64, Payload: payload,
	}
}

// has is what a pattern means, byte by byte.
func has(p *PayloadPattern, b []byte) bool {
	if len(b) < p.MinLen || p.MaxLen > 0 && len(b) > p.MaxLen || len(b) < p.Offset+len(p.Value) {
		return false
	}
	for i := range p.Value {
		if want, mask := p.byteAt(i); b[p.Offset+i]&mask != want {
			return false
		}
	}
	return true
}

// agree holds the program for patterns against what they mean.
func agree(t *testing.T, patterns []PayloadPattern, payloads ...[]byte) {
	t.Helper()
	program, err := (&AutoFilter{Payloads: patterns}).build(viewEthernet, 1)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range payloads {
		want := false
		for i := range patterns {
			want = want || has(&patterns[i], b)
		}
		frame := datagram(b, 7777).Frame(testpcap.Link{Type: linkEthernet})
		if n, err := vm.Run(frame); n > 0 != want || err != nil {
			t.Errorf("% x\ngot  %v, %v\nwant %v\n%+v", b, n > 0, err, want, patterns)
		}
	}
}

// TestPatternsInTheProgram: what has a pattern passes, and nothing else, close to
// each pattern and anywhere.
func TestPatternsInTheProgram(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var payloads [][]byte
	for range 20_000 {
		p := &usual.Payloads[r.IntN(len(usual.Payloads))]
		b := make([]byte, r.IntN(12))
		for i := range b {
			if b[i] = byte(r.Uint32()); i < len(p.Value) && r.IntN(8) > 0 {
				value, mask := p.byteAt(i)
				b[i] = value | b[i]&^mask
			}
		}
		payloads = append(payloads, b)
	}
	agree(t, usual.Payloads, payloads...)
	agree(t, nil, payloads[:10]...)
}

// FuzzPatterns: whatever patterns there are, the program is what they mean.
func FuzzPatterns(f *testing.F) {
	f.Add([]byte("EYE1"), []byte("\xff\xff\xff\xf0"), 0, 4, 0, []byte("s"), 1, []byte("EYE3 and so on"))
	f.Add([]byte("1\x00\x00\x00\x00\\"), []byte("\xff\x00\x00\x00\x00\xff"), 0, 0, 0, []byte("1"), 3, []byte("1abcd\\"))
	f.Fuzz(func(t *testing.T, value, mask []byte, off, lo, hi int, other []byte, at int, payload []byte) {
		p, q := PayloadPattern{off, value, mask, lo, hi}, PayloadPattern{Offset: at, Value: other}
		if len(mask) == 0 {
			p.Mask = nil
		}
		if !p.isValid() || !q.isValid() || len(payload) > 1400 {
			return
		}
		agree(t, []PayloadPattern{p, q}, payload)
		agree(t, []PayloadPattern{q, p}, payload)
	})
}
