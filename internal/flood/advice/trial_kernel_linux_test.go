package advice

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"qsniff/internal/flood"
	"qsniff/internal/test/timing"
	"qsniff/internal/track"
)

const insideKernelTest = "QSNIFF_TEST_INSIDE"

// TestKernelAgrees loads the lines in a network namespace of its own, sends packets
// over its loopback, and compares what the kernel counted with what the trial says
// of the same packets. It needs root, nft, iptables and ip.
//
// The kernel has a clock of its own. So that both drop the same packets, however late a
// busy machine sends them, buckets take most of a day to fill: what fits into one passes,
// and no token is added within the test. How fast buckets fill is compared on a quiet
// machine, with some slack.
func TestKernelAgrees(t *testing.T) {
	for _, tool := range []string{"ip", "nft", "iptables-restore", "ip6tables-restore"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rates := []string{slow}
	if os.Getenv("QSNIFF_QUIET") != "" {
		rates = append(rates, asAdvised)
	}
	for _, x := range kernelCases {
		for _, tool := range []string{"nft", "iptables"} {
			for _, rate := range rates {
				t.Run(x.incident+"/"+tool+"/"+rate, func(t *testing.T) {
					t.Parallel()
					cmd := aloneDo(t, self, "-test.run=^TestInside$", "-test.v")
					cmd.Env = append(os.Environ(), insideKernelTest+"="+x.incident+" "+tool+" "+rate)
					out, err := cmd.CombinedOutput()
					if err == nil && strings.Contains(string(out), noIPSet) {
						t.Skip(noIPSet)
					}
					if err != nil || !strings.Contains(string(out), "--- PASS: TestInside") {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		}
	}
}

// noIPSet is why rules of iptables that need sets are skipped.
const noIPSet = "ipset is not installed"

// The rates of TestKernelAgrees.
const (
	slow      = "slow"
	asAdvised = "advised"
)

// kernelCase is packets for the lines of one incident: so many rounds, 10 ms apart where
// rates are as advised, of one packet of each sort from each source; sorts that begin with "<" the
// server sends to it, those that begin with "^" are of the first source alone.
type kernelCase struct {
	incident string
	rounds   int
	sorts    []string
	sources  []string
	// slack is for rates as advised, what the kernel's clock may differ by from the test's, in packets: the
	// time of a packet is taken before it is sent, and 50 ms of sleep in between bring
	// this many tokens. Where tokens come slower, it is one for each bucket.
	slack float64
}

var kernelCases = []kernelCase{
	{"flood_few", 150, []string{"info", "rules", "game"}, []string{"203.0.113.7", "203.0.113.8", "192.0.2.1", "192.0.2.2"}, 3},
	{"flood_few6", 150, []string{"info", "game"}, []string{"2001:db8:9::1", "2001:db8:9::2", "2001:db8:77::5", "2001:db8:9:1::1"}, 2},
	{"flood_few-goldsource", 150, []string{"details", "short", "info", "game"}, []string{"203.0.113.7", "192.0.2.1"}, 2},
	{"flood_spoofed", 150, []string{"info", "infoAgain", "rules", "rulesAgain", "getKey", "short", "game"},
		[]string{"203.0.113.7", "192.0.2.1", "192.0.2.2", "192.0.2.3"}, 15},
	{"flood_distributed-ase", 100, []string{"status", "game"}, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4",
		"192.0.2.5", "192.0.2.6", "192.0.2.7", "192.0.2.8", "192.0.2.9", "192.0.2.10", "192.0.2.11", "192.0.2.12"}, 12},
	{"flood_distributed-ase6", 100, []string{"status", "game"}, []string{"2001:db8:9::1", "2001:db8:9:1::1"}, 2},
	{"reflection", 100, []string{"answer", "game", "part"}, []string{"203.0.113.7", "203.0.113.90", "192.0.2.1", "192.0.2.2"}, 3},
	{"reply_flood_victim", 150, []string{"answer", "part", "info", "game"}, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, 10},
	{"junk_flood", 100, []string{"junk", "familiar", "info", "details", "join", "connect", "answer", "game"}, []string{"192.0.2.1", "192.0.2.2"}, 2},
	{"flood_spoofed-toy", 200, []string{"toy", "toyNone", "toyAgain", "game"}, []string{"192.0.2.1", "192.0.2.2"}, 15},
	{"flood_spoofed-toy6", 200, []string{"toy", "toyNone", "toyAgain", "game"}, []string{"2001:db8:9::1", "2001:db8:9:1::1"}, 15},
	{"flood_few-toy", 100, []string{"toy", "toyAgain", "game"}, []string{"203.0.113.7", "192.0.2.1"}, 2},
	{"reflection-toy", 100, []string{"toyAnswer", "toyToken", "game"}, []string{"203.0.113.7", "192.0.2.1"}, 3},
	{"reply_flood_victim-toy", 150, []string{"toyAnswer", "toyToken", "answer", "game"}, []string{"192.0.2.1", "192.0.2.2"}, 10},
	{"reply_flood_victim-other", 150, []string{"answer", "toyAnswer", "part", "game"}, []string{"192.0.2.1"}, 10},
	{"flood_few-master", 100, []string{"page", "list", "beat", "info"}, []string{"192.0.2.1", "192.0.2.2"}, 2},
	{"flood_spoofed-padded", 100, []string{"info", "infoAgain", "padded", "rules", "game"}, []string{"192.0.2.1", "192.0.2.2"}, 0},
	{"flood_spoofed-guesses", 100, []string{"infoAgain", "<challenge", "info", "rulesAgain", "game"}, []string{"192.0.2.1", "192.0.2.2"}, 0},
	{"flood_spoofed-guesses6", 100, []string{"infoAgain", "<challenge", "info", "game"}, []string{"2001:db8:9::1", "2001:db8:9:1::1"}, 0},
	{"flood_spoofed-rules", 200, []string{"info", "infoAgain", "rules", "rulesAgain", "game"},
		[]string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5"}, 15},
	{"flood_spoofed-gated", 300, []string{"info", "<answer", "rules", "<challenge", "rulesAgain"}, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, 15},
	{"flood_spoofed-gated6", 300, []string{"info", "<answer", "rules", "<challenge", "rulesAgain"},
		[]string{"2001:db8:9::1", "2001:db8:9::2", "2001:db8:9:1::1"}, 15},
	{"flood_spoofed-mixed", 300, []string{"padded", "infoAgain", "rules", "rulesAgain"}, []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}, 15},
	{"challenge_bypass", 100, []string{"rulesAgain", "info", "rules"}, []string{"203.0.113.7", "192.0.2.1", "192.0.2.2"}, 0},
	{"junk_flood-strange", 100, []string{"<challenge", "<answer", "^<part", "strange", "info"}, []string{"192.0.2.1", "192.0.2.2"}, 2},
	{"junk_flood-strange6", 100, []string{"<challenge", "<answer", "^<game", "strange", "info"}, []string{"2001:db8:9::1", "2001:db8:9:1::1"}, 2},
	{"rcon_bruteforce", 12, []string{"opened"}, []string{"203.0.113.7", "192.0.2.1", "192.0.2.2"}, 2},
	{"rcon_bruteforce-udp", 100, []string{"command", "info"}, []string{"192.0.2.1", "192.0.2.2"}, 2},
}

// pktPayloads are the bytes of the packets of the trial's tests.
var pktPayloads = map[string]struct {
	sighting track.Sighting
	bytes    string
}{
	"info":       {pktInfo, "\xff\xff\xff\xffTSource Engine Query\x00"},
	"infoAgain":  {pktInfoAgain, "\xff\xff\xff\xffTSource Engine Query\x00\x07\x00\x00\x00"},
	"rules":      {pktRules, "\xff\xff\xff\xffV\xff\xff\xff\xff"},
	"rulesAgain": {pktRulesAgain, "\xff\xff\xff\xffV\x07\x00\x00\x00"},
	"getKey":     {pktGetKey, "\xff\xff\xff\xffW"},
	"details":    {pktDetails, "\xff\xff\xff\xffdetails\x00"},
	"short":      {pktShort, "\xff\xff\xff\xffinfo\x00"},
	"command":    {pktCommand, "\xff\xff\xff\xffrcon 1234 \"x\" status\x00"},
	"status":     {pktStatus, "s"},
	"answer":     {pktAnswer, "\xff\xff\xff\xffI" + strings.Repeat("x", 165)},
	"part":       {pktPart, "\xfe\xff\xff\xff" + strings.Repeat("x", 1256)},
	"junk":       {pktJunk, "\xff\xff\xff\xff\x01" + strings.Repeat("x", 35)},
	"familiar":   {pktFamiliar, "\xff\xff\xff\xffTx" + strings.Repeat("x", 24)},
	"opened":     {sighting: pktOpened}, // the kernel makes these
	"toy":        {pktToy, "TOY?"},
	"toyNone":    {pktToyNone, "TOY?none"},
	"toyAgain":   {pktToyAgain, "TOY?\x07\x00\x00\x00"},
	"toyToken":   {pktToyToken, "TOY#\x07\x00\x00\x00"},
	"toyAnswer":  {pktToyAnswer, "TOY!" + strings.Repeat("x", 116)},
	"page":       {pktPage, "1\xff0.0.0.0:0\x00\x00"},
	"list":       {pktList, "c\n"},
	"beat":       {pktBeat, "0\n\\protocol\\7"},
	"join":       {pktJoin, "\xff\xff\xff\xffqconnect0x01234567"},
	"connect":    {pktJoin, "\xff\xff\xff\xffConnect 48 1234"},
	"padded":     {pktPadded, "\xff\xff\xff\xffTSource Engine Query\x00" + strings.Repeat("\x00", 1175)},
	"challenge":  {pktChallenge, "\xff\xff\xff\xffA\x07\x00\x00\x00"},
	"strange":    {pktGame, strings.Repeat("y", 80)},
	"game":       {pktGame, "\x10\x00\x00\x00" + strings.Repeat("x", 76)},
}

// TestInside is what TestKernelAgrees runs in the namespace.
func TestInside(t *testing.T) {
	orders := strings.Fields(os.Getenv(insideKernelTest))
	if len(orders) != 3 {
		t.Skip("runs inside TestKernelAgrees only")
	}
	name, tool, rate := orders[0], orders[1], orders[2]
	var x kernelCase
	for _, x = range kernelCases {
		if x.incident == name {
			break
		}
	}
	in := adviceIncident(name)
	tr := newTrial(in)
	p := &tr.attempts[0].plan
	kernelDo(t, "", "ip", "link", "set", "lo", "up")
	kernelDo(t, "", "ip", "addr", "add", p.target.Addr().String(), "dev", "lo")
	for _, s := range x.sources {
		kernelDo(t, "", "ip", "addr", "add", s, "dev", "lo")
	}
	for _, s := range x.sources {
		awaitPath(t, adviceAddr(s), p.target.Addr())
		awaitPath(t, p.target.Addr(), adviceAddr(s))
	}
	text := p.formatIPTables()
	if tool == "nft" {
		text = p.NFTables()
	}
	pause, slack := 10*time.Millisecond, x.slack
	if rate == slow {
		text = slowed(t, text, p)
		tr.attempts[0].setTests()
		pause, slack = 0, 0
	}
	if tool == "nft" {
		kernelDo(t, text, "nft", "-f", "-")
	} else {
		if p.needsSent() {
			if _, err := exec.LookPath("ipset"); err != nil {
				t.Skip(noIPSet)
			}
			for _, set := range (&iptWriter{plan: p}).createSets() {
				command := strings.Fields(set)
				kernelDo(t, "", command[0], command[1:]...)
			}
		}
		kernelDo(t, text, p.iptablesName()+"-restore", "-n")
	}
	trial := x.send(t, tr, pause)
	kernel := kernelDropped(t, p, tool)
	t.Logf("the kernel dropped %d, the trial %d", kernel, trial)
	if diff := float64(kernel) - float64(trial); trial == 0 || diff > slack || diff < -slack {
		t.Errorf("the kernel dropped %d, the trial %d, slack %v", kernel, trial, slack)
	}
}

// awaitPath sends until what is sent arrives: a new address of IPv6 is not there at once.
func awaitPath(t *testing.T, from, to netip.Addr) {
	t.Helper()
	here, err := net.ListenUDP("udp", &net.UDPAddr{IP: to.AsSlice()})
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	timing.Await(t, fmt.Sprintf("a path from %v to %v", from, to), func() bool {
		there, err := net.DialUDP("udp", &net.UDPAddr{IP: from.AsSlice()}, here.LocalAddr().(*net.UDPAddr))
		if err != nil {
			return false
		}
		defer there.Close()
		if _, err := there.Write([]byte("there?")); err != nil {
			return false
		}
		_ = here.SetReadDeadline(time.Now().Add(100 * time.Millisecond)) // then it is sent again
		_, err = here.Read(make([]byte, 10))
		return err == nil
	})
}

// dropRate is a limit that drops what exceeds it, in either tool's words.
var dropRate = regexp.MustCompile(`(limit rate over|--hashlimit-above) \d+/\w+ (\S*burst) (\d+)`)

// fill is how many hours a bucket takes to fill. hashlimit counts to 24.
const fill = 20

// slowed makes all buckets fill slowly, in the lines and in the trial's plan.
func slowed(t *testing.T, text string, p *plan) string {
	t.Helper()
	limits := 0
	for i := range p.rules[:p.numRules] {
		if l := &p.rules[i].limit; l.packets > 0 {
			l.packets, l.per = (l.burst+fill-1)/fill, time.Hour
			limits++
		}
	}
	if limits == 0 {
		return text // all is dropped
	}
	found := 0
	text = dropRate.ReplaceAllStringFunc(text, func(limit string) string {
		found++
		m := dropRate.FindStringSubmatch(limit)
		burst, _ := strconv.Atoi(m[3])
		return fmt.Sprintf("%s %d/hour %s %d", m[1], (burst+fill-1)/fill, m[2], burst)
	})
	if found < limits {
		t.Fatalf("%d rates for %d limits in\n%s", found, limits, text)
	}
	return text
}

// send sends the packets, shows each to the trial, and counts what that drops.
func (x *kernelCase) send(t *testing.T, tr *trial, pause time.Duration) (drops uint64) {
	reflects := tr.attempts[0].plan.kind == flood.Reflection
	here := &net.UDPAddr{IP: tr.attempts[0].plan.target.Addr().AsSlice(), Port: int(max(tr.attempts[0].plan.target.Port(), 27015))}
	server, err := net.ListenUDP("udp", here)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	clients := make([]*net.UDPConn, len(x.sources))
	for i, s := range x.sources {
		if clients[i], err = net.ListenUDP("udp", &net.UDPAddr{IP: adviceAddr(s).AsSlice()}); err != nil {
			t.Fatal(err)
		}
		defer clients[i].Close()
	}
	r := rand.New(rand.NewPCG(9, 10))
	began := time.Now()
	for range x.rounds {
		for _, i := range r.Perm(len(x.sources)) {
			for _, sort := range x.sorts {
				sort, isOfFirst := strings.CutPrefix(sort, "^")
				sort, isSent := strings.CutPrefix(sort, "<")
				if isOfFirst && i != 0 {
					continue
				}
				p := pktPayloads[sort]
				s := pktFrom(p.sighting, x.sources[i], time.Since(began))
				way, to := clients[i], net.Addr(here)
				if reflects || isSent {
					s.Src, s.Dst, s.SrcPort, s.DstPort = s.Dst, s.Src, s.DstPort, s.SrcPort
					way, to = server, clients[i].LocalAddr()
				}
				end := tr.remoteEnd(s)
				if isSent {
					tr.lastDropped = [replyPlaces]lastPacket{} // it is sent whatever was dropped
					tr.recordSent(s)
				} else if tr.linesFor(s).apply(&end, s.Age).has(0) {
					drops++
				}
				if sort == "opened" {
					kernelOpen(x.sources[i], tr.attempts[0].plan.target)
					continue
				}
				way.WriteTo([]byte(p.bytes), to) // an error is a packet dropped on its way out
			}
		}
		time.Sleep(pause)
	}
	return drops
}

// kernelOpen sends one SYN: what answers is a reset, or nobody, and it does not wait for
// the second in which it would send another.
func kernelOpen(src string, dst netip.AddrPort) {
	d := net.Dialer{Timeout: 20 * time.Millisecond, LocalAddr: &net.TCPAddr{IP: adviceAddr(src).AsSlice()}}
	if c, err := d.Dial("tcp", dst.String()); err == nil {
		c.Close()
	}
}

// kernelDropped is what the kernel's counters say.
func kernelDropped(t *testing.T, p *plan, tool string) (n uint64) {
	var list string
	counter := regexp.MustCompile(`counter packets (\d+) bytes \d+ drop`)
	if tool == "nft" {
		list = kernelDo(t, "", "nft", "list", "table", "inet", Table)
	} else {
		list = kernelDo(t, "", p.iptablesName()+"-save", "-c")
		counter = regexp.MustCompile(`(?m)^\[(\d+):\d+\] .* -j DROP$`)
	}
	all := counter.FindAllStringSubmatch(list, -1)
	if all == nil {
		t.Fatalf("no counter in\n%s", list)
	}
	for _, m := range all {
		k, _ := strconv.ParseUint(m[1], 10, 64)
		n += k
	}
	return n
}

func kernelDo(t *testing.T, stdin string, tool string, args ...string) string {
	t.Helper()
	if a, err := netip.ParseAddr(args[min(2, len(args)-1)]); err == nil && a.Is6() {
		args = append(args, "nodad")
	}
	cmd := exec.Command(tool, args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatal(fmt.Errorf("%s %v: %w\n%s", tool, args, err, out))
	}
	return string(out)
}
