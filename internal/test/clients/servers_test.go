package clients

import (
	"bytes"
	"net"
	"path/filepath"
	"testing"

	"qsniff/internal/test/responder"
	"qsniff/internal/test/testpcap"
)

// answered returns the datagrams that follow the last request with this prefix in a
// golden capture: one reply, or the parts of one.
func answered(t *testing.T, capture, request string) [][]byte {
	t.Helper()
	c, err := testpcap.ReadFile(filepath.Join(root, "pcapfiles", filepath.FromSlash(capture)+".hex"))
	if err != nil {
		t.Fatal(err)
	}
	client := c.Whole[0].Src
	var out [][]byte
	asked := false
	for _, d := range c.Whole {
		switch {
		case d.Src != client:
			if asked {
				out = append(out, d.Payload)
			}
		case bytes.HasPrefix(d.Payload, []byte(request)):
			asked, out = true, nil
		default:
			asked = false
		}
	}
	if out == nil {
		t.Fatalf("%s has no answer to %q", capture, request)
	}
	return out
}

// challenge is that of the golden captures: 584425803.
var challenge = [4]byte{0x4b, 0xa1, 0xd5, 0x22}

// Requests, as far as they are the same with and without a challenge.
const (
	askInfo    = "\xff\xff\xff\xffT"
	askPlayers = "\xff\xff\xff\xffU"
	askRules   = "\xff\xff\xff\xffV"
)

// a2s is a server that answers with the replies of three golden captures.
func a2s(t *testing.T, info, players, rules string) func([]byte) [][]byte {
	t.Helper()
	server := &responder.A2S{
		Challenge: challenge,
		Info:      answered(t, info, askInfo),
		Players:   answered(t, players, askPlayers),
		Rules:     answered(t, rules, askRules),
	}
	return server.Answer
}

// words is a server that answers text requests as one golden capture does.
func words(t *testing.T, capture string, requests ...string) func([]byte) [][]byte {
	t.Helper()
	server := make(responder.Words)
	for _, r := range requests {
		server[r] = answered(t, capture, r)
	}
	return server.Answer
}

// detailsWords are the requests that GoldSource servers take as text.
var detailsWords = []string{"\xff\xff\xff\xffdetails", "\xff\xff\xff\xffplayers", "\xff\xff\xff\xffrules"}

// listen starts a UDP server for the time of the test.
func listen(t *testing.T, answer func([]byte) [][]byte) *responder.Server {
	t.Helper()
	s, err := responder.ListenUDP(answer)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// send sends one datagram to s.
func send(t *testing.T, s *responder.Server, payload string) {
	t.Helper()
	conn, err := net.Dial("udp4", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(payload)); err != nil {
		t.Fatal(err)
	}
}
