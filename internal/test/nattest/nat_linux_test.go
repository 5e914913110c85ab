package nattest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"qsniff/internal/flood/rules"
	"qsniff/internal/flood/rules/iptables"
	"qsniff/internal/flood/rules/nft"
	"qsniff/internal/test/floodtest"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// family is the addresses of one version of IP.
type family struct {
	options    string   // of the command ip
	client     string   // the client's interface, with the prefix length
	host       string   // the host's interface towards it
	clients    string   // the network of all clients
	early      string   // a client that asks before the rules are loaded
	known      []string // clients that the server answers before the flood
	victim     string   // of the reflection
	forged     string   // format of the flood's sources; limits are for a /64
	public     string   // the server's address for clients, on the host
	bridge     string   // the host's address towards the container
	inner      string   // the container's
	publicPort string
	innerPort  string
	nat        string // format of DNAT from one to the other, for nft
	forwarding string // the file that switches it on, below /proc/sys/net
}

var families = map[string]*family{
	"IPv4": {
		options:    "-4 ",
		client:     "198.51.100.1/24",
		host:       "198.51.100.254/24",
		clients:    "192.0.2.0/24",
		early:      "192.0.2.50",
		known:      []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"},
		victim:     "192.0.2.99",
		forged:     "192.0.2.%d",
		public:     "203.0.113.86",
		bridge:     "172.17.0.1/16",
		inner:      "172.17.0.2/16",
		publicPort: "203.0.113.86:27015",
		innerPort:  "172.17.0.2:27016",
		nat:        "table ip nat { chain pre { type nat hook prerouting priority dstnat; ip daddr %s udp dport 27015 dnat to %s; }; }",
		forwarding: "ipv4/ip_forward",
	},
	"IPv6": {
		options:    "-6 ",
		client:     "2001:db8:1::1/64",
		host:       "2001:db8:1::fe/64",
		clients:    "2001:db8:2::/48",
		early:      "2001:db8:2:50::1",
		known:      []string{"2001:db8:2:1::1", "2001:db8:2:2::1", "2001:db8:2:3::1"},
		victim:     "2001:db8:2:99::1",
		forged:     "2001:db8:2:%d::1",
		public:     "2001:db8:86::1",
		bridge:     "fd00:17::1/64",
		inner:      "fd00:17::2/64",
		publicPort: "[2001:db8:86::1]:27015",
		innerPort:  "[fd00:17::2]:27016",
		nat:        "table ip6 nat { chain pre { type nat hook prerouting priority dstnat; ip6 daddr %s udp dport 27015 dnat to %s; }; }",
		forwarding: "ipv6/conf/all/forwarding",
	},
}

// The requests and answers of the server: its rules, for a challenge.
const (
	first     = "\xff\xff\xff\xffV\xff\xff\xff\xff"
	challenge = "\xff\xff\xff\xffA\x07\x00\x00\x00"
	again     = "\xff\xff\xff\xffV\x07\x00\x00\x00"
	answer    = "\xff\xff\xff\xffE\x01\x00sv_gravity\x00800\x00"
)

func serve(request []byte) [][]byte {
	switch string(request) {
	case first:
		return [][]byte{[]byte(challenge)}
	case again:
		return [][]byte{[]byte(answer)}
	}
	return nil
}

// network is a client, the host that the rules are loaded on, and a container on a bridge.
type network struct {
	*family
	client, host, container *netns.Namespace
}

func newNetwork(t *testing.T, f *family) *network {
	n := &network{f, netns.New(t), netns.New(t), netns.New(t)}
	nodad := ""
	if f.options == "-6 " {
		nodad = " nodad"
		n.client.Run(t, "", "sh", "-c", "echo 1 > /proc/sys/net/ipv6/ip_nonlocal_bind") // IPv4 can bind to local routes
	}
	run := func(ns *netns.Namespace, lines ...string) {
		for _, l := range lines {
			ns.RunIP(t, f.options+l)
		}
	}
	address := func(prefix string) string { return strings.Split(prefix, "/")[0] }
	run(n.client,
		"link set lo up",
		"link add va type veth peer name vh netns "+n.host.ID())
	run(n.host,
		"link set lo up",
		"link add vd type veth peer name vs netns "+n.container.ID(),
		"link add br0 type bridge",
		"link set vd master br0",
		"link set vd up",
		"link set br0 up",
		"link set vh up",
		"addr add "+f.host+" dev vh"+nodad,
		"addr add "+f.bridge+" dev br0"+nodad,
		"addr add "+f.public+" dev lo"+nodad)
	run(n.client,
		"link set va up",
		"addr add "+f.client+" dev va"+nodad,
		"route add local "+f.clients+" dev lo",
		"route add "+f.public+" via "+address(f.host))
	run(n.host, "route add "+f.clients+" via "+address(f.client))
	run(n.container,
		"link set lo up",
		"link set vs up",
		"addr add "+f.inner+" dev vs"+nodad,
		"route add default via "+address(f.bridge))
	n.host.Run(t, "", "sh", "-c", "echo 1 > /proc/sys/net/"+f.forwarding)
	return n
}

