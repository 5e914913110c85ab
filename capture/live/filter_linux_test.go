package live

import (
	"errors"
	"testing"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/testpcap"
)

// TestFilterSyntax: the error names the word, with the filter.
func TestFilterSyntax(t *testing.T) {
	ns := netns.New(t)
	ns.RunIP(t, "link set lo up")
	_, err := try(ns, Options{Interfaces: []string{"lo"}, Filter: "udp prot 5"})
	var e *Error
	if !errors.As(err, &e) || !errors.Is(err, ErrFilter) || e.Error() != `filter "udp prot 5": "prot" is no word of tcpdump's language` || e.Hint != "did you mean port?" {
		t.Errorf("error: %v, %+v", err, e)
	}
}

// TestFilterOfTcpdump keeps what it names, on both backends and whatever link header packets get.
func TestFilterOfTcpdump(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		filter := "less 1000 and udp[4:2] > 8 and (ip host " + hereIP + " and dst port 27015 or tcp)"
		if backend == AFPacket { // libpcap does not know the direction of the first packets
			filter = "inbound and " + filter
		}
		for _, name := range []string{hereName, Any} {
			testFilterOfTcpdump(t, Options{Interfaces: []string{name}, Backend: backend, Filter: filter})
		}
	})
}

func testFilterOfTcpdump(t *testing.T, o Options) {
	t.Helper()
	here, there := cable(t)
	here.Listen(t, hereIP+":1")
	s := open(t, here, o)
	numbered(t, there.Dial(t, hereIP+":1"), 10)
	here.Listen(t, hereIP+":27015")
	numbered(t, there.Dial(t, hereIP+":27015"), 7)
	s.Stop()
	all, _ := readAll(s)
	if inOrder(t, all, 7); len(all) != 7 {
		t.Errorf("%v: packets\ngot  %d\nwant 7", o.Interfaces, len(all))
	}
}

// TestFilterOfTags: the kernel takes the outer tag of a VLAN off before the filter.
func TestFilterOfTags(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		for filter, want := range map[string]int{"vlan": 3, "vlan 7": 2, "vlan 7 and udp port 27015": 1, "ip proto 17": 3, "vlan and vlan": 1, "not vlan": 1, "vlan 7 and vlan 8 and udp": 1} {
			here, there := cable(t)
			s := open(t, here, Options{Interfaces: []string{hereName}, Backend: backend, Filter: filter})
			for _, tags := range [][]uint16{nil, {7}, {9}, {7, 8}} {
				there.SendFrames(t, thereName, datagram([]byte("query"), 27015).Frame(testpcap.Link{Type: linkEthernet, VLANs: tags}))
			}
			s.Stop()
			all, _ := readAll(s)
			n := 0
			for i := range all {
				if string(payload(&all[i].Packet)) == "query" {
					n++
				}
			}
			if n != want {
				t.Errorf("%s: packets\ngot  %d\nwant %d", filter, n, want)
			}
		}
	})
}

// TestAutoFilterInTheKernel: the kernel runs the program as the test's machine does,
// for every way it sees packets in.
func TestAutoFilterInTheKernel(t *testing.T) {
	type packet struct {
		name    string
		payload string
		port    uint16
		pass    bool
	}
	packets := []packet{
		{"query", "\xff\xff\xff\xffTSource Engine Query\x00", 7777, true},
		{"part", "\xfe\xff\xff\xff12345", 7777, true},
		{"game", "\x07\x01\x00\x00 and so on", 7777, false},
		{"game on a port of ASE", "\x07\x01\x00\x00 and so on", 22126, true},
		{"ASE request", "s", 7777, true},
		{"another byte", "t", 7777, false},
		{"two bytes", "ss", 7777, false},
		{"no byte", "", 7777, false},
		{"ASE reply", "EYE1\x04mta", 7777, true},
		{"list request", "1\xff0.0.0.0:0\x00\x00", 7777, true},
		{"list request from IPv6", "1\xff[::1]:0\x00\x00", 7777, true},
		{"heartbeat", "0\n\\protocol\\7", 7777, true},
	}
	for _, name := range []string{hereName, Any} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, backend Backend) {
				here, there := cable(t)
				s := open(t, here, Options{Interfaces: []string{name}, Backend: backend, AutoFilter: usual})
				var want []string
				for _, p := range packets {
					there.SendFrames(t, thereName, datagram([]byte(p.payload), p.port).Frame(testpcap.Link{Type: linkEthernet}))
					if p.pass {
						want = append(want, p.payload)
					}
				}
				s.Stop()
				all, _ := readAll(s)
				for i := range all {
					got := string(payload(&all[i].Packet))
					if i >= len(want) || got != want[i] {
						t.Fatalf("packet %d\ngot  %q\nwant %q", i, got, append(want, "nothing")[min(i, len(want))])
					}
				}
				if len(all) != len(want) {
					t.Errorf("packets\ngot  %d\nwant %d", len(all), len(want))
				}
			})
		})
	}
}
