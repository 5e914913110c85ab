package sensor

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/flood/measure"
	"qsniff/internal/track"
)

// TestWindowsMerge: the sketches of two hosts for a window, merged, are exactly those of a host that
// sees what comes to both, whenever they began. A server is measured from its first request on.
func TestWindowsMerge(t *testing.T) {
	servers := serversOf(2)
	a, b, both := newHost(t, servers[:1], nil), newHost(t, servers[1:], nil), newHost(t, servers, nil)
	begins := [...]time.Duration{3200 * time.Millisecond, 17_900 * time.Millisecond}
	r := rand.New(rand.NewPCG(1, 2))
	const step = 7 * time.Millisecond
	for at := begins[0]; at < time.Minute; at += step {
		client := address(0xcb007100 + r.Uint32N(5000))
		for i, h := range [...]*host{a, b} {
			if at < begins[i] || r.IntN(3) == 0 {
				continue
			}
			for _, h := range [...]*host{h, both} {
				h.now, h.age = dawn+int64(at), int64(at)+int64(time.Hour)+int64(i)
				h.packet(track.IsRequest, client, 40000, servers[i], "A2S_INFO", 0)
			}
		}
	}
	for _, h := range [...]*host{a, b, both} {
		h.end()
	}
	all := map[int64]map[netip.AddrPort]*fleet.Server{}
	for _, m := range messagesOf[*fleet.Server](both) {
		if all[m.Time] == nil {
			all[m.Time] = map[netip.AddrPort]*fleet.Server{}
		}
		all[m.Time][m.Addr] = m
	}
	for i, h := range [...]*host{a, b} {
		got := messagesOf[*fleet.Server](h)
		if want := 6 - int(begins[i]/fleet.Period); len(got) != want {
			t.Errorf("host %d: %d windows, not %d", i, len(got), want)
		}
		for k, m := range got {
			x := all[m.Time][m.Addr]
			if m.Time%int64(fleet.Period) != 0 || x == nil {
				t.Fatalf("host %d: a window that ends at %d", i, m.Time)
			}
			if !m.IsMeasured || m.Sources != x.Sources || m.Sites != x.Sites || m.PacketsIn != x.PacketsIn || m.PacketsIn == 0 {
				t.Errorf("host %d, window %d: %d queries of about %.0f sources; whoever sees both hosts has %d of %.0f",
					i, k, m.PacketsIn, m.Sources.Count(), x.PacketsIn, x.Sources.Count())
			}
			if n := m.Features[measure.Window]; k == 0 && n > 10 || k > 0 && n != 20 {
				t.Errorf("host %d, window %d: features of %.0f seconds", i, k, n)
			}
		}
	}
}

// TestCounts: what windows have is what came, whichever messages it is in, and response times are
// those of the window.
func TestCounts(t *testing.T) {
	servers := serversOf(fleet.MaxServers + 6)
	h := newHost(t, servers, nil)
	sent := uint64(0)
	for range 4 {
		for range 100 {
			for i := range servers {
				if i%7 != 3 || h.now < dawn+25e9 {
					h.visit(address(0xcb007100+uint32(i)), servers[i])
					sent += 4
				}
			}
			h.pass(100 * time.Millisecond)
		}
	}
	h.end()
	var in, asked, answered, times uint64
	for _, m := range messagesOf[*fleet.Server](h) {
		in += m.PacketsIn
		for _, k := range m.Asked {
			if k.Outcomes != nil {
				asked += k.Count
				answered += k.Outcomes["answered"] + k.Outcomes["challenged"]
			}
		}
		for _, n := range m.Times {
			times += n
		}
	}
	listed := in
	for _, m := range messagesOf[*fleet.Host](h) {
		in += m.Others.PacketsIn
		if m.Servers != len(servers) || m.Unlisted != 6 {
			t.Errorf("%d servers, %d of them not listed", m.Servers, m.Unlisted)
		}
	}
	if in != sent {
		t.Errorf("%d packets in messages, %d were sent", in, sent)
	}
	// Of a server that is listed anew the kinds are missing once: that is 6 of 64 in one window.
	if asked > listed || asked < listed*95/100 || answered != asked || times > asked || times < asked*7/10 {
		t.Errorf("of %d queries %d have a kind, %d an answer, %d a time", listed, asked, answered, times)
	}
}

// TestHosts: a Host message for each window, and messages are numbered without a gap.
func TestHosts(t *testing.T) {
	h := newHost(t, serversOf(1), func(o *Options) { o.Packets = func() uint64 { return 42 } })
	h.now += int64(9 * time.Second)
	h.age += int64(9 * time.Second)
	h.visit(address(0xcb007101), serversOf(1)[0])
	for range 120 {
		h.pass(time.Second)
	}
	for _, w := range h.watchers {
		w.Lost(7)
	}
	h.now += int64(time.Hour) // a gap in a capture
	h.age += int64(time.Hour)
	h.visit(address(0xcb007101), serversOf(1)[0])
	h.end()
	var ends []int64
	for _, m := range messagesOf[*fleet.Host](h) {
		ends = append(ends, (m.Time-dawn)/int64(fleet.Period))
		if m.Packets != 42 || m.Program != "1.0" || m.Input != "eth0" || m.Started != dawn+9e9 {
			t.Errorf("%+v", m)
		}
	}
	want := []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 373}
	if len(ends) != len(want) {
		t.Fatalf("windows that end at %v", ends)
	}
	for i := range want {
		if ends[i] != want[i] {
			t.Fatalf("windows that end at %v", ends)
		}
	}
	for i, m := range h.got {
		if seq := fleet.HeadOf(m).Seq; seq != uint64(i+1) {
			t.Errorf("message %d has number %d", i+1, seq)
		}
	}
	hosts := messagesOf[*fleet.Host](h)
	if n := hosts[len(hosts)-1].Dropped; n != 7 {
		t.Errorf("%d packets dropped", n)
	}
}