// setUps are the ways by which queries reach the server.
var setUps = map[string]func(*testing.T, *network){
	"DNAT": func(t *testing.T, n *network) {
		n.host.Run(t, fmt.Sprintf(n.nat, n.public, n.innerPort), "nft", "-f", "-")
		n.container.Serve(t, n.innerPort, serve)
	},
	"relay": func(t *testing.T, n *network) { // as Docker's userland proxy
		n.relay(t)
		n.container.Serve(t, n.innerPort, serve)
	},
	"local": func(t *testing.T, n *network) { n.host.Serve(t, n.publicPort, serve) },
	"local, tracked": func(t *testing.T, n *network) { // as with any stateful firewall
		const rules = "table inet stateful { chain c { type filter hook input priority filter; ct state established accept; }; }"
		n.host.Run(t, rules, "nft", "-f", "-")
		n.host.Serve(t, n.publicPort, serve)
	},
}

// relay passes datagrams on between clients and the container, by a socket on the host for each.
func (n *network) relay(t *testing.T) {
	var busy sync.WaitGroup
	outside := n.host.Listen(t, n.publicPort)
	inside := map[string]net.Conn{}
	done := make(chan struct{})
	t.Cleanup(func() { // the socket is closed after this
		outside.Close()
		<-done
		for _, c := range inside {
			c.Close()
		}
		busy.Wait()
	})
	go func() {
		defer close(done)
		buf := make([]byte, 1500)
		for {
			k, from, err := outside.ReadFrom(buf)
			if err != nil {
				return // closed
			}
			c := inside[from.String()]
			if c == nil {
				n.host.Do(func() { c, err = net.Dial("udp", n.innerPort) })
				if err != nil {
					return
				}
				inside[from.String()] = c
				busy.Go(func() {
					back := make([]byte, 1500)
					for {
						k, err := c.Read(back)
						if err != nil {
							return // closed
						}
						_, _ = outside.WriteTo(back[:k], from)
					}
				})
			}
			_, _ = c.Write(buf[:k])
		}
	}()
}

// client is the socket of one, with one of the addresses in the client's namespace.
type client struct{ net.Conn }

func (n *network) newClient(t *testing.T, from string) client {
	t.Helper()
	var c net.Conn
	var err error
	n.client.Do(func() {
		d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(from)}}
		c, err = d.Dial("udp", n.publicPort)
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return client{c}
}

// query reports whether the answer to a request arrives within a time.
func (c client) query(request string, within time.Duration) bool {
	if _, err := c.Write([]byte(request)); err != nil {
		return false
	}
	_ = c.SetReadDeadline(time.Now().Add(within))
	buf := make([]byte, 1500)
	k, err := c.Read(buf)
	return err == nil && slices.ContainsFunc(serve([]byte(request)), func(b []byte) bool { return string(b) == string(buf[:k]) })
}

// receive returns how many datagrams arrive before none does for a time.
func (c client) receive(silence time.Duration) (n int) {
	buf := make([]byte, 1500)
	for {
		_ = c.SetReadDeadline(time.Now().Add(silence))
		if _, err := c.Read(buf); err != nil {
			return n
		}
		n++
	}
}

// tool loads and removes the rules of a report, and finds what the kernel counted.
type tool struct {
	load, undo func(*testing.T, *network, *rules.Input)
	list       string // command for sh: all rules with counters
	members    string // command: members of the set whom the server answered
	// Counters of the kernel: clients of the set passed, replies to the victim dropped,
	// queries dropped.
	passed, reflected, dropped *regexp.Regexp
}

