package testpcap

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// overTCP begins most sources here; payloads begin in line 5.
const overTCP = preamble + "@ transport tcp\n"

// numbered makes the first connection's bytes begin with number 1 on both sides.
const numbered = overTCP + "@ isn client=0 server=0\n"

// packetsOf writes one line per segment: direction, flags, numbers, payload.
func packetsOf(c *Capture) string {
	var out strings.Builder
	for _, s := range c.Segments {
		arrow := ">"
		if s.Src == server4 || s.Src == server6 {
			arrow = "<"
		}
		flags := ""
		for i, letter := range "FSRPA" {
			if s.Flags&(1<<i) != 0 {
				flags += string(letter)
			}
		}
		fmt.Fprintf(&out, "%s %s %d %d %q\n", arrow, flags, s.Seq, s.Ack, s.Payload)
	}
	return out.String()
}

// opening is the handshake of a numbered connection.
const opening = `> S 0 0 ""
< SA 0 1 ""
> A 1 1 ""
`

func TestConnections(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"handshake, writes, FIN", numbered + "> \"ab\"\n< \"c\"\n@ close fin server\n", opening +
			"> PA 1 1 \"ab\"\n< A 1 3 \"\"\n< PA 1 3 \"c\"\n> A 3 2 \"\"\n" +
			"< FA 2 3 \"\"\n> FA 3 3 \"\"\n< A 3 4 \"\"\n"},
		{"reset", numbered + "> 61\n@ close rst client\n", opening +
			"> PA 1 1 \"a\"\n< A 1 2 \"\"\n> RA 2 1 \"\"\n"},
		{"handshake alone", numbered + "@ open handshake\n", opening},
		{"SYN alone", numbered + "@ open syn\n", "> S 0 0 \"\"\n"},
		{"SYN again before the handshake", numbered + "@ open syn\n@ isn client=0 server=0\n> 61\n",
			"> S 0 0 \"\"\n" + opening + "> PA 1 1 \"a\"\n< A 1 2 \"\"\n"},
		{"in the middle", numbered + "@ open none\n< 61\n", "< PA 1 1 \"a\"\n> A 1 2 \"\"\n"},
		{"no acknowledgements", numbered + "@ acks off\n> 61\n@ acks on\n> 62\n", opening +
			"> PA 1 1 \"a\"\n> PA 2 1 \"b\"\n< A 1 3 \"\"\n"},
		{"segments", numbered + "@ mss 2\n> \"abcde\"\n", opening +
			"> A 1 1 \"ab\"\n> A 3 1 \"cd\"\n> PA 5 1 \"e\"\n< A 1 6 \"\"\n"},
		{"segment lost", numbered + "@ mss 2\n@ segments 0,2\n> \"abcde\"\n> 66\n", opening +
			"> A 1 1 \"ab\"\n> PA 5 1 \"e\"\n< A 1 6 \"\"\n> PA 6 1 \"f\"\n< A 1 7 \"\"\n"},
		{"segments reordered and twice", numbered + "@ mss 2\n@ segments 2,0,1,0\n> \"abcde\"\n", opening +
			"> PA 5 1 \"e\"\n> A 1 1 \"ab\"\n> A 3 1 \"cd\"\n> A 1 1 \"ab\"\n< A 1 6 \"\"\n"},
		{"back inside what was sent", numbered + "> \"abcd\"\n@ seek -3\n> \"X\"\n> \"e\"\n", opening +
			"> PA 1 1 \"abcd\"\n< A 1 5 \"\"\n> PA 2 1 \"X\"\n< A 1 5 \"\"\n> PA 5 1 \"e\"\n< A 1 6 \"\"\n"},
		{"back and beyond", numbered + "> \"abcd\"\n@ seek -2\n> \"XYZ\"\n> \"e\"\n", opening +
			"> PA 1 1 \"abcd\"\n< A 1 5 \"\"\n> PA 3 1 \"XYZ\"\n< A 1 6 \"\"\n> PA 6 1 \"e\"\n< A 1 7 \"\"\n"},
		{"ahead", numbered + "@ seek +100\n< \"a\"\n", opening + "< PA 101 1 \"a\"\n> A 1 102 \"\"\n"},
		{"keep-alive", numbered + "@ open handshake\n@ seek -1\n> ; no byte\n", opening + "> A 0 1 \"\"\n"},
		{"numbers wrap", overTCP + "@ isn client=0xfffffffe server=0xffffffff\n> \"abc\"\n",
			"> S 4294967294 0 \"\"\n< SA 4294967295 4294967295 \"\"\n> A 4294967295 0 \"\"\n" +
				"> PA 4294967295 0 \"abc\"\n< A 0 2 \"\"\n"},
		{"second connection has other numbers", overTCP + "@ open handshake\n@ close rst client\n@ open syn\n",
			"> S 1000000 0 \"\"\n< SA 3000000000 1000001 \"\"\n> A 1000001 3000000001 \"\"\n" +
				"> RA 1000001 3000000001 \"\"\n> S 65000000 0 \"\"\n"},
		{"two at a time", numbered + "> \"a\"\n@ client 10.64.0.1:40002\n@ isn client=10 server=20\n> \"b\"\n" +
			"@ client 10.64.0.1:40001\n> \"c\"\n", opening + "> PA 1 1 \"a\"\n< A 1 2 \"\"\n" +
			"> S 10 0 \"\"\n< SA 20 11 \"\"\n> A 11 21 \"\"\n> PA 11 21 \"b\"\n< A 21 12 \"\"\n" +
			"> PA 2 1 \"c\"\n< A 1 3 \"\"\n"},
		{"datagrams between", numbered + "> \"a\"\n@ transport udp\n> \"x\"\n@ transport tcp\n> \"b\"\n", opening +
			"> PA 1 1 \"a\"\n< A 1 2 \"\"\n> PA 2 1 \"b\"\n< A 1 3 \"\"\n"},
	}
	for _, test := range tests {
		c, err := Parse("x.hex", []byte(test.in))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if diff := cmp.Diff(test.want, packetsOf(c)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestSegmentLength holds segments against the MTU, over both families: the
// longest packet has exactly its length, and SYN announces what it leaves.
func TestSegmentLength(t *testing.T) {
	for _, source := range []string{
		overTCP + "@ mtu 576\n> 61*2000\n",
		strings.NewReplacer("10.64.0.1:", "[2001:db8::1]:", "198.18.0.1:", "[2001:db8::2]:").
			Replace(overTCP + "@ mtu 576\n@ mss 60000\n> 61*2000\n"),
	} {
		c, err := Parse("x.hex", []byte(source))
		if err != nil {
			t.Fatal(err)
		}
		headers := ipv6HeaderLen + tcpHeaderLen
		if c.Segments[0].Src == client4 {
			headers = ipv4HeaderLen + tcpHeaderLen
		}
		longest, sum := 0, 0
		for i, s := range c.Segments {
			longest = max(longest, len(c.Packets[i].Frame)-14)
			sum += len(s.Payload)
		}
		if longest != 576 || sum != 2000 || int(c.Segments[0].MSS) != 576-headers {
			t.Errorf("longest packet, payload, MSS\n got %d, %d, %d\nwant 576, 2000, %d",
				longest, sum, c.Segments[0].MSS, 576-headers)
		}
	}
}

func TestConnectionTimes(t *testing.T) {
	c, err := Parse("x.hex", []byte(overTCP+"@ wait 1s\n> 61\n@ step 1ms\n@ mss 1\n< \"ab\"\n@ wait 5ms\n@ close fin client\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, p := range c.Packets {
		got = append(got, (p.Nanos-Start)/1000)
	}
	want := []int64{
		1_000_000, 1_000_200, 1_000_400, // handshake
		1_020_400, 1_020_600, 1_021_600, 1_021_800, 1_022_000, // a write, then one of two segments
		1_028_000, 1_028_200, 1_028_400, // FIN
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("microseconds from the start (-want +got):\n%s", diff)
	}
}

// TestConnectionLinks sends a conversation over links and tunnels and decodes it.
func TestConnectionLinks(t *testing.T) {
	tests := []string{
		"@ link null\n", "@ link raw\n", "@ link sll\n", "@ link sll2\n", "@ link vlan 7 8\n",
		"@ tunnel vxlan 5 192.0.2.1 192.0.2.2\n", "@ tunnel gre 5 2001:db8::8 2001:db8::9\n",
	}
	for _, test := range tests {
		for _, ends := range []string{
			"@ client 10.64.0.1:40001\n@ server 198.18.0.1:27015\n",
			"@ client [2001:db8::1]:40001\n@ server [2001:db8::2]:27015\n",
		} {
			c, err := Parse("x.hex", []byte("# test\n"+test+ends+"@ transport tcp\n> \"request\"\n< \"reply\"\n@ close fin client\n"))
			if err != nil {
				t.Fatal(err)
			}
			var got []Segment
			for _, p := range c.Packets {
				got = append(got, tcpSegment(t, stripLink(t, c.Link, p.Frame)))
			}
			if diff := cmp.Diff(c.Segments, got, compareAddrs); diff != "" {
				t.Errorf("%s (-want +got):\n%s", test, diff)
			}
		}
	}
}

func TestConnectionErrors(t *testing.T) {
	tests := []struct {
		name, in, want string
	}{
		{"no such transport", preamble + "@ transport sctp\n", `x.hex: line 4: @ transport: "sctp" is not tcp or udp`},
		{"mss of datagrams", preamble + "@ mss 9\n", "x.hex: line 4: @ mss: belongs to @ transport tcp"},
		{"open of datagrams", preamble + "@ open syn\n", "x.hex: line 4: @ open: belongs to @ transport tcp"},
		{"mss 0", overTCP + "@ mss 0\n", "x.hex: line 5: @ mss: 0 is outside 1 to 65495"},
		{"acks", overTCP + "@ acks no\n", `x.hex: line 5: @ acks: "no" is not on or off`},
		{"open", overTCP + "@ open ack\n", `x.hex: line 5: @ open: "ack" is none of handshake, syn, none`},
		{"open nothing", "# t\n@ transport tcp\n@ open syn\n", "x.hex: line 3: @ open: connection before @ client and @ server"},
		{"close without who", overTCP + "@ close fin\n", `x.hex: line 5: @ close: "fin" is not fin or rst, then client or server`},
		{"close how", overTCP + "@ close ack client\n", `x.hex: line 5: @ close: "ack client" is not fin or rst, then client or server`},
		{"close who", overTCP + "@ close fin both\n", `x.hex: line 5: @ close: "fin both" is not fin or rst, then client or server`},
		{"close twice", overTCP + "> ff\n@ close rst client\n@ close rst client\n",
			"x.hex: line 7: @ close: no connection from 10.64.0.1:40001 to 198.18.0.1:27015"},
		{"isn of one side", overTCP + "@ isn client=1\n", "x.hex: line 5: @ isn: 1 arguments, want 2: client=N and server=N"},
		{"isn of another", overTCP + "@ isn client=1 peer=1\n", `x.hex: line 5: @ isn: "peer=1" is not server=N`},
		{"isn too large", overTCP + "@ isn client=0x100000000 server=1\n", "x.hex: line 5: @ isn: 4294967296 is outside 0 to 4294967295"},
		{"isn for nobody", overTCP + "> ff\n@ isn client=1 server=1\n", "x.hex: line 6: directive without a payload after it"},
		{"isn of datagrams", overTCP + "@ isn client=1 server=1\n@ transport udp\n", "x.hex: line 6: @ transport: the directives before it have no write"},
		{"seek without sign", overTCP + "@ seek 5\n", `x.hex: line 5: @ seek: "5" is not -N or +N`},
		{"seek nowhere", overTCP + "@ seek -0\n", `x.hex: line 5: @ seek: "-0" is not -N or +N`},
		{"seek too far", overTCP + "@ seek +2147483648\n", `x.hex: line 5: @ seek: "+2147483648" is not -N or +N`},
		{"seek for nobody", overTCP + "@ seek -5\n", "x.hex: line 5: directive without a payload after it"},
		{"no such segment", overTCP + "@ segments 1\n> ff\n", "x.hex: line 6: segment 1 of 1 does not exist"},
		{"segments of a frame", overTCP + "@ segments 0\n! ff\n", "x.hex: line 6: a whole frame is not cut into segments"},
		{"split write", overTCP + "@ split source size=8\n> ff\n", "x.hex: line 6: split, fragments and icmp belong to datagrams"},
		{"fragmented write", overTCP + "@ fragments 0\n> ff\n", "x.hex: line 6: split, fragments and icmp belong to datagrams"},
		{"no room", strings.NewReplacer("10.64.0.1:", "[::1]:", "198.18.0.1:", "[::2]:").Replace(overTCP) + "@ mtu 60\n> ff\n",
			"x.hex: line 6: mtu 60 leaves no room for a segment"},
		{"two families", overTCP + "@ server [::1]:1\n> ff\n", "x.hex: line 6: 10.64.0.1:40001 to [::1]:1: addresses of two families"},
	}
	for _, test := range tests {
		_, err := Parse("x.hex", []byte(test.in))
		if err == nil || err.Error() != test.want {
			t.Errorf("%s\n got %v\nwant %s", test.name, err, test.want)
		}
	}
}

// TestStreams joins the segments of the undamaged session and compares what each
// side wrote with what the source says, in order.
func TestStreams(t *testing.T) {
	source := overTCP + "@ mss 7\n> \"one\" \"two three\"\n< \"four five six seven\"\n@ segments 1,0\n> \"eight nine\"\n@ close fin client\n"
	c, err := Parse("x.hex", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{}
	first := map[string]uint32{}
	for _, s := range c.Segments {
		from := s.Src.String()
		if s.Flags&SYN != 0 {
			first[from] = s.Seq + 1
		}
		if len(s.Payload) == 0 {
			continue
		}
		off := int(s.Seq - first[from])
		for len(got[from]) < off+len(s.Payload) {
			got[from] = append(got[from], 0)
		}
		copy(got[from][off:], s.Payload)
	}
	want := map[string][]byte{
		client4.String(): []byte("onetwo threeeight nine"),
		server4.String(): []byte("four five six seven"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bytes of each side (-want +got):\n%s", diff)
	}
}

// TestExampleParses keeps the example of the README right.
func TestExampleParses(t *testing.T) {
	readme, err := os.ReadFile(goldenDir + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, part := range strings.Split(string(readme), "\n\n    # ")[1:] {
		source := "# "
		for line := range strings.Lines(part) {
			if strings.TrimSpace(line) != "" && source != "# " && !strings.HasPrefix(line, "    ") {
				break
			}
			source += strings.TrimPrefix(line, "    ")
		}
		examples++
		if _, err := Parse("README.md", []byte(source)); err != nil {
			t.Error(err)
		}
	}
	if examples != 2 {
		t.Errorf("examples\n got %d\nwant 2", examples)
	}
}
