package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"qsniff/internal/test/race"
)

// generate runs a streaming command.
func generate(t *testing.T, args ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := run(args, &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// packet is a decoded packet.
type packet struct {
	ip       layers.IPv4
	udp      layers.UDP
	tcp      layers.TCP
	over     gopacket.LayerType // UDP or TCP
	src, dst uint16             // ports
	payload  []byte
}

// decode reads a capture with gopacket and compares lengths and checksums of
// every packet with what gopacket's serializer makes of it.
func decode(t *testing.T, file []byte) []packet {
	t.Helper()
	r, err := pcapgo.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var out []packet
	var last int64
	for {
		frame, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if now := info.Timestamp.UnixNano(); now < last {
			t.Fatalf("packet %d goes back in time by %d ns", len(out), last-now)
		} else {
			last = now
		}
		var eth layers.Ethernet
		var d packet
		var payload gopacket.Payload
		var found []gopacket.LayerType
		parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &eth, &d.ip, &d.udp, &d.tcp, &payload)
		parser.IgnoreUnsupported = true
		if err := parser.DecodeLayers(frame, &found); err != nil {
			t.Fatal(err)
		}
		d.over = found[2]
		if d.over == layers.LayerTypeUDP {
			d.src, d.dst, d.payload = uint16(d.udp.SrcPort), uint16(d.udp.DstPort), d.udp.Payload
		} else {
			d.src, d.dst, d.payload = uint16(d.tcp.SrcPort), uint16(d.tcp.DstPort), d.tcp.Payload
		}
		checkFrame(t, frame, &eth, d)
		out = append(out, d)
	}
}

func checkFrame(t *testing.T, frame []byte, eth *layers.Ethernet, d packet) {
	t.Helper()
	ip, udp, tcp := d.ip, d.udp, d.tcp
	var transport interface {
		gopacket.SerializableLayer
		SetNetworkLayerForChecksum(gopacket.NetworkLayer) error
	} = &udp
	if d.over == layers.LayerTypeTCP {
		transport = &tcp
	}
	if err := transport.SetNetworkLayerForChecksum(&ip); err != nil {
		t.Fatal(err)
	}
	buf := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, options, eth, &ip, transport, gopacket.Payload(d.payload)); err != nil {
		t.Fatal(err)
	}
	want := buf.Bytes()
	checksum := want[offTransport+6 : offTransport+udpHeaderLen]
	if d.over == layers.LayerTypeUDP && checksum[0] == 0 && checksum[1] == 0 {
		checksum[0], checksum[1] = 0xff, 0xff // gopacket forgets this rule of RFC 768
	}
	if !bytes.Equal(frame, want) {
		t.Fatalf("frame\n got % x\nwant % x", frame, want)
	}
}

func TestStreamsRepeat(t *testing.T) {
	for _, command := range [][]string{{"mix"}, {"mix", "-game"}, {"flood"}} {
		with := func(args ...string) []byte { return generate(t, append(slices.Clone(command), args...)...) }
		first := with("-n", "5000", "-seed", "3")
		if !bytes.Equal(first, with("-n", "5000", "-seed", "3")) {
			t.Errorf("%s: the same arguments gave other bytes", command)
		}
		if bytes.Equal(first, with("-n", "5000", "-seed", "4")) {
			t.Errorf("%s: another seed gave the same bytes", command)
		}
		if !bytes.HasPrefix(with("-n", "6000", "-seed", "3"), first) {
			t.Errorf("%s: a longer run does not begin like a shorter one", command)
		}
	}
}

// class names what a packet of the mix is.
func class(d packet) string {
	p := d.payload
	switch {
	case d.over == layers.LayerTypeTCP && d.tcp.SYN && !d.tcp.ACK:
		return "session"
	case d.over == layers.LayerTypeTCP:
		return "tcp"
	case bytes.HasPrefix(p, []byte("\xff\xff\xff\xff")):
		return string(p[4])
	case bytes.HasPrefix(p, []byte("\xfe\xff\xff\xff")) && p[7]&0x80 != 0:
		return "compressed"
	case bytes.HasPrefix(p, []byte("\xfe\xff\xff\xff")):
		return "split"
	case string(p) == "s" && d.dst == asePort:
		return "ase"
	case bytes.HasPrefix(p, []byte("EYE1\x04mta")) && d.src == asePort:
		return "EYE1"
	case bytes.HasPrefix(p, []byte("1\xff")) && d.dst == masterPort:
		return "list"
	}
	return "game"
}

