package live

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/testpcap"
	"qsniff/netlayer"
)

const pcapfiles = "../../pcapfiles"

// packets reads a capture.
func packets(t *testing.T, name string) (all []capture.Packet) {
	t.Helper()
	r, err := file.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		var b capture.Batch
		err := r.Read(&b)
		all = append(all, b.Packets...)
		if err != nil {
			return all
		}
	}
}

// yielding lists the packets of a capture that a message was read from.
func yielding(t *testing.T, name string) map[uint64]string {
	t.Helper()
	text, err := os.ReadFile(strings.TrimSuffix(name, ".pcap") + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m struct {
			Record, Protocol, Message, Direction string
			Frame                                uint64
			Frames                               []uint64
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return map[uint64]string{} // kept as its digest only
		}
		if m.Record != "" {
			continue
		}
		for _, n := range append(m.Frames, m.Frame) {
			all[n] = m.Protocol + " " + m.Message
		}
	}
	return all
}

func machine(t *testing.T, v view, snap uint32) *bpf.VM {
	t.Helper()
	program, err := (&AutoFilter{}).program(v, snap)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// evidence names what tells of messages without being one: a fragment, an error.
func evidence(p *capture.Packet) string {
	var n netlayer.Packet
	n.Decode(p.Link, p.Data, int(p.Wire))
	switch {
	case n.Frag.Set:
		return "a fragment"
	case n.Stop == netlayer.ICMP && n.Quote().Set:
		return "an ICMP error"
	}
	return ""
}

// lostIn are the captures of which the filter drops messages, and the words of Lost
// that say so.
var lostIn = map[string]string{
	"ase/version-odd-port.pcap": "ASE on UDP ports other than",
	"master/other-port.pcap":    "master servers on UDP ports other than",
	"rcon/mongo-port.pcap":      "RCON on TCP ports other than",
	"rcon/odd-port.pcap":        "RCON on TCP ports other than",
}

// TestAutoFilterPassesWhatYieldsMessages: the filter drops no packet of the captures
// that a message is read from or that tells of one, but those that Lost tells of.
func TestAutoFilterPassesWhatYieldsMessages(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(pcapfiles, "*", "*.pcap"))
	if err != nil || len(names) < 100 {
		t.Fatalf("%d captures found (error: %v)", len(names), err)
	}
	machines := map[uint16]*bpf.VM{}
	for _, link := range []uint16{linkEthernet, linkRaw, linkSLL, linkSLL2} {
		machines[link] = machine(t, viewOf(link), capture.MaxCaptured)
	}
	lost := strings.Join((&AutoFilter{}).Lost(), "\n")
	asked, dropped := 0, map[string]bool{}
	for _, name := range names {
		messages := yielding(t, name)
		short := strings.TrimPrefix(filepath.ToSlash(name), pcapfiles+"/")
		for _, p := range packets(t, name) {
			vm := machines[p.Link]
			if messages[p.No] == "" {
				messages[p.No] = evidence(&p)
			}
			if vm == nil || messages[p.No] == "" {
				continue
			}
			asked++
			n, err := vm.Run(p.Data)
			switch {
			case err != nil:
				t.Fatal(err)
			case n > 0:
			case lostIn[short] == "" || !strings.Contains(lost, lostIn[short]):
				t.Errorf("%s: packet %d (%s) is dropped, and Lost does not say so", short, p.No, messages[p.No])
			}
			if n == 0 {
				dropped[short] = true
			}
		}
	}
	if asked < 2000 {
		t.Errorf("only %d packets were tried", asked)
	}
	for name := range lostIn {
		if !dropped[name] {
			t.Errorf("%s is said to lose packets, and does not", name)
		}
	}
}

// datagram goes from a client to a port of a server.
func datagram(payload []byte, port uint16) testpcap.Datagram {
	return testpcap.Datagram{
		Src: netip.AddrPortFrom(netip.MustParseAddr("10.64.0.1"), 40001), Dst: netip.AddrPortFrom(netip.MustParseAddr("198.18.0.1"), port),
		TTL: 64, Payload: payload,
	}
}

// TestAutoFilterDropsGameTraffic: packets of games begin with a sequence number.
func TestAutoFilterDropsGameTraffic(t *testing.T) {
	vm := machine(t, viewEthernet, capture.MaxCaptured)
	payload := make([]byte, 60)
	for i := range payload {
		payload[i] = byte(i * 7)
	}
	frame := datagram(payload, 27015).Frame(testpcap.Link{Type: linkEthernet})
	begin := frame[14+20+8:]
	binary.LittleEndian.PutUint32(begin, 0xffffffff)
	if n, _ := vm.Run(frame); n == 0 {
		t.Fatal("a query is dropped: the frames are not what they are meant to be")
	}
	for sequence := uint32(1); sequence < 1<<20; sequence++ {
		binary.LittleEndian.PutUint32(begin, sequence)
		if n, _ := vm.Run(frame); n > 0 && sequence != '1' { // that one could be a request for a list
			t.Fatalf("the packet with the sequence number %d passes", sequence)
		}
	}
}
