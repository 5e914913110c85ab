package pipeline

import (
	"net/netip"
	"testing"
	"time"

	"qsniff/capture/packet"
)

// echoStep is a datagram that is a request by its bytes, or a reply.
type echoStep struct {
	from, to string
	payload  string
	after    time.Duration // since the step before
	times    int           // 0: once; each from another port of the sender
	isReply  bool
	isEcho   bool
}

// TestEchoes: what comes back within echoWindow and begins with the bytes of the open request is an echo.
func TestEchoes(t *testing.T) {
	const client, other, server = "198.51.100.1:4000", "198.51.100.2:4000", "192.0.2.1:28785"
	const info = "\xff\xff\xff\xffTSource Engine Query\x00"
	ask := echoStep{from: client, to: server, payload: info}
	back := echoStep{from: server, to: client, payload: info}
	echo := back
	echo.isEcho = true
	late, atLast := back, echo
	late.after, atLast.after = echoWindow+1, echoWindow
	askLate, otherAsk, otherEcho := ask, ask, echo
	otherAsk.from, otherEcho.to = other, other
	otherBack := otherEcho
	otherBack.isEcho = false
	askLate.after = echoWindow + 1
	longer, shorter, unlike := echo, back, back
	longer.payload, shorter.payload, unlike.payload = info+"server", info[:len(info)-1], "\xff\xff\xff\xffUSource Engine Query\x00"
	elsewhere := back
	elsewhere.to = other
	answer := echoStep{from: server, to: client, payload: "\xff\xff\xff\xffI", isReply: true}
	quiet, nearlyQuiet := ask, ask
	quiet.times, nearlyQuiet.times = quietAfter, quietAfter-1
	for _, tt := range []struct {
		name  string
		steps []echoStep
	}{
		{"all of it comes back", []echoStep{ask, echo}},
		{"once for each request", []echoStep{ask, echo, back}},
		{"more after it", []echoStep{ask, longer}},
		{"less than it", []echoStep{ask, shorter}},
		{"other bytes", []echoStep{ask, unlike}},
		{"to another address", []echoStep{ask, elsewhere}},
		{"at the end of the window", []echoStep{ask, atLast}},
		{"after the window", []echoStep{ask, late}},
		{"the server answered", []echoStep{ask, answer, back}},
		{"it answered earlier", []echoStep{ask, answer, ask, back}},
		{"it answered, and asks", []echoStep{ask, answer, back, otherAsk, otherBack}},
		{"the answer of another", []echoStep{ask, {from: other, to: client, isReply: true}, echo}},
		{"both ask each other", []echoStep{back, {from: client, to: server, payload: info, isEcho: true}}},
		{"many were not sent back", []echoStep{nearlyQuiet, ask, askLate, back, otherAsk, otherEcho}},
		{"fewer were not sent back", []echoStep{nearlyQuiet, ask, echo}},
		{"a quiet server that others ask", []echoStep{quiet, ask, {from: other, to: client, payload: info}, ask, back}},
		{"an echo, and many more", []echoStep{ask, echo, nearlyQuiet, ask, echo}},
	} {
		e, now, age := &echoes{index: -1}, new(current), int64(time.Hour)
		for i, step := range tt.steps {
			age += int64(step.after)
			for n := range max(step.times, 1) {
				now.index++
				src := netip.MustParseAddrPort(step.from)
				it := &item{Packet: packet.Packet{Src: netip.AddrPortFrom(src.Addr(), src.Port()+uint16(n)), Dst: netip.MustParseAddrPort(step.to),
					Payload: []byte(step.payload), Wire: len(step.payload)}, moment: moment{frame: uint64(now.index), age: age}, weight: 1}
				it.setPartition()
				if step.isReply {
					e.close(it)
				} else if got := e.take(now, it); got != step.isEcho || e.take(now, it) != got {
					t.Errorf("%s, step %d: echo\ngot  %t\nwant %t", tt.name, i+1, got, step.isEcho)
				}
			}
		}
		if e.pairs.n.Replies > 0 || e.pairs.n.Requests != requestsOf(tt.steps) {
			t.Errorf("%s: pairing has %+v", tt.name, e.pairs.n)
		}
	}
}

// requestsOf counts the requests that are no echo.
func requestsOf(steps []echoStep) (n uint64) {
	for _, step := range steps {
		if !step.isReply && !step.isEcho {
			n += uint64(max(step.times, 1))
		}
	}
	return n
}
