package pcapfilter

import (
	"errors"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
)

// TestErrors: an error names the word, and a hint the way out.
func TestErrors(t *testing.T) {
	for _, tc := range []struct{ text, part, message, hint string }{
		{"udp prot 5", "prot", `"prot" is no word of tcpdump's language`, "did you mean port?"},
		{"upd port 5", "upd", "what is upd: a host, a port?", "did you mean udp?"},
		{"port", "", "a value is missing at the end", ""},
		{"port 70000", "70000", "ports end at 65535", ""},
		{"port 10-20", "10-20", "a range of ports", "write portrange 10-20"},
		{"port game", "game", `no port is known by the name "game"`, "write its number"},
		{"udp port http", "http", "http is no port of udp", "write its number"},
		{"host example.org", "example.org", `"example.org" is no address; names are not looked up`, "write the address"},
		{"net 10.1.0.0/8", "10.1.0.0/8", "bits after the mask are set", ""},
		{"host 10.0.0.0/8", "10.0.0.0/8", "a network", "write net 10.0.0.0/8"},
		{"net 2001:db8::/129", "2001:db8::/129", "an IPv6 address has 128 bits", ""},
		{"ip port 53", "53", "ip has no ports", "udp, tcp and sctp have ports"},
		{"icmp host 10.0.0.1", "10.0.0.1", "icmp has no hosts", "write icmp and host 10.0.0.1"},
		{"ip6 host 10.0.0.1", "10.0.0.1", "10.0.0.1 is no address of ip6", ""},
		{"port 10.0.0.1", "10.0.0.1", "10.0.0.1 is an address, not a port", ""},
		{"27015", "27015", "what is 27015: a host, a port?", "write port 27015"},
		{"udp or 80", "80", "what is 80: a host, a port?", "write port 80"},
		{"(port 53) or 80", "80", "what is 80: a host, a port?", "write port 80"},
		{"udp and", "", "the expression ends early", ""},
		{"(udp", "", `")" is missing at the end`, ""},
		{"udp)", ")", `")" is not expected here`, ""},
		{"udp[8:3] = 1", "3", "1, 2 or 4 bytes can be compared", ""},
		{"udp[8]", "", "a comparison such as = 5 is missing at the end", ""},
		{"len = 2 * 3 % 4", "%", `"%" beside another operator`, "write parentheses around it"},
		{"vlan 5000", "5000", "a VLAN has a number up to 4095", ""},
		{"00:11:22:33:44:55", "00:11:22:33:44:55", "what is 00:11:22:33:44:55: a host, a port?", ""},
		{"host 00:11:22:33:44:55", "00:11:22:33:44:55", "an address of Ethernet", "write ether host 00:11:22:33:44:55"},
		{"udp ; drop", ";", `";" is not expected here`, ""},
		{strings.Repeat("(", 200) + "udp", "(", "nested more than 100 deep", ""},
		{strings.Repeat("not ", 200) + "udp", "not", "nested more than 100 deep", ""},
		{strings.Repeat(" ", maxText+1), "", "65537 bytes long: at most 65536", ""},
	} {
		_, err := Parse(tc.text)
		var e *Error
		if !errors.As(err, &e) || e.Message != tc.message || e.Hint != tc.hint || tc.text[e.At:e.End] != tc.part || e.Unsupported {
			t.Errorf("%.60s\ngot  %+v\nwant %q: %s; %s", tc.text, e, tc.part, tc.message, tc.hint)
		}
	}
	for text, part := range map[string]string{"udp and mpls 5": "mpls", "gateway 10.0.0.1": "gateway", "ip protochain 6": "protochain", "wlan host 00:11:22:33:44:55": "wlan",
		"ip broadcast": "ip broadcast", "ether proto 66": "66", "not llc": "llc"} {
		_, err := Parse(text)
		var e *Error
		if !errors.As(err, &e) || !e.Unsupported || text[e.At:e.End] != part {
			t.Errorf("%s\ngot  %+v\nwant %s left to libpcap", text, e, part)
		}
	}
}

