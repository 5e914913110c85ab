package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	traffic "qsniff/internal/test/forms"
	"qsniff/internal/test/testpcap"
)

// arrival is a way in which the traffic of traffic.Base arrives in captures.
type arrival struct {
	name  string
	files func(*base) [][]byte
	args  []string // further ones of the command
	// differs is why a figure may be another one, empty if none may: a sentence, and the figures
	// themselves are in want.
	differs string
	want    func(*arrived)
}

// base is the traffic, and what varies of it.
type base struct {
	packets []traffic.Packet
	t       testing.TB
}

// arrived is what a command finds in an arrival.
type arrived struct {
	Requests, Replies, Clients, Servers, Answered int
	Incidents                                     string // kinds
	Attacked                                      int    // requests in them
}

// TestArrivals: the same traffic has the same figures in whatever form it arrives.
func TestArrivals(t *testing.T) {
	t.Parallel()
	exchanges, flood := 400, 8_000
	if !testing.Short() {
		exchanges, flood = 10_000, 100_000
	}
	b := &base{packets: traffic.Base(exchanges, flood), t: t}
	dir := t.TempDir()
	want := b.read(dir, &arrivals[0])
	if want.Requests != 2*exchanges+flood || want.Replies != 2*exchanges || want.Servers != 1 || want.Answered != exchanges || !strings.HasPrefix(want.Incidents, "flood") {
		t.Fatalf("the traffic itself: %+v", want)
	}
	for i := range arrivals {
		a := &arrivals[i]
		t.Run(strings.ReplaceAll(a.name, " ", "-"), func(t *testing.T) {
			got, want := b.read(dir, a), want
			if a.want != nil {
				a.want(&want)
			}
			if d := got.Clients - want.Clients; d*d <= want.Clients*want.Clients/10_000 {
				got.Clients = want.Clients // estimates, which other addresses change by less than 1 %
			}
			if got != want {
				t.Errorf("%s\n got %+v\nwant %+v", a.differs, got, want)
			}
		})
	}
}

// TestArrivalsCounted: tshark counts the same datagrams in some of the forms.
func TestArrivalsCounted(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed")
	}
	b := &base{packets: traffic.Base(50, 500), t: t}
	dir := t.TempDir()
	for i := range arrivals {
		a := &arrivals[i]
		if !slices.Contains([]string{"Ethernet", "VLAN", "VXLAN", "GRE", "MPLS", "IPv6 in PPPoE", "any device"}, a.name) {
			continue
		}
		path := b.write(dir, a)[0]
		out, err := exec.Command("tshark", "-n", "-r", path, "-Y", "udp.port == 27015", "-T", "fields", "-e", "frame.number").Output()
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		got := b.read(dir, a)
		if n := bytes.Count(out, []byte("\n")); n != got.Requests+got.Replies {
			t.Errorf("%s: messages\n got %d\nwant %d, as tshark counts", a.name, got.Requests+got.Replies, n)
		}
	}
}

