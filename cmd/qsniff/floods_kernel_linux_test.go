package main

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/test/timing"
)

// TestLiveRulesInKernel makes captures of floods, loads the rules that floods prints for them in
// a network namespace, sends what the captures have from the detection on, and compares what
// the kernel dropped with what the report says that it would: they differ by 1 in 100 at most.
// The servers in the namespace answer what reaches them, so that rules that look at answers see
// those that there would have been.
func TestLiveRulesInKernel(t *testing.T) {
	timing.SkipUnlessLive(t)
	for _, x := range kernelFloods {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			packets := x.capture()
			name := filepath.Join(t.TempDir(), "flood.pcap")
			writePackets(t, name, packets)
			report, _, _ := output(t, "floods", "-o", "json", name)
			want, detected := readMeasured(t, report)
			for _, tool := range []string{"nft", "iptables"} {
				t.Run(tool, func(t *testing.T) {
					t.Parallel()
					rules, _, _ := output(t, "floods", "-o", tool, name)
					if !strings.Contains(rules, x.rules[tool]) {
						t.Fatalf("%q is not in\n%s", x.rules[tool], rules)
					}
					ns := x.network(t)
					got := ns.dropped(t, tool, rules, func() { ns.send(t, packets, detected) })
					t.Logf("the kernel dropped %d, the report says %d", got, want)
					if want < 500 || math.Abs(float64(got)-float64(want)) > float64(want)/100 {
						t.Errorf("the kernel dropped %d, the report says %d", got, want)
					}
				})
			}
		})
	}
}

// kernelFlood is a flood against servers that give challenges, with clients meanwhile.
type kernelFlood struct {
	name    string
	servers int // in a network
	isIPv6  bool
	rate    int // packets a second
	lasts   time.Duration
	sources int // 0: each packet has one of its own
	request func(r *rand.Rand) string
	rules   map[string]string // what shows which rules are tried, for each tool
}

const (
	plainInfo  = "\xff\xff\xff\xffTSource Engine Query\x00"
	plainRules = "\xff\xff\xff\xffV\xff\xff\xff\xff"
)

// fixed returns a source of one request.
func fixed(s string) func(*rand.Rand) string { return func(*rand.Rand) string { return s } }

// invented returns a request with a challenge that nobody gave.
func invented(r *rand.Rand) string {
	return plainInfo + string(binary.LittleEndian.AppendUint32(nil, r.Uint32()|1))
}

// random returns bytes after the mark of queries.
func random(r *rand.Rand) string {
	b := []byte("\xff\xff\xff\xff")
	for range 4 + r.IntN(40) {
		b = append(b, byte(r.Uint32()))
	}
	return string(b)
}

var kernelFloods = func() (all []kernelFlood) {
	for _, six := range []bool{false, true} {
		version := ""
		if six {
			version = "6"
		}
		all = append(all,
			kernelFlood{"rules from anywhere" + version, 1, six, 1500, 8 * time.Second, 0, fixed(plainRules),
				map[string]string{"nft": "update @answered", "iptables": "-j SET --add-set"}},
			kernelFlood{"carpet" + version, 64, six, 1280, 24 * time.Second, 0, fixed(plainInfo),
				map[string]string{"nft": "interval, timeout", "iptables": "hashlimit"}},
			kernelFlood{"invented challenges" + version, 1, six, 1500, 8 * time.Second, 0, invented,
				map[string]string{"nft": "update @peers", "iptables": "-j SET --add-set"}},
			kernelFlood{"few sources" + version, 1, six, 1500, 8 * time.Second, 3, fixed(plainInfo),
				map[string]string{"nft": "@named", "iptables": "-j DROP"}},
			kernelFlood{"junk" + version, 1, six, 1500, 8 * time.Second, 300, random,
				map[string]string{"nft": "jump junk", "iptables": "hashlimit"}})
	}
	return all
}()

// testPacket is one datagram of a capture.
type testPacket struct {
	at       time.Duration
	src, dst netip.AddrPort
	payload  string
}

// capturedFrom is when the captures begin, and floodFrom how much later their flood does.
var capturedFrom = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const floodFrom = 20 * time.Second

// clientPause is the time between two clients: short enough that it shows in the counts if the
// kernel does not let them pass where it should.
const clientPause = 30 * time.Millisecond

// clientWaits is how long after a request a client sends its next: much more than a server in
// the namespace takes to answer, on a busy machine, too.
const clientWaits = 150 * time.Millisecond

