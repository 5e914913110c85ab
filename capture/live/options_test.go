package live

import (
	"strings"
	"testing"
	"time"
)

// odd are n ports of which no two are neighbours.
func odd(n int) (ports []uint16) {
	for i := range n {
		ports = append(ports, uint16(2*i+1))
	}
	return ports
}

func TestOptions(t *testing.T) {
	many := odd(maxFilterPorts + 1)
	for _, tc := range []struct {
		name string
		in   Options
		want string
	}{
		{"none", Options{}, "live capture: 0 interfaces given, from 1 to 64 can be captured on"},
		{"snap length", Options{Interfaces: []string{"lo"}, Snap: 262145}, "snap length 262145: must be from 1 to 262144, or 0 for whole packets"},
		{"buffer", Options{Interfaces: []string{"lo"}, Buffer: maxBuffer + 1}, "buffer of 1073741825 bytes: must be at most 1073741824"},
		{"delay", Options{Interfaces: []string{"lo"}, Delay: time.Second}, "delay of 1s: must be at most 400ms"},
		{"two filters", Options{Interfaces: []string{"lo"}, Filter: "udp", AutoFilter: &AutoFilter{}}, "filter and automatic filter: only one can be in the kernel"},
	} {
		if _, err := Open(tc.in); err == nil || err.Error() != tc.want {
			t.Errorf("%s\ngot  %v\nwant %s", tc.name, err, tc.want)
		}
	}
	if err := (&AutoFilter{TCP: many}).validate(); err == nil || !strings.Contains(err.Error(), "257 ports of TCP") {
		t.Errorf("too many ports: %v", err)
	}
	if err := (&AutoFilter{UDP: many[:maxFilterPorts], TCP: many[:maxFilterPorts]}).validate(); err != nil {
		t.Error(err)
	}
	most := &AutoFilter{UDP: many[:maxFilterPorts], TCP: many[:maxFilterPorts], Payloads: usual.Payloads}
	for i := range 100 { // none of which another covers
		most.Payloads = append(most.Payloads, PayloadPattern{Value: []byte{byte(i), 1, 2, 3, byte(i)}})
	}
	program, err := most.build(viewEthernet, 1)
	if n := len(program); n < maxInstructions/2 || err != nil {
		t.Errorf("the longest filter has %d instructions, %v", n, err)
	}
	for i := range 1000 {
		most.Payloads = append(most.Payloads, PayloadPattern{Value: []byte{2, byte(i), byte(i >> 8)}})
	}
	if _, err = most.build(viewEthernet, 1); err == nil || !strings.Contains(err.Error(), "instructions: the kernel takes 4096") {
		t.Errorf("too many patterns: %v", err)
	}
	for _, p := range []PayloadPattern{{}, {Value: []byte("a"), Mask: []byte{0}}, {Value: []byte("a"), Mask: []byte{1, 1}},
		{Offset: -1, Value: []byte("a")}, {Value: []byte("abc"), MaxLen: 2}, {Offset: maxPatternEnd, Value: []byte("a")},
		{Value: []byte("a"), MinLen: 70_000}, {Value: []byte("a"), MinLen: 9, MaxLen: 8}} {
		if err := (&AutoFilter{Payloads: []PayloadPattern{p}}).validate(); err == nil || !strings.Contains(err.Error(), "cannot be looked for") {
			t.Errorf("%+v: %v", p, err)
		}
	}
	p := &assembly{}
	p.jumpAlways("nowhere")
	if _, err := p.assemble(); err == nil || !strings.Contains(err.Error(), "no label nowhere") {
		t.Errorf("a jump without its label: %v", err)
	}
}

func TestParseBackend(t *testing.T) {
	for _, b := range []Backend{Auto, Libpcap, AFPacket} {
		if got, err := ParseBackend(b.String()); got != b || err != nil {
			t.Errorf("%s\ngot  %v, %v", b, got, err)
		}
	}
	if _, err := ParseBackend("dpdk"); err == nil || err.Error() != `backend "dpdk": there are auto, libpcap, afpacket` {
		t.Errorf("error: %v", err)
	}
}

func TestAutoFilterSays(t *testing.T) {
	f := &AutoFilter{UDP: []uint16{22127, 22126, 22003, 65535, 22126}, Missed: usual.Missed}
	if got, want := f.String(), "automatic: queries, fragments, ICMP errors, udp port 22003,22126-22127,65535, tcp port none"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	lost := strings.Join(f.Unseen(), "\n")
	for _, want := range []string{"here on UDP ports other than 22003,22126-22127,65535: some, others\n", "there on TCP ports other than none\n"} {
		if !strings.Contains(lost, want) {
			t.Errorf("lost: %s\nwant %s", lost, want)
		}
	}
}
