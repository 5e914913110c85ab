package pipeline

import (
	"encoding/binary"
	"net/netip"
	"strings"
	"testing"

	"qsniff/capture/packet"
	"qsniff/internal/test/protos"
)

const (
	challengeReply = "\xff\xff\xff\xffA\xa1\xb2\xc3\xd4"
	proxyHead      = "\r\n\r\n\x00\r\nQUIT\n\x21\x12\x00\x0c"
	v4In6          = "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff"
	forwarded      = "\xc6\x33\x64\x3c" // 198.51.100.60
	front          = "\xcb\x00\x71\x01"
	proxyPorts     = "\x9c\x41\x69\x87"
	v2Header       = proxyHead + forwarded + front + proxyPorts
	simpleHeader   = "\x56\xec" + v4In6 + forwarded + v4In6 + front + proxyPorts
)

var (
	proxyClient = netip.MustParseAddrPort("198.51.100.60:40001")
	proxyEnd    = netip.MustParseAddrPort("192.0.2.99:50000")
	proxyServer = netip.MustParseAddrPort("203.0.113.60:27015")
)

// proxyStep is a datagram at a time, and whether the client must take the proxy's place in it.
type proxyStep struct {
	at      int64 // in milliseconds
	isReply bool
	payload string
	want    bool
}

// TestProxies: a header is believed once the server showed that it reads headers, and not before.
func TestProxies(t *testing.T) {
	const query = infoQuery
	otherClient := strings.Replace(simpleHeader, forwarded, "\xc6\x33\x64\x3d", 1)
	tests := []struct {
		name  string
		steps []proxyStep
	}{
		{"Spectrum", []proxyStep{
			{0, false, simpleHeader + query, false},
			{20, true, simpleHeader + challengeReply, true},
			{40, false, simpleHeader + query, true},
			{41, false, simpleHeader + "\x01\x02\x03", true}, // whatever it is
			{42, false, query, false},
			{43, false, simpleHeader + query, true},
		}},
		{"Spectrum, the reply is for another client", []proxyStep{
			{0, false, simpleHeader + query, false},
			{20, true, otherClient + challengeReply, false},
			{40, false, simpleHeader + query, false},
		}},
		{"Spectrum's header towards a server that answers without", []proxyStep{
			{0, false, query, false},
			{1, false, simpleHeader + query, false},
			{20, true, challengeReply, false},
			{2000, false, simpleHeader + query, false},
			{2020, true, challengeReply, false},
			{2040, false, simpleHeader + query, false},
		}},
		{"an echo", []proxyStep{
			{0, false, simpleHeader + query, false},
			{20, true, simpleHeader + query, false},
			{40, false, simpleHeader + query, false},
		}},
		{"a server that nobody asked", []proxyStep{
			{0, true, simpleHeader + challengeReply, false},
			{20, true, simpleHeader + challengeReply, false},
		}},
		{"no message in it", []proxyStep{
			{0, false, simpleHeader + "\x01\x02\x03\x04\x05", false},
			{20, true, simpleHeader + challengeReply, false},
			{40, false, simpleHeader + query, false},
		}},
		{"PROXY", []proxyStep{
			{0, false, v2Header + query, false},
			{20, true, challengeReply, false},
			{3500, false, v2Header + query, false},
			{3520, true, challengeReply, false}, // proves it; whose it is was not noted
			{3600, false, v2Header + query, true},
			{3620, true, challengeReply, true},
		}},
		{"PROXY, the reply is to a request without header", []proxyStep{
			{0, false, query, false},
			{1, false, v2Header + query, false},
			{20, true, challengeReply, false},
			{3500, false, v2Header + query, false},
			{4500, false, query, false},
			{4501, false, v2Header + query, false},
			{4520, true, challengeReply, false},
			{4600, false, v2Header + query, false},
		}},
		{"PROXY, replies to two requests without header, from a server that takes four seconds", []proxyStep{
			{0, false, v2Header + query, false},
			{100, false, query, false},
			{110, false, query, false},
			{1000, false, v2Header + query, false},
			{4100, true, challengeReply, false},
			{4110, true, challengeReply, false},
			{4200, false, v2Header + query, false},
		}},
		{"PROXY, after a request without header that was lost", []proxyStep{
			{0, false, v2Header + query, false},
			{100, false, query, false},
			{31_000, false, v2Header + query, false},
			{31_020, true, challengeReply, false},
			{31_100, false, v2Header + query, true},
		}},
		{"PROXY, taken back", []proxyStep{
			{0, false, v2Header + query, false},
			{3500, true, challengeReply, false},
			{3600, false, v2Header + query, true},
			{3700, false, query, false},
			{3710, false, v2Header + query, false},
			{3720, true, challengeReply, false},
			{3730, false, v2Header + query, false},
		}},
		{"PROXY, no reply but game packets", []proxyStep{
			{0, false, v2Header + query, false},
			{3500, true, "\x01\x00\x00\x00abcdef", false},
			{3600, false, v2Header + query, false},
		}},
	}
	reg := protos.Registry(t)
	for _, tt := range tests {
		x := newProxies(reg)
		for i, s := range tt.steps {
			p := packet.Packet{Src: proxyEnd, Dst: proxyServer, Payload: []byte(s.payload), Wire: len(s.payload), Proto: packet.ProtoUDP}
			if s.isReply {
				p.Src, p.Dst = p.Dst, p.Src
			}
			got := false
			if x.mayMatter(p.Payload) {
				_, got = x.unwrap(&p, moment{age: s.at * 1e6}, nil)
			}
			if got != s.want || got != (p.Src == proxyClient || p.Dst == proxyClient) {
				t.Errorf("%s, step %d: got %v, %s > %s; want %v", tt.name, i, got, p.Src, p.Dst, s.want)
			}
		}
	}
}

// TestProxiesStayBelieved: headers of many forged senders, in bounded tables, do not evict a proxy that
// is believed, and nothing is allocated for any of them.
func TestProxiesStayBelieved(t *testing.T) {
	x := newProxies(protos.Registry(t))
	send := func(from netip.AddrPort, to netip.AddrPort, s string) bool {
		p := packet.Packet{Src: from, Dst: to, Payload: []byte(s), Wire: len(s)}
		_, ok := x.unwrap(&p, moment{}, nil)
		return ok
	}
	const request, reply = simpleHeader + infoQuery, simpleHeader + challengeReply
	send(proxyEnd, proxyServer, request)
	send(proxyServer, proxyEnd, reply)
	request2 := []byte(request)
	for i := range 3 * maxProxyPairs {
		var a [4]byte
		binary.BigEndian.PutUint32(a[:], 0x0a000000+uint32(i))
		send(netip.AddrPortFrom(netip.AddrFrom4(a), 9), proxyServer, request)
	}
	if !send(proxyEnd, proxyServer, request) {
		t.Error("a proxy is not believed any more")
	}
	if x.candidates.Len() > maxProxyPairs || x.proven.Len() != 1 {
		t.Errorf("%d candidates, %d proven", x.candidates.Len(), x.proven.Len())
	}
	if n := testing.AllocsPerRun(100, func() {
		p := packet.Packet{Src: proxyEnd, Dst: proxyServer, Payload: request2, Wire: len(request2)}
		if _, ok := x.unwrap(&p, moment{}, nil); !ok {
			t.Error("not believed")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
