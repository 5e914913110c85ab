package pipeline

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/render"
	"qsniff/internal/render/jsonl"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
)

// log is a watcher that writes down what it is told.
type log struct {
	run   tally.Run
	lines []string
	ticks int
	over  bool
	lost  uint64
	seen  []track.Sighting
}

var whats = [track.NumPacketTypes]string{"other", "request", "reply", "challenge", "part", "junk", "unreachable",
	"opened", "agreed", "acked", "login", "welcome", "rejected", "fragment", "control", "carried"}

var flagNames = []struct {
	flag track.SightFlags
	name string
}{{track.Cut, "cut"}, {track.Weak, "weak"}, {track.First, "first"}, {track.Connection, "tcp"}, {track.Joined, "joined"}, {track.Familiar, "familiar"}}

func (l *log) Sight(s *track.Sighting) {
	if l.over {
		l.lines = append(l.lines, "after the end:")
	}
	l.seen = append(l.seen, *s)
	line := fmt.Sprintf("%d %s %v > %v", s.Frame, whats[s.What], netip.AddrPortFrom(s.Src.Addr(), s.SrcPort), netip.AddrPortFrom(s.Dst.Addr(), s.DstPort))
	if s.Type != nil {
		line += " " + s.Type.Name
	}
	if s.Flags&track.HasKey != 0 || s.What >= track.IsOpened && s.What <= track.IsAcked {
		line += fmt.Sprintf(" key %x", s.Key)
	}
	if s.What >= track.IsFragment {
		line += fmt.Sprintf(" %d", s.Detail)
	}
	for _, f := range flagNames {
		if s.Flags&f.flag != 0 {
			line += " " + f.name
		}
	}
	l.lines = append(l.lines, line)
}

// watchSeed is the seed of the hashes that a log gets.
const watchSeed = 7

// AddListed writes down those servers that the captures of tests list, which it knows by their hashes.
func (l *log) AddListed(s *track.Sighting, servers []uint64) {
	line := fmt.Sprintf("%d lists", s.Frame)
	for _, hash := range servers {
		for _, name := range []string{"198.18.0.5:27015", "198.18.0.6:27016"} {
			if track.EndOf(netip.MustParseAddrPort(name)).Hash(watchSeed) == hash {
				line += " " + name
			}
		}
	}
	l.lines = append(l.lines, line)
}

func (l *log) Tick(age, nanos int64) { l.ticks++ }
func (l *log) Lost(packets uint64)   { l.lost += packets }
func (l *log) End(age, nanos int64)  { l.over = true }

