package text

import (
	"net/netip"
	"strings"
	"testing"

	"qsniff/internal/base/display"
	"qsniff/internal/render"
	"qsniff/internal/render/tally"
	"qsniff/internal/track/vantages"
)

// TestVantages: names of captures reach no terminal as they are, nothing is wider than the page, and what was
// evicted, lost and not read is said.
func TestVantages(t *testing.T) {
	hostile := "\x1b[31m" + strings.Repeat("long name ", 20) + "\n.pcap"
	x := &render.Vantages{Top: 1, Unread: 2,
		Captures: []render.Vantage{
			{Name: hostile, Run: tally.Run{Packets: 3, Dropped: 7, Interrupted: true}, Evicted: vantages.Evicted{Servers: 1, Answers: 2, Paths: 3, Trips: 4, Repeated: 5}},
			{Name: "far.pcap"}},
		Servers: []vantages.Server{
			{Addr: netip.MustParseAddrPort("[2001:db8:1111:2222:3333:4444:5555:6666]:27015"), Points: []vantages.Point{{Asked: 9}, {Capture: 1, Asked: 9, Answered: 3}}},
			{Addr: netip.MustParseAddrPort("198.51.100.7:27015")}}}
	page := string(AppendVantages(nil, x, Options{Width: 80}))
	for _, want := range []string{
		"Interrupted after 3 packets", "2 captures were not read", "the capturing program lost 7 packets", "1 server was evicted", "2 series of answers were evicted",
		"3 series of handshakes or echoes were evicted", "4 handshakes or echoes that waited were evicted", "5 exchanges with repeated requests were evicted",
		"far.pcap: 3 answered of 9 requests", "Not listed: 1 more server (--top)", "2 with answers of one kind in fewer than two captures",
	} {
		if !strings.Contains(strings.Join(strings.Fields(page), " "), want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "\x1b") {
		t.Errorf("an escape reaches the terminal: %q", page)
	}
	for line := range strings.Lines(page) {
		if n := display.Cells([]byte(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d cells: %s", n, line)
		}
	}
}