func TestMix(t *testing.T) {
	const n = 60_000
	count := map[string]int{}
	servers := map[string]bool{}
	large := 0
	packets := decode(t, generate(t, "mix", "-n", "60000"))
	for _, d := range packets {
		c := class(d)
		count[c]++
		if d.src < 32_768 {
			servers[d.ip.SrcIP.String()] = true
		}
		if c == "EYE1" && len(d.payload) > 1400 {
			large++
		}
	}
	if len(packets) != n || len(servers) != numServers {
		t.Errorf("packets, servers\n got %d, %d\nwant %d, %d", len(packets), len(servers), n, numServers)
	}
	// Of 100 exchanges, 40 are info with two requests and one reply, and so on;
	// exchanges under way when the capture ends shift this a little.
	unit := float64(count["I"]) / 40
	tests := []struct {
		class     string
		low, high float64 // per 100 exchanges
	}{
		{"T", 80, 90}, {"U", 44, 50}, {"V", 39, 48}, {"A", 78, 88}, {"D", 21, 25},
		{"m", 2, 3.5}, {"compressed", 4, 8}, {"split", 30, 60},
		{"ase", 8, 10}, {"EYE1", 8, 10}, {"list", 3.3, 4.7}, {"f", 3.3, 4.7},
		{"session", 2.5, 3.7}, {"game", 0, 0},
	}
	for _, test := range tests {
		if got := float64(count[test.class]) / unit; got < test.low || got > test.high {
			t.Errorf("%s per 100 exchanges\n got %.1f\nwant %.1f to %.1f", test.class, got, test.low, test.high)
		}
	}
	if got := float64(large) / float64(count["EYE1"]); got < 0.2 || got > 0.5 {
		t.Errorf("part of the ASE replies above 1,400 bytes\n got %.2f\nwant about a third", got)
	}
}

// TestMixShares: what is drawn are the shares, all of them.
func TestMixShares(t *testing.T) {
	sum := 0
	for _, s := range shares {
		sum += s.percent
	}
	if sum != 100 {
		t.Errorf("sum of the shares\n got %d\nwant 100", sum)
	}
}

func TestMixGame(t *testing.T) {
	packets := decode(t, generate(t, "mix", "-game", "-n", "30000"))
	games := 0
	ports := map[uint16]bool{}
	for _, d := range packets {
		if class(d) == "game" {
			games++
			ports[min(d.src, d.dst)] = true
		}
	}
	// A burst that the end of the capture cuts is not made up for.
	if games < 14_950 || games > 15_000 {
		t.Errorf("packets of games\n got %d\nwant 15000 or a few less", games)
	}
	if len(ports) != 1 || !ports[serverPort] {
		t.Errorf("ports of games\n got %v\nwant %d", ports, serverPort)
	}
}

// session is what a test follows of one TCP connection; index 0 is the client.
type session struct {
	next    [2]uint32
	streams [2][]byte
	fins    int
}

// add checks that d continues s without a hole.
func (s *session) add(t *testing.T, d packet, from int) {
	t.Helper()
	if d.tcp.SYN {
		s.next[from] = d.tcp.Seq
	}
	if d.tcp.Seq != s.next[from] || d.tcp.ACK && d.tcp.Ack != s.next[1-from] {
		t.Fatalf("segment %d, %d\n got %d, %d\nwant %d, %d", d.src, d.dst, d.tcp.Seq, d.tcp.Ack, s.next[from], s.next[1-from])
	}
	s.next[from] += uint32(len(d.payload))
	if d.tcp.SYN || d.tcp.FIN {
		s.next[from]++
	}
	if d.tcp.FIN {
		s.fins++
	}
	s.streams[from] = append(s.streams[from], d.payload...)
}

// packetList cuts a stream into packets and writes id, type and length of body
// of each.
func packetList(t *testing.T, b []byte) string {
	t.Helper()
	var out strings.Builder
	for len(b) > 0 {
		if len(b) < 14 {
			t.Fatalf("% x is not a packet", b)
		}
		size := int(binary.LittleEndian.Uint32(b))
		if size < 10 || 4+size > len(b) || b[4+size-1] != 0 || b[4+size-2] != 0 {
			t.Fatalf("size %d of % x", size, b[:min(len(b), 64)])
		}
		fmt.Fprintf(&out, "%d/%d/%d ", binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), size-10)
		b = b[4+size:]
	}
	return out.String()
}

