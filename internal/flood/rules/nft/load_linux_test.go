package nft

import (
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"qsniff/internal/flood"
	"qsniff/internal/flood/other"
	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules"
	"qsniff/internal/test/floodtest"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// newHost returns a namespace that has the targets' addresses and those of clients on its
// loopback interface, so that what is sent from one to another passes the hook of the rules.
func newHost(t *testing.T, addrs ...string) *netns.Namespace {
	t.Helper()
	ns := netns.New(t)
	ns.RunIP(t, "link set lo up")
	for _, a := range addrs {
		ns.RunIP(t, "addr add "+a+" dev lo")
	}
	ns.Run(t, "", "nft", "list", "ruleset")
	return ns
}

func load(t *testing.T, ns *netns.Namespace, f *rules.Input) {
	t.Helper()
	text := string(AppendFloods(nil, f))
	ns.Run(t, text, "nft", "-c", "-f", "-")
	ns.Run(t, text, "nft", "-f", "-")
}

// changing is what differs between two lists of the same rules: times left, and counters.
var changing = regexp.MustCompile(` expires \w+|packets \d+ bytes \d+`)

func list(t *testing.T, ns *netns.Namespace) string {
	t.Helper()
	return changing.ReplaceAllString(ns.Run(t, "", "nft", "-n", "list", "ruleset"), "")
}

// TestLoad: rules against many incidents load into one table. Loading them again changes
// nothing, other rules of qsniff replace them, other tables stay, and the undo line of the
// comments removes all.
func TestLoad(t *testing.T) {
	ns := newHost(t)
	ns.Run(t, "table inet other { chain c { ip saddr 10.0.0.1 drop; }; }", "nft", "-f", "-")
	empty := list(t, ns)
	f := floodtest.Report(t, time.Hour)
	f.Proven = &proof.Summary{Sources: []proof.Source{{Addr: netip.MustParseAddr("192.0.2.200")}, {Addr: netip.MustParseAddr("2001:db8:7::1")}}}
	load(t, ns, f)
	once := list(t, ns)
	if n := strings.Count(once, "table inet qsniff "); n != 1 {
		t.Errorf("%d tables in\n%s", n, once)
	}
	load(t, ns, f)
	if twice := list(t, ns); twice != once {
		t.Errorf("loaded twice:\n%s\nonce:\n%s", twice, once)
	}
	ns.Run(t, string(AppendProven(nil, sources("192.0.2.201").Sources, "")), "nft", "-f", "-")
	if got := list(t, ns); !strings.Contains(got, "192.0.2.200") || !strings.Contains(got, "192.0.2.201") || !strings.Contains(got, "@proven4") {
		t.Errorf("after clients of another capture:\n%s", got)
	}
	other := floodtest.Report(t, 0)
	other.Incidents = other.Incidents[3:4]
	load(t, ns, other)
	if got := list(t, ns); strings.Contains(got, "198.51.100.17") || !strings.Contains(got, "2001:db8::17") {
		t.Errorf("after rules of another report:\n%s", got)
	}
	undo := regexp.MustCompile(`(?m)^# undo: +sudo (nft .*)$`).FindSubmatch(AppendFloods(nil, f))
	words := strings.Fields(string(undo[1]))
	ns.Run(t, "", words[0], words[1:]...)
	if got := list(t, ns); got != empty {
		t.Errorf("after %s:\n%s", undo[1], got)
	}
}

// TestProvenSets: what comments say of the sets of qsniff proven that are loaded is so: rules
// remove them, and rules with proven clients bring others, to which later ones are added.
func TestProvenSets(t *testing.T) {
	ns := newHost(t)
	f := floodtest.Report(t, time.Hour)
	ns.Run(t, string(AppendProven(nil, sources("192.0.2.201").Sources, "")), "nft", "-f", "-")
	load(t, ns, f)
	if got, says := list(t, ns), string(AppendFloods(nil, f)); strings.Contains(got, "192.0.2.201") || !strings.Contains(says, "The sets of qsniff proven -o nft in this table go;") {
		t.Errorf("got  %s\nwant no proven client, and a comment on that in\n%s", got, says)
	}
	f.Proven = sources("192.0.2.200")
	load(t, ns, f)
	ns.Run(t, string(AppendProven(nil, sources("192.0.2.201").Sources, "")), "nft", "-f", "-")
	if got, says := list(t, ns), string(AppendFloods(nil, f)); !strings.Contains(got, "192.0.2.200") || !strings.Contains(got, "192.0.2.201") ||
		!strings.Contains(says, "So do its proven clients; qsniff proven -o nft, loaded later, adds some.") {
		t.Errorf("got  %s\nwant both proven clients, and a comment on that in\n%s", got, says)
	}
}

// dropped returns how many packets a chain of the table dropped.
func dropped(t *testing.T, ns *netns.Namespace, chain string) (n int) {
	t.Helper()
	text := ns.Run(t, "", "nft", "list", "chain", "inet", "qsniff", chain)
	all := regexp.MustCompile(`packets (\d+) bytes \d+ drop`).FindAllStringSubmatch(text, -1)
	if all == nil {
		t.Fatalf("no counter in\n%s", text)
	}
	for _, m := range all {
		k, _ := strconv.Atoi(m[1])
		n += k
	}
	return n
}

// TestExpiry: rules drop what they match until their time is over, and nothing after it.
func TestExpiry(t *testing.T) {
	ns := newHost(t, "198.51.100.17/32", "203.0.113.7/32", "192.0.2.0/24")
	f := floodtest.Report(t, 3*time.Second)
	f.Incidents = f.Incidents[1:5]
	load(t, ns, f)
	flooded := func() (server, carpet int) {
		ns.Send(t, floodtest.Attacker, floodtest.Server, floodtest.Query, 10)
		ns.Send(t, floodtest.Attacker, "192.0.2.77:27015", floodtest.Query, 2500)
		return dropped(t, ns, "target2"), dropped(t, ns, "first5")
	}
	server, carpet := flooded()
	if server != 10 || carpet == 0 {
		t.Errorf("at first, %d of 10 packets of a named source were dropped, and %d to a network", server, carpet)
	}
	timing.Await(t, "the end of the rules", func() bool {
		return !strings.Contains(ns.Run(t, "", "nft", "list", "table", "inet", "qsniff"), "expires")
	})
	if s, c := flooded(); s != server || c != carpet {
		t.Errorf("after their time, the rules dropped %d more, and %d to a network", s-server, c-carpet)
	}
}

// TestPass: a client that proved its address passes where others are limited, and a source
// that rules name does not, whatever it proved.
func TestPass(t *testing.T) {
	const client, stranger = "10.0.0.1", "10.0.0.2"
	ns := newHost(t, "198.51.100.17/32", "203.0.113.7/32", client+"/32", stranger+"/32")
	f := floodtest.Report(t, time.Hour)
	f.Incidents = f.Incidents[1:2]
	f.Proven = &proof.Summary{Sources: []proof.Source{{Addr: netip.MustParseAddr(client)}, {Addr: netip.MustParseAddr(floodtest.Attacker)}}}
	load(t, ns, f)
	for _, x := range []struct {
		from string
		want int // at least
		most int
	}{{client, 0, 0}, {stranger, 10, 30}, {floodtest.Attacker, 50, 50}} {
		before := dropped(t, ns, "queries2") + dropped(t, ns, "target2")
		ns.Send(t, x.from, floodtest.Server, floodtest.Query, 50)
		if n := dropped(t, ns, "queries2") + dropped(t, ns, "target2") - before; n < x.want || n > x.most {
			t.Errorf("%d of 50 packets from %s were dropped, want %d to %d", n, x.from, x.want, x.most)
		}
	}
	if text := string(AppendFloods(nil, f)); !strings.Contains(text, "# 1 address that proved itself passes first") || !strings.Contains(text, "; 1 that\n# rules name") {
		t.Errorf("nothing says who passes:\n%s", text)
	}
}

// TestClasses: replies of DNS servers, GRE and segments of no connection are dropped, but from whom the host sent
// the same to; a connection that is begun goes on.
func TestClasses(t *testing.T) {
	const host, far = "198.51.100.17", "203.0.113.7"
	ns := newHost(t, host+"/32", far+"/32")
	var list []flood.Incident
	for _, name := range []string{"amplified_dns", "gre", "tcp_other"} {
		all := other.Classes(nil)
		i := slices.IndexFunc(all, func(c other.Class) bool { return c.Name == name })
		end := netip.AddrPortFrom(netip.MustParseAddr(host), 0)
		list = append(list, flood.Incident{Kind: flood.OtherFlood, Class: &all[i], Target: flood.Target{End: end}})
	}
	load(t, ns, floodtest.Advised(t, list))
	dns := func(from, to string, fromPort, toPort int) {
		ns.Do(func() {
			c, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(from), Port: fromPort})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for range 10 {
				_, _ = c.WriteToUDP([]byte("reply"), &net.UDPAddr{IP: net.ParseIP(to), Port: toPort})
			}
		})
	}
	raw := func(protocol, from, to string, data []byte, times int) {
		ns.Do(func() {
			c, err := net.DialIP("ip4:"+protocol, &net.IPAddr{IP: net.ParseIP(from)}, &net.IPAddr{IP: net.ParseIP(to)})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for range times {
				_, _ = c.Write(data)
			}
		})
	}
	check := func(what, chain string, want int) {
		t.Helper()
		if got := dropped(t, ns, chain); got != want {
			t.Errorf("%s\ngot  %d dropped so far\nwant %d", what, got, want)
		}
	}
	dns(far, host, 53, 40000)
	check("replies that the host did not ask for", "class1", 10)
	dns(far, host, 54, 40000)
	check("from another port", "class1", 10)
	dns(host, far, 40000, 53)
	dns(far, host, 53, 40000)
	check("after the host asked", "class1", 10)
	gre := []byte{0, 0, 8, 0}
	raw("47", far, host, gre, 5)
	check("GRE", "class2", 5)
	raw("47", host, far, gre, 1)
	raw("47", far, host, gre, 5)
	check("GRE of a tunnel that the host uses", "class2", 5)
	ack := []byte{0x9c, 0x40, 0x69, 0x87, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 4, 0, 0, 0, 0, 0}
	raw("6", far, host, ack, 20_000) // what answers them are resets, which prove nothing
	if n := dropped(t, ns, "class3"); n < 1000 {
		t.Errorf("of 20,000 segments of no connection %d were dropped", n)
	}
}

