package dissect

import (
	"fmt"
	"net/netip"
	"testing"

	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
)

type fake struct{ p Proto }

func (f *fake) Proto() *Proto                             { return &f.p }
func (f *fake) Dissect(*Context, *Type, []byte, *Message) {}
func (f *fake) Probe(_ *Context, b []byte) (Confidence, *Type) {
	if len(b) == 0 {
		return No, nil
	}
	return Confidence(b[0]), f.p.Types[0]
}

func TestRegistryRefusesDuplicates(t *testing.T) {
	code := &finding.Code{ID: "T-01"}
	for _, tc := range []struct {
		name, want string
		a, b       Proto
	}{
		{"protocol", `protocol "t" is declared twice`, Proto{Name: "t"}, Proto{Name: "t"}},
		{"field", `field "t.u8" is declared twice`, Proto{Name: "a", Defs: []*Def{&defU8}}, Proto{Name: "b", Defs: []*Def{{Name: "t.u8"}}}},
		{"shared field", `field "trailing" is declared twice`, Proto{Name: "a", Defs: []*Def{{Name: "trailing"}}}, Proto{Name: "b"}},
		{"finding", `finding "T-01" is declared twice`, Proto{Name: "a", Codes: []*finding.Code{code}}, Proto{Name: "b", Codes: []*finding.Code{code}}},
		{"shared finding", `finding "LIM-01" is declared twice`, Proto{Name: "a", Codes: []*finding.Code{{ID: "LIM-01"}}}, Proto{Name: "b"}},
		{"none", "", Proto{Name: "a"}, Proto{Name: "b"}},
	} {
		_, err := NewRegistry(&fake{tc.a}, &fake{tc.b})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%s\ngot  %q\nwant %q", tc.name, got, tc.want)
		}
	}
}

// TestStart: a definition in a registry has the start of its key, unless the key is longer, and
// is known to come in pieces if another one is a part of it.
func TestStart(t *testing.T) {
	text := Def{Name: "s.text", Kind: Text}
	secret := Def{Name: "s.secret", Kind: Text, Flags: Secret, PartOf: &text}
	fits, long := Def{Name: "s.twelve_bytes", Kind: Uint}, Def{Name: "s.thirteen_bytes", Kind: Uint}
	if _, n := text.Start(); n != 0 || !text.IsInPieces() {
		t.Errorf("without a registry, the start has %d bytes", n)
	}
	if _, err := NewRegistry(&fake{Proto{Name: "s", Defs: []*Def{&text, &secret, &fits, &long}}}); err != nil {
		t.Fatal(err)
	}
	for _, d := range []*Def{&text, &secret, &fits} {
		if start, n := d.Start(); string(start[:n]) != d.Member() {
			t.Errorf("got  %q\nwant %q", start[:n], d.Member())
		}
	}
	if _, n := long.Start(); n != 0 {
		t.Errorf("%q has a start of %d bytes", long.Member(), n)
	}
	if !text.IsInPieces() || secret.IsInPieces() || fits.IsInPieces() {
		t.Error("only the text has pieces")
	}
}

// A reply of free text is believed as an answer only, be the question weak.
func TestBelieveOnlyAsked(t *testing.T) {
	free := &Type{Name: "R", Reply: true, Asks: AskVersion, OnlyAsked: true}
	d := &fake{Proto{Name: "t", Ports: []uint16{27015}, Types: []*Type{free}}}
	reg, err := NewRegistry(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name    string
		flow    FlowFacts
		waiting Asked
		want    bool
	}{
		{"port and flow", FlowFacts{Proto: reg.FlowProto(d)}, 0, false},
		{"asked", FlowFacts{Asked: AskVersion}, 0, true},
		{"a question waits", FlowFacts{}, AskVersion, true},
		{"another question waits", FlowFacts{}, AskInfo, false},
	} {
		c := &Context{Src: ap(27015), Dst: ap(2), FromServer: tc.flow, Waiting: tc.waiting}
		v := Verdict{Dissector: d, Type: free, Conf: Maybe}
		if got := reg.Believe(c, &v); got != tc.want {
			t.Errorf("%s\ngot  %v\nwant %v", tc.name, got, tc.want)
		}
	}
}

// A weak verdict needs a second witness: the server's port, the flow, or the
// question that a reply answers.
func TestBelieve(t *testing.T) {
	request, reply := &Type{Name: "Q", Asks: AskRules}, &Type{Name: "R", Reply: true, Asks: AskRules}
	notice := &Type{Name: "N", Notice: true}
	d := &fake{Proto{Name: "t", Ports: []uint16{27015}, Types: []*Type{request}}}
	other := &fake{Proto{Name: "o", Types: []*Type{request}}}
	reg, err := NewRegistry(other, d)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name     string
		conf     Confidence
		typ      *Type
		src, dst uint16
		flow     FlowFacts
		want     bool
	}{
		{"strong", Likely, request, 1, 2, FlowFacts{}, true},
		{"nothing", No, request, 1, 27015, FlowFacts{}, false},
		{"weak", Maybe, request, 1, 2, FlowFacts{}, false},
		{"request to the port", Maybe, request, 1, 27015, FlowFacts{}, true},
		{"request from the port", Maybe, request, 27015, 2, FlowFacts{}, false},
		{"reply from the port", Maybe, reply, 27015, 2, FlowFacts{}, true},
		{"notice from the port", Maybe, notice, 27015, 2, FlowFacts{}, true},
		{"notice to the port", Maybe, notice, 1, 27015, FlowFacts{}, false},
		{"notice in a flow that speaks it", Maybe, notice, 1, 2, FlowFacts{Proto: reg.FlowProto(d)}, true},
		{"reply to the port", Maybe, reply, 1, 27015, FlowFacts{}, false},
		{"flow speaks it", Maybe, request, 1, 2, FlowFacts{Proto: reg.FlowProto(d)}, true},
		{"flow speaks another", Maybe, request, 1, 2, FlowFacts{Proto: reg.FlowProto(other)}, false},
		{"asked", Maybe, reply, 1, 2, FlowFacts{Asked: AskRules}, true},
		{"asked something else", Maybe, reply, 1, 2, FlowFacts{Asked: AskInfo}, false},
		{"a request is no answer", Maybe, request, 1, 2, FlowFacts{Asked: AskRules}, false},
	} {
		c := &Context{Src: ap(tc.src), Dst: ap(tc.dst)}
		*c.Flow(tc.typ) = tc.flow
		v := Verdict{Dissector: d, Type: tc.typ, Conf: tc.conf}
		if got := reg.Believe(c, &v); got != tc.want || got && v.Conf < Likely {
			t.Errorf("%s\ngot  %v (%v)\nwant %v", tc.name, got, v.Conf, tc.want)
		}
	}
}