// TestClockSet: after the clock was set, windows end at multiples of the period again.
func TestClockSet(t *testing.T) {
	for _, by := range []time.Duration{time.Hour + 3*time.Second, -time.Hour - 3300*time.Millisecond} {
		h := newHost(t, serversOf(1), nil)
		for i := range 90 {
			if i == 34 {
				h.now += int64(by)
			}
			h.visit(address(0xcb007101), serversOf(1)[0])
			h.pass(time.Second)
		}
		h.end()
		last := int64(0)
		all := messagesOf[*fleet.Server](h)
		if len(all) < 8 || len(all) > 11 {
			t.Errorf("%v: %d windows in 90 seconds", by, len(all))
		}
		for i, m := range all {
			if m.Time%int64(fleet.Period) != 0 {
				t.Errorf("%v: a window ends at %d", by, m.Time)
			}
			if i > 5 && m.Time-last != int64(fleet.Period) || i > 5 && i < len(all)-1 && m.PacketsIn != 40 {
				t.Errorf("%v: window %d ends %v after the one before, with %d packets", by, i, time.Duration(m.Time-last), m.PacketsIn)
			}
			last = m.Time
		}
	}
}

// TestInventory: it is told what a server says of itself when that changes.
func TestInventory(t *testing.T) {
	h := newHost(t, serversOf(1), nil)
	p := track.NoProfile()
	p.Players, p.Max = 3, 32
	for second := range 700 {
		switch second {
		case 0:
			p.Name.Set([]byte("First \xff"))
		case 100:
			p.Map.Set([]byte("de_dust2"))
		}
		p.Players = int32(second % 32)
		h.visit(address(0xcb007101), serversOf(1)[0])
		h.meter.AddProfile(&h.s, &p)
		h.pass(time.Second)
	}
	h.end()
	got := messagesOf[*fleet.Inventory](h)
	if len(got) != 4 || got[0].Name != "First \ufffd" || got[0].Map != "" || got[0].MaxPlayers != 32 || got[0].Protocol != "a2s" ||
		got[1].Map != "de_dust2" || got[1].Time-got[0].Time != 100e9 || got[2].Time-got[1].Time != int64(inventoryEvery) {
		for _, m := range got {
			t.Errorf("%+v", m)
		}
	}
}

// TestTop: a Server has the busiest networks, busiest first, and the forms of what it was asked; its
// lists are filled up before they are parsed.
func TestTop(t *testing.T) {
	own := serversOf(1)[0]
	h := newHost(t, serversOf(1), func(o *Options) {
		put := o.Put
		o.Put = func(m fleet.Message) {
			if s, ok := m.(*fleet.Server); ok && (len(s.Top) != topEach || len(s.Forms) != formsEach) {
				t.Errorf("%d networks and %d forms", len(s.Top), len(s.Forms))
			}
			put(m)
		}
	})
	h.pass(8 * time.Second)
	for _, networks := range []uint32{3, 40} {
		for i := range networks {
			for k := range i + 1 {
				h.packet(track.IsRequest, address(0xcb000000+i<<8+k%7), 40000, own, "A2S_INFO", 0)
			}
		}
		h.got = nil
		h.pass(fleet.Period)
		m := messagesOf[*fleet.Server](h)[0]
		if len(m.Top) != int(min(networks, topEach)) || len(m.Forms) != 1 || m.Forms[0].Message != "A2S_INFO" || m.Forms[0].Packets != uint64(networks*(networks+1)/2) {
			t.Errorf("%d networks: %d in the list, forms %+v", networks, len(m.Top), m.Forms)
		}
		for i, x := range m.Top {
			n := networks - uint32(i)
			if want := netip.PrefixFrom(address(0xcb000000+(n-1)<<8).Addr(), 24); x.Queries != n || h.secret.OpenNetwork(x.Prefix) != want {
				t.Errorf("%d networks: number %d is %v with %d queries", networks, i, h.secret.OpenNetwork(x.Prefix), x.Queries)
			}
		}
	}
}

// TestKinds: a server that was sent every kind of message once has a short list for ever.
func TestKinds(t *testing.T) {
	h := newHost(t, serversOf(1), nil)
	client, own := address(0xcb007101), serversOf(1)[0]
	for name := range h.types {
		h.packet(track.IsRequest, client, 40000, own, name, 0)
		h.packet(track.IsReply, client, 40000, own, name, 0)
	}
	h.pass(fleet.Period)
	h.pass(fleet.Period)
	for range 5 {
		h.packet(track.IsRequest, client, 40000, own, "A2S_RULES", 0)
	}
	h.end()
	all := messagesOf[*fleet.Server](h)
	for i, m := range all {
		sum := uint64(0)
		for _, k := range m.Asked {
			sum += k.Count
		}
		if want := []uint64{uint64(2 * len(h.types)), 0, 5}; len(m.Asked) != kindsEach+1 || i < len(want) && sum != want[i] {
			t.Errorf("window %d: %d kinds, %d messages", i, len(m.Asked), sum)
		}
	}
	if last := all[len(all)-1]; len(all) != 3 || last.Asked[0].Message != "A2S_RULES" || last.Asked[0].Count != 5 {
		t.Errorf("%d windows, %+v", len(all), last.Asked)
	}
}
