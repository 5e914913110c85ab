package replay

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"qsniff/internal/test/hextest"
	"qsniff/internal/test/protos"
)

var (
	stranger = netip.MustParseAddrPort("203.0.113.9:27005")
	other    = netip.MustParseAddrPort("203.0.113.10:27005")
)

// TestChallenge: of a server that demanded one, the challenge is fresh for each address and
// run, and nothing but it opens the way to the reply.
func TestChallenge(t *testing.T) {
	reg := protos.Registry(t)
	b := collect(t, reg, "../../../pcapfiles/a2s/full-poll.pcap")[0]
	s := NewServer(reg, b)
	plain := hextest.Bytes(t, `ffffffff 55 ffffffff`)
	challenge := func(s *Server, from netip.AddrPort) []byte {
		r := s.Answer(from, plain)
		if r.Outcome != Challenged || len(r.Datagrams) != 1 || !bytes.HasPrefix(r.Datagrams[0], []byte("\xff\xff\xff\xffA")) || r.Size() != 9 {
			t.Fatalf("got  %s %x\nwant a challenge", r.Outcome, r.Datagrams)
		}
		return r.Datagrams[0][5:]
	}
	with := func(number []byte) []byte { return append([]byte("\xff\xff\xff\xffU"), number...) }
	mine, theirs := challenge(s, stranger), challenge(s, other)
	if bytes.Equal(mine, theirs) || bytes.Equal(mine, challenge(NewServer(reg, b), stranger)) || !bytes.Equal(mine, challenge(s, stranger)) {
		t.Errorf("challenges %x of one address, %x of another", mine, theirs)
	}
	if r := s.Answer(stranger, with(mine)); r.Outcome != Answered || r.Size() < 20 {
		t.Errorf("its own challenge\ngot  %s, %d bytes\nwant the reply", r.Outcome, r.Size())
	}
	for _, x := range [][]byte{theirs, {0, 0, 0, 0}, {1, 2, 3, 4}} {
		if r := s.Answer(stranger, with(x)); r.Outcome != Challenged || !bytes.Equal(r.Datagrams[0][5:], mine) {
			t.Errorf("challenge %x\ngot  %s %x\nwant the challenge %x", x, r.Outcome, r.Datagrams, mine)
		}
	}
}

// TestNoChallenge: where the server demanded none there is none, and only who is on this
// machine, or proven, gets more than was sent.
func TestNoChallenge(t *testing.T) {
	reg := protos.Registry(t)
	for _, tc := range []struct{ capture, request string }{
		{"a2s/css-2007", `ffffffff 54 "Source Engine Query" 00`},
		{"ase/mta-full", `"s"`},
		{"goldsource/text-requests", `ffffffff "details" 00`},
	} {
		s := NewServer(reg, collect(t, reg, "../../../pcapfiles/"+tc.capture+".pcap")[0])
		request := hextest.Bytes(t, tc.request)
		for _, from := range []netip.AddrPort{client, netip.MustParseAddrPort("[::1]:1")} {
			if r := s.Answer(from, request); r.Outcome != Answered || r.Size() <= len(request) {
				t.Errorf("%s to %s\ngot  %s, %d bytes\nwant the reply", tc.capture, from, r.Outcome, r.Size())
			}
		}
		if r := s.Answer(stranger, request); r.Outcome != TooLarge || len(r.Datagrams) != 0 {
			t.Errorf("%s to %s\ngot  %s, %d bytes\nwant nothing", tc.capture, stranger, r.Outcome, r.Size())
		}
	}
}

// TestPages: a page of a list is the answer to its own request alone.
func TestPages(t *testing.T) {
	reg := protos.Registry(t)
	s := NewServer(reg, collect(t, reg, "../../../pcapfiles/master/list-two-pages.pcap")[0])
	first := s.Answer(client, []byte("1\xff0.0.0.0:0\x00\\appid\\730\x00"))
	for _, r := range []Reply{first, s.Answer(client, []byte("1\xff198.51.100.1:1\x00\x00"))} {
		if r.Outcome == Answered {
			t.Errorf("%d bytes for a page that nobody asked for", r.Size())
		}
	}
}