// write writes the files of an arrival and returns their paths.
func (b *base) write(dir string, a *arrival) (paths []string) {
	for i, data := range a.files(b) {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d", strings.ReplaceAll(a.name, " ", "-"), i))
		if err := os.WriteFile(path, data, 0o600); err != nil {
			b.t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// read returns what stats and floods find in an arrival.
func (b *base) read(dir string, a *arrival) (got arrived) {
	b.t.Helper()
	paths := b.write(dir, a)
	defer func() {
		for _, path := range paths {
			os.Remove(path)
		}
	}()
	run := func(command string) string {
		out, errs, status := output(b.t, slices.Concat([]string{command, "-o", "json"}, a.args, paths)...)
		if status != exitOK {
			b.t.Fatalf("%s: %s: exit status %d: %s", a.name, command, status, errs)
		}
		return out
	}
	var stats struct {
		Messages []struct {
			Direction string
			Count     int
		}
		Servers []struct{ Answered int }
		Clients struct{ Estimate int } `json:"distinct_clients"`
	}
	if err := json.Unmarshal([]byte(run("stats")), &stats); err != nil {
		b.t.Fatalf("%s: %v", a.name, err)
	}
	for _, m := range stats.Messages {
		if m.Direction == "reply" {
			got.Replies += m.Count
		} else {
			got.Requests += m.Count
		}
	}
	got.Clients, got.Servers = stats.Clients.Estimate, len(stats.Servers)
	for _, s := range stats.Servers {
		got.Answered += s.Answered
	}
	for line := range strings.Lines(run("floods")) {
		var incident struct {
			Kind     string
			Requests int
		}
		if err := json.Unmarshal([]byte(line), &incident); err != nil {
			b.t.Fatalf("%s: %v", a.name, err)
		}
		got.Incidents += incident.Kind + " "
		got.Attacked += incident.Requests
	}
	return got
}

// Ids of IP headers: those of a sender that counts, and of packet generators.
func counted(i int) uint32 { return uint32(100 + i) }
func constant(int) uint32  { return 54321 }
func zero(int) uint32      { return 0 }

// on returns a capture of the traffic at hops, in and out, with ids.
func on(link, interfaces int, in, out []traffic.Hop, id func(int) uint32) func(*base) [][]byte {
	return func(b *base) [][]byte {
		return [][]byte{traffic.Pcapng(traffic.Capture(traffic.WithID(b.packets, id), link, in, out, traffic.Inside), link, interfaces)}
	}
}

// at returns hops at several interfaces, 20 us apart.
func at(interfaces ...uint32) (hops []traffic.Hop) {
	for i, n := range interfaces {
		hops = append(hops, traffic.Hop{Delay: int64(i) * 20_000, Iface: n})
	}
	return hops
}

// sent returns the same hops, of packets that the host sends.
func sent(hops []traffic.Hop) []traffic.Hop {
	hops = slices.Clone(hops)
	for i := range hops {
		hops[i].IsSent = true
	}
	return hops
}

// framed returns a capture of frames that link makes of each packet.
func framed(link testpcap.Link, change func(*traffic.Packet)) func(*base) [][]byte {
	return func(b *base) [][]byte {
		var frames []traffic.Frame
		for _, p := range b.packets {
			if change != nil {
				change(&p)
			}
			ip, err := p.IP(0)
			if err != nil {
				b.t.Fatal(err)
			}
			for _, x := range ip {
				frames = append(frames, traffic.Frame{Nanos: p.Nanos, Data: link.Frame(x, !p.IsBack)})
			}
		}
		return [][]byte{traffic.Pcapng(frames, int(link.Type), 1)}
	}
}

var ethernet = testpcap.Link{Type: testpcap.LinkEthernet}

// over is Ethernet with a tunnel around each packet.
func over(kind string, id uint32) testpcap.Link {
	return testpcap.Link{Type: testpcap.LinkEthernet, Tunnels: []testpcap.Tunnel{{
		Kind: kind, ID: id, Client: netip.MustParseAddr("198.18.9.1"), Server: netip.MustParseAddr("198.18.9.2")}}}
}

// toIPv6 maps the addresses of a packet into a documentation prefix.
func toIPv6(p *traffic.Packet) {
	six := func(a netip.AddrPort) netip.AddrPort {
		b := netip.MustParseAddr("2001:db8::").As16()
		four := a.Addr().As4()
		// Each client has a /64 of its own, as users have.
		copy(b[4:], four[:])
		b[15] = 1
		return netip.AddrPortFrom(netip.AddrFrom16(b), a.Port())
	}
	p.Src, p.Dst = six(p.Src), six(p.Dst)
}

// classicFile returns a pcap file of the traffic on Ethernet.
func classicFile(f testpcap.Format) func(*base) [][]byte {
	return func(b *base) [][]byte {
		var out bytes.Buffer
		w, err := testpcap.NewWriter(&out, f)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, p := range b.packets {
			if err := w.WritePacket(p.Nanos, p.Frame(ethernet)); err != nil {
				b.t.Fatal(err)
			}
		}
		return [][]byte{out.Bytes()}
	}
}

// cut returns the traffic in so many files, as a ring has them.
func cutInto(n, link int, id func(int) uint32) func(*base) [][]byte {
	return func(b *base) (files [][]byte) {
		frames := traffic.Capture(traffic.WithID(b.packets, id), link, traffic.OneInterface[0], traffic.OneInterface[1], traffic.Inside)
		if link != testpcap.LinkSLL2 {
			for i := range frames {
				frames[i].Iface = 0
			}
		}
		for _, part := range traffic.Cut(frames, n) {
			files = append(files, traffic.Pcapng(part, link, 1))
		}
		return files
	}
}

// inAndOut returns a file of each direction, with a clock of the second that is so much late.
func inAndOut(late int64) func(*base) [][]byte {
	return func(b *base) [][]byte {
		var frames [2][]traffic.Frame
		for _, p := range b.packets {
			k, nanos := 0, p.Nanos
			if p.IsBack {
				k, nanos = 1, p.Nanos+late
			}
			frames[k] = append(frames[k], traffic.Frame{Nanos: nanos, Data: p.Frame(ethernet)})
		}
		return [][]byte{traffic.Pcapng(frames[0], testpcap.LinkEthernet, 1), traffic.Pcapng(frames[1], testpcap.LinkEthernet, 1)}
	}
}

// late returns a file of two interfaces, of which the second one has what is sent, and a clock that is so
// much late; with packets in the order in which they came, or in that of their stamps.
func late(by int64, isSorted bool) func(*base) [][]byte {
	return func(b *base) [][]byte {
		frames := traffic.Capture(b.packets, testpcap.LinkEthernet, at(0), at(1), traffic.Inside)
		for i := range frames {
			frames[i].Nanos += by * int64(frames[i].Iface)
		}
		if isSorted {
			slices.SortStableFunc(frames, func(x, y traffic.Frame) int { return cmp.Compare(x.Nanos, y.Nanos) })
		}
		return [][]byte{traffic.Pcapng(frames, testpcap.LinkEthernet, 2)}
	}
}

// TestCrowdOfLateInterface: a crowd of players that comes after a trailer, each of whom brings its challenge back, is no
// attack, and its server no amplifier, where the clock of the interface that sends is wrong.
func TestCrowdOfLateInterface(t *testing.T) {
	t.Parallel()
	b := &base{packets: trailerCrowd(), t: t}
	dir := t.TempDir()
	for _, x := range []struct {
		ms       int64
		isSorted bool
	}{{0, false}, {500, false}, {500, true}, {3000, true}, {-50, true}, {-3000, true}} {
		a := &arrival{name: fmt.Sprint("crowd ", x.ms, x.isSorted), files: late(x.ms*1_000_000, x.isSorted)}
		path := b.write(dir, a)[0]
		floods, _, status := output(t, "floods", path)
		if status != exitOK || !strings.Contains(floods, "No query floods") || strings.Contains(floods, "amplifier") {
			t.Errorf("%s: floods, exit status %d:\n%s", a.name, status, floods)
		}
		if wants := x.ms != 0; strings.Contains(floods, "The clock of interface 1 is") != wants {
			t.Errorf("%s: the clock is named: %t, want %t:\n%s", a.name, !wants, wants, floods)
		}
		if findings, _, _ := output(t, "findings", path); strings.Contains(findings, "amplifier") {
			t.Errorf("%s: findings:\n%s", a.name, findings)
		}
	}
}

// TestRemarksEverywhere: each command says that a capture looks sampled, and incidents have the address of a
// server inside of the host.
func TestRemarksEverywhere(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := &base{packets: traffic.Base(60, 20_000), t: t}
	path := b.write(dir, &arrival{name: "container", files: on(testpcap.LinkSLL2, 1, traffic.Container[0], traffic.Container[1], counted)})[0]
	if out, _, _ := output(t, "floods", "-o", "json", path); !strings.Contains(out, `"inside":["172.17.0.2:27015"]`) {
		t.Errorf("floods: %.600s", out)
	}
	r := rand.New(rand.NewPCG(1, 2))
	b.packets = slices.DeleteFunc(traffic.Base(8_000, 0), func(traffic.Packet) bool { return r.IntN(8) > 0 })
	path = b.write(dir, &arrival{name: "sampled", files: on(testpcap.LinkEthernet, 1, at(0), at(0), counted)})[0]
	for _, args := range [][]string{{"floods"}, {"floods", "-o", "json"}, {"stats"}, {"stats", "-o", "json"}, {"findings"}, {"read"}} {
		out, errs, _ := output(t, append(args, path)...)
		if n := strings.Count(out+errs, "looks sampled, 1 of "); n != 1 {
			t.Errorf("%s: %d times\n%.600s\n%s", args, n, out, errs)
		}
	}
}

// trailerCrowd returns exchanges of 5 clients a second, and of 150 a second from the 60th second on, for 20 s.
func trailerCrowd() []traffic.Packet {
	all := traffic.Base(60*5+20*150, 0)
	for i := range all {
		n := int64(i / 4) // of the exchange
		at := n * 200_000_000
		if n > 300 {
			at = 60_000_000_000 + (n-300)*1_000_000_000/150
		}
		all[i].Nanos += at - n*1_000_000_000
	}
	slices.SortStableFunc(all, func(x, y traffic.Packet) int { return cmp.Compare(x.Nanos, y.Nanos) })
	return all
}

func zipped(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(data)
	_ = w.Close() // into memory
	return out.Bytes()
}

func zstandard(data []byte) []byte {
	w, _ := zstd.NewWriter(nil)
	return w.EncodeAll(data, nil)
}

// merged returns the traffic as receive offload hands it on: equal requests of one source that follow each
// other are one datagram.
func merged(b *base) [][]byte {
	var frames []traffic.Frame
	perSource := map[netip.AddrPort][]traffic.Packet{}
	flush := func(src netip.AddrPort) {
		list := perSource[src]
		if len(list) == 0 {
			return
		}
		p := list[0]
		for _, q := range list[1:] {
			p.Payload = append(slices.Clip(p.Payload), q.Payload...)
		}
		frames = append(frames, traffic.Frame{Nanos: list[len(list)-1].Nanos, Data: p.Frame(ethernet)})
		delete(perSource, src)
	}
	for _, p := range b.packets {
		isFlood := !p.IsBack && p.Src.Port() == 27005
		if !isFlood {
			frames = append(frames, traffic.Frame{Nanos: p.Nanos, Data: p.Frame(ethernet)})
			continue
		}
		perSource[p.Src] = append(perSource[p.Src], p)
		if len(perSource[p.Src]) == 10 {
			flush(p.Src)
		}
	}
	for _, p := range b.packets {
		flush(p.Src)
	}
	slices.SortStableFunc(frames, func(x, y traffic.Frame) int { return int(x.Nanos - y.Nanos) })
	return [][]byte{traffic.Pcapng(frames, testpcap.LinkEthernet, 1)}
}

// tagged is the any device with an 802.1Q tag that still stands before the packet.
func tagged(b *base) [][]byte {
	frames := traffic.Capture(b.packets, testpcap.LinkSLL2, traffic.OneInterface[0], traffic.OneInterface[1], traffic.Inside)
	const header = 20
	for i, f := range frames {
		tag := binary.BigEndian.AppendUint16(nil, 7) // its ID
		tag = append(tag, f.Data[:2]...)
		data := slices.Concat(f.Data[:header], tag, f.Data[header:])
		binary.BigEndian.PutUint16(data, 0x8100)
		frames[i].Data = data
	}
	return [][]byte{traffic.Pcapng(frames, testpcap.LinkSLL2, 1)}
}

var arrivals = []arrival{
	{name: "Ethernet", files: on(testpcap.LinkEthernet, 1, at(0), at(0), counted)},
	{name: "constant id", files: on(testpcap.LinkEthernet, 1, at(0), at(0), constant)},
	{name: "no id", files: on(testpcap.LinkEthernet, 1, at(0), at(0), zero)},
	{name: "any device", files: on(testpcap.LinkSLL2, 1, at(2), sent(at(2)), counted)},
	{name: "any device, constant id", files: on(testpcap.LinkSLL2, 1, at(2), sent(at(2)), constant)},
	{name: "any device, no id", files: on(testpcap.LinkSLL2, 1, at(2), sent(at(2)), zero)},
	{name: "any device, bond and its member", files: on(testpcap.LinkSLL2, 1, at(2, 5), sent(at(5, 2)), counted)},
	{name: "any device, bond, constant id", files: on(testpcap.LinkSLL2, 1, at(2, 5), sent(at(5, 2)), constant)},
	{name: "two interfaces", files: on(testpcap.LinkEthernet, 2, at(0, 1), at(1, 0), counted)},
	{name: "two interfaces, constant id", files: on(testpcap.LinkEthernet, 2, at(0, 1), at(1, 0), constant)},
	{name: "two interfaces, no id", files: on(testpcap.LinkEthernet, 2, at(0, 1), at(1, 0), zero)},
	{name: "three interfaces", files: on(testpcap.LinkEthernet, 3, at(0, 1, 2), at(2, 1, 0), counted)},
	{name: "a mirror that doubles", files: on(testpcap.LinkEthernet, 1, traffic.Times(2, 3_000), traffic.Times(2, 3_000), counted)},
	{name: "four components, as pktmon", files: on(testpcap.LinkEthernet, 1, traffic.Times(4, 1_000), traffic.Times(4, 1_000), counted)},
	{name: "ring of three files", files: cutInto(3, testpcap.LinkEthernet, counted)},
	{name: "ring of three files, constant id", files: cutInto(3, testpcap.LinkEthernet, constant)},
	{name: "ring of the any device", files: cutInto(4, testpcap.LinkSLL2, constant)},
	{name: "a file of each direction", files: inAndOut(0)},
	{name: "a clock 700 ms late", files: inAndOut(700_000_000)},
	{name: "a clock 3 s late", files: inAndOut(3_000_000_000)},
	{name: "a clock 50 ms early", files: inAndOut(-50_000_000)},
	{name: "a clock 3 s early", files: inAndOut(-3_000_000_000)},
	{name: "an interface whose clock is 3 s late", files: late(3_000_000_000, false)},
	{name: "an interface whose clock is 3 s early", files: late(-3_000_000_000, false)},
	{name: "an interface 700 ms late, ordered by stamps", files: late(700_000_000, true)},
	{name: "an interface 50 ms early, ordered by stamps", files: late(-50_000_000, true)},
	{name: "container", files: on(testpcap.LinkSLL2, 1, traffic.Container[0], traffic.Container[1], counted)},
	{name: "container, old header", files: on(testpcap.LinkSLL, 1, traffic.Container[0], traffic.Container[1], counted)},
	{name: "container, old header, no id", files: on(testpcap.LinkSLL, 1, traffic.Container[0], traffic.Container[1], zero)},
	{name: "offload", files: merged, differs: "ten requests have the time of the last one, so the attack begins with one more",
		want: func(w *arrived) { w.Attacked++ }},
	{name: "VLAN", files: framed(testpcap.Link{Type: testpcap.LinkEthernet, VLANs: []uint16{7}}, nil)},
	{name: "QinQ", files: framed(testpcap.Link{Type: testpcap.LinkEthernet, VLANs: []uint16{7, 8}}, nil)},
	{name: "any device, tag before the packet", files: tagged},
	{name: "raw IP", files: framed(testpcap.Link{Type: testpcap.LinkRaw}, nil)},
	{name: "cooked, old header", files: framed(testpcap.Link{Type: testpcap.LinkSLL}, nil)},
	{name: "VXLAN", files: framed(over("vxlan", 77), nil)},
	{name: "Geneve", files: framed(over("geneve", 77), nil)},
	{name: "GRE", files: framed(over("gre", 1), nil)},
	{name: "ERSPAN", files: framed(over("erspan", 1), nil)},
	{name: "TZSP, of a Mikrotik mirror", files: mirrored},
	{name: "MPLS", files: framed(over("mpls", 16), nil)},
	{name: "IPv6 in PPPoE", files: framed(over("pppoe", 1), toIPv6), differs: "sources in one /24 are few, those in 50 /64 are a distributed flood",
		want: func(w *arrived) { w.Incidents = strings.ReplaceAll(w.Incidents, "few", "distributed") }},
	{name: "big-endian, microseconds", files: classicFile(testpcap.Format{Link: testpcap.LinkEthernet, SnapLen: 1 << 16, BigEndian: true})},
	{name: "nanoseconds, gzip", files: func(b *base) [][]byte {
		return [][]byte{zipped(classicFile(testpcap.Format{Link: testpcap.LinkEthernet, SnapLen: 1 << 16, Nano: true})(b)[0])}
	}},
	{name: "pcapng, zstd", files: func(b *base) [][]byte { return [][]byte{zstandard(framed(ethernet, nil)(b)[0])} }},
	{name: "fragments", files: fragments},
}

// mirrored is the traffic as a router sends it to an analyzer, each frame in a datagram of TZSP.
func mirrored(b *base) [][]byte {
	var frames []traffic.Frame
	for i, p := range b.packets {
		d := testpcap.Datagram{Src: netip.MustParseAddrPort("198.18.9.1:51000"), Dst: netip.MustParseAddrPort("198.18.9.2:37008"), TTL: 64,
			ID: uint32(i), Payload: append([]byte("\x01\x00\x00\x01\x01"), p.Frame(ethernet)...)}
		frames = append(frames, traffic.Frame{Nanos: p.Nanos, Data: d.Frame(ethernet)})
	}
	return [][]byte{traffic.Pcapng(frames, testpcap.LinkEthernet, 1)}
}

// fragments is the traffic with an MTU that cuts replies in two.
func fragments(b *base) [][]byte {
	var frames []traffic.Frame
	for _, p := range b.packets {
		ip, err := p.IP(76)
		if err != nil {
			b.t.Fatal(err)
		}
		for i, x := range ip {
			frames = append(frames, traffic.Frame{Nanos: p.Nanos + int64(i)*1000, Data: ethernet.Frame(x, !p.IsBack)})
		}
	}
	return [][]byte{traffic.Pcapng(frames, testpcap.LinkEthernet, 1)}
}
