package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/keep"
	"qsniff/dissect"
	"qsniff/dissect/protocols"
	"qsniff/internal/app/anonymize"
	"qsniff/internal/base/digits"
	"qsniff/reassembly/split"
)

// otherwise are the captures that decode otherwise when they are anonymised, and why. Of them the
// messages are compared as wholes.
var otherwise = map[string]string{
	"goldsource/rcon-repeated":        "the password is repeated in another spelling, which another word does not have",
	"goldsource/rcon-snaplen":         "the capture cuts the word that a password follows",
	"a2s/rules-parts-missing":         "likewise, at the border of a missing part",
	"rcon/secret-forms":               "likewise",
	"goldsource/rcon-halved":          "names and passwords lie across two texts, which are replaced one by one",
	"rcon/password-halved":            "likewise",
	"hostile/rcon-lengths":            "names of passwords that are cut",
	"hostile/split-room-from-own-set": "parts that nobody can read",
	"ase/light-name-wraps":            "the name is longer than its length says, and read as other fields",
	"split/conflicting-part":          "a part that came twice is written once",
	"split/duplicate-part":            "likewise",
	"goldsource/rcon-split-rewritten": "likewise",
}

// unlike are the captures of which other messages come out, and why.
var unlike = map[string]string{
	"rcon/impossible-size":                   "a segment that begins no message is left out, and those after it have other numbers",
	"rcon/banned-with-text":                  "a text before the answer to a login is overwritten whole, and with it that it says a ban",
	"split/source-old-compressed-randomised": "a block that nothing reads is overwritten, and then broken",
	"hostile/bzip2-changed-on-path":          "what changed on the path is packed again, so that only the header is wrong",
	"net/sflow":                              "the headers in samples are overwritten with all that is around them",
}

// TestAnonymize: an anonymised capture decodes to the same structure, and holds none of the
// addresses, the texts that identify somebody and the passwords.
func TestAnonymize(t *testing.T) {
	identifying := map[string]bool{}
	for _, d := range protocols.All() {
		for _, d := range d.Proto().Defs {
			identifying[d.Name] = d.Flags&dissect.Identifying != 0 && d.Kind == dissect.Text
		}
	}
	hidden := anonymize.New([]byte("test"))
	someCaptures(t, func(t *testing.T, _ int, name string) {
		out := filepath.Join(t.TempDir(), "out.pcapng")
		if _, errs, status := output(t, "anonymize", smallTables, "--key", "test", name, out); status != exitOK {
			t.Fatal(errs)
		}
		before, _, _ := output(t, "read", smallTables, "-o", "json", "--layout", name)
		after, _, _ := output(t, "read", smallTables, "-o", "json", "--layout", out)
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		want := readStructure(t, before)
		base := strings.TrimSuffix(filepath.Base(filepath.Dir(name))+"/"+filepath.Base(name), ".pcap")
		got := readStructure(t, after)
		if diff := cmp.Diff(want.messages, got.messages); diff != "" && otherwise[base] == "" && unlike[base] == "" {
			t.Errorf("before -, after +\n%s", diff)
		}
		if diff := cmp.Diff(want.wholes, got.wholes); diff != "" && unlike[base] == "" {
			t.Errorf("before -, after +\n%s", diff)
		}
		images := map[netip.Addr]bool{}
		for ip := range want.addrs {
			images[hidden.Addr(ip)] = true
		}
		for ip := range want.addrs {
			if images[ip] || hidden.Addr(ip) == ip { // another address became this one; or it is nobody's
				continue
			}
			for _, form := range [][]byte{ip.AsSlice(), []byte(ip.String())} {
				if len(form) >= 4 && bytes.Contains(b, form) {
					t.Errorf("%s is in it", ip)
				}
			}
		}
		for _, x := range want.fields {
			inOther := func(y field) bool { return !identifying[y.name] && strings.Contains(y.value, x.value) }
			if otherwise[base] == "" && identifying[x.name] && len(x.value) >= 4 && !slices.ContainsFunc(want.fields, inOther) && strings.ContainsFunc(x.value, isASCIILetter) && bytes.Contains(b, []byte(x.value)) {
				t.Errorf("%s: %q is in it", x.name, x.value)
			}
		}
		for _, word := range secretWords {
			if bytes.Contains(b, []byte(word)) {
				t.Errorf("%q is in it", word)
			}
		}
	}, "goldsource", "ase", "rcon")
}

