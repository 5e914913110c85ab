package pcapfilter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/bpf"

	"qsniff/capture"
	"qsniff/capture/file"
)

// dlts are the names that tcpdump has for link types.
var dlts = map[uint16]string{0: "NULL", 1: "EN10MB", 9: "PPP", 101: "RAW", 104: "C_HDLC", 113: "LINUX_SLL", 228: "IPV4", 229: "IPV6", 276: "LINUX_SLL2"}

// libpcap returns the program that libpcap's compiler makes, or its error.
func libpcap(t testing.TB, link uint16, text string, flags ...string) (*Program, error) {
	t.Helper()
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skip("tcpdump is not installed, so there is no compiler to compare with")
	}
	var out, wrong bytes.Buffer
	c := exec.Command("tcpdump", append(flags, "-y", dlts[link], "-ddd", "--", text)...)
	c.Stdout, c.Stderr = &out, &wrong
	if err := c.Run(); err != nil {
		return nil, errors.New(strings.TrimSpace(wrong.String()))
	}
	var raw []bpf.RawInstruction
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[1:] {
		var n [4]uint64
		for i, f := range strings.Fields(line) {
			n[i], _ = strconv.ParseUint(f, 10, 32)
		}
		raw = append(raw, bpf.RawInstruction{Op: uint16(n[0]), Jt: uint8(n[1]), Jf: uint8(n[2]), K: uint32(n[3])})
	}
	return NewProgram(raw)
}

// dump writes a program for people.
func dump(p *Program) string {
	var b strings.Builder
	for i, r := range p.raw {
		fmt.Fprintf(&b, "(%03d) %v\n", i, r.Disassemble())
	}
	return b.String()
}

func compile(t testing.TB, link uint16, text string) (*Program, error) {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		return nil, err
	}
	l, ok := File(link)
	if !ok {
		t.Fatalf("no layout of %d", link)
	}
	return e.Compile(l, 262144)
}

// pair is a filter compiled twice.
type pair struct {
	text         string
	link         uint16
	ours, theirs *Program
	plain        *Program // libpcap's before its optimizer; nil: not needed so far
}

// check holds the verdicts of a packet against each other. It reports whether they differ because
// one of the programs needs bytes that were not captured and the other does without, because what
// decides nothing, as in "x and port 1 or port 1", both leave out, but not always the same.
func (p *pair) check(t *testing.T, data []byte, wire uint32) (isCut bool) {
	t.Helper()
	got, cut1 := p.ours.run(data, wire)
	want, cut2 := p.theirs.run(data, wire)
	if got != want && !cut1 && !cut2 {
		// The optimizer of libpcap 1.10 makes another expression of some long ones.
		if p.plain == nil {
			p.plain, _ = libpcap(t, p.link, p.text, "-O")
		}
		if p.plain.Match(data, wire) == got {
			return true
		}
		t.Fatalf("%s\npacket % x (%d bytes on the wire)\ngot  %d\nwant %d\nours:\n%slibpcap's:\n%s", p.text, data, wire, got, want, dump(p.ours), dump(p.theirs))
	}
	return got != want
}

