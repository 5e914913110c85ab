package main

import (
	"bytes"
	"encoding/binary"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"qsniff/dissect/finding"
	"qsniff/dissect/protocols"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	traffic "qsniff/internal/test/forms"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track/stats"
)

// TestSchemaOutputs: what commands write of every capture is as the schema says, and whatever it declares they write somewhere.
func TestSchemaOutputs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute; TestSchemaGoldens has the messages")
	}
	x := newCheckedSchema(t)
	check := func(t *testing.T, args ...string) {
		t.Helper()
		out, errs, status := output(t, args...)
		if status != exitOK && status != exitFailOnReached && status != exitFailed {
			t.Errorf("%v: status %d: %s", args, status, errs)
		}
		x.check(t, strings.Join(args, " "), out)
	}
	t.Run("captures", func(t *testing.T) {
		eachCapture(t, func(t *testing.T, _ int, name string) {
			for _, args := range schemaCommands {
				check(t, append(args, "-o", "json", smallTables, name)...)
			}
		})
	})
	t.Run("others", func(t *testing.T) { checkOtherOutputs(t, check) })
	t.Run("scripts", func(t *testing.T) { testscript.RunT(scriptT{t}, scriptParams()) })
	all := x.properties()
	for place := range all {
		if !x.seen[place] && !isRare(place) {
			t.Errorf("%s is declared, and nothing writes it", place)
		}
	}
	for _, r := range rareProperties {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(place string) bool { return r.places.MatchString(place) && !x.seen[place] }) {
			t.Errorf("%s stands among those that nothing writes (%s), and none of them is declared and not written", r.places, r.why)
		}
	}
}

// schemaCommands write records of a capture.
var schemaCommands = [][]string{{"read", "--layout"}, {"exchanges"}, {"findings"}, {"follow", "--layout"}, {"stats", "--interval", "1s"}, {"floods", "--explain"}, {"floods", "--limits", "rehlds"},
	{"proven"}, {"polls"}, {"report"}}

// checkOtherOutputs checks what needs more than one capture, or none.
func checkOtherOutputs(t *testing.T, check func(t *testing.T, args ...string)) {
	container := on(testpcap.LinkSLL2, 1, traffic.Container[0], traffic.Container[1], counted)
	b := &base{packets: traffic.Base(40, 0), t: t}
	check(t, "stats", "-o", "json", b.write(t.TempDir(), &arrival{name: "container", files: container})[0])
	floods, err := filepath.Glob(pcapfiles + "/stories/*.pcap")
	if err != nil {
		t.Fatal(err)
	}
	check(t, append([]string{"stats", "-o", "json"}, captures(t)...)...)
	check(t, append([]string{"report", "--anonymize", "-o", "json"}, floods...)...)
	check(t, append([]string{"findings", "-o", "json"}, captures(t)...)...)
	check(t, "follow", "-o", "json", pcapfiles+"/a2s", pcapfiles+"/rcon")
	checkDiffs(t, check)
	check(t, "compare", "-o", "json", "198.18.0.36", "198.18.5.2", pcapfiles+"/a2s/full-poll.pcap", pcapfiles+"/stories/challenge-on-one-server.pcap")
	check(t, "compare", "-o", "json", "198.18.0.36", "198.18.0.182", pcapfiles+"/a2s/full-poll.pcap", pcapfiles+"/a2s/rules-parts-missing.pcap")
	check(t, "vantages", "-o", "json", pcapfiles+"/vantages/near.pcap", pcapfiles+"/vantages/far.pcap")
	check(t, "read", "-o", "json", "--layout", describedCapture(t))
	check(t, "decode", "-o", "json", "--layout", `"s"`)
	for _, name := range []string{"fields", "explain", "version", "interfaces"} {
		check(t, name, "-o", "json")
	}
	check(t, "version", "--limits", "-o", "json")
	check(t, "floods", "--explain", "-o", "json")
	check(t, "fields", "--messages", "-o", "json")
}

// rareProperties are declared and written by nothing here, with the reason.
var rareProperties = []struct {
	places *regexp.Regexp
	why    string
}{
	{regexp.MustCompile(`^stats\.(input|tables|reassembly|unmatched)`), "counters: a test of their list holds that each is counted, others that they count"},
	{regexp.MustCompile(`^extent\.|interrupted`), "after Ctrl-C: TestInterruptedJSON has it"},
	{regexp.MustCompile(`^(incident|finding)\.(thread|event)$`), "of --tell FILE: TestTellSchema has it"},
	{regexp.MustCompile(`^version\.(revision|time)$`), "of programs that are built from git"},
	{regexp.MustCompile(`^(finding\.evicted_pairs|report\.sampled_after|report\.notes\.(full_tables|servers_estimated)|.*\.omitted_messages|report\.timeline\..*\.rest)$`), "of captures that fill tables"},
	{regexp.MustCompile(`^incident\.(challenge_completion|challenged|kind_history\[\]|leaked|target)`), "of floods that no capture is long enough for: the scenarios of package flood have them, render/jsonl writes them in a test"},
	{regexp.MustCompile(`^(a2s|goldsource|rcon)\.(.*_secret|behind|log\.behind)$|body_secret$`), "pieces of texts that a secret begins: tests of their protocols have them"},
	{regexp.MustCompile(`^(incident\.(inside|looks_sampled)|stats\.looks_sampled)$`), "of hosts with NAT, and of captures that are samples: TestRemarksEverywhere has them"},
	{regexp.MustCompile(`^a2s\.info\.tags\.(country|island|open_private|whitelisting)$`), "tags of games: TestTags has them"},
	{regexp.MustCompile(`^fields\.rcon\.`), "of packets whose start is missing: the fuzz target of the protocol has them"},
	{regexp.MustCompile(`^(difference\.(age_ms|same_bytes_frame|usual_ttl|request_frame|changed_more)|summary\.(clock\.drift|to_(server|client)\.size_limit))`), "of long captures, and of answers from in between: tests of package compare have them"},
}