// capture returns the packets of a capture, in the order of time.
func (x *kernelFlood) capture() (all []testPacket) {
	r := rand.New(rand.NewPCG(1, 2))
	add := func(at time.Duration, src, dst netip.AddrPort, payload string) time.Duration {
		all = append(all, testPacket{at, src, dst, payload})
		if reply := answerTo(src.Addr(), payload); reply != "" {
			at += 200 * time.Microsecond
			all = append(all, testPacket{at, dst, src, reply})
		}
		return at + clientWaits
	}
	end := floodFrom + x.lasts
	for n := range int(end / clientPause) { // a client asks two things
		at := time.Duration(n) * clientPause
		src, dst := x.host(0x17000000+uint32(n)*7), x.server(n)
		t := add(at, src, dst, plainInfo)
		t = add(t, src, dst, plainInfo+challengeOf(src.Addr()))
		t = add(t, src, dst, plainRules)
		add(t, src, dst, plainRules[:5]+challengeOf(src.Addr()))
	}
	step := time.Second / time.Duration(x.rate)
	for at, n := floodFrom, 0; at < end; at, n = at+step, n+1 {
		src := x.host(0x20000000 + r.Uint32N(0x40000000))
		if x.sources > 0 {
			src = x.host(0x20000000 + uint32(n%x.sources)*0x10001)
		}
		add(at, src, x.server(n), x.request(r))
	}
	slices.SortStableFunc(all, func(a, b testPacket) int { return cmp.Compare(a.at, b.at) })
	return all
}

// host returns a port of a host: n is its IPv4 address, or a part of its network in IPv6.
func (x *kernelFlood) host(n uint32) netip.AddrPort {
	var b [16]byte
	binary.BigEndian.PutUint32(b[:], n)
	if !x.isIPv6 {
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[:4])), 40_000)
	}
	copy(b[4:8], b[:4])
	b[0], b[1], b[2], b[3], b[15] = 0x24, 0, 0, 1, 1
	return netip.AddrPortFrom(netip.AddrFrom16(b), 40_000)
}

// server returns one of the servers.
func (x *kernelFlood) server(n int) netip.AddrPort {
	n = 1 + n%x.servers
	if x.isIPv6 {
		return netip.MustParseAddrPort(fmt.Sprintf("[2001:db8::%x]:27015", n))
	}
	return netip.MustParseAddrPort(fmt.Sprintf("198.51.100.%d:27015", n))
}

// challengeOf returns the challenge that servers give an address.
func challengeOf(a netip.Addr) string {
	b := a.As16()
	n := binary.BigEndian.Uint32(b[12:])*2654435761 ^ binary.BigEndian.Uint32(b[4:])
	return string(binary.LittleEndian.AppendUint32(nil, n&0x7fffffff|1))
}

// answerTo returns what a server answers to a request; nothing to junk.
func answerTo(client netip.Addr, request string) string {
	key := challengeOf(client)
	switch {
	case request == plainInfo+key:
		return "\xff\xff\xff\xffI\x11" + strings.Repeat("name\x00", 4) + "\x04\x00\x02\x18\x00dl\x00\x011\x00"
	case request == plainRules[:5]+key:
		return "\xff\xff\xff\xffE\x01\x00sv_gravity\x00800\x00"
	case strings.HasPrefix(request, plainInfo), request[:5] == plainRules[:5]:
		return "\xff\xff\xff\xffA" + key
	}
	return ""
}

// writePackets writes a capture.
func writePackets(t *testing.T, name string, packets []testPacket) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := bufio.NewWriter(f)
	w, err := testpcap.NewWriter(b, testpcap.Format{Link: testpcap.LinkRaw, SnapLen: 65_535, Nano: true})
	for i := range packets {
		if err == nil {
			err = w.WritePacket(capturedFrom.Add(packets[i].at).UnixNano(), packets[i].ip())
		}
	}
	if err = errors.Join(err, b.Flush()); err != nil {
		t.Fatal(err)
	}
}

// ip returns the packet with its headers.
func (p *testPacket) ip() []byte {
	return testpcap.Datagram{Src: p.src, Dst: p.dst, TTL: 117, Payload: []byte(p.payload)}.Frame(testpcap.Link{Type: testpcap.LinkRaw})
}

