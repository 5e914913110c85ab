package sensor

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"qsniff/dissect/finding"
	"qsniff/internal/fleet"
	"qsniff/internal/flood"
	"qsniff/internal/track"
)

// attack has a host scanned, flooded by few sources and by forged ones, and used against a victim,
// whose replies it sees come from elsewhere. All clients are of 203.0.113.0/24 but the forged ones.
func attack(h *host) {
	r := rand.New(rand.NewPCG(1, 2))
	own := serversOf(3)
	scanner, victim := address(0xcb007107), address(0xcb007108)
	for i := range 6000 {
		h.pass(10 * time.Millisecond)
		h.visit(address(0xcb007164+uint32(i%50)), own[0])
		if i < 1000 {
			continue
		}
		target := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 101, byte(i)}), uint16(27015+i>>8))
		h.packet(track.IsRequest, scanner, 50000, target, "A2S_INFO", 0)
		for range 5 {
			h.packet(track.IsRequest, address(r.Uint32()|1<<31), uint16(r.Uint32()), own[1], "A2S_INFO", 0)
			h.packet(track.IsReply, victim, 27005, netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 2 & 1), byte(r.Uint32N(200))}), 27015), "S2A_PLAYER", 0)
		}
		h.packet(track.IsRequest, address(0xcb007109), 50001, own[2], "A2S_PLAYER", 0)
	}
	for range 120 {
		h.pass(time.Second)
	}
	h.end()
}

// TestSealed: no message shows the address of a client, and whoever has the secret can open it.
func TestSealed(t *testing.T) {
	h := newHost(t, serversOf(3), nil)
	attack(h)
	kinds := map[string]*fleet.Incident{}
	for _, m := range h.got {
		data, err := fleet.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{"203.0.113.", "198.51.101."} {
			if strings.Contains(string(data), secret) {
				t.Errorf("a message shows %s: %s", secret, data)
			}
		}
		if m, ok := m.(*fleet.Incident); ok && m.Event == "close" {
			kinds[m.Category] = m
		}
	}
	few, spoofed, scan, victim := kinds["flood_few"], kinds["flood_spoofed"], kinds["scan"], kinds["reply_flood_victim"]
	if few == nil || spoofed == nil || scan == nil || victim == nil {
		t.Fatalf("incidents: %v", kinds)
	}
	if few.Target != "udp/198.51.100.7:27017" || !few.Source.IsZero() || h.secret.OpenHost(few.Top[0].Prefix).String() != "203.0.113.9" ||
		h.secret.OpenNetwork(few.Networks[0].Prefix).String() != "203.0.113.0/24" {
		t.Errorf("few: %+v", few)
	}
	if n := spoofed.Sources.Count(); math.Abs(n-spoofed.Distinct) > 0.05*n || n < 10_000 || spoofed.Forms[0].Message != "A2S_INFO" || spoofed.Forms[0].Protocol != "a2s" {
		t.Errorf("about %.0f forged sources, %.0f by the incident: %+v", n, spoofed.Distinct, spoofed.Forms)
	}
	if scan.Target != "" || h.secret.OpenHost(scan.Source).String() != "203.0.113.7" {
		t.Errorf("scan: %+v", scan)
	}
	if n := victim.Sources.Count(); victim.Target != "" || h.secret.OpenHost(victim.Source).String() != "203.0.113.8" || n < 350 || n > 450 {
		t.Errorf("victim of about %.0f reflectors: %+v", n, victim)
	}
	for _, m := range messagesOf[*fleet.Host](h) {
		if m.Unsent != 0 || m.Open < 0 || m.Open > 6 {
			t.Errorf("%+v", m)
		}
	}
}

// TestLine: only who asks for addresses gets the line of an incident, if it is not too long.
func TestLine(t *testing.T) {
	length := 20
	h := newHost(t, serversOf(3), func(o *Options) {
		o.Line = func(in *flood.Incident, e flood.Event) []byte {
			return fmt.Appendf(nil, "%q", in.Target.String()+" "+e.String()+strings.Repeat(" ", length))
		}
	})
	in := &flood.Incident{ID: 1, Kind: flood.Scan, Level: flood.Alert, Target: flood.Target{End: netip.MustParseAddrPort("203.0.113.7:0")}, Detected: dawn}
	h.sensor.AddIncident(in, flood.Begins)
	length = maxLine
	h.sensor.AddIncident(in, flood.Ends)
	got := messagesOf[*fleet.Incident](h)
	if len(got) != 2 || !strings.HasPrefix(string(got[0].Line), `"203.0.113.7 open`) || got[1].Line != nil || h.sensor.unsent != 1 {
		t.Errorf("%+v, %d unsent", got, h.sensor.unsent)
	}
}

