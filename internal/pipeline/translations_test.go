package pipeline

import (
	"net/netip"
	"slices"
	"testing"

	"qsniff/internal/render/tally"
	"qsniff/internal/test/forms"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/track"
)

// translated returns a capture of traffic to a container, and what must be known of it.
func translated(all []forms.Packet, link int, in, out []forms.Hop) form {
	interfaces := 1
	if link == testpcap.LinkEthernet {
		interfaces = 10
	}
	return form{files: [][]byte{forms.Pcapng(forms.Capture(all, link, in, out, forms.Inside), link, interfaces)}, copies: 2 * len(all)}
}

// TestTranslations: a server in a container is one server, with the address that clients know, from
// the first packet on, with and without a flood, in a capture of the any device and of interfaces.
func TestTranslations(t *testing.T) {
	want := []tally.Translation{{Inner: forms.Inside, Outer: forms.Server}}
	for _, link := range []int{testpcap.LinkSLL2, testpcap.LinkEthernet} {
		for _, flood := range []int{0, 3000} {
			for _, id := range []func(int) uint32{func(i int) uint32 { return uint32(i)*7 + 1 }, func(int) uint32 { return 0 }} {
				all := forms.WithID(forms.Base(60, flood), id)
				f := translated(all, link, forms.Container[0], forms.Container[1])
				l := &log{}
				run := runForm(t, &f, Config{Watchers: []track.Watcher{l}, CountsMessages: true})
				if !slices.Equal(run.Translations, want) {
					t.Errorf("link %d\ngot  %v\nwant %v", link, run.Translations, want)
				}
				if run.Messages != uint64(len(all)) || run.Copies != uint64(f.copies) {
					t.Errorf("link %d, flood of %d\ngot  %d messages, %d copies\nwant %d, %d", link, flood, run.Messages, run.Copies, len(all), f.copies)
				}
				for i := range l.seen {
					if a, b := l.seen[i].From(), l.seen[i].To(); a != track.EndOf(forms.Server) && b != track.EndOf(forms.Server) {
						t.Fatalf("a packet from %v to %v", a, b)
					}
				}
			}
		}
	}
}

// TestNoTranslations: nothing but a translation of both ways, seen several times, makes one server of
// two addresses, whatever a sender sends to two servers.
func TestNoTranslations(t *testing.T) {
	hop := func(iface uint32, delay int64, inside bool, forward uint8) forms.Hop {
		return forms.Hop{Iface: iface, Delay: delay, Inside: inside, Forward: forward, IsSent: forward > 0}
	}
	in := []forms.Hop{hop(2, 0, false, 0), hop(4, 20_000, true, 1)}
	out := []forms.Hop{hop(4, 0, true, 0), hop(2, 20_000, false, 1)}
	for _, tt := range []struct {
		name      string
		exchanges int
		in, out   []forms.Hop
	}{
		{"one exchange", 1, in, out},
		{"two servers that give equal replies: no router is between", 60, in, []forms.Hop{hop(4, 0, true, 0), hop(2, 20_000, false, 0)}},
		{"two servers, one of which replies", 60, in, []forms.Hop{hop(2, 0, false, 0)}},
		{"one interface", 60, []forms.Hop{hop(2, 0, false, 0), hop(2, 20_000, true, 1)}, []forms.Hop{hop(2, 0, true, 0), hop(2, 20_000, false, 1)}},
		{"too late", 60, []forms.Hop{hop(2, 0, false, 0), hop(4, 6_000_000, true, 1)}, []forms.Hop{hop(4, 0, true, 0), hop(2, 6_000_000, false, 1)}},
	} {
		all := forms.Base(tt.exchanges, 0)
		f := translated(all, testpcap.LinkEthernet, tt.in, tt.out)
		run := runForm(t, &f, Config{CountsMessages: true})
		if len(run.Translations) > 0 || run.Copies != 0 {
			t.Errorf("%s: got %v, and %d copies", tt.name, run.Translations, run.Copies)
		}
	}

	// A sender sends the same to two servers, which give equal replies with a time to live that could be
	// a router's, but other clients' replies come from the second server alone.
	all := forms.Base(60, 0)
	frames := forms.Capture(all[:60], testpcap.LinkEthernet, in, out, forms.Inside)
	frames = append(frames, forms.Capture(all[60:], testpcap.LinkEthernet, in[1:], out[:1], forms.Inside)...)
	f := form{files: [][]byte{forms.Pcapng(frames, testpcap.LinkEthernet, 10)}}
	if run := runForm(t, &f, Config{}); len(run.Translations) > 0 {
		t.Errorf("a client's replies were seen once: got %v", run.Translations)
	}
}

// TestLearnTranslation: an address that another server has now changes hands, and one server may have
// several outer addresses.
func TestLearnTranslation(t *testing.T) {
	end := netip.MustParseAddrPort
	a, b, x, y := end("203.0.113.1:1"), end("203.0.113.2:1"), end("172.17.0.2:1"), end("172.17.0.3:1")
	var tr translations
	seen := func(all ...translation) {
		tr.reset()
		for i, p := range all {
			tr.candidates[i] = candidate{translation: p, to: 0xff, from: 0xff}
		}
		tr.judge(0)
	}
	check := func(inner, want netip.AddrPort) {
		t.Helper()
		if got := tr.find(inner); got == nil || got.outer != want {
			t.Errorf("%v\ngot  %v\nwant %v", inner, got, want)
		}
	}
	seen(translation{x, a})
	check(x, a)
	seen(translation{x, b}) // started anew
	check(x, b)
	seen(translation{y, a}, translation{y, b}, translation{x, b})
	check(y, a)
	check(b, a)
	if tr.find(a) != nil {
		t.Error("the outer address is translated")
	}
	for i := range 2 * maxTranslations {
		seen(translation{netip.AddrPortFrom(x.Addr(), uint16(1000+i)), netip.AddrPortFrom(a.Addr(), uint16(1000+i))})
	}
	if tr.n != maxTranslations || len(tr.list()) != maxTranslations {
		t.Errorf("%d translations, %d listed, want %d", tr.n, len(tr.list()), maxTranslations)
	}
}