// TestTorment: the same seed does the same, and each kind of torment what it says.
func TestTorment(t *testing.T) {
	in := [][]byte{[]byte("first"), []byte("second"), []byte("third")}
	apply := func(x Torment, seed uint64) []string {
		var out []string
		for _, b := range x.Apply(rand.New(rand.NewPCG(seed, 0)), in) {
			out = append(out, string(b))
		}
		return out
	}
	if got := apply(Torment{}, 1); !slices.Equal(got, []string{"first", "second", "third"}) {
		t.Errorf("no torment: %q", got)
	}
	if got := apply(Torment{Loss: 1}, 1); len(got) != 0 {
		t.Errorf("all lost: %q", got)
	}
	if got := apply(Torment{Truncate: 2}, 1); !slices.Equal(got, []string{"fi", "se", "th"}) {
		t.Errorf("truncated: %q", got)
	}
	lost, sizes := Torment{Loss: 0.5, Reorder: true}, map[int]bool{}
	for seed := range uint64(50) {
		got := apply(Torment{Reorder: true}, seed)
		if slices.Equal(got, []string{"first", "second", "third"}) || len(got) != 3 {
			t.Errorf("reordered: %q", got)
		}
		if !slices.Equal(apply(lost, seed), apply(lost, seed)) {
			t.Errorf("seed %d loses differently", seed)
		}
		sizes[len(apply(lost, seed))] = true
	}
	if len(sizes) != 4 {
		t.Errorf("numbers of datagrams that are left: %v", sizes)
	}
}

// FuzzAnswer: whatever comes, nothing panics, and who proves nothing gets nothing longer than
// what was sent.
func FuzzAnswer(f *testing.F) {
	reg := protos.Registry(f)
	var servers []*Server
	for _, name := range []string{"a2s/full-poll", "a2s/css-2007", "split/source-six-parts", "goldsource/text-requests", "goldsource/rcon-split", "ase/mta-full", "master/list-two-pages"} {
		b := collect(f, reg, "../../../pcapfiles/"+name+".pcap")[0]
		for k := range b.kinds {
			f.Add([]byte(k.text))
			f.Add([]byte(k.text + "\x01\x02\x03\x04"))
		}
		servers = append(servers, NewServer(reg, b))
	}
	console := NewServer(reg, collect(f, reg, "../../../pcapfiles/rcon/srcds-login-status.pcap")[0])
	f.Fuzz(func(t *testing.T, request []byte) {
		was := bytes.Clone(request)
		for _, s := range servers {
			number := s.numberOf(stranger.Addr())
			r := s.Answer(stranger, request)
			forged := !bytes.Contains(request, []byte{byte(number), byte(number >> 8), byte(number >> 16), byte(number >> 24)})
			if forged && r.Size() > len(request) {
				t.Errorf("%d bytes for %d bytes %q: %s", r.Size(), len(request), request, r.Outcome)
			}
			s.Answer(client, request)
		}
		c := console.NewConn(client)
		if c.Receive(request, func(Reply) {}) && len(c.buf) > 2*maxRequest {
			t.Errorf("%d bytes wait", len(c.buf))
		}
		if !bytes.Equal(was, request) {
			t.Error("the request was changed")
		}
	})
}

// TestNULAtTheEnd: a command is the same with a NUL after it and without. Clients send both.
func TestNULAtTheEnd(t *testing.T) {
	reg := protos.Registry(t)
	s := NewServer(reg, collect(t, reg, "../../../pcapfiles/goldsource/rcon.pcap")[0])
	for _, end := range []string{"\n", "\n\x00"} {
		request := fmt.Sprintf("\xff\xff\xff\xffrcon %d \"open sesame\" status%s", s.numberOf(client.Addr()), end)
		if got := s.Answer(client, []byte(request)); got.Outcome != Answered || len(got.Datagrams) != 1 {
			t.Errorf("%q: %v with %d datagrams, want an answer in one", request, got.Outcome, len(got.Datagrams))
		}
	}
}