// readMeasured returns how many packets the rules would have dropped after the detection of the
// one incident with rules in a report, and when that was.
func readMeasured(t *testing.T, report string) (dropped uint64, detected time.Duration) {
	t.Helper()
	for line := range strings.Lines(report) {
		var in struct {
			Detected string `json:"detected"`
			Rules    struct {
				Measured string `json:"measured"`
			} `json:"rules"`
		}
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			t.Fatal(err)
		}
		if in.Rules.Measured == "" {
			continue
		}
		at, err := time.Parse(time.RFC3339Nano, in.Detected)
		if err != nil || detected != 0 {
			t.Fatalf("more than one incident, or %v:\n%s", err, report)
		}
		detected = at.Sub(capturedFrom)
		for _, m := range measuredCounts.FindAllStringSubmatch(in.Rules.Measured, -1) {
			n, _ := strconv.ParseUint(strings.ReplaceAll(m[1]+m[2]+m[3], ",", ""), 10, 64)
			dropped += n
		}
		t.Log(in.Rules.Measured)
	}
	return dropped, detected
}

// measuredCounts finds what was dropped of the flood, and what clients lost.
var measuredCounts = regexp.MustCompile(`of the flood \(([\d,]+) of|have lost ([\d,]+) of their|touched 0 of [^:.]*: ([\d,]+) of their`)

// kernelNet is a network namespace with the servers in it. All other addresses are on its
// loopback as well: what the servers send passes the hooks of a firewall on its way.
type kernelNet struct {
	*netns.Namespace
	isIPv6 bool
}

// network makes the namespace, and servers that answer.
func (x *kernelFlood) network(t *testing.T) *kernelNet {
	t.Helper()
	ns := &kernelNet{netns.New(t), x.isIPv6}
	ns.RunIP(t, "link set lo up")
	if x.isIPv6 {
		ns.RunIP(t, "-6 route add local ::/0 dev lo")
	} else {
		ns.RunIP(t, "route add local 0.0.0.0/0 dev lo")
	}
	for n := range x.servers {
		ns.RunIP(t, "addr add "+x.server(n).Addr().String()+" dev lo nodad")
		conn := ns.Listen(t, x.server(n).String()).(*net.UDPConn)
		go func() {
			buf := make([]byte, 2048)
			for {
				n, from, err := conn.ReadFromUDPAddrPort(buf)
				if err != nil {
					return // closed
				}
				if reply := answerTo(from.Addr().Unmap(), string(buf[:n])); reply != "" {
					_, _ = conn.WriteToUDPAddrPort([]byte(reply), from) // one that the rules drop is an error
				}
			}
		}()
	}
	return ns
}

// dropped loads rules, has packets sent, and returns how many the rules dropped.
func (ns *kernelNet) dropped(t *testing.T, tool, rules string, send func()) (n uint64) {
	t.Helper()
	if tool == "nft" {
		ns.Run(t, rules, "nft", "-f", "-")
		send()
		return sumOf(t, ns.Run(t, "", "nft", "list", "table", "inet", "qsniff"), `counter packets (\d+) bytes \d+ drop`)
	}
	ns.Run(t, rules, "sh", "-s")
	send()
	if ns.isIPv6 {
		tool = "ip6tables"
	}
	return sumOf(t, ns.Run(t, "", tool+"-save", "-c"), `(?m)^\[(\d+):\d+\] .* -j DROP$`)
}

// sumOf adds up the numbers that a pattern finds in the counters of a firewall.
func sumOf(t *testing.T, list, counter string) (sum uint64) {
	t.Helper()
	all := regexp.MustCompile(counter).FindAllStringSubmatch(list, -1)
	if all == nil {
		t.Fatalf("no counter in\n%s", list)
	}
	for _, m := range all {
		n, _ := strconv.ParseUint(m[1], 10, 64)
		sum += n
	}
	return sum
}

// send sends what clients and attackers sent from a moment of the capture on, at the same
// pace.
func (ns *kernelNet) send(t *testing.T, packets []testPacket, from time.Duration) {
	t.Helper()
	family := unix.AF_INET
	if ns.isIPv6 {
		family = unix.AF_INET6
	}
	var fd int
	var err error
	ns.Do(func() { fd, err = unix.Socket(family, unix.SOCK_RAW, unix.IPPROTO_RAW) })
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	began := time.Now()
	for i := range packets {
		p := &packets[i]
		if p.at < from || p.dst.Port() != 27015 {
			continue
		}
		if wait := p.at - from - time.Since(began); wait > 0 {
			time.Sleep(wait)
		}
		// What the rules drop is an error of some kernels.
		if err := unix.Sendto(fd, p.ip(), 0, socketAddress(p.dst.Addr())); err != nil && err != unix.EPERM {
			t.Fatal(err)
		}
	}
	time.Sleep(100 * time.Millisecond) // for the servers
}

func socketAddress(a netip.Addr) unix.Sockaddr {
	if a.Is4() {
		return &unix.SockaddrInet4{Addr: a.As4()}
	}
	return &unix.SockaddrInet6{Addr: a.As16()}
}