// TestLoadAlone: the files for single incidents load one after the other into one table, where none
// removes what another brought. Loading them again changes nothing, and the line that removes one of
// them removes all.
func TestLoadAlone(t *testing.T) {
	ns := newHost(t)
	empty := list(t, ns)
	f := floodtest.Report(t, time.Hour)
	loadAll := func() (text, remove string) {
		for i := range f.Incidents {
			if r := f.Incidents[i].Advice.Rules; r != nil {
				file := r.NFTables()
				ns.Run(t, file, "nft", "-c", "-f", "-")
				ns.Run(t, file, "nft", "-f", "-")
				remove = regexp.MustCompile(`(?m)^# remove: (nft delete table inet \S+)`).FindStringSubmatch(file)[1]
			}
		}
		return list(t, ns), remove
	}
	once, remove := loadAll()
	if n := strings.Count(once, "table inet "); n != 1 {
		t.Errorf("%d tables in\n%s", n, once)
	}
	for _, in := range f.Incidents {
		if a := in.Target.End.Addr().String(); in.Advice.Rules != nil && !strings.Contains(once, a) {
			t.Errorf("no rules for %s in\n%s", a, once)
		}
	}
	if twice, _ := loadAll(); twice != once {
		t.Errorf("loaded twice:\n%s\nonce:\n%s", twice, once)
	}
	words := strings.Fields(remove)
	ns.Run(t, "", words[0], words[1:]...)
	if got := list(t, ns); got != empty {
		t.Errorf("after %s:\n%s", remove, got)
	}
}
