package protocols

import (
	"net/netip"
	"testing"

	"qsniff/dissect"
	"qsniff/internal/test/dissecttest"
)

// facts are what a fuzzed flow showed before.
func facts(reg *dissect.Registry, asked uint16, proto uint8, foreign bool) dissect.FlowFacts {
	return dissect.FlowFacts{Asked: dissect.Asked(asked), Proto: proto % uint8(len(reg.Protos())+1), Foreign: foreign}
}

// FuzzIdentify: who claims a datagram, and what is believed of that.
func FuzzIdentify(f *testing.F) {
	for _, d := range datagrams(f, groups(f)...) {
		f.Add(d.Payload, d.Src.Port(), d.Dst.Port(), uint16(0), uint16(0), uint8(0), false)
	}
	reg := registry(f)
	f.Fuzz(func(t *testing.T, b []byte, src, dst, missing, asked uint16, proto uint8, foreign bool) {
		c := dissecttest.Context(len(b) + int(missing))
		c.Src = netip.AddrPortFrom(dissecttest.Server.Addr(), src)
		c.Dst = netip.AddrPortFrom(dissecttest.Client.Addr(), dst)
		c.ToServer, c.FromServer = facts(reg, asked, proto, foreign), facts(reg, asked, proto, foreign)
		v := reg.Pick(c, b)
		claims(t, c, b, v)
		if v.Dissector == nil {
			reg.Foreign(c, b)
			return
		}
		believed(t, reg, c, v)
		m := dissecttest.Run(v.Dissector, c, b)
		dissecttest.CheckInvariants(t, m)
		if m.Type != v.Type {
			t.Errorf("identified as %s, dissected as %v", v.Type.Name, m.Type)
		}
	})
}

// overUDP lists the protocols over UDP.
func overUDP() []dissect.Dissector {
	var ds []dissect.Dissector
	for _, p := range All() {
		if d, ok := p.(dissect.Dissector); ok {
			ds = append(ds, d)
		}
	}
	return ds
}

// claims holds a verdict against what every protocol says for itself: it is the
// strongest claim, and two protocols are not both certain of the same bytes.
func claims(t *testing.T, c *dissect.Context, b []byte, v dissect.Verdict) {
	certain, best := 0, dissect.No
	for _, d := range overUDP() {
		k, _ := d.Probe(c, b)
		best = max(best, k)
		if k == dissect.Certain {
			certain++
		}
	}
	if v.Conf != best || (v.Dissector == nil) != (best == dissect.No) {
		t.Errorf("verdict %v, the strongest claim is %v", v.Conf, best)
	}
	if certain > 1 {
		t.Errorf("%d protocols are certain of % x", certain, b)
	}
}

// believed checks what Believe makes of a verdict: a strong one stands unless
// another game speaks here, a weak one needs a reason, none gets weaker, and what
// another game's flow lets pass also passes without it.
func believed(t *testing.T, reg *dissect.Registry, c *dissect.Context, v dissect.Verdict) {
	w := v
	ok := reg.Believe(c, &w)
	other := c.Flow(v.Type).Foreign
	switch {
	case v.Conf > dissect.Maybe && ok == other && v.Conf < dissect.Certain:
		t.Errorf("%s %v, another game %v: believed %v", v.Type.Name, v.Conf, other, ok)
	case v.Conf == dissect.Certain && !other && !ok:
		t.Errorf("%s is certain and not believed", v.Type.Name)
	case ok && w.Conf < dissect.Likely, w.Conf < v.Conf:
		t.Errorf("%s: %v became %v, believed %v", v.Type.Name, v.Conf, w.Conf, ok)
	case v.Conf == dissect.Maybe && ok && w.Why == v.Why:
		t.Errorf("%s was weak and is believed without a reason", v.Type.Name)
	}
	plain := *c
	plain.ToServer.Foreign, plain.FromServer.Foreign = false, false
	w = v
	if ok && !reg.Believe(&plain, &w) {
		t.Errorf("%s is believed only where another game speaks", v.Type.Name)
	}
}