// TestErrorsOfLinks are about what the packets of a link type do not have.
func TestErrorsOfLinks(t *testing.T) {
	raw, _ := File(101)
	any, _ := Kernel(276)
	for _, tc := range []struct {
		at         Layout
		text, want string
	}{
		{raw, "vlan and udp", "vlan: packets of raw IP have no tags"},
		{raw, "ether host 00:11:22:33:44:55", "packets of raw IP have no addresses of Ethernet"},
		{raw, "broadcast", "packets of raw IP have no addresses of Ethernet"},
		{raw, "inbound", "packets of raw IP do not have their direction"},
		{raw, "ifindex 5", "ifindex: packets of raw IP do not name their interface"},
		{raw, "len / 0 = 1", "division by zero"},
		{raw, "len >> 32 = 1", "a number has 32 bits: shift by 31 at most"},
		{any, "ether[4] = 1", "the kernel does not see the header of Linux cooked v2"},
	} {
		e, err := Parse(tc.text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = e.Compile(tc.at, 1); err == nil || err.Error() != tc.want {
			t.Errorf("%s\ngot  %v\nwant %s", tc.text, err, tc.want)
		}
	}
	var text strings.Builder
	for i := range 5000 {
		text.WriteString([]string{"", " or "}[min(i, 1)] + "ip[2:2] = " + string(rune('1'+i%9)) + strings.Repeat("0", i%4) + " + len - " + string(rune('1'+i/9%9)) + " * " + string(rune('1'+i/81%9)) + string(rune('1'+i/729%9)))
	}
	e, err := Parse(text.String()[:maxText-40][:strings.LastIndex(text.String()[:maxText-40], " or ")])
	if err != nil {
		t.Fatal(err)
	}
	if p, err := e.Compile(raw, 1); err == nil && p.Len() < 4096 {
		t.Errorf("a long filter has %d instructions", p.Len())
	}
}

// TestFarJumps: a jump over more than 255 instructions goes where it should.
func TestFarJumps(t *testing.T) {
	var hosts []string
	for i := range 600 {
		hosts = append(hosts, "10.0."+string(rune('0'+i/100))+"."+string(rune('0'+i/10%10))+string(rune('0'+i%10)))
	}
	p, err := compile(t, 101, "udp and not src host ("+strings.Join(hosts, " or ")+") or icmp")
	if err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, 28)
	for _, tc := range []struct {
		proto, last byte
		want        uint32
	}{{protoUDP, 0, 0}, {protoUDP, 99, 0}, {protoUDP, 200, 262144}, {protoICMP, 5, 262144}, {protoTCP, 200, 0}} {
		packet[0], packet[9] = 0x45, tc.proto
		copy(packet[12:], []byte{10, 0, 5, tc.last})
		if got := p.Match(packet, 28); got != tc.want {
			t.Errorf("%+v: got %d", tc, got)
		}
	}
	if p.Len() < 600 {
		t.Errorf("%d instructions: no jump is far", p.Len())
	}
}

// TestPrograms: what does not end, or reaches over the end, is refused.
func TestPrograms(t *testing.T) {
	ret := bpf.RawInstruction{Op: 6}
	for _, raw := range [][]bpf.RawInstruction{nil, {{Op: 0x20}}, {{Op: 5, K: 1}, ret}, {{Op: 0x15, Jt: 1}, ret}, {{Op: 2, K: 16}, ret}, {{Op: 0x61, K: 16}, ret}} {
		if _, err := NewProgram(raw); err == nil {
			t.Errorf("%v is accepted", raw)
		}
	}
}

// FuzzFilter: whatever expression, the program is accepted by the machine of golang.org/x/net/bpf, and
// that has the same verdict of the packet.
func FuzzFilter(f *testing.F) {
	for _, text := range append(append(usual, ofEthernet...), ofCooked...) {
		f.Add(text, uint16(1), []byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00E\x00\x00\x20\x00\x00\x00\x00\x40\x11\x00\x00\x0a@\x00\x01\xc6\x12\x00\x01\x69\x87\x69\x87\x00\x0c\x00\x00\xff\xff\xff\xff"))
	}
	f.Fuzz(func(t *testing.T, text string, link uint16, data []byte) {
		if len(text) > 2000 || len(data) > 4000 {
			return
		}
		e, err := Parse(text)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.At < 0 || wrong.End > len(text) || wrong.At > wrong.End {
				t.Fatalf("%q: %+v", text, err)
			}
			return
		}
		for _, of := range []func(uint16) (Layout, bool){File, Kernel} {
			l, ok := of(LinkOf(link, data))
			if !ok {
				continue
			}
			p, err := e.Compile(l, 262144)
			if err != nil {
				continue
			}
			code, all := bpf.Disassemble(p.Instructions())
			if !all {
				t.Fatalf("%q: instructions that do not exist\n%s", text, dump(p))
			}
			if l.metadata {
				continue // the machine does not know the kernel's values
			}
			vm, err := bpf.NewVM(code)
			if err != nil {
				t.Fatalf("%q: %v\n%s", text, err, dump(p))
			}
			want, err := vm.Run(data)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Match(data, uint32(len(data))); int(got) != want {
				t.Fatalf("%q: % x\ngot  %d\nwant %d\n%s", text, data, got, want, dump(p))
			}
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	p, err := compile(b, 1, "udp port 27015 and host 198.18.0.1")
	if err != nil {
		b.Fatal(err)
	}
	data := []byte("\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01\x08\x00E\x00\x00\x20\x00\x00\x00\x00\x40\x11\x00\x00\x0a@\x00\x01\xc6\x12\x00\x01\x69\x87\x69\x87\x00\x0c\x00\x00\xff\xff\xff\xff")
	b.ReportAllocs()
	for b.Loop() {
		p.Match(data, uint32(len(data)))
	}
}