var tools = map[string]*tool{
	"nft": {
		load: func(t *testing.T, n *network, f *rules.Input) {
			n.host.Run(t, string(nft.AppendFloods(nil, f)), "nft", "-f", "-")
		},
		undo: func(t *testing.T, n *network, f *rules.Input) {
			n.host.Run(t, "", "nft", "delete", "table", "inet", "qsniff")
		},
		list:      "nft list tables | grep -q qsniff || exit 0; nft list table inet qsniff",
		members:   "nft list set inet qsniff answered1",
		passed:    regexp.MustCompile(`(?s)chain first1 .*?counter packets (\d+) bytes \d+ return`),
		reflected: regexp.MustCompile(`(?s)chain victims2 .*?counter packets (\d+) bytes \d+ drop`),
		dropped:   regexp.MustCompile(`(?s)chain first1 .*?counter packets (\d+) bytes \d+ drop`),
	},
	"iptables-nft":           iptablesTool("nft", loadScript, undoScript),
	"iptables-legacy":        iptablesTool("legacy", loadScript, undoScript),
	"iptables-nft, files":    iptablesTool("nft", loadFiles, undoFiles),
	"iptables-legacy, files": iptablesTool("legacy", loadFiles, undoFiles),
}

func iptablesTool(kind string, load, undo func(*testing.T, *network, string, *rules.Input)) *tool {
	chain := func(suffix, target string) *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\[(\d+):\d+\] -A QSNIFF` + suffix + ` .*-j ` + target + `$`)
	}
	with := func(do func(*testing.T, *network, string, *rules.Input)) func(*testing.T, *network, *rules.Input) {
		return func(t *testing.T, n *network, f *rules.Input) { do(t, n, toolPath(t, kind), f) }
	}
	return &tool{
		load: with(load), undo: with(undo),
		list:    "iptables-" + kind + "-save -c; ip6tables-" + kind + "-save -c; ipset list -n",
		members: "ipset list qsniff1a 2>/dev/null || ipset list qsniff1a-6",
		passed:  chain("1F", "RETURN"), reflected: chain("2V", "DROP"), dropped: chain("1F", "DROP"),
	}
}

// toolPath returns a folder with one kind of iptables under the names that scripts use.
func toolPath(t *testing.T, kind string) string {
	dir := t.TempDir()
	for _, name := range []string{"iptables", "ip6tables"} {
		for _, end := range []string{"", "-restore", "-save"} {
			to, err := exec.LookPath(name + "-" + kind + end)
			if err != nil {
				t.Skipf("%s-%s%s is not installed", name, kind, end)
			}
			if err := os.Symlink(to, filepath.Join(dir, name+end)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// sh runs a script with a folder before the others of PATH.
func (n *network) sh(t *testing.T, path, script string, args ...string) string {
	t.Helper()
	return n.host.Run(t, script, "env", append([]string{"PATH=" + path + ":" + os.Getenv("PATH"), "sh", "-s"}, args...)...)
}

func loadScript(t *testing.T, n *network, path string, f *rules.Input) {
	n.host.Run(t, "", "ipset", "-v") // skips where it is not installed
	n.sh(t, path, string(iptables.AppendFloods(nil, f)), "check")
	n.sh(t, path, string(iptables.AppendFloods(nil, f)))
	n.sh(t, path, string(iptables.AppendFloods(nil, f))) // again does no harm
}

func undoScript(t *testing.T, n *network, path string, f *rules.Input) {
	n.sh(t, path, string(iptables.AppendFloods(nil, f)), "undo")
}

// Commands in the comments of a file for iptables-restore, to load and to remove it.
var (
	creates = regexp.MustCompile(`(?m)^# (ipset -exist create .*)$`)
	loads   = regexp.MustCompile(`(?m)^# load(| on a host with NAT \(Docker\)): (.*?)(   remove.*)?$`)
	removes = regexp.MustCompile(`(?m)^# ((?:ip6?tables -t|ipset destroy) .*?)(   \(with NAT\))?$`)
)

// hasNAT reports whether the host translates addresses.
func (n *network) hasNAT(t *testing.T) bool {
	return strings.Contains(n.host.Run(t, "", "nft", "list", "tables"), " nat")
}

// loadFiles loads the file of each incident as its comments say.
func loadFiles(t *testing.T, n *network, path string, f *rules.Input) {
	n.host.Run(t, "", "ipset", "-v") // skips where it is not installed
	for i := range f.Incidents {
		file, _ := f.Incidents[i].Advice.Rules.IPTables()
		name := filepath.Join(t.TempDir(), "rules")
		if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		script := ""
		for _, m := range creates.FindAllStringSubmatch(file, -1) {
			script += m[1] + "\n"
		}
		for _, m := range loads.FindAllStringSubmatch(file, -1) {
			if (m[1] != "") == n.hasNAT(t) {
				script += strings.ReplaceAll(m[2], "FILE", name) + "\n"
			}
		}
		n.sh(t, path, script)
	}
}

func undoFiles(t *testing.T, n *network, path string, f *rules.Input) {
	for i := range f.Incidents {
		file, _ := f.Incidents[i].Advice.Rules.IPTables()
		script := "set -e\n"
		for _, m := range removes.FindAllStringSubmatch(file, -1) {
			if m[2] == "" || n.hasNAT(t) {
				script += m[1] + "\n"
			}
		}
		n.sh(t, path, script)
	}
}

