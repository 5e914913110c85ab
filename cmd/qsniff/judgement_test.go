package main

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/sample"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/testpcap"
)

// besieged is a server with challenges, visitors that bring them back, players, and a flood. All of
// it is drawn from a seed.
type besieged struct {
	rng    *rand.Rand
	server netip.AddrPort
	due    sends
	n      int
}

// send is a datagram of a capture.
type send struct {
	nanos    int64
	seq      int
	src, dst netip.AddrPort
	ttl      uint8
	payload  []byte
}

// sends is a heap of datagrams, the earliest first.
type sends []send

func (s sends) Len() int { return len(s) }
func (s sends) Less(i, j int) bool {
	return s[i].nanos < s[j].nanos || s[i].nanos == s[j].nanos && s[i].seq < s[j].seq
}
func (s sends) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s *sends) Push(x any)   { *s = append(*s, x.(send)) }
func (s *sends) Pop() any {
	x := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return x
}

func newBesieged(seed uint64) *besieged {
	return &besieged{rng: rand.New(rand.NewPCG(seed, seed)), server: netip.MustParseAddrPort("198.51.100.17:27015")}
}

const (
	besiegedInfo  = "\xff\xff\xff\xffTSource Engine Query\x00"
	besiegedReply = "\xff\xff\xff\xffI\x11name\x00map\x00folder\x00game\x00\xf0\x00\x03\x10\x00dl\x00\x011.0\x00\x00"
)

func (b *besieged) put(at time.Duration, src, dst netip.AddrPort, ttl uint8, payload string) {
	b.n++
	heap.Push(&b.due, send{testpcap.Start + int64(at), b.n, src, dst, ttl, []byte(payload)})
}

// ask has a source ask for information; the server gives it a challenge.
func (b *besieged) ask(at time.Duration, src netip.AddrPort, ttl uint8) string {
	b.put(at, src, b.server, ttl, besiegedInfo)
	key := string(binary.BigEndian.AppendUint32(nil, uint32(src.Port())<<16^binary.BigEndian.Uint32(src.Addr().AsSlice())))
	b.put(at+200*time.Microsecond, b.server, src, 64, "\xff\xff\xff\xffA"+key)
	return key
}

// visit has a client ask for information, as one that has a server list open does.
func (b *besieged) visit(at time.Duration, src netip.AddrPort) {
	ttl := uint8(48 + src.Addr().AsSlice()[3]%16)
	key := b.ask(at, src, ttl)
	b.put(at+40*time.Millisecond, src, b.server, ttl, besiegedInfo+key)
	b.put(at+40*time.Millisecond+300*time.Microsecond, b.server, src, 64, besiegedReply)
}

// addVisitors adds visitors, so many a second, and players who send and get the game.
func (b *besieged) addVisitors(until time.Duration, rate float64) {
	for at := time.Duration(0); at < until; at += time.Duration(b.rng.ExpFloat64() / rate * float64(time.Second)) {
		b.visit(at, netip.AddrPortFrom(netip.AddrFrom4([4]byte{81, byte(b.rng.IntN(4)), byte(b.rng.IntN(8)), byte(1 + b.rng.IntN(200))}), uint16(1024+b.rng.IntN(60_000))))
	}
	for i := range 4 {
		player := netip.AddrPortFrom(netip.AddrFrom4([4]byte{88, 1, 1, byte(1 + i)}), 27005)
		for at := time.Duration(i) * 7 * time.Millisecond; at < until; at += 250 * time.Millisecond {
			b.put(at, player, b.server, 56, "\x01\x00\x00\x00 what a player does")
			b.put(at+time.Millisecond, b.server, player, 64, "\x02\x00\x00\x00 what the game became")
		}
	}
}

// drawAddress returns any address and port, as forged ones are.
func (b *besieged) drawAddress() netip.AddrPort {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], b.rng.Uint32N(0xdf000000-0x0b000000)+0x0b000000)
	return netip.AddrPortFrom(netip.AddrFrom4(a), uint16(1024+b.rng.IntN(60_000)))
}