// TestUpdates: an incident changes once in a window, as it was last; what is too much is counted.
func TestUpdates(t *testing.T) {
	h := newHost(t, serversOf(1), nil)
	h.visit(address(0xcb007101), serversOf(1)[0])
	for range 3 {
		for id := uint64(1); id <= 200; id++ {
			in := &flood.Incident{ID: id, Kind: flood.FloodFew, Target: flood.Target{End: serversOf(1)[0]}, Detected: h.now}
			h.sensor.AddIncident(in, flood.Begins)
			for in.Peak = 1; in.Peak < 5; in.Peak++ {
				h.sensor.AddIncident(in, flood.Changes)
			}
			if id == 1 {
				h.sensor.AddIncident(in, flood.Ends)
			}
		}
		h.got = nil
		h.pass(fleet.Period)
		got := messagesOf[*fleet.Incident](h)
		if len(got) != updatesEach {
			t.Errorf("%d updates", len(got))
		}
		for i, m := range got {
			if m.ID != uint64(i+2) || m.Peak != 4 || m.Event != "update" || m.Time%int64(fleet.Period) != 0 {
				t.Errorf("update %d: %+v", i, m)
			}
		}
	}
	hosts := messagesOf[*fleet.Host](h)
	// In each window 201 begin or end, and 199 change four times, 200 - 1 - updatesEach in vain.
	want := uint64(3 * (201 - incidentsEach + 4*(200-1-updatesEach)))
	if m := hosts[len(hosts)-1]; m.Unsent != want || m.Open != 199 {
		t.Errorf("%d unsent, not %d; %d open", m.Unsent, want, m.Open)
	}
}

// TestFindings: findings are counted by what and where they are; those at clients have no address.
func TestFindings(t *testing.T) {
	h := newHost(t, serversOf(1), nil)
	h.visit(address(0xcb007101), serversOf(1)[0])
	code := &finding.Code{ID: "a2s.some"}
	add := func(server string, severity finding.Severity) {
		h.sensor.AddFinding(netip.MustParseAddrPort(server), track.Found{Expert: finding.Expert{Code: code, Severity: severity}})
	}
	for range 3 {
		add("198.51.100.7:27015", finding.Warn)
		add("203.0.113.1:40000", finding.Warn)
		add("203.0.113.2:40000", finding.Warn)
	}
	add("198.51.100.7:27015", finding.Error)
	for i := range 300 {
		code = &finding.Code{ID: fmt.Sprint("other.", i)}
		add("198.51.100.7:27015", finding.Warn)
	}
	h.pass(fleet.Period)
	got := messagesOf[*fleet.Finding](h)
	own := serversOf(1)[0]
	if len(got) != findingsEach || h.sensor.unsent != 303-findingsEach || got[0].Code != "a2s.some" || got[0].Addr.IsValid() || got[0].Count != 6 ||
		got[1].Addr != own || got[1].Count != 3 || got[1].Severity != "warn" || got[2].Severity != "error" {
		t.Errorf("%d, %d unsent: %+v %+v %+v", len(got), h.sensor.unsent, got[0], got[1], got[2])
	}
	h.got = nil
	h.pass(fleet.Period)
	if n := len(messagesOf[*fleet.Finding](h)); n > 0 {
		t.Errorf("%d findings once more", n)
	}
}