// counted returns the sum of what a pattern finds.
func counted(re *regexp.Regexp, list string) (n int) {
	for _, m := range re.FindAllStringSubmatch(list, -1) {
		k, _ := strconv.Atoi(m[1])
		n += k
	}
	return n
}

// TestNATKernel: with NAT on the host, with a relay and without both, a client that the server
// answered passes while a flood of forged addresses is dropped, replies to the victim of a
// reflection are limited, and undo removes all. Nothing starts connection tracking.
func TestNATKernel(t *testing.T) {
	timing.SkipUnlessLive(t)
	for version, f := range families {
		for setUp, prepare := range setUps {
			for name, tool := range tools {
				t.Run(fmt.Sprintf("%s/%s/%s", name, setUp, version), func(t *testing.T) {
					n := newNetwork(t, f)
					prepare(t, n)
					n.test(t, tool, setUp)
				})
			}
		}
	}
}

func (n *network) test(t *testing.T, tool *tool, setUp string) {
	if setUp == "local, tracked" { // rules are loaded while flows are tracked; with NAT, before the first
		early := n.newClient(t, n.early)
		timing.Await(t, "an answer", func() bool { return early.query(first, 100*time.Millisecond) })
	}
	report := floodtest.Gated(t, n.publicPort, n.victim)
	tool.load(t, n, report)
	const patience = 5 * time.Second
	var known []client
	for _, a := range n.known {
		c := n.newClient(t, a)
		if !c.query(first, patience) || !c.query(again, patience) {
			t.Fatalf("%s got no answer before the flood", a)
		}
		known = append(known, c)
	}
	members := n.host.Run(t, "", "sh", "-c", tool.members)
	prefix, _, _ := strings.Cut(n.forged, "%")
	found := regexp.MustCompile(regexp.QuoteMeta(prefix)+`[0-9a-f:]+`).FindAllString(members, -1)
	if slices.Sort(found); !slices.Equal(found, n.known) {
		t.Errorf("the server answered %v; set: %v in\n%s", n.known, found, members)
	}

	var forged []client
	for i := range 100 {
		forged = append(forged, n.newClient(t, fmt.Sprintf(n.forged, 100+i)))
	}
	const rounds, perRound = 5, 20
	sent, lost := 0, 0
	for range rounds {
		for range perRound {
			for _, c := range forged {
				_, _ = c.Write([]byte(first)) // an error is of the query before it
			}
		}
		for _, c := range known {
			tries := 1 // the socket of the server may be full for a moment
			for ; tries < 4 && !c.query(first, patience/10); tries++ {
			}
			sent += tries
			if tries == 4 {
				lost++
			}
		}
	}
	victim := n.newClient(t, n.victim)
	const asked = 40
	for range asked {
		_, _ = victim.Write([]byte(again)) // an error shows as an answer that is not there
	}
	got := victim.receive(200 * time.Millisecond)

	list := n.host.Run(t, "", "sh", "-c", tool.list)
	passed, dropped, reflected := counted(tool.passed, list), counted(tool.dropped, list), counted(tool.reflected, list)
	flood := rounds * perRound * len(forged)
	t.Logf("set %d of %d; %d of %d flood queries dropped; known clients: %d of %d queries passed first, %d lost;"+
		" %d of %d replies to the victim dropped", len(found), len(known), dropped, flood, passed, sent, lost, reflected, asked)
	if dropped < flood/4 {
		t.Errorf("only %d of %d packets of the flood were dropped", dropped, flood)
	}
	if passed != sent || lost > 0 {
		t.Errorf("%d of %d queries of known clients passed first, %d unanswered", passed, sent, lost)
	}
	if reflected != asked-got || reflected < asked/2 || got < 5 {
		t.Errorf("%d of %d replies to the victim were dropped, and %d arrived; 5 at once are to arrive", reflected, asked, got)
	}
	tracked := strings.TrimSpace(n.host.Run(t, "", "sh", "-c", "cat /proc/sys/net/netfilter/nf_conntrack_count || echo 0"))
	if hasTracking := setUp == "DNAT" || setUp == "local, tracked"; (tracked != "0") != hasTracking {
		t.Errorf("%s flows are tracked", tracked)
	}
	tool.undo(t, n, report)
	if got := n.host.Run(t, "", "sh", "-c", tool.list); strings.Contains(strings.ToLower(got), "qsniff") {
		t.Errorf("after undo:\n%s", got)
	}
}