// sourced makes a capture of its source in the language of testpcap.
func sourced(t testing.TB, text string) []byte {
	t.Helper()
	c, err := testpcap.Parse("test", []byte("# test\n@ client 10.64.0.1:40001\n@ server 198.18.0.1:27015\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c.WritePcap(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// watchRun shows a capture to a watcher.
func watchRun(t testing.TB, data []byte, jobs int, r render.Renderer) *log {
	t.Helper()
	l := &log{}
	var err error
	if l.run, err = Run(context.Background(), Config{Source: open(t, data), Registry: protos.Registry(t), Renderer: r, Out: io.Discard,
		Jobs: jobs, Watchers: []track.Watcher{l}, Seed: watchSeed}); err != nil {
		t.Fatal(err)
	}
	if !l.over {
		t.Error("the watcher was not told of the end")
	}
	return l
}

var update = flag.Bool("update", false, "rewrite the files of testdata")

// TestSightsOfCaptures: what is seen in each capture, in testdata/sights.txt: how many packets of each kind, and a hash of all
// sightings and of the counters of the run. The outputs of commands show few of these. -update writes the file; a capture
// that it does not have yet is not compared.
func TestSightsOfCaptures(t *testing.T) {
	const largest = 30_000 // bytes: longer ones repeat what shorter ones have
	names, err := filepath.Glob("../../pcapfiles/*/*.pcap")
	if err != nil || len(names) < 100 {
		t.Fatalf("%d captures, %v", len(names), err)
	}
	text, err := os.ReadFile("testdata/sights.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(line, ":")
		want[name] = line
	}
	var all strings.Builder
	compared := 0
	for _, path := range names {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		group := filepath.Base(filepath.Dir(path))
		name := group + "/" + strings.TrimSuffix(filepath.Base(path), ".pcap")
		if len(data) > largest || group == "vantages" || group == "stories" || want[name] == "" && !*update {
			continue
		}
		l, sum, counts := &log{}, fnv.New64a(), map[string]int{}
		l.run, err = Run(t.Context(), Config{Source: open(t, data), Registry: protos.Registry(t), Jobs: 1, Watchers: []track.Watcher{l}, Seed: watchSeed})
		fmt.Fprintln(sum, err, l.lines, l.lost, l.ticks)
		fmt.Fprintf(sum, "%+v\n", l.run)
		for i := range l.seen {
			counts[whats[l.seen[i].What]]++
		}
		got := name + ":"
		for _, what := range slices.Sorted(maps.Keys(counts)) {
			got += fmt.Sprintf(" %s %d,", what, counts[what])
		}
		got += fmt.Sprintf(" #%x\n", sum.Sum64())
		if all.WriteString(got); *update {
			continue
		}
		if compared++; got != want[name] {
			t.Errorf("\ngot  %swant %s", got, want[name])
		}
	}
	if *update {
		if err := os.WriteFile("testdata/sights.txt", []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if compared < 300 {
		t.Errorf("only %d captures were compared", compared)
	}
}

const (
	infoAsked = "FF FF FF FF 54 \"Source Engine Query\\0\""
	eyeReply  = `"EYE1\x07bf1942\x0614567\x07Desert\x09conquest\x0bel alamein\x041.6\x020\x0380\x0364\x01"`
	c2s       = "10.64.0.1:40001 > 198.18.0.1:27015"
	s2c       = "198.18.0.1:27015 > 10.64.0.1:40001"
)

// TestSightings: what is seen of each kind of packet.
func TestSightings(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"a request", "> " + infoAsked, []string{"1 request " + c2s + " A2S_INFO"}},
		{"with a challenge", "> " + infoAsked + " 01 02 03 04", []string{"1 request " + c2s + " A2S_INFO key 4030201"}},
		{"that asks for one", "> FF FF FF FF 55 FF FF FF FF", []string{"1 request " + c2s + " A2S_PLAYER"}},
		{"with zeros for one", "> FF FF FF FF 56 00 00 00 00", []string{"1 request " + c2s + " A2S_RULES"}},
		{"a challenge", "< FF FF FF FF 41 01 02 03 04", []string{"1 challenge " + s2c + " S2C_CHALLENGE key 4030201"}},
		{"a reply", "< FF FF FF FF 45 00 00", []string{"1 reply " + s2c + " S2A_RULES"}},
		{"parts", "@ split source id=7 size=20\n< FF FF FF FF 45 01 00 \"name\\0value of more than one part\\0\"",
			[]string{"1 part " + s2c + " first", "2 part " + s2c}},
		{"parts of GoldSource", "@ split goldsource id=7 size=20\n< FF FF FF FF 45 01 00 \"name\\0value of more than one part\\0\"",
			[]string{"1 part " + s2c + " first", "2 part " + s2c}},
		{"junk", "> FF FF FF FF \"~~~ what is this\"", []string{"1 junk " + c2s}},
		{"junk that begins like a join", "> FF FF FF FF \"connect what\"", []string{"1 junk " + c2s + " familiar"}},
		{"nothing after the header", "> FF FF FF FF", []string{"1 other " + c2s}},
		{"the game", "> 01 00 00 80 01 00 00 80 02 A4 81", []string{"1 other " + c2s}},
		{"one byte", "> \"s\"", []string{"1 request " + c2s + " ASE_QUERY weak"}},
		{"one byte beside the game", "> 01 00 00 80\n> \"s\"", []string{"1 other " + c2s, "2 other " + c2s}},
		{"one byte beside another protocol", "> " + infoAsked + "\n> \"s\"", []string{"1 request " + c2s + " A2S_INFO", "2 other " + c2s}},
		{"one byte beside the game, to a server that speaks it", "> 01 00 00 80\n< " + eyeReply + "\n> \"s\"",
			[]string{"1 other " + c2s, "2 reply " + s2c + " EYE1", "3 request " + c2s + " ASE_QUERY weak"}},
		{"one byte beside the game, to one that speaks another protocol", "> 01 00 00 80\n< FF FF FF FF 45 00 00\n> \"s\"",
			[]string{"1 other " + c2s, "2 reply " + s2c + " S2A_RULES", "3 other " + c2s}},
		{"one byte beside the game, at a port of the protocol", "@ server 198.18.0.1:22126\n> 01 00 00 80\n> \"s\"",
			[]string{"1 other 10.64.0.1:40001 > 198.18.0.1:22126", "2 request 10.64.0.1:40001 > 198.18.0.1:22126 ASE_QUERY"}},
		{"cut in the challenge", "@ snaplen 69\n> " + infoAsked + " 01 02 03 04", []string{"1 request " + c2s + " A2S_INFO cut"}},
		{"cut in the text", "@ snaplen 60\n> " + infoAsked + " 01 02 03 04", []string{"1 request " + c2s + " A2S_INFO cut"}},
		{"IPv6", "@ client [2001:db8::7]:40001\n@ server [2001:db8::1]:27015\n> " + infoAsked + " 01 02 03 04",
			[]string{"1 request [2001:db8::7]:40001 > [2001:db8::1]:27015 A2S_INFO key 4030201"}},
		{"fragments of IP", "@ mtu 576\n@ split source id=7 size=1200\n< FF FF FF FF 45 01 00 \"name\\0\" \"v\"*1500 00",
			[]string{"1 fragment " + s2c + " 17 first", "2 fragment 198.18.0.1:0 > 10.64.0.1:0 17", "3 fragment 198.18.0.1:0 > 10.64.0.1:0 17",
				"3 part " + s2c + " first joined", "4 part " + s2c}},
		{"a fragment alone", "@ mtu 576\n@ fragments 1\n> 00*1000", []string{"1 fragment 10.64.0.1:0 > 198.18.0.1:0 17"}},
		{"a ping", "! 020000000002 020000000001 0800 45 00 00 1c 00 00 00 00 40 01 00 00 0a 40 00 01 c6 12 00 01 08 00 f7 fd 00 01 00 01",
			[]string{"1 control 10.64.0.1:0 > 198.18.0.1:0 8"}},
		{"ESP", "! 020000000002 020000000001 0800 45 00 00 1c 00 00 00 00 40 32 00 00 0a 40 00 01 c6 12 00 01 00 00 00 01 00 00 00 01",
			[]string{"1 carried 10.64.0.1:0 > 198.18.0.1:0 50"}},
		{"an impossible UDP length", "! 020000000002 020000000001 0800 45 00 00 1c 00 00 00 00 40 11 00 00 0a 40 00 01 c6 12 00 01 9c 41 69 87 00 07 00 00",
			[]string{"1 carried 10.64.0.1:0 > 198.18.0.1:0 17"}},
		{"a request in a GRE tunnel", "@ tunnel gre 0 192.0.2.1 192.0.2.2\n> " + infoAsked,
			[]string{"1 request " + c2s + " A2S_INFO", "1 carried 192.0.2.1:0 > 192.0.2.2:0 47"}},
		{"ICMP about a reply", "@ icmp 3 3\n< FF FF FF FF 45 00 00",
			[]string{"1 reply " + s2c + " S2A_RULES", "2 unreachable " + s2c}},
		{"ICMP about a request", "@ icmp 3 3\n> " + infoAsked,
			[]string{"1 request " + c2s + " A2S_INFO", "2 unreachable " + c2s}},
		{"a list of servers", "@ server 198.18.9.9:27011\n< FF FF FF FF 66 0A C6 12 00 05 69 87 C6 12 00 06 69 88 00 00 00 00 00 00",
			[]string{"1 reply 198.18.9.9:27011 > 10.64.0.1:40001 M2A_SERVER_BATCH", "1 lists 198.18.0.5:27015 198.18.0.6:27016"}},
		{"a list that is cut", "@ server 198.18.9.9:27011\n@ snaplen 58\n< FF FF FF FF 66 0A C6 12 00 05 69 87 C6 12 00 06 69 88",
			[]string{"1 reply 198.18.9.9:27011 > 10.64.0.1:40001 M2A_SERVER_BATCH cut", "1 lists 198.18.0.5:27015"}},
		{"a list in a tunnel", "@ server 198.18.9.9:27011\n@ tunnel gre 5 192.0.2.1 192.0.2.2\n< FF FF FF FF 66 0A C6 12 00 05 69 87",
			[]string{"1 reply 198.18.9.9:27011 > 10.64.0.1:40001 M2A_SERVER_BATCH", "1 lists 198.18.0.5:27015", "1 carried 192.0.2.2:0 > 192.0.2.1:0 47"}},
		{"the same twice", "@ step 1ms\n> " + infoAsked + "\n> " + infoAsked, []string{"1 request " + c2s + " A2S_INFO", "2 request " + c2s + " A2S_INFO"}},
	}
	for _, tt := range tests {
		got := watchRun(t, sourced(t, tt.in+"\n"), 1, nil).lines
		if diff := cmp.Diff(got, tt.want); diff != "" {
			t.Errorf("%s: got -, want +\n%s", tt.name, diff)
		}
	}
}

// TestSightingsOfConnections: handshakes, and logins with the right and the wrong
// password.
func TestSightingsOfConnections(t *testing.T) {
	login := func(password string) string {
		return fmt.Sprintf("> %02x 00 00 00 07 00 00 00 03 00 00 00 %q 00 00\n", len(password)+10, password)
	}
	const accepted = "< 0A 00 00 00 07 00 00 00 02 00 00 00 00 00\n"
	const refused = "< 0A 00 00 00 FF FF FF FF 02 00 00 00 00 00\n"
	const shake = "@ transport tcp\n@ isn client=0x100 server=0x200\n@ open handshake\n"
	handshake := []string{"1 opened " + c2s + " key 100 tcp", "2 agreed " + s2c + " key 200 tcp", "3 acked " + c2s + " key 200 tcp"}
	tests := []struct {
		name, in string
		want     []string // after the handshake
	}{
		{"a handshake", "", nil},
		{"reset", "@ close rst server\n", []string{"4 other " + s2c + " tcp"}},
		{"the right password", login("secret") + accepted, []string{
			"4 acked " + c2s + " key 200 tcp", "4 login " + c2s + " SERVERDATA_AUTH tcp", "5 acked " + s2c + " key 114 tcp",
			"6 acked " + s2c + " key 114 tcp", "6 welcome " + s2c + " SERVERDATA_AUTH_RESPONSE tcp", "7 acked " + c2s + " key 20e tcp"}},
		{"the wrong one", login("guess!") + refused, []string{
			"4 acked " + c2s + " key 200 tcp", "4 login " + c2s + " SERVERDATA_AUTH tcp", "5 acked " + s2c + " key 114 tcp",
			"6 acked " + s2c + " key 114 tcp", "6 rejected " + s2c + " SERVERDATA_AUTH_RESPONSE tcp", "7 acked " + c2s + " key 20e tcp"}},
	}
	for _, tt := range tests {
		got := watchRun(t, sourced(t, shake+tt.in), 1, nil).lines
		if diff := cmp.Diff(got, append(slices.Clone(handshake), tt.want...)); diff != "" {
			t.Errorf("%s: got -, want +\n%s", tt.name, diff)
		}
	}
	secrets := map[string]uint32{}
	for _, password := range []string{"secret", "guess!", "secret"} {
		for _, s := range watchRun(t, sourced(t, shake+login(password)), 1, nil).seen {
			if s.What != track.IsLogin {
				continue
			}
			if before, ok := secrets[password]; ok && before != s.Secret {
				t.Errorf("%q is %x and %x", password, before, s.Secret)
			}
			secrets[password] = s.Secret
		}
	}
	if len(secrets) != 2 || secrets["secret"] == secrets["guess!"] {
		t.Errorf("passwords cannot be told apart: %x", secrets)
	}
}

// TestSizes: bytes of the payload, and of the packets with their headers.
func TestSizes(t *testing.T) {
	tests := []struct {
		name, in    string
		bytes, wire uint32
		ttl         uint8
	}{
		{"IPv4", "@ ttl 57\n> " + infoAsked, 25, 25 + 8 + 20, 57},
		{"IPv6", "@ client [2001:db8::7]:1\n@ server [2001:db8::1]:2\n> " + infoAsked, 25, 25 + 8 + 40, 64},
		{"cut", "@ snaplen 60\n> " + infoAsked, 25, 25 + 8 + 20, 64},
		{"fragments", "@ mtu 576\n> FF FF FF FF 54 \"Source Engine Query\\0\" 00*975", 1000, 1000 + 8 + 2*20, 64},
	}
	for _, tt := range tests {
		seen := watchRun(t, sourced(t, tt.in+"\n"), 1, nil).seen
		s := seen[len(seen)-1] // of fragments, what they are joined to
		if s.Bytes != tt.bytes || s.Wire != tt.wire || s.TTL != tt.ttl {
			t.Errorf("%s:\ngot  %d bytes, %d on the wire, TTL %d\nwant %d, %d, %d", tt.name, s.Bytes, s.Wire, s.TTL, tt.bytes, tt.wire, tt.ttl)
		}
	}
}

// TestWireSizes: bytes of the packets that no message is made of, with IP's header.
func TestWireSizes(t *testing.T) {
	tests := []struct {
		name, in string
		want     []uint32
	}{
		{"fragments", "@ mtu 576\n> 00*1000", []uint32{572, 20 + 1008 - 552, 1008 + 2*20}},
		{"a SYN with an option of four bytes", "@ transport tcp\n@ open syn", []uint32{44}},
		{"GRE", "@ tunnel gre 0 192.0.2.1 192.0.2.2\n> " + infoAsked, []uint32{25 + 8 + 20, 25 + 8 + 20 + 24}},
		{"ICMP about a request", "@ icmp 3 3\n> " + infoAsked, []uint32{25 + 8 + 20, 20 + 8 + 25 + 8 + 20}},
	}
	for _, tt := range tests {
		var got []uint32
		for _, s := range watchRun(t, sourced(t, tt.in+"\n"), 1, nil).seen {
			got = append(got, s.Wire)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s:\ngot  %d\nwant %d", tt.name, got, tt.want)
		}
	}
}

// TestPrints: packets of one tool have one print, whatever challenge they bring.
func TestPrints(t *testing.T) {
	seen := watchRun(t, sourced(t, "> "+infoAsked+" 01 02 03 04\n> "+infoAsked+" 05 06 07 08\n> "+infoAsked+"\n> FF FF FF FF 55 01 02 03 04\n"), 1, nil).seen
	if seen[0].Print != seen[1].Print || seen[1].Print == seen[3].Print {
		t.Errorf("prints %x %x %x %x", seen[0].Print, seen[1].Print, seen[2].Print, seen[3].Print)
	}
}

// TestSightingsAndMessages: the sightings are the same and in the same order for any
// number of goroutines, and whether messages are made besides or not.
func TestSightingsAndMessages(t *testing.T) {
	data := mixed(t, 2)
	want := watchRun(t, data, 1, nil)
	if len(want.lines) < 2000 || want.ticks == 0 {
		t.Fatalf("%d sightings, %d ticks", len(want.lines), want.ticks)
	}
	kinds := map[string]bool{}
	for _, line := range want.lines {
		kinds[strings.Fields(line)[1]] = true
	}
	for _, w := range whats {
		if !kinds[w] {
			t.Errorf("no %s is among the sightings", w)
		}
	}
	for _, jobs := range someJobs() {
		for _, r := range []render.Renderer{nil, jsonl.New(jsonl.Options{})} {
			got := watchRun(t, data, jobs, r)
			if diff := cmp.Diff(got.lines, want.lines); diff != "" {
				t.Errorf("%d jobs, rendered %v: got -, want +\n%.3000s", jobs, r != nil, diff)
			}
			if !slices.Equal(got.seen, want.seen) || got.ticks != want.ticks || got.lost != want.lost {
				t.Errorf("%d jobs, rendered %v: %d ticks, %d lost, want %d, %d", jobs, r != nil, got.ticks, got.lost, want.ticks, want.lost)
			}
		}
	}
}

// TestLoginsAtTheEnd: what comes out of several connections at one tick, or at the
// end, is in the same order for any number of goroutines.
func TestLoginsAtTheEnd(t *testing.T) {
	var b strings.Builder
	b.WriteString("@ transport tcp\n@ acks off\n")
	for i := range 24 {
		fmt.Fprintf(&b, "@ client 10.64.1.%d:40001\n@ open handshake\n", i+1)
		b.WriteString("> 10 00 00 00 07 00 00 00 03 00 00 00 \"secret\" 00 00\n@ seek +14\n< 0A 00 00 00 07 00 00 00 02 00 00 00 00 00\n")
	}
	data := sourced(t, b.String())
	want := watchRun(t, data, 1, nil)
	if n := strings.Count(strings.Join(want.lines, "\n"), "welcome"); n != 24 {
		t.Fatalf("%d logins accepted:\n%s", n, strings.Join(want.lines, "\n"))
	}
	for _, jobs := range []int{2, 4, 16} {
		if diff := cmp.Diff(watchRun(t, data, jobs, nil).lines, want.lines); diff != "" {
			t.Errorf("%d jobs: got -, want +\n%.2000s", jobs, diff)
		}
	}
}

// TestWatchAllocations: to watch costs no allocations once memory has grown.
func TestWatchAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	batches := prepare(t, mixed(t, 1, unsteady...))
	cfg := &Config{Registry: protos.Registry(t), Watchers: []track.Watcher{&log{}}}
	parts, seg := make([]*partition, Partitions), new(segment)
	for i := range parts {
		parts[i] = newPartition(i, cfg, 1)
	}
	for range 10 { // memory of connections is taken by need
		workOff(parts, batches, seg)
	}
	if n := testing.AllocsPerRun(10, func() { workOff(parts, batches, seg) }); n != 0 {
		t.Errorf("%v allocations in a pass over %d batches", n, len(batches))
	}
}

// TestSightingsAsTold: what -d says holds for watchers, too.
func TestSightingsAsTold(t *testing.T) {
	reg := protos.Registry(t)
	data := sourced(t, "@ server 198.18.0.1:9999\n> \"s\"\n")
	l := &log{}
	if _, err := Run(context.Background(), Config{Source: open(t, data), Registry: reg, Out: io.Discard, Jobs: 1,
		DecodeAs: []DecodeAs{{Port: 9999, Proto: protocol(t, reg, "ase")}}, Watchers: []track.Watcher{l}}); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 request 10.64.0.1:40001 > 198.18.0.1:9999 ASE_QUERY"}
	if diff := cmp.Diff(l.lines, want); diff != "" {
		t.Errorf("got -, want +\n%s", diff)
	}
}
