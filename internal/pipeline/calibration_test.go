package pipeline

import (
	"context"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"qsniff/capture/file"
	"qsniff/dissect"
	"qsniff/internal/render"
	"qsniff/internal/test/protos"
)

// identified is a renderer that counts messages by how sure it is what they are.
type identified struct {
	isTrue      func(e *render.Event) bool
	said, right *[dissect.Certain + 1]int
}

func (x identified) Append(dst []byte, e *render.Event) []byte {
	if e.Msg.Conf == 0 { // parts that could not be joined, which have no type
		return dst
	}
	x.said[e.Msg.Conf]++
	if x.isTrue(e) {
		x.right[e.Msg.Conf]++
	}
	return append(dst, '\n')
}

func (x identified) AppendRecord(dst []byte, _ *render.Record) []byte { return append(dst, '\n') }

// identify counts the messages of the captures that match pattern, and returns how many packets they are in all.
func (x identified) identify(t *testing.T, pattern string) (packets uint64) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no captures match %s (error: %v)", pattern, err)
	}
	for _, name := range names {
		src, err := file.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		run, err := Run(context.Background(), Config{Source: src, Registry: protos.Registry(t), Out: discard{}, Renderer: x, Jobs: 1})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		src.Close()
		packets += run.Packets
	}
	return packets
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

// TestCalibration counts how often maybe, likely and certain are true of messages, on captures of which it is known
// what they are. QSNIFF_CORPUS adds recorded packets.
func TestCalibration(t *testing.T) {
	var said, right [dissect.Certain + 1]int
	for group, protocols := range map[string]string{"a2s": "a2s goldsource", "goldsource": "a2s goldsource", // servers of both answer in both
		"master": "master a2s", // and clients ask the servers of a list
		"ase":    "ase", "rcon": "rcon"} {
		all := strings.Fields(protocols)
		isTrue := func(e *render.Event) bool { return slices.Contains(all, e.Msg.Proto.Name) }
		identified{isTrue, &said, &right}.identify(t, "../../pcapfiles/"+group+"/*.pcap")
	}
	asked := netip.MustParseAddrPort("198.18.0.138:27015") // with a request as it is, and answered with a misprint
	isAsked := func(e *render.Event) bool { return e.Dst == asked }
	others := identified{isAsked, &said, &right}.identify(t, "../../pcapfiles/lookalike/*.pcap")
	if others < 150 {
		t.Errorf("only %d packets of other protocols", others)
	}
	checkWords(t, "captures of this repository", &said, &right, 800, 900)
	dir := os.Getenv("QSNIFF_CORPUS")
	if dir == "" {
		return
	}
	said, right = [dissect.Certain + 1]int{}, [dissect.Certain + 1]int{}
	identified{recordedTruth(t, dir), &said, &right}.identify(t, filepath.Join(dir, "corpus.pcap"))
	for name, isEngine := range map[string]bool{"derived-l7filter-counterstrike.pcap": true, "ndpi-source_engine.pcap": true,
		"ndpi-steam.pcapng": false, "zeek-rdpeudp-handshake-success.pcap": false} {
		isTrue := func(*render.Event) bool { return isEngine }
		identified{isTrue, &said, &right}.identify(t, filepath.Join(dir, "pcaps", name))
	}
	checkWords(t, "recorded packets", &said, &right, 232, 126)
}

// checkWords fails where one message was not what it was called, or fewer than the least were called so: docs/confidence.md
// has these numbers. Of what only may be a message none is shown.
func checkWords(t *testing.T, where string, said, right *[dissect.Certain + 1]int, certain, likely int) {
	t.Helper()
	if *said != *right || said[dissect.Certain] < certain || said[dissect.Likely] < likely || said[dissect.Maybe] > 0 {
		t.Errorf("%s, none, maybe, likely, certain: %v, and true %v; want all true, at least %d likely and %d certain, none maybe",
			where, *said, *right, likely, certain)
	}
}

// recordedTruth returns what reports whether a message is of the protocol that the record of its server has.
func recordedTruth(t *testing.T, dir string) func(e *render.Event) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var records []struct {
		Server, Protocol string
		Messages         []struct{ Protocol string }
	}
	if err := json.Unmarshal(text, &records); err != nil {
		t.Fatal(err)
	}
	of := map[netip.Addr]map[string]bool{}
	for _, r := range records {
		end := netip.MustParseAddrPort(r.Server)
		if of[end.Addr()] == nil {
			of[end.Addr()] = map[string]bool{}
		}
		of[end.Addr()][r.Protocol] = true
		for _, m := range r.Messages {
			of[end.Addr()][m.Protocol] = true
		}
	}
	return func(e *render.Event) bool {
		p := e.Msg.Proto.Name
		return of[e.Src.Addr()][p] || of[e.Dst.Addr()][p]
	}
}