func isRare(place string) bool {
	for _, r := range rareProperties {
		if r.places.MatchString(place) {
			return true
		}
	}
	return false
}

// checkDiffs compares a capture with what could have become of it: some lost, doubled and changed, another address of the server, long ones lost,
// and all cut.
func checkDiffs(t *testing.T, check func(t *testing.T, args ...string)) {
	const name = pcapfiles + "/floods/reflection.pcap"
	const ttl, dst, longest = 14 + 8, 14 + 16, 90 // of IPv4 in Ethernet
	edits := map[string]func(i int, frame []byte) [][]byte{
		"worse": func(i int, frame []byte) [][]byte {
			frame[ttl] -= 3
			switch i % 9 {
			case 0:
				return nil
			case 1:
				return [][]byte{frame, frame}
			case 2, 3:
				frame[len(frame)-1-i%9] ^= 1
			}
			return [][]byte{frame}
		},
		"translated": func(_ int, frame []byte) [][]byte {
			for _, at := range []int{dst - 4, dst} {
				if frame[at] == 198 {
					frame[at+3] ^= 1
				}
			}
			return [][]byte{frame}
		},
		"short": func(_ int, frame []byte) [][]byte {
			if len(frame) > longest {
				return nil
			}
			return [][]byte{frame}
		},
		"cut": func(_ int, frame []byte) [][]byte { return [][]byte{frame[:min(len(frame), longest)]} },
	}
	for _, edit := range edits {
		other := editedCapture(t, name, edit)
		for _, pair := range [][]string{{name, other}, {other, name}} {
			check(t, append([]string{"diff", "-o", "json"}, pair...)...)
			check(t, append([]string{"diff", "-o", "json", "--show-secrets"}, pair...)...)
		}
	}
	const console = pcapfiles + "/net/console-edge.pcap"
	const src6 = 14 + 8
	check(t, "diff", "-o", "json", console, editedCapture(t, console, func(_ int, frame []byte) [][]byte { // the console is 2001:db8:6::1
		for _, at := range []int{src6, src6 + 16} {
			if frame[at+5] == 6 {
				frame[at+15] ^= 2
			}
		}
		return [][]byte{frame}
	}))
	// Too little in common.
	check(t, "diff", "-o", "json", pcapfiles+"/ase/odd-port-unanswered.pcap", pcapfiles+"/ase/full-empty.pcap")
}

// editedCapture writes a capture with the frames that edit makes of those of another one.
func editedCapture(t *testing.T, name string, edit func(i int, frame []byte) [][]byte) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const fileHeader, recordHeader = 24, 16
	out, rest := bytes.Clone(data[:fileHeader]), data[fileHeader:]
	for i := 0; len(rest) > 0; i++ {
		n := recordHeader + int(binary.LittleEndian.Uint32(rest[8:]))
		for _, frame := range edit(i, bytes.Clone(rest[recordHeader:n])) {
			out = binary.LittleEndian.AppendUint32(append(out, rest[:8]...), uint32(len(frame)))
			out = append(append(out, rest[12:recordHeader]...), frame...)
		}
		rest = rest[n:]
	}
	file := filepath.Join(t.TempDir(), "edited.pcap")
	if err := os.WriteFile(file, out, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestTellSchema: what --tell FILE gets is as the schema says.
func TestTellSchema(t *testing.T) {
	x := newCheckedSchema(t)
	reg := protocols.NewRegistry()
	code := listCodes(reg)[0]
	r := &stats.Repeats{Expert: finding.Expert{Code: code, Severity: code.Severity}, First: 1, Last: 2, Frames: []uint64{1, 2}, Count: 2, Server: netip.MustParseAddrPort("198.18.0.1:27015")}
	in := &flood.Incident{ID: 1, Campaign: 1, Kind: flood.FloodSpoofed, Frame: 3, Completion: 0.5, Challenged: 3, Answered: -1, Succeeded: true, Servers: 2,
		Target: flood.Target{Prefix: netip.MustParsePrefix("198.18.0.0/24"), End: netip.MustParseAddrPort("198.18.0.0:27015")}, Targets: []netip.AddrPort{r.Server},
		Leak:    flood.Leak{Replies: 2, Bytes: 3, To: []flood.LeakReceiver{{Addr: r.Server.Addr(), Replies: 1, Bytes: 2}}},
		History: []flood.Change{{Kind: flood.FloodFew, Nanos: 5}}}
	lines := jsonl.AppendFindingEvent(nil, "a-1", flood.Changes, r)
	lines = jsonl.New(jsonl.Options{}).AppendIncident(lines, &render.IncidentEvent{Event: flood.Ends, Thread: "a-2", Nanos: 7, Incident: in})
	if n := x.check(t, "events", string(lines)); n != 2 {
		t.Errorf("%d lines", n)
	}
}
