package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"qsniff/internal/race"
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

// datagram is a decoded packet.
type datagram struct {
	ip      layers.IPv4
	udp     layers.UDP
	payload []byte
}

// decode reads a capture with gopacket and compares lengths and checksums of
// every packet with what gopacket's serializer makes of it.
func decode(t *testing.T, file []byte) []datagram {
	t.Helper()
	r, err := pcapgo.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var out []datagram
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
		var d datagram
		var payload gopacket.Payload
		var found []gopacket.LayerType
		parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &eth, &d.ip, &d.udp, &payload)
		parser.IgnoreUnsupported = true
		if err := parser.DecodeLayers(frame, &found); err != nil {
			t.Fatal(err)
		}
		d.payload = d.udp.Payload
		checkFrame(t, frame, &eth, d)
		out = append(out, d)
	}
}

func checkFrame(t *testing.T, frame []byte, eth *layers.Ethernet, d datagram) {
	t.Helper()
	ip, udp := d.ip, d.udp
	if err := udp.SetNetworkLayerForChecksum(&ip); err != nil {
		t.Fatal(err)
	}
	buf := gopacket.NewSerializeBuffer()
	options := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
	if err := gopacket.SerializeLayers(buf, options, eth, &ip, &udp, gopacket.Payload(d.payload)); err != nil {
		t.Fatal(err)
	}
	want := buf.Bytes()
	if checksum := want[offUDP+6 : offPayload]; checksum[0] == 0 && checksum[1] == 0 {
		checksum[0], checksum[1] = 0xff, 0xff // gopacket forgets this rule of RFC 768
	}
	if !bytes.Equal(frame, want) {
		t.Fatalf("frame\n got % x\nwant % x", frame, want)
	}
}

func TestStreamsRepeat(t *testing.T) {
	for _, command := range []string{"mix", "flood"} {
		first := generate(t, command, "-n", "5000", "-seed", "3")
		if !bytes.Equal(first, generate(t, command, "-n", "5000", "-seed", "3")) {
			t.Errorf("%s: the same arguments gave other bytes", command)
		}
		if bytes.Equal(first, generate(t, command, "-n", "5000", "-seed", "4")) {
			t.Errorf("%s: another seed gave the same bytes", command)
		}
		if !bytes.HasPrefix(generate(t, command, "-n", "6000", "-seed", "3"), first) {
			t.Errorf("%s: a longer run does not begin like a shorter one", command)
		}
	}
}

// class names what a payload of the mix is.
func class(p []byte) string {
	switch {
	case bytes.HasPrefix(p, []byte("\xff\xff\xff\xff")):
		return string(p[4])
	case bytes.HasPrefix(p, []byte("\xfe\xff\xff\xff")) && p[7]&0x80 != 0:
		return "compressed"
	case bytes.HasPrefix(p, []byte("\xfe\xff\xff\xff")):
		return "split"
	}
	return "game"
}

func TestMix(t *testing.T) {
	const n = 60_000
	count := map[string]int{}
	servers := map[string]bool{}
	packets := decode(t, generate(t, "mix", "-n", "60000"))
	for _, d := range packets {
		count[class(d.payload)]++
		if d.udp.SrcPort == serverPort {
			servers[d.ip.SrcIP.String()] = true
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
		{"m", 2, 3.5}, {"compressed", 4, 8}, {"split", 30, 60}, {"game", 50, 62},
	}
	for _, test := range tests {
		if got := float64(count[test.class]) / unit; got < test.low || got > test.high {
			t.Errorf("%s per 100 exchanges\n got %.1f\nwant %.1f to %.1f", test.class, got, test.low, test.high)
		}
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
		if first == 0 || first == 127 || first > 223 || d.ip.TTL < 40 || d.ip.TTL > 120 || d.udp.SrcPort < 1024 {
			t.Fatalf("packet from %v:%d with time to live %d", d.ip.SrcIP, d.udp.SrcPort, d.ip.TTL)
		}
		if d.ip.DstIP.String() != "198.18.0.1" || d.udp.DstPort != serverPort || !bytes.Equal(d.payload, infoRequest) {
			t.Fatalf("packet to %v:%d with % x", d.ip.DstIP, d.udp.DstPort, d.payload)
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
	for name, s := range map[string]source{"mix": newMix(o), "flood": newFlood(o)} {
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
