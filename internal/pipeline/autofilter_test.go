package pipeline

import (
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
	"qsniff/capture/live"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/dissect/example"
	"qsniff/dissect/protocols"
	"qsniff/internal/test/dissecttest"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/testpcap"
)

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

// autoFilter is the filter of --auto-filter.
func autoFilter(t *testing.T) *live.AutoFilter {
	t.Helper()
	return AutoFilter(protos.Registry(t), nil)
}

// yielding lists the packets of a capture that a message was read from.
func yielding(t *testing.T, name string) map[uint64]string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	all := map[uint64]string{}
	for _, line := range messageLines(t, data, Config{}) {
		if line == "" {
			continue
		}
		var m struct {
			Protocol, Message, Direction string
			Frame                        uint64
			Frames                       []uint64
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		for _, n := range append(m.Frames, m.Frame) {
			all[n] = m.Protocol + " " + m.Message
		}
	}
	return all
}

// evidence names what tells of messages without being one: a fragment, an error.
func evidence(p *capture.Packet) string {
	var n packet.Packet
	n.Decode(p.Link, p.Data, int(p.Wire))
	switch {
	case n.Frag.Set:
		return "a fragment"
	case n.Stop == packet.ICMP && n.Quote().Set:
		return "an ICMP error"
	}
	return ""
}

// mayLose reports whether the filter may drop the message of a capture: one whose name
// ends with "-port" is of servers at ports that nobody expects, and the lines of lost name
// the protocol. message begins with that.
func mayLose(capture, message, lost string) bool {
	proto, _, _ := strings.Cut(message, " ")
	return strings.HasSuffix(capture, "-port.pcap") && strings.Contains(lost, "\n"+proto+" on ")
}

// TestAutoFilterPassesWhatYieldsMessages: the filter drops no packet of the captures
// that a message is read from or that tells of one, but those that Lost tells of.
func TestAutoFilterPassesWhatYieldsMessages(t *testing.T) {
	auto := autoFilter(t)
	machines := map[uint16]*bpf.VM{}
	for _, link := range []uint16{packet.LinkEthernet, packet.LinkRaw, packet.LinkLinuxSLL, packet.LinkLinuxSLL2} {
		program, err := auto.Program(link, capture.MaxCaptured)
		if err != nil {
			t.Fatal(err)
		}
		if machines[link], err = bpf.NewVM(program); err != nil {
			t.Fatal(err)
		}
	}
	lost := strings.Join(auto.Unseen(), "\n")
	asked, dropped := 0, map[string]bool{}
	names, err := filepath.Glob("../../pcapfiles/*/*.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		messages := yielding(t, name)
		short := strings.TrimPrefix(filepath.ToSlash(name), "../../pcapfiles/")
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
			case !mayLose(short, messages[p.No], lost):
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
	for _, name := range []string{"ase/version-odd-port.pcap", "master/other-port.pcap", "rcon/odd-port.pcap"} {
		if !dropped[name] {
			t.Errorf("%s has messages at ports that nobody expects, and none is dropped", name)
		}
	}
}

// TestAutoFilterDropsGameTraffic: packets of games begin with a sequence number.
func TestAutoFilterDropsGameTraffic(t *testing.T) {
	program, err := autoFilter(t).Program(packet.LinkEthernet, capture.MaxCaptured)
	if err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d instructions", len(program))
	payload := make([]byte, 60)
	for i := range payload {
		payload[i] = byte(i * 7)
	}
	d := testpcap.Datagram{Src: netip.MustParseAddrPort("10.64.0.1:40001"), Dst: netip.MustParseAddrPort("198.18.0.1:27015"),
		TTL: 64, Payload: payload}
	frame := d.Frame(testpcap.Link{Type: packet.LinkEthernet})
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

// TestAutoFilterOfTheTemplate: what a protocol says of its messages is all that the
// filter takes: those of the template pass once it is in the registry, and not before.
func TestAutoFilterOfTheTemplate(t *testing.T) {
	machine := func(ps ...dissect.Protocol) *bpf.VM {
		reg, err := dissect.NewRegistry(ps...)
		if err != nil {
			t.Fatal(err)
		}
		program, err := AutoFilter(reg, nil).Program(packet.LinkEthernet, capture.MaxCaptured)
		if err != nil {
			t.Fatal(err)
		}
		vm, err := bpf.NewVM(program)
		if err != nil {
			t.Fatal(err)
		}
		return vm
	}
	without, with := machine(protocols.All()...), machine(append(protocols.All(), example.New())...)
	for _, tc := range []struct {
		payload string
		ours    bool
	}{
		{"XQi", true}, {"XQi\x4b\xa1\xd5\x22", true}, {"XRc\x4b\xa1\xd5\x22", true}, {"XRiTest\x00dm1\x00\x03\x10", true},
		{"XQi\x4b", false}, {"XQj", false}, {"XQ", false}, {"XRc\x4b\xa1\xd5\x22\x00", false},
	} {
		d := testpcap.Datagram{Src: dissecttest.Client, Dst: dissecttest.Server, TTL: 64, Payload: []byte(tc.payload)}
		frame := d.Frame(testpcap.Link{Type: packet.LinkEthernet})
		before, err := without.Run(frame)
		if err != nil {
			t.Fatal(err)
		}
		after, err := with.Run(frame)
		if err != nil {
			t.Fatal(err)
		}
		if before != 0 || after != 0 != tc.ours {
			t.Errorf("%q: got %d bytes without the template and %d with it, want it to pass: %v", tc.payload, before, after, tc.ours)
		}
	}
}
