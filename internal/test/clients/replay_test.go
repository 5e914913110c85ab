package clients

import (
	"bufio"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/responder"
)

// replayed runs qsniff replay on a capture while use runs, with the address where it listens.
func replayed(t *testing.T, qsniff, capture string, use func(netip.AddrPort)) {
	t.Helper()
	cmd := exec.Command(qsniff, "replay", "-v", capture)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		use(netip.MustParseAddrPort(strings.TrimSpace(line)))
		err = cmd.Process.Signal(os.Interrupt)
	}
	if waitErr := cmd.Wait(); err != nil || waitErr != nil {
		t.Errorf("qsniff replay: %v, %v\n%s", err, waitErr, &stderr)
	}
	if t.Failed() {
		t.Log(stderr.String())
	}
	if strings.Contains(stderr.String(), password) {
		t.Error("the password is printed")
	}
}

// changing is what clients print that differs each time: how long it took.
var changing = regexp.MustCompile(`<ping>\d+</ping>|"ping":\d+|<retries>\d+</retries>`)

// withoutPlace returns what a client printed about the server at a place, but for the place
// and for times.
func withoutPlace(out []byte, at netip.AddrPort) string {
	s := strings.ReplaceAll(changing.ReplaceAllString(string(out), ""), at.String(), "ADDRESS")
	return regexp.MustCompile(`("queryPort":)`+hostPort(at)[1]).ReplaceAllString(s, "${1}PORT")
}

// TestReplay: clients get from qsniff replay what they got from the server that was recorded.
func TestReplay(t *testing.T) {
	source := a2s(t, "a2s/css-2007", "split/source-players-58", "split/source-old-compressed-three-parts")
	tests := []struct {
		name, kind, protocol string // of quakestat and of gamedig; empty: not asked
		server               func([]byte) [][]byte
	}{
		{"Source", "-a2s", "valve", a2s(t, "a2s/full-poll", "a2s/full-poll", "split/source-six-parts")},
		{"Source of 2007, compressed rules in three parts", "", "valve", source},
		{"The Ship", "", "valve", a2s(t, "a2s/the-ship", "a2s/the-ship", "a2s/rules")},
		{"GoldSource", "-hla2s", "", a2s(t, "goldsource/info-cstrike", "a2s/players-54-bytes", "split/goldsource-full-size-parts")},
		{"GoldSource, asked in words", "-hls", "goldsrc", words(t, "goldsource/text-requests", detailsWords...)},
		{"All-Seeing Eye", "-eye", "ase", words(t, "ase/mta-full-large", "s")},
		{"All-Seeing Eye, two fragments", "-eye", "", words(t, "ase/fragments", "s")},
	}
	needCapture(t)
	quakestat, node, npm, qsniff := program(t, "quakestat"), program(t, "node"), modules(t, "gamedig"), binary.Path(t)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ask := func(at netip.AddrPort) (out string) {
				if test.kind != "" {
					out = withoutPlace(output(t, quakestat, "-xml", "-utf8", "-P", "-R", "-noportoffset", test.kind, at.String()), at)
				}
				if test.protocol != "" {
					out += withoutPlace(output(t, node, append([]string{"gamedig.mjs", npm, test.protocol}, hostPort(at)...)...), at)
				}
				return out
			}
			server := listen(t, test.server)
			var want string
			capture := record(t, func() { want = ask(server.Addr()) }, server)
			replayed(t, qsniff, capture, func(at netip.AddrPort) {
				if diff := cmp.Diff(want, ask(at)); diff != "" {
					t.Errorf("server -, replay +\n%s", diff)
				}
			})
		})
	}
}

// TestReplayMaster: the pages of a list, each of which is asked for with the last address of
// the one before.
func TestReplayMaster(t *testing.T) {
	needCapture(t)
	quakestat, qsniff := program(t, "quakestat"), binary.Path(t)
	pages := twoPages(t)
	ask := func(at netip.AddrPort) string {
		file := filepath.Join(t.TempDir(), "list")
		output(t, quakestat, "-stm,outfile", at.String()+","+file)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	server := listen(t, pages.Answer)
	var want string
	capture := record(t, func() { want = ask(server.Addr()) }, server)
	replayed(t, qsniff, capture, func(at netip.AddrPort) {
		if diff := cmp.Diff(want, ask(at)); diff != "" || strings.Count(want, "\n") != 233 {
			t.Errorf("%d servers; server -, replay +\n%s", strings.Count(want, "\n"), diff)
		}
	})
}

// TestReplayRcon: login, commands and end probes, with ids that the client chooses anew.
func TestReplayRcon(t *testing.T) {
	needCapture(t)
	node, npm, qsniff := program(t, "node"), modules(t, "rcon-client"), binary.Path(t)
	bodies := map[string][]string{"status": {"hostname: x\nplayers : 2 (16 max)\n"}, "cvarlist": {"cvar list\n", "sv_gravity : 800\n", "2 total convars\n"}}
	ask := func(at netip.AddrPort, password string, commands ...string) (p rconPrinted) {
		args := append([]string{"rcon.mjs", npm}, hostPort(at)...)
		parse(t, output(t, node, append(append(args, password), commands...)...), &p)
		return p
	}
	for _, isTerse := range []bool{false, true} {
		rcon := &responder.RCON{Password: password, Bodies: bodies, Terse: isTerse}
		server, err := responder.ListenTCP(rcon.Serve)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		var want rconPrinted
		capture := record(t, func() { want = ask(server.Addr(), password, "status", "cvarlist", "", "quiet") }, server)
		replayed(t, qsniff, capture, func(at netip.AddrPort) {
			if diff := cmp.Diff(want, ask(at, password, "status", "cvarlist", "", "quiet")); diff != "" {
				t.Errorf("server -, replay +\n%s", diff)
			}
			other := ask(at, password, "quiet", "status")
			if diff := cmp.Diff([]string{want.Answers[3], want.Answers[0]}, other.Answers); diff != "" || len(other.Packets) == 0 {
				t.Errorf("in another order: server -, replay +\n%s", diff)
			}
			if p := ask(at, "SecretNotOfTheServer"); p.Error == "" {
				t.Error("another password is accepted")
			}
		})
	}
}
