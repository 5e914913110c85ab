package clients

import (
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/npm"
)

// The cable between the servers and the programs that ask them.
var (
	serverEnd = netns.End{Name: "server0", IP: "198.18.0.1"}
	clientEnd = netns.End{Name: "client0", IP: "198.18.0.2"}
)

// asked is a server of its own for one program, so that its traffic can be told from
// that of the others.
type asked struct {
	name   string
	answer func([]byte) [][]byte
	args   func(server netip.AddrPort) []string                // the program's
	view   func(t *testing.T, out []byte, seen *seenLive) view // of what the program printed

	requests, answers atomic.Int64 // datagrams, and what each was answered with
	out               []byte
}

// seenLive is what qsniff saw of a server.
type seenLive struct {
	view
	info *message
}

// TestLive watches a network while the programs ask servers over it: each exchange
// is told once and as the program printed it, whichever way packets are captured.
func TestLive(t *testing.T) {
	here, there := netns.NewCable(t, serverEnd, clientEnd)
	servers := append(askedByQuakestat(t), askedByGamedig(t)...)
	if len(servers) == 0 {
		t.Skip("neither quakestat nor gamedig is installed (make clients)")
	}
	qsniff := binary.Path(t)
	sniffers := map[string]*sniffer{}
	for _, backend := range backends(t, qsniff) {
		sniffers[backend] = sniff(t, here, qsniff, "-i", serverEnd.Name, "--backend", backend)
	}
	for i, s := range servers {
		here.Serve(t, s.addr(i).String(), s.count)
		s.out = outputIn(t, there, s.args(s.addr(i))...)
	}
	for backend, s := range sniffers {
		all := s.end(t)
		for i, server := range servers {
			t.Run(backend+", "+server.name, func(t *testing.T) { server.check(t, ofServer(all, server.addr(i))) })
		}
	}
}

// addr is where the server number i listens.
func (s *asked) addr(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr(serverEnd.IP), uint16(27100+i))
}

func (s *asked) count(request []byte) [][]byte {
	s.requests.Add(1)
	answer := s.answer(request)
	if answer != nil {
		s.answers.Add(1)
	}
	return answer
}

// ofServer are the messages from and to a server.
func ofServer(all []*message, server netip.AddrPort) (own []*message) {
	for _, m := range all {
		if m.Src == server.String() || m.Dst == server.String() {
			own = append(own, m)
		}
	}
	return own
}

// check holds the messages of the server against what passed and what was printed.
func (s *asked) check(t *testing.T, all []*message) {
	var seen seenLive
	seen.view, seen.info = read(t, all)
	if diff := cmp.Diff(s.view(t, s.out, &seen), seen.view); diff != "" {
		t.Errorf("the program -, qsniff +\n%s", diff)
	}
	requests, replies := int64(0), int64(0)
	once := map[string]bool{}
	for _, m := range all {
		if m.Direction == "request" {
			requests++
			continue
		}
		replies++
		if m.Exchange == nil {
			t.Errorf("%s answers nothing", m.Message)
			continue
		}
		key := fmt.Sprint(m.Exchange.ID, " ", m.Message)
		if once[key] {
			t.Errorf("exchange, message twice: %s", key)
		}
		once[key] = true
	}
	if requests != s.requests.Load() || replies != s.answers.Load() {
		t.Errorf("requests and replies\ngot  %d and %d\nwant %d and %d", requests, replies, s.requests.Load(), s.answers.Load())
	}
}

// askedByQuakestat are servers for quakestat; none where it is not installed.
func askedByQuakestat(t *testing.T) (all []*asked) {
	path, err := exec.LookPath("quakestat")
	if err != nil {
		return nil
	}
	for _, s := range []struct {
		name, kind string
		answer     func([]byte) [][]byte
	}{
		{"Source", "-a2s", a2s(t, "a2s/full-poll", "split/source-players-58", "split/source-six-parts")},
		{"GoldSource", "-hla2s", a2s(t, "goldsource/info-cstrike", "a2s/players-54-bytes", "goldsource/rules-93")},
		{"GoldSource in words", "-hls", words(t, "goldsource/text-requests", detailsWords...)},
		{"All-Seeing Eye", "-eye", words(t, "ase/mta-full-large", "s")},
	} {
		all = append(all, &asked{name: "quakestat, " + s.name, answer: s.answer,
			args: func(at netip.AddrPort) []string {
				return []string{path, "-xml", "-utf8", "-P", "-R", "-noportoffset", s.kind, at.String()}
			},
			view: func(t *testing.T, out []byte, seen *seenLive) view {
				return quakestatView(t, out, seen.view, seen.info)
			},
		})
	}
	return all
}

// askedByGamedig are servers for gamedig; none where it is not installed.
func askedByGamedig(t *testing.T) (all []*asked) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil
	}
	npm, ok := npm.Find("gamedig")
	if !ok {
		return nil
	}
	for _, s := range []struct {
		name, kind string
		answer     func([]byte) [][]byte
	}{
		{"Source", "valve", a2s(t, "a2s/css-2007", "a2s/css-2007", "split/source-old-compressed-80-rules")},
		{"All-Seeing Eye", "ase", words(t, "ase/farcry-full", "s")},
	} {
		all = append(all, &asked{name: "gamedig, " + s.name, answer: s.answer,
			args: func(at netip.AddrPort) []string {
				return append([]string{node, "gamedig.mjs", npm, s.kind}, hostPort(at)...)
			},
			view: func(t *testing.T, out []byte, seen *seenLive) view {
				sortRules(seen.Rules)
				return gamedigView(t, out, seen.info)
			},
		})
	}
	return all
}

// backends are the ways of capturing that the program was built with.
func backends(t *testing.T, qsniff string) []string {
	t.Helper()
	for line := range strings.Lines(string(output(t, qsniff, "version"))) {
		if list, ok := strings.CutPrefix(line, "live: "); ok {
			return strings.Split(strings.TrimSpace(list), ", ")
		}
	}
	t.Fatal("qsniff version names no ways of capturing")
	return nil
}