// TestWindowBytes: the longest messages of each kind are no longer than what windowBytes is made of.
func TestWindowBytes(t *testing.T) {
	h := newHost(t, nil, nil)
	end := netip.MustParseAddrPort("[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:65535")
	sealed := h.secret.SealHost(end.Addr())
	long := strings.Repeat("\x01", 64) // 6 bytes each in JSON
	name := strings.Repeat("n", fleet.MaxName)
	head := fleet.Head{Version: fleet.Version, Kind: "inventory", Sensor: name, Run: name[:16], Seq: math.MaxUint64, Time: math.MaxInt64}
	server := &fleet.Server{Head: head, Addr: end, PacketsIn: math.MaxUint64, BytesIn: math.MaxUint64, PacketsOut: math.MaxUint64, BytesOut: math.MaxUint64,
		Junk: math.MaxUint64, Unasked: math.MaxUint64, Unproven: math.MaxUint64, TimesNanos: math.MaxUint64}
	outcomes := map[string]uint64{}
	for _, o := range []string{"answered", "challenged", "late", "unanswered", "refused", "unreachable", "undecided"} {
		outcomes[o] = math.MaxUint64 / 1000
	}
	protocol, message := longestNames(h)
	for range kindsEach + 1 {
		server.Asked = append(server.Asked, fleet.Asked{Protocol: protocol, Message: message, Count: math.MaxUint64, Outcomes: outcomes})
	}
	server.Times = make([]uint64, 14)
	for i := range server.Times {
		server.Times[i] = math.MaxUint64 / 1000
	}
	incident := &fleet.Incident{Head: head, ID: math.MaxUint64, Event: "update", Category: "reply_flood_victim", Level: "alert", Protocol: protocol,
		Target: "udp/" + end.String(), Source: sealed, Servers: 1 << 30, Start: math.MaxInt64, Detected: math.MaxInt64, End: math.MaxInt64,
		Peak: 1e7 / 3., Mean: 1e7 / 3., Baseline: 1e7 / 3., Requests: math.MaxUint64, Replies: math.MaxUint64, BytesIn: math.MaxUint64, BytesOut: math.MaxUint64,
		Confidence: 1. / 3, Distinct: 1e7 / 3.}
	for range fleet.MaxTargets {
		incident.Targets = append(incident.Targets, end)
	}
	for range fleet.MaxTop {
		incident.Top = append(incident.Top, fleet.Network{Prefix: sealed, Queries: math.MaxUint32})
	}
	form := fleet.Form{Protocol: protocol, Message: message, HasKey: true, Min: 65535, Max: 65535, Packets: math.MaxUint64}
	for range fleet.MaxForms {
		incident.Forms = append(incident.Forms, form)
	}
	incident.Networks, server.Top, server.Forms = incident.Top, incident.Top[:topEach], incident.Forms[:formsEach]
	for _, x := range []struct {
		m    fleet.Message
		most int
	}{
		{server, serverBytes}, {incident, incidentBytes},
		{&fleet.Host{Head: head, Program: cut(strings.Repeat("p", 999)), Input: cut(strings.Repeat("i", 999)), Started: math.MaxInt64, Servers: 9999, Unlisted: 9999,
			Packets: math.MaxUint64, Dropped: math.MaxUint64, Open: 999, Unsent: math.MaxUint64,
			Others: fleet.Others{PacketsIn: math.MaxUint64, BytesIn: math.MaxUint64, PacketsOut: math.MaxUint64, BytesOut: math.MaxUint64, Junk: math.MaxUint64}}, hostBytes},
		{&fleet.Finding{Head: head, Code: strings.Repeat("c", 64), Severity: "error", Addr: end, Count: math.MaxUint64}, findingBytes},
		{&fleet.Inventory{Head: head, Addr: end, Protocol: protocol, Name: long, Map: long, Build: long, Players: 1 << 30, MaxPlayers: 1 << 30, Bots: 1 << 30}, inventoryBytes},
	} {
		data, err := fleet.Encode(x.m)
		if err != nil || len(data) > x.most || len(data) < x.most/2 {
			t.Errorf("%T: %d bytes, at most %d: %v", x.m, len(data), x.most, err)
		}
	}
}

// longestNames returns the longest names that messages have.
func longestNames(h *host) (protocol, message string) {
	p := h.meter.Place(0)
	for i := range p.NumKinds() {
		a, b, _ := p.Kind(i)
		if len(a) > len(protocol) {
			protocol = a
		}
		if len(b) > len(message) {
			message = b
		}
	}
	return protocol, message
}
