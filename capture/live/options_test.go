package live

import (
	"strings"
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	many := make([]uint16, maxFilterPorts+1)
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
	if err := (&AutoFilter{TCP: many}).check(); err == nil || !strings.Contains(err.Error(), "257 ports of TCP") {
		t.Errorf("too many ports: %v", err)
	}
	if err := (&AutoFilter{UDP: many[:maxFilterPorts], TCP: many[:maxFilterPorts]}).check(); err != nil {
		t.Error(err)
	}
	const mostInstructions = 4096 // of the kernel
	most := &AutoFilter{UDP: many[:maxFilterPorts], TCP: many[:maxFilterPorts]}
	program, err := most.program(viewEthernet, 1)
	if n := len(program); n > mostInstructions || err != nil {
		t.Errorf("the longest filter has %d instructions, %v; the kernel takes %d", n, err, mostInstructions)
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
	f := &AutoFilter{UDP: []uint16{22126, 22003, 22126}, TCP: []uint16{}}
	if got, want := f.String(), "automatic: queries, fragments, ICMP errors, udp port 22003,22126, tcp port none"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if lost := strings.Join(f.Lost(), "\n"); !strings.Contains(lost, "other than none") || !strings.Contains(lost, "other than 22003,22126") {
		t.Errorf("lost: %s", lost)
	}
}