func isASCIILetter(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' }

// structure is what stays of messages if they are anonymised, and what does not.
type structure struct {
	messages []string
	// wholes are the messages in any order, where texts with passwords in them and unread parts are
	// fields of one piece, without findings about parts that came twice.
	wholes []string
	fields []field
	addrs  map[netip.Addr]bool
}

type field struct{ name, value string }

// readStructure reads the structure of messages in JSON. Numbers of packets become places in
// the list: packets that are no message's are not written.
func readStructure(t *testing.T, lines string) (s structure) {
	t.Helper()
	s.addrs = map[netip.Addr]bool{}
	places := map[uint64]int{}
	for line := range strings.Lines(lines) {
		var m struct {
			Record, Protocol, Message, Direction, Status, Src, Dst string
			Frame                                                  uint64
			Length                                                 int
			Exchange                                               struct {
				ID      uint64
				Request uint64 `json:"request_frame"`
			}
			Findings []struct{ ID string }
			Layout   []struct {
				Name           string
				Offset, Length int
				Value          any
			}
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		if m.Record != "" && m.Record != "reply" {
			continue
		}
		if places[m.Frame] == 0 {
			places[m.Frame] = len(places) + 1
		}
		text := fmt.Sprint(m.Record, m.Protocol, m.Message, m.Direction, m.Status, m.Length, places[m.Exchange.ID], places[m.Exchange.Request])
		var ids, ofWhole []string
		for _, x := range m.Findings {
			ids = append(ids, x.ID)
			if x.ID != split.DuplicatePart.ID && x.ID != split.ConflictingPart.ID {
				ofWhole = append(ofWhole, x.ID)
			}
		}
		slices.Sort(ids)
		slices.Sort(ofWhole)
		whole, last := text, ""
		for _, x := range m.Layout {
			text += fmt.Sprint(" ", x.Name, x.Offset, x.Length)
			if name := textOf(x.Name); name != last {
				whole += fmt.Sprint(" ", name, x.Offset)
				last = name
			}
			s.fields = append(s.fields, field{x.Name, fmt.Sprint(x.Value)})
		}
		s.messages = append(s.messages, fmt.Sprint(text, ids))
		s.wholes = append(s.wholes, fmt.Sprint(whole, ofWhole))
		for _, end := range []string{m.Src, m.Dst} {
			if a, err := netip.ParseAddrPort(end); err == nil {
				s.addrs[a.Addr()] = true
			}
		}
	}
	slices.Sort(s.wholes)
	return s
}

// textOf returns the name of the text that a field is a piece of, or its own.
func textOf(name string) string {
	if name == dissect.HiddenPart.Name {
		return dissect.Part.Name
	}
	if _, d := findDef(name); d != nil && d.PartOf != nil {
		return d.PartOf.Name
	}
	return name
}

// TestForce: a file that is there is overwritten with --force only.
func TestForce(t *testing.T) {
	for _, force := range []bool{false, true} {
		if got := (&keepOptions{write: "a", force: force}).options().Replace; got != force {
			t.Errorf("--force %t: overwritten: %t", force, got)
		}
	}
}

// TestIncidentLimits: the start and the help say how much --on-incident writes, unless a
// flag of the ring says otherwise.
func TestIncidentLimits(t *testing.T) {
	for _, tc := range []struct {
		name    string
		o       keepOptions
		limited bool
	}{
		{"no limit given", keepOptions{write: "a", onIncident: 5}, true},
		{"--ring-files 0", keepOptions{write: "a", onIncident: 5, isBounded: true}, false},
		{"--ring-size", keepOptions{write: "a", onIncident: 5, isBounded: true, ringSize: 1 << 20}, false},
	} {
		if told := strings.Contains(tc.o.options().Describe(), digits.Bytes(keep.MostOfIncident)+" at most"); told != tc.limited {
			t.Errorf("%s: the start says %q", tc.name, tc.o.options().Describe())
		}
	}
	if long := newLive(streams{}).Long; !strings.Contains(strings.ReplaceAll(long, "\n", " "), "Of an incident 128 MiB are written, and the 16 newest files") ||
		keep.MostOfIncident != 128<<20 || keep.MostOfIncidents != 16 {
		t.Error("the help says other limits")
	}
}

// TestCompressedName: who wants a compressed file is told how to get one.
func TestCompressedName(t *testing.T) {
	for _, args := range [][]string{{"read", "-w", "few.pcap.zst", "in.pcap"}, {"anonymize", "in.pcap", "few.pcap.zst"}} {
		if _, errs, status := output(t, args...); status != exitUsage || !strings.Contains(errs, "| zstd > few.pcap.zst\n") {
			t.Errorf("%q: status %d: %s", args, status, errs)
		}
	}
}