// usual are filters that people write, and what is special in the language.
var usual = []string{
	"udp port 27015", "udp", "tcp port 27015 or udp portrange 27000-27050", "host 198.18.0.1", "src host 198.18.0.1 and udp", "not port 22",
	"net 10.0.0.0/8", "net 10", "net 198.18", "src net 10.64.0.0 mask 255.255.0.0", "dst net 0.0.0.0/0", "icmp or icmp6", "icmp[icmptype] = icmp-unreach",
	"ip6", "ip6 and udp", "host ::1 or host 2001:db8::1 or ip6 net fe80::/10", "arp or rarp", "port 53 or 80 and not udp", "port (27015 or 27016) and host (10.64.0.1 or 10.64.0.2)",
	"less 100", "greater 200 and less 1000", "udp[8:4] = 0xffffffff", "udp and udp[8:4] = 0xffffffff and udp[12] = 0x54", "tcp[tcpflags] & (tcp-syn|tcp-ack) = tcp-syn",
	"ip[6:2] & 0x3fff != 0", "ip[2:2] = len - 14", "ip proto 17", "ip6 proto 44", "proto \\udp", "sctp or ah or esp or pim or igmp or igrp or vrrp", "src port 27015 or dst port 27015",
	"src and dst port 27015", "src or dst host 10.64.0.1", "ip broadcast or udp", "ip multicast or ip6 multicast", "tcp port http or https or domain", "not (udp or tcp) and not arp",
	"tcp[((tcp[12] & 0xf0) >> 2):4] > 5", "ip[0] & 0xf > 5 or len / 3 * 2 > ip[3]", "udp src port 27015 and dst net 10.64", "-udp[4:2] = len or -(ip[0] + len) > 7", "", "!udp && !tcp || icmp", "arp host 10.64.0.1", "ip6[6] = 17 or ip6[4:2] > 100",
}

// ofEthernet are those of Ethernet alone, ofCooked those of the cooked links.
var (
	ofEthernet = []string{"vlan", "vlan 5", "vlan and udp port 27015", "udp or vlan and udp or vlan 7 and vlan and ip6", "ether host 02:00:00:00:00:01", "ether src 02:00:00:00:00:01 or ether dst ff:ff:ff:ff:ff:ff",
		"ether broadcast", "multicast", "ether proto 0x88cc", "ether proto \\ip6", "ether[12:2] = 0x0800", "vlan and ether[16:2] > 5", "not vlan and ip", "(vlan or udp) and host 10.64.0.1"}
	ofCooked = []string{"inbound", "outbound and udp"}
)

func filtersOf(link uint16) []string {
	all := append([]string(nil), usual...)
	switch link {
	case 1:
		all = append(all, ofEthernet...)
	case 113, 276:
		all = append(all, ofCooked...)
	}
	return all
}

// allowedLength is how many times as long as libpcap's a program may be; of one in a hundred generated
// filters, in which the one finds out that little can be true and the other does not, it may be more.
const allowedLength = 2

// pairs compiles filters with both compilers. Those that libpcap refuses are left out.
func pairs(t *testing.T, link uint16, texts []string) (all []*pair) {
	t.Helper()
	longer := 0
	for i, text := range texts {
		theirs, err := libpcap(t, link, text)
		if err != nil {
			continue
		}
		ours, err := compile(t, link, text)
		if err != nil {
			var wrong *Error
			if errors.As(err, &wrong) && wrong.Unsupported {
				continue
			}
			t.Errorf("%s: %q\ngot  %v\nwant a program", dlts[link], text, err)
			continue
		}
		if ours.Len() > allowedLength*theirs.Len() {
			longer++
		}
		if isUsual := i < len(filtersOf(link)); ours.Len() > allowedLength*theirs.Len() && isUsual || longer > len(texts)/100 {
			t.Errorf("%s: %q\ngot  %d instructions\nwant at most twice %d\n%s", dlts[link], text, ours.Len(), theirs.Len(), dump(ours))
		}
		all = append(all, &pair{text: text, link: link, ours: ours, theirs: theirs})
	}
	return all
}

// isForeignFamily reports whether a packet of BSD's loopback has a family that libpcap takes for
// another, because it knows those of the host alone that it runs on.
func isForeignFamily(link uint16, data []byte) bool {
	if link != 0 || len(data) < 4 {
		return false
	}
	f := binary.LittleEndian.Uint32(data)
	return f == 8 || f == 12 || f == 14 || f == 24 || f == 26 || f == 28 || f == 30 || f>>24 != 0 && f&0xffff == 0
}