// write writes the capture and returns its path.
func (b *besieged) write(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	w, err := testpcap.NewWriter(&out, testpcap.Format{Link: testpcap.LinkRaw, SnapLen: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(b.due); n <= sample.WholeFrames {
		t.Fatalf("%d packets: reports show all of them", n)
	}
	for len(b.due) > 0 {
		s := heap.Pop(&b.due).(send)
		packets, err := testpcap.Datagram{Src: s.src, Dst: s.dst, TTL: s.ttl, ID: uint32(s.seq), Payload: s.payload}.IP(0)
		if err == nil {
			err = w.WritePacket(s.nanos, packets[0])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(t.TempDir(), "siege.pcap")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// sieges are captures of more packets than a report shows one by one, with real clients and a flood.
var sieges = map[string]func(*besieged){
	"forged": func(b *besieged) {
		b.addVisitors(60*time.Second, 8)
		for i := range 20_000 { // most of all that the claims of a smaller detector have room for
			b.ask(30*time.Second+time.Duration(i)*time.Millisecond, b.drawAddress(), 243)
		}
	},
	"one source, and junk": func(b *besieged) {
		b.addVisitors(60*time.Second, 5)
		attacker := netip.MustParseAddrPort("203.0.113.7:4711")
		for i := range 8_000 {
			at := 30*time.Second + time.Duration(i)*2500*time.Microsecond
			b.put(at, attacker, b.server, 51, besiegedInfo)
			b.put(at+200*time.Microsecond, b.server, attacker, 64, "\xff\xff\xff\xffA\x01\x02\x03\x04")
			b.put(at+time.Millisecond, netip.AddrPortFrom(netip.AddrFrom4([4]byte{203, 0, 114, byte(b.rng.IntN(60))}), uint16(2000+b.rng.IntN(9))), b.server, 49, "\xff\xff\xff\xff\x00junk")
		}
	},
}

// TestOneJudgement: whatever command shows the incidents of a capture, they have the same figures and
// sentences, and rules go into one table.
func TestOneJudgement(t *testing.T) {
	t.Parallel()
	for name, build := range sieges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBesieged(7)
			build(b)
			path := b.write(t)
			want := incidentsIn(t, mustOutput(t, "floods", "-o", "json", path))
			if len(want) == 0 {
				t.Fatal("no incident")
			}
			for surface, got := range judgements(t, path) {
				if len(got) != len(want) {
					t.Errorf("%s has %d incidents, floods %d", surface, len(got), len(want))
				}
				for i := range min(len(got), len(want)) {
					if diff := cmp.Diff(onlyKeysOf(want[i], got[i]), got[i]); diff != "" {
						t.Errorf("incident %d: floods -, %s +\n%s", i+1, surface, diff)
					}
				}
			}
			checkTables(t, path)
		})
	}
}

// judged is an incident in JSON.
type judged = map[string]any

// judgements returns the incidents of a capture as commands show them.
func judgements(t *testing.T, path string) map[string][]judged {
	t.Helper()
	all := map[string][]judged{
		"floods --jobs 1": incidentsIn(t, mustOutput(t, "floods", "-o", "json", "--jobs", "1", path)),
		"read":            incidentsIn(t, mustOutput(t, "read", "-o", "json", path)),
	}
	var report struct{ Incidents []judged }
	if err := json.Unmarshal([]byte(mustOutput(t, "report", "-o", "json", path)), &report); err != nil {
		t.Fatal(err)
	}
	all["report"] = report.Incidents
	state, _, _ := readTop(t, path, time.Hour)
	var shown []byte
	for i := range state.Incidents {
		shown = jsonl.AppendIncident(shown, &state.Incidents[i], &tally.Run{}, false)
	}
	all["top"] = incidentsIn(t, string(shown))
	text, isError := mcpOf(t, filepath.Dir(path), 0).call(t, "incidents", mcpArgs{"capture": filepath.Base(path)})
	var answer mcpAnswer
	if err := json.Unmarshal([]byte(text), &answer); err != nil || isError {
		t.Fatal(err, text)
	}
	for _, line := range answer.Items {
		all["mcp"] = append(all["mcp"], incidentsIn(t, string(line))...)
	}
	return all
}

// incidentsIn returns the incidents among lines of JSON as they were at last, by their number.
func incidentsIn(t *testing.T, lines string) (all []judged) {
	t.Helper()
	for line := range bytes.Lines([]byte(lines)) {
		if !bytes.Contains(line, []byte(`"record":"incident"`)) {
			continue
		}
		x := judged{}
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatal(err)
		}
		if x["record"] != "incident" {
			continue
		}
		for _, k := range []string{"event", "time"} { // of the line
			delete(x, k)
		}
		all = slices.DeleteFunc(all, func(y judged) bool { return y["id"] == x["id"] })
		all = append(all, x)
	}
	slices.SortFunc(all, func(x, y judged) int { return int(x["id"].(float64) - y["id"].(float64)) })
	return all
}

// onlyKeysOf returns the members of x that y has, too.
func onlyKeysOf(x, y judged) judged {
	z := judged{}
	for k, v := range x {
		if _, ok := y[k]; ok {
			z[k] = v
		}
	}
	return z
}

// tableName is the name of a table of nft in any text.
var tableName = regexp.MustCompile(`(?:table|chain|set) inet (\w+)`)

// checkTables fails where a command prints another table than that which the undo of all of them
// removes.
func checkTables(t *testing.T, path string) {
	t.Helper()
	page := filepath.Join(t.TempDir(), "page.html")
	mustOutput(t, "report", "-o", page, path)
	html, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for surface, text := range map[string]string{
		"floods":         mustOutput(t, "floods", path),
		"floods -v":      mustOutput(t, "floods", "-v", path),
		"floods -o json": mustOutput(t, "floods", "-o", "json", path),
		"floods -o nft":  mustOutput(t, "floods", "-o", "nft", path),
		"report -o json": mustOutput(t, "report", "-o", "json", path),
		"report":         string(html),
	} {
		names := tableName.FindAllStringSubmatch(text, -1)
		if len(names) == 0 {
			t.Errorf("%s names no table", surface)
		}
		for _, m := range names {
			if m[1] != "qsniff" {
				t.Errorf("%s: table %s: nft delete table inet qsniff leaves it", surface, m[1])
				break
			}
		}
	}
}

// mustOutput returns what qsniff prints.
func mustOutput(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, status := output(t, args...)
	if status != exitOK {
		t.Fatalf("qsniff %v: exit status %d\n%s", args, status, errs)
	}
	return out
}
