package dissect

import (
	"fmt"
	"testing"
)

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
	for port := 0; port < 300 && err == nil; port++ { // protocols 0 to 8 in all combinations
		for i := range 9 {
			if port>>i&1 != 0 && err == nil {
				err = table.add(i, []uint16{uint16(port)})
			}
		}
	}
	if err == nil {
		t.Error("300 different sets are taken")
	}
	for port := range uint16(200) {
		if got := table.at(port); got != protoSet(port) {
			t.Errorf("port %d\ngot  %b\nwant %b", port, got, port)
		}
	}
}