// TestVerdictsOnCaptures: each packet of all captures gets libpcap's verdict.
func TestVerdictsOnCaptures(t *testing.T) {
	names, err := filepath.Glob("../../pcapfiles/*/*.pcap*")
	if err != nil || len(names) < 100 {
		t.Fatalf("%d captures, %v", len(names), err)
	}
	compiled := map[uint16][]*pair{}
	packets, verdicts := map[uint16]int{}, 0
	for i, name := range names {
		if testing.Short() && i%5 > 0 {
			continue
		}
		r, err := file.Open(name)
		if err != nil {
			continue // not meant to be readable
		}
		for err != io.EOF {
			var b capture.Batch
			err = r.Read(&b)
			for _, p := range b.Packets {
				if dlts[p.Link] == "" || isForeignFamily(p.Link, p.Data) {
					continue
				}
				if compiled[p.Link] == nil {
					compiled[p.Link] = pairs(t, p.Link, filtersOf(p.Link))
				}
				packets[p.Link]++
				for _, pair := range compiled[p.Link] {
					if pair.check(t, p.Data, p.Wire) {
						t.Errorf("%s: packet %d: %q: another verdict on a cut packet", name, p.No, pair.text)
					}
					verdicts++
				}
			}
			if err != nil {
				break
			}
		}
		r.Close()
	}
	t.Logf("packets by link type: %v; verdicts: %d", packets, verdicts)
	if verdicts < 10_000 {
		t.Errorf("only %d verdicts were compared", verdicts)
	}
}

// TestVerdictsOnGenerated: packets of all shapes, cut ones too, get libpcap's verdict of filters of
// all shapes.
func TestVerdictsOnGenerated(t *testing.T) {
	filters, packets := 400, 1_000_000
	if testing.Short() {
		filters, packets = 40, 20_000
	}
	for link, dlt := range dlts {
		t.Run(dlt, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(uint64(link), 45))
			texts := filtersOf(link)
			for range filters {
				texts = append(texts, randomFilter(r, link, 0))
			}
			all := pairs(t, link, texts)
			if len(all) < len(texts)/3 {
				t.Errorf("libpcap refuses all but %d of %d filters", len(all), len(texts))
			}
			passed, cut, buf := 0, 0, make([]byte, 0, 512)
			longer, ours, theirs := 0, 0, 0
			for _, p := range all {
				ours, theirs = ours+p.ours.Len(), theirs+p.theirs.Len()
				if p.ours.Len() > p.theirs.Len() {
					longer++
				}
			}
			for range packets {
				if buf = randomPacket(r, link, buf[:0]); isForeignFamily(link, buf) {
					continue
				}
				wire := uint32(len(buf))
				if r.IntN(8) == 0 {
					buf = buf[:r.IntN(len(buf)+1)]
				}
				for range 4 {
					p := all[r.IntN(len(all))]
					if p.check(t, buf, wire) {
						cut++
					}
					if p.ours.Match(buf, wire) > 0 {
						passed++
					}
				}
			}
			t.Logf("%d filters, %d instructions (libpcap %d; %d filters are longer), %d packets, %d of %d verdicts pass, %d differ on cut packets or by libpcap's optimizer", len(all), ours, theirs, longer, packets, passed, 4*packets, cut)
			if cut > packets/100 {
				t.Errorf("%d of %d verdicts differ on cut packets", cut, 4*packets)
			}
			if passed < packets/4 || passed > 7*packets/2 {
				t.Errorf("%d of %d verdicts pass: the packets are not such as the filters look for", passed, 4*packets)
			}
		})
	}
}