func ap(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, 0, 1}), port)
}

func TestPickTakesTheMostConfident(t *testing.T) {
	typ := &Type{Name: "Q"}
	a, b := &fake{Proto{Name: "a", Types: []*Type{typ}}}, &fake{Proto{Name: "b", Types: []*Type{typ}}}
	reg, err := NewRegistry(a, b)
	if err != nil {
		t.Fatal(err)
	}
	if v := reg.Pick(&Context{}, []byte{byte(Likely)}); v.Dissector != a || v.Conf != Likely {
		t.Errorf("of equals: got %+v, want the first", v)
	}
	if v := reg.Pick(&Context{}, nil); v.Dissector != nil || v.Conf != No {
		t.Errorf("nobody's: got %+v", v)
	}
	if v, ok := reg.PickAs(&Context{}, []byte{byte(Maybe)}, b.Proto()); !ok || v.Dissector != b || v.Conf != Likely {
		t.Errorf("as told: got %+v", v)
	}
	if v, ok := reg.PickAs(&Context{}, []byte{byte(No)}, b.Proto()); !ok || v.Dissector != b || v.Conf != Likely {
		t.Errorf("as told, of damage: got %+v", v)
	}
}

// TestManyProtocols: a registry has room for 64, each found at its own port and at
// one that all share.
func TestManyProtocols(t *testing.T) {
	const shared = 27015
	var all []Protocol
	for i := range maxProtos {
		typ := &Type{Name: fmt.Sprint("T", i)}
		all = append(all, &fake{Proto{Name: fmt.Sprint("p", i), Ports: []uint16{shared, uint16(1000 + i)}, Types: []*Type{typ}}})
	}
	reg, err := NewRegistry(all...)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range all {
		for _, tc := range []struct {
			port uint16
			want bool
		}{{shared, true}, {uint16(1000 + i), true}, {uint16(1000 + (i+1)%maxProtos), false}, {9, false}} {
			v := Verdict{Dissector: p.(Dissector), Type: p.Proto().Types[0], Conf: Maybe}
			if got := reg.Believe(&Context{Src: ap(1), Dst: ap(tc.port)}, &v); got != tc.want {
				t.Errorf("%s at port %d\ngot  %v\nwant %v", p.Proto().Name, tc.port, got, tc.want)
			}
		}
	}
	if !reg.ToServer(1, shared) || reg.ToServer(shared, 1000) {
		t.Error("ToServer does not go by the ports")
	}
	_, err = NewRegistry(append(all, &fake{Proto{Name: "more"}})...)
	if want := `protocol "more" is one more than the limit of 64`; err == nil || err.Error() != want {
		t.Errorf("\ngot  %v\nwant %s", err, want)
	}
	if reg, err = NewRegistry(); err != nil || reg.ToServer(1, shared) {
		t.Errorf("an empty registry knows ports, or %v", err)
	}
}

// TestPortSets: sets of protocols that share a port are numbered with one byte.
func TestPortSets(t *testing.T) {
	table := newPortTable()
	var err error
	refused := -1
	for port := 0; port < 300 && err == nil; port++ { // protocols 0 to 8 in all combinations
		for i := range 9 {
			if port>>i&1 != 0 && err == nil {
				if err = table.add(i, []uint16{uint16(port)}); err != nil {
					refused = port
				}
			}
		}
	}
	if refused != 256 {
		t.Errorf("set %d is refused, want 256", refused)
	}
	for port := range uint16(256) {
		if got := table.at(port); got != protoSet(port) {
			t.Errorf("port %d\ngot  %b\nwant %b", port, got, port)
		}
	}
}

// TestIsSplitPort: only protocols that split messages have such ports.
func TestIsSplitPort(t *testing.T) {
	r := &Registry{}
	for _, p := range []Proto{
		{Name: "whole", SplitPorts: [2]uint16{1, 9}},
		{Name: "parts", Splits: []wire.Engine{wire.Source}, SplitPorts: [2]uint16{20, 29}},
	} {
		r.protos = append(r.protos, &p)
	}
	for port, want := range map[uint16]bool{0: false, 5: false, 19: false, 20: true, 29: true, 30: false} {
		if got := r.IsSplitPort(port); got != want {
			t.Errorf("port %d\ngot  %v\nwant %v", port, got, want)
		}
	}
}
