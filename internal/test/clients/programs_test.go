package clients

import (
	"bytes"
	"net/netip"
	"path/filepath"
	"testing"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/responder"
)

// answerFunc answers a request.
type answerFunc func(request []byte) [][]byte

// challenging is a server that wants a challenge for every question, and does not mind bytes
// after it.
func challenging(t *testing.T) answerFunc {
	server := responder.A2S{Challenge: challenge, Info: answered(t, "a2s/full-poll", askInfo),
		Players: answered(t, "a2s/full-poll", askPlayers), Rules: answered(t, "a2s/full-poll", askRules)}
	after := append(challenge[:], "\xff\xff\xff\xff"...)
	return func(request []byte) [][]byte {
		if bytes.HasSuffix(request, after) {
			request = request[:len(request)-4]
		}
		return server.Answer(request)
	}
}

// openInfo is server, but gives information without a challenge.
func openInfo(server answerFunc) answerFunc {
	return func(request []byte) [][]byte {
		if bytes.HasPrefix(request, []byte(askInfo)) {
			request = append(bytes.Clone(request), challenge[:]...)
		}
		return server(request)
	}
}

// TestPrograms: a program that asks is recognised by how it asks.
func TestPrograms(t *testing.T) {
	needCapture(t)
	qsniff := binary.Path(t)
	node := func(name string) func(*testing.T, netip.AddrPort) []string {
		return func(t *testing.T, at netip.AddrPort) []string {
			return append([]string{program(t, "node"), "programs.mjs", modules(t, name), name}, hostPort(at)...)
		}
	}
	gamedig := func(protocol string) func(*testing.T, netip.AddrPort) []string {
		return func(t *testing.T, at netip.AddrPort) []string {
			return append([]string{program(t, "node"), "gamedig.mjs", modules(t, "gamedig"), protocol}, hostPort(at)...)
		}
	}
	built := func(name string) func(*testing.T, netip.AddrPort) []string {
		return func(t *testing.T, at netip.AddrPort) []string {
			return []string{program(t, filepath.Join(root, ".clients", "bin", name)), at.String()}
		}
	}
	quakestat := func(kind string) func(*testing.T, netip.AddrPort) []string {
		return func(t *testing.T, at netip.AddrPort) []string {
			return []string{program(t, "quakestat"), "-P", "-R", "-noportoffset", kind, at.String()}
		}
	}
	closed := challenging(t)
	open := openInfo(closed)
	text := answerFunc(words(t, "goldsource/text-requests", detailsWords...))
	const oneSocket = "go-a2s or woozymasta/a2s or a2s-rs"
	for _, tt := range []struct {
		name   string
		server answerFunc
		args   func(*testing.T, netip.AddrPort) []string
		want   string
	}{
		{"gamedig, challenge for all", closed, gamedig("valve"), "gamedig or PHP-Source-Query"},
		{"gamedig, open information", open, gamedig("valve"), "gamedig or PHP-Source-Query"},
		{"gamedig, words", text, gamedig("goldsrc"), "gamedig"},
		{"steam-server-query, challenge for all", closed, node("steam-server-query"), "steam-server-query"},
		{"steam-server-query, open information", open, node("steam-server-query"), "steam-server-query"},
		{"source-server-query, challenge for all", closed, node("source-server-query"), "source-server-query"},
		{"source-server-query, open information", open, node("source-server-query"), "source-server-query"},
		{"valve-server-query, challenge for all", closed, node("@fabricio-191/valve-server-query"), "@fabricio-191/valve-server-query"},
		{"valve-server-query, open information", open, node("@fabricio-191/valve-server-query"), "@fabricio-191/valve-server-query"},
		{"quakestat, challenge for all", closed, quakestat("-a2s"), "quakestat (qstat)"},
		{"quakestat, open information", open, quakestat("-a2s"), "quakestat (qstat)"},
		{"quakestat, words", text, quakestat("-hls"), "quakestat (qstat)"},
		{"go-a2s, challenge for all", closed, built("go-a2s"), oneSocket},
		{"go-a2s, open information", open, built("go-a2s"), oneSocket},
		{"woozymasta, challenge for all", closed, built("woozymasta-a2s"), oneSocket},
		{"woozymasta, open information", open, built("woozymasta-a2s"), oneSocket},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := listen(t, tt.server)
			args := tt.args(t, server.Addr())
			got := ""
			for range attempts {
				capture := record(t, func() { output(t, args[0], args[1:]...) }, server)
				if got = clientName(t, output(t, qsniff, "stats", "-o", "json", capture)); got == tt.want {
					return
				}
				t.Logf("recognised as %s", got)
			}
			t.Errorf("got  %s\nwant %s", got, tt.want)
		})
	}
}

// attempts is how often a program is recorded: on a busy machine its pauses are not its own.
const attempts = 3

// clientName returns the name of the only client in the results of a capture.
func clientName(t *testing.T, object []byte) string {
	t.Helper()
	var stats struct {
		Clients []struct{ Name string }
	}
	parse(t, object, &stats)
	if len(stats.Clients) != 1 {
		t.Fatalf("clients %v, want one", stats.Clients)
	}
	return stats.Clients[0].Name
}