// Values that filters and packets have in common.
var (
	someHosts = []string{"10.64.0.1", "10.64.0.2", "198.18.0.1", "224.0.0.1", "255.255.255.255"}
	someIPv6  = []string{"2001:db8::1", "fe80::1", "ff02::1", "::1"}
	somePorts = []uint16{53, 80, 27015, 27016, 27020, 65535}
	someMACs  = []string{"02:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "33-33-0-0-0-1"}
	someIPs   = []byte{protoUDP, protoUDP, protoTCP, protoSCTP, protoICMP, protoICMPv6, protoFragment, protoAH, protoESP, protoIGMP, protoPIM, 0}
)

func pickOne[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

// randomFilter returns an expression, which libpcap may refuse.
func randomFilter(r *rand.Rand, link uint16, depth int) string {
	if depth < 4 && r.IntN(5) > 1 {
		x, y := randomFilter(r, link, depth+1), randomFilter(r, link, depth+1)
		switch r.IntN(7) {
		case 0:
			return "not " + x
		case 1:
			return "(" + x + ")"
		case 2, 3:
			return x + " or " + y
		case 4:
			return "(" + x + ") and (" + y + ")"
		default:
			return x + " and " + y
		}
	}
	dir := pickOne(r, "", "", "src ", "dst ", "src or dst ", "src and dst ")
	port := pickOne(r, somePorts...)
	switch r.IntN(14) {
	case 0:
		return pickOne(r, "ip", "ip6", "arp", "udp", "tcp", "icmp", "icmp6", "sctp", "ah", "esp", "igmp", "pim")
	case 1, 2:
		return fmt.Sprintf("%s%sport %d", pickOne(r, "", "udp ", "tcp ", "sctp "), dir, port)
	case 3:
		return fmt.Sprintf("%s%sportrange %d-%d", pickOne(r, "", "udp "), dir, pickOne(r, somePorts...), port)
	case 4:
		return fmt.Sprintf("port %d or %d or %d", port, pickOne(r, somePorts...), r.IntN(65536))
	case 5:
		return pickOne(r, "", "ip ", "arp ") + dir + "host " + pickOne(r, someHosts...)
	case 6:
		return dir + "host " + pickOne(r, someIPv6...)
	case 7:
		return dir + pickOne(r, "net 10", "net 10.64.0.0/12", "net 198.18", "net 224.0.0.0/4", "net 2001:db8::/33", "net ff00::/8", "net fe80::/63")
	case 8:
		return "host (" + pickOne(r, someHosts...) + " or " + pickOne(r, someHosts...) + " or " + pickOne(r, someHosts...) + ")"
	case 9:
		return fmt.Sprintf("%s %d", pickOne(r, "less", "greater"), 40+r.IntN(60))
	case 10:
		return fmt.Sprintf("%s proto %d", pickOne(r, "ip", "ip6", ""), pickOne(r, someIPs...))
	case 11:
		if link == 1 {
			return pickOne(r, "vlan", "vlan 5", "ether host "+pickOne(r, someMACs...), "ether src "+pickOne(r, someMACs...), "broadcast", "ether multicast", "ether proto 0x86dd")
		}
		if link == 113 || link == 276 {
			return pickOne(r, "inbound", "outbound")
		}
		return pickOne(r, "ip multicast", "ip6 multicast")
	}
	return randomNumber(r, 0) + pickOne(r, " = ", " != ", " < ", " > ", " <= ", " >= ") + randomNumber(r, 1)
}

// randomNumber returns a number of an expression.
func randomNumber(r *rand.Rand, depth int) string {
	switch r.IntN(7 + depth) {
	case 0:
		return "len"
	case 1:
		return fmt.Sprintf("ip[%d]", r.IntN(24))
	case 2:
		return fmt.Sprintf("%s[%d:%d]", pickOne(r, "udp", "tcp", "icmp", "icmp6", "ip6", "ip", "arp", "ether", "sctp"), r.IntN(30), pickOne(r, 1, 2, 4))
	case 3:
		if depth < 3 {
			return fmt.Sprintf("(%s %s %s)", randomNumber(r, depth+1), pickOne(r, "+", "-", "*", "&", "|", "/"), randomNumber(r, depth+1))
		}
	case 4:
		if depth < 3 {
			return fmt.Sprintf("%s[%s & 31]", pickOne(r, "ip", "udp", "tcp", "ether"), randomNumber(r, depth+1))
		}
	case 5:
		if depth < 3 {
			return fmt.Sprintf("((%s %s %d) %s %d)", randomNumber(r, depth+1), pickOne(r, "&", "|", "+", "<<", ">>"), r.IntN(32), pickOne(r, "*", "^", "%", "+", "-"), 1+r.IntN(9))
		}
	}
	return pickOne(r, "0", "1", "5", "0x45", "64", "255", "27015", "0xffffffff", strconv.Itoa(r.IntN(300)))
}

// randomPacket appends a packet.
func randomPacket(r *rand.Rand, link uint16, b []byte) []byte {
	etherType := pickOne[uint16](r, etherIPv4, etherIPv4, etherIPv4, etherIPv6, etherIPv6, etherARP, etherRARP, 0x88cc, 100)
	be := binary.BigEndian
	mac := func() {
		a, _ := parseMAC(pickOne(r, someMACs...))
		b = append(b, a[:]...)
	}
	switch link {
	case 0:
		family := map[uint16]byte{etherIPv4: 2, etherIPv6: 10}[etherType]
		b = append(b, family, 0, 0, 0)
		if family == 0 {
			b[3], b[2] = byte(r.Uint32()), 1
		}
	case 1:
		mac()
		mac()
		for r.IntN(3) == 0 && len(b) < 24 {
			b = be.AppendUint16(b, pickOne[uint16](r, etherVLAN, etherQinQ, etherOldQ))
			b = be.AppendUint16(b, pickOne[uint16](r, 5, 7, 0xe005))
		}
		b = be.AppendUint16(b, etherType)
	case 9:
		b = append(b, 0xff, 3)
		b = be.AppendUint16(b, map[uint16]uint16{etherIPv4: 0x21, etherIPv6: 0x57}[etherType])
	case 104:
		b = append(b, 0x0f, 0)
		b = be.AppendUint16(b, etherType)
	case 113:
		b = append(b, 0, byte(r.IntN(5)), 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0)
		b = be.AppendUint16(b, etherType)
	case 276:
		b = be.AppendUint16(b, etherType)
		b = append(b, 0, 0, 0, 0, 0, byte(r.IntN(4)), 0, 1, byte(r.IntN(5)), 6, 2, 0, 0, 0, 0, 1, 0, 0)
	}
	proto := pickOne(r, someIPs...)
	switch etherType {
	case etherIPv4:
		begin, options := len(b), 4*max(r.IntN(6)-3, 0)
		b = append(b, byte(0x45+options/4), 0, 0, byte(r.IntN(200)), 1, 2, 0, 0, 64, proto, 0, 0)
		if r.IntN(6) == 0 {
			be.PutUint16(b[begin+6:], pickOne[uint16](r, 0x2000, 0x4000, 1, 0x2005, 0x1fff))
		}
		for range 2 {
			b = append(b, parsedIPv4(pickOne(r, someHosts...))...)
		}
		b = append(b, make([]byte, options)...)
	case etherIPv6:
		b = append(b, 0x60, 0, 0, 0, 0, byte(r.IntN(200)), proto, 64)
		for range 2 {
			t := token{text: pickOne(r, someIPv6...)}
			t.classify()
			a := t.addr.As16()
			b = append(b, a[:]...)
		}
		if proto == protoFragment {
			b = append(b, pickOne(r, someIPs...), 0, 0, byte(r.IntN(3)), 0, 0, 0, 1)
		}
	case etherARP, etherRARP:
		b = append(b, 0, 1, 8, 0, 6, 4, 0, 1)
		for range 2 {
			mac()
			b = append(b, parsedIPv4(pickOne(r, someHosts...))...)
		}
	}
	b = be.AppendUint16(b, pickOne(r, somePorts...))
	b = be.AppendUint16(b, pickOne(r, somePorts...))
	for range r.IntN(24) {
		b = append(b, pickOne(r, 0, 0xff, 0x50, 'T', byte(r.Uint32())))
	}
	if r.IntN(10) == 0 {
		b[r.IntN(len(b))] = byte(r.Uint32())
	}
	return b
}

func parsedIPv4(s string) []byte {
	v, _, _ := parseParts(s)
	return binary.BigEndian.AppendUint32(nil, v)
}
