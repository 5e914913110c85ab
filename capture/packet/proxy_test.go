package packet

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
)

const (
	simple4 = "56ec 00000000000000000000ffffc633643c 00000000000000000000ffffc0000263 9c41 6987"
	simple6 = "56ec 20010db8000000000000000000000001 20010db8000000000000000000000002 9c41 6987"
	proxy4  = "0d0a0d0a000d0a515549540a 21 12 000c c633643c c0000263 9c41 6987"
	proxy6  = "0d0a0d0a000d0a515549540a 21 22 0024 20010db8000000000000000000000001 20010db8000000000000000000000002 9c41 6987"
	tlvs4   = "0d0a0d0a000d0a515549540a 21 12 0012 c633643c c0000263 9c41 6987 020003616263"
)

// TestParseProxyHeader: headers of both formats are read, and what begins like one and is none is not.
func TestParseProxyHeader(t *testing.T) {
	const in4, in6 = "198.51.100.60:40001", "[2001:db8::1]:40001"
	tests := []struct{ name, in, client string }{
		{"Spectrum, IPv4", simple4, in4},
		{"Spectrum, IPv6", simple6, in6},
		{"PROXY, IPv4", proxy4, in4},
		{"PROXY, IPv6", proxy6, in6},
		{"PROXY, with TLVs", tlvs4, in4},
		{"cut", simple4[:len(simple4)-2], ""},
		{"one version and the other", strings.Replace(simple4, "00000000000000000000ffffc0000263", "20010db8000000000000000000000002", 1), ""},
		{"no port", strings.Replace(simple4, "9c41", "0000", 1), ""},
		{"no address", strings.Replace(simple4, "c633643c", "00000000", 1), ""},
		{"a group", strings.Replace(proxy4, "c633643c", "e0000001", 1), ""},
		{"LOCAL", strings.Replace(proxy4, "21 12", "20 12", 1), ""},
		{"TCP", strings.Replace(proxy4, "21 12", "21 11", 1), ""},
		{"version 1", strings.Replace(proxy4, "21 12", "11 12", 1), ""},
		{"longer than the payload", strings.Replace(proxy4, "000c", "00ff", 1), ""},
		{"shorter than the addresses", strings.Replace(proxy4, "000c", "000b", 1), ""},
		{"another signature", strings.Replace(proxy4, "51", "52", 1), ""},
		{"a game's", "56ec" + strings.Repeat("a7", 60), ""},
	}
	for _, tt := range tests {
		b := append(unhex(tt.in), "payload"...)
		if tt.name == "cut" {
			b = b[:len(b)-len("payload")]
		}
		h, ok := ParseProxyHeader(b)
		got := ""
		if ok {
			got = h.Client.String()
		}
		if got != tt.client {
			t.Errorf("%s\ngot  %q\nwant %q", tt.name, got, tt.client)
		}
		if ok && string(b[h.Len:]) != "payload" {
			t.Errorf("%s: a header of %d bytes", tt.name, h.Len)
		}
	}
}

// FuzzParseProxyHeader: a header lies in the payload, its addresses in the header, and a datagram with
// it has the client as an end.
func FuzzParseProxyHeader(f *testing.F) {
	for _, s := range []string{simple4, simple6, proxy4, proxy6, tlvs4} {
		f.Add(append(unhex(s), "\xff\xff\xff\xffTSource Engine Query\x00"...))
	}
	peer, server := netip.MustParseAddrPort("192.0.2.9:5000"), netip.MustParseAddrPort("198.18.0.1:27015")
	f.Fuzz(func(t *testing.T, b []byte) {
		h, ok := ParseProxyHeader(b)
		if !ok {
			return
		}
		if h.Len < proxyHeadLen || h.Len > len(b) || !h.Client.IsValid() || h.Client.Port() == 0 {
			t.Fatalf("%+v of %d bytes", h, len(b))
		}
		client, proxy, tlvs := h.ProxyAddresses(b)
		ip, _ := netip.AddrFromSlice(client)
		if ip.Unmap() != h.Client.Addr() || len(proxy) != len(client) || len(tlvs) > h.Len {
			t.Fatalf("addresses % x, % x of %+v", client, proxy, h)
		}
		var ways Ways
		p := Packet{Src: server, Dst: peer, Payload: b, Wire: len(b) + 1, Proto: ProtoUDP, Outer: &ways}
		if !p.EnterProxy(h.Client, true, h.Len) || p.Dst != h.Client || p.Src != server || p.Wire != len(p.Payload)+1 ||
			!bytes.Equal(p.Payload, b[h.Len:]) || p.Ways()[0] != (Way{Kind: WayProxy, Src: server, Dst: peer}) {
			t.Fatalf("%+v", p)
		}
	})
}
