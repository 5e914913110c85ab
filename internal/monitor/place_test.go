package monitor

import (
	"net/netip"
	"testing"

	"qsniff/internal/track"
)

// TestPlace: places are what a snapshot has, read in place.
func TestPlace(t *testing.T) {
	elsewhere := netip.MustParseAddrPort("192.0.2.1:27015")
	opt := oneNamed
	opt.MayList = func(a netip.AddrPort) bool { return a != elsewhere }
	x := newScene(t, opt)
	x.ask("A2S_INFO")
	x.answer("S2A_INFO_SRC")
	p := track.NoProfile()
	p.Name.Set([]byte("Name"))
	x.m.AddProfile(nil, &p)
	x.packet(track.IsRequest, client, elsewhere.String(), "A2S_PLAYER", 0)
	if n := x.m.NumServers(); n != 1 || x.m.Place(0).Addr().IsValid() || x.m.Place(1).Addr().String() != named {
		t.Fatalf("%d servers", n)
	}
	s, one := x.snapshot(), x.m.Place(1)
	if *one.Counts() != s.Servers[0].Counts || *x.m.Place(0).Counts() != s.Other.Counts || one.Counts().In.Packets != 1 {
		t.Errorf("%+v", one.Counts())
	}
	if x.m.Place(0).Profile() != nil || string(one.Profile().Name.Bytes()) != "Name" {
		t.Errorf("profiles %v, %v", x.m.Place(0).Profile(), one.Profile())
	}
	got := map[string]KindCounts{}
	for i := range one.NumKinds() {
		if _, name, c := one.Kind(i); c.Messages > 0 {
			got[name] = *c
		}
	}
	if c := got["A2S_INFO"]; len(got) != 2 || c.Messages != 1 || c.Outcomes[Answered] != 1 || got["S2A_INFO_SRC"].Messages != 1 {
		t.Errorf("kinds %v", got)
	}
	if protocol, name := x.m.NameOf(x.typ("A2S_INFO")); protocol != "a2s" || name != "A2S_INFO" {
		t.Errorf("a type is %s %s", protocol, name)
	}
	if protocol, name := x.m.NameOf(nil); protocol+name != "" {
		t.Errorf("no type is %s %s", protocol, name)
	}
	a := netip.MustParseAddrPort(named)
	if !x.m.Has(a) || !x.m.IsOwn(a) || x.m.Has(elsewhere) || x.m.IsOwn(elsewhere) || !x.m.IsOwn(netip.MustParseAddrPort(unnamed)) || x.m.IsOwn(netip.AddrPort{}) {
		t.Error("which servers are own")
	}
}