// TestMixSessions follows every RCON session of the mix to its end.
func TestMixSessions(t *testing.T) {
	sessions := map[string]*session{}
	ended := 0
	for _, d := range decode(t, generate(t, "mix", "-n", "20000")) {
		if d.over != layers.LayerTypeTCP {
			continue
		}
		from, client := 0, fmt.Sprint(d.ip.SrcIP, d.src, d.ip.DstIP)
		if d.src == serverPort {
			from, client = 1, fmt.Sprint(d.ip.DstIP, d.dst, d.ip.SrcIP)
		}
		s := sessions[client]
		if s == nil {
			s = &session{}
			sessions[client] = s
		}
		s.add(t, d, from)
		if s.fins < 2 || from == 1 {
			continue
		}
		ended++
		if got, want := packetList(t, s.streams[0]), "1/3/11 2/2/6 3/2/8 4/0/0 "; got != want {
			t.Errorf("packets of the client\n got %s\nwant %s", got, want)
		}
		got := packetList(t, s.streams[1])
		if want := "3/0/4096 3/0/4096 3/0/4096 4/0/0 4/0/4 "; !strings.HasPrefix(got, "1/0/0 1/2/0 2/0/") || !strings.HasSuffix(got, want) {
			t.Errorf("packets of the server\n got %s\nwant login, status and %s", got, want)
		}
	}
	if ended < 50 {
		t.Errorf("sessions that ended\n got %d\nwant 50 and more", ended)
	}
}

func TestFlood(t *testing.T) {
	packets := decode(t, generate(t, "flood", "-n", "20000"))
	sources := map[string]bool{}
	ttl := map[uint8]bool{}
	for _, d := range packets {
		sources[d.ip.SrcIP.String()] = true
		ttl[d.ip.TTL] = true
		first := d.ip.SrcIP[0]
		if first == 0 || first == 127 || first > 223 || d.ip.TTL < 40 || d.ip.TTL > 120 || d.src < 1024 {
			t.Fatalf("packet from %v:%d with time to live %d", d.ip.SrcIP, d.src, d.ip.TTL)
		}
		if d.ip.DstIP.String() != "198.18.0.1" || d.dst != serverPort || !bytes.Equal(d.payload, infoRequest) {
			t.Fatalf("packet to %v:%d with % x", d.ip.DstIP, d.dst, d.payload)
		}
	}
	// 20,000 of 3.7 billion addresses meet by chance about 0.05 times.
	if len(sources) < 19_990 || len(ttl) != 81 {
		t.Errorf("sources, times to live\n got %d, %d\nwant about 20000, 81", len(sources), len(ttl))
	}
}

func TestNextAllocates(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	o := options{rate: 50_000, seed: 1}
	withGame := o
	withGame.game = true
	for name, s := range map[string]generator{"mix": newMix(o), "mix -game": newMix(withGame), "flood": newFlood(o)} {
		for range 20_000 {
			s.next() // until the buffers have grown
		}
		if got := testing.AllocsPerRun(20_000, func() { s.next() }); got != 0 {
			t.Errorf("%s: allocations per packet\n got %v\nwant 0", name, got)
		}
	}
}

func TestGolden(t *testing.T) {
	dir := t.TempDir()
	source := "# test\n@ client 10.64.0.1:40001\n@ server 198.18.0.1:27015\n> ff ff ff ff 69\n"
	path := filepath.Join(dir, "a", "ping.hex")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := string(generate(t, "golden", dir)), "1 captures written\n"; got != want {
		t.Errorf("output\n got %q\nwant %q", got, want)
	}
	file, err := os.ReadFile(filepath.Join(dir, "a", "ping.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := decode(t, file)[0].payload, []byte("\xff\xff\xff\xffi"); !bytes.Equal(got, want) {
		t.Errorf("payload\n got % x\nwant % x", got, want)
	}
}

func TestRunErrors(t *testing.T) {
	empty := t.TempDir()
	tests := []struct {
		name string
		in   []string
		want string
	}{
		{"no command", nil, "usage: mkpcap"},
		{"unknown command", []string{"pcapng"}, `"pcapng" is not a command`},
		{"no sources", []string{"golden", empty}, empty + ": no .hex files"},
		{"no folder", []string{"golden", empty + "/none"}, "no such file"},
		{"negative", []string{"mix", "-n", "-1"}, "mkpcap mix: wrong arguments"},
		{"games in a flood", []string{"flood", "-game"}, "flag provided but not defined: -game"},
		{"no rate", []string{"flood", "-rate", "0"}, "mkpcap flood: wrong arguments"},
		{"no such output", []string{"flood", "-o", empty + "/a/b"}, "no such file"},
	}
	for _, test := range tests {
		err := run(test.in, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s\n got %v\nwant %s", test.name, err, test.want)
		}
	}
}

func BenchmarkMix(b *testing.B) {
	m := newMix(options{rate: 50_000, seed: 1})
	for b.Loop() {
		m.next()
	}
}
