package pipeline

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"qsniff/capture"
	"qsniff/internal/render/tally"
	"qsniff/internal/test/protos"
	"qsniff/internal/track"
)

// profiles is a watcher that keeps what servers report.
type profiles struct{ got []string }

func (p *profiles) Sight(*track.Sighting) {}
func (p *profiles) Tick(int64, int64)     {}
func (p *profiles) Lost(uint64)           {}
func (p *profiles) End(int64, int64)      {}
func (p *profiles) AddProfile(s *track.Sighting, x *track.Profile) {
	p.got = append(p.got, fmt.Sprintf("%d %s %s %d of %d, %d bots, queue %d, %s, %q", s.Frame, s.From().AddrPort(), x.Name.Whole(), x.Players, x.Max, x.Bots, x.Queue, x.Version.Whole(), x.Tags.Whole()))
}

// TestProfiles: of each server and partition of clients a reply a second is read, without others being
// read for it, and the totals of the run are there after each batch.
func TestProfiles(t *testing.T) {
	const info = "\xff\xff\xff\xffI\x11name\x00map\x00rust\x00Rust\x00\x00\x00\x03\x20\x01dl\x00\x012.5\x00\x21mp100,cp3,qp7\x00\x4a\xda\x03\x00\x00\x00\x00\x00"
	var all []sent
	for i := range 50 { // ten a second
		for n, server := range []string{"198.18.0.1:28015", "198.18.0.2:28015"} {
			all = append(all, sent{int64(i)*100 + int64(n), server, "10.64.0.1:40001", info})
		}
		all = append(all, sent{int64(i)*100 + 2, "198.18.0.1:28015", "10.64.0.1:40001", "\xff\xff\xff\xffD\x00"})
	}
	var first []string
	for jobs := 1; jobs <= 4; jobs *= 2 {
		p, last := new(profiles), tally.Run{}
		run, err := Run(context.Background(), Config{Source: capturedOf(t, all), Registry: protos.Registry(t), Jobs: jobs, Watchers: []track.Watcher{p},
			Progress: func(_ capture.Stats, totals func() tally.Run) { last = totals() }})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.got) != 10 || p.got[0] != `1 198.18.0.1:28015 name 3 of 100, 1 bots, queue 7, 2.5, "mp100,cp3,qp7"` {
			t.Errorf("%d goroutines: got %d, %q", jobs, len(p.got), p.got[0])
		}
		if first == nil {
			first = p.got
		}
		if !slices.Equal(first, p.got) || last.Packets != 150 || last.Packets != run.Packets || run.Messages != 0 {
			t.Errorf("%d goroutines: %d packets, of the run %d; %d of %d", jobs, last.Packets, run.Packets, len(p.got), len(first))
		}
	}
}

// TestProfileInTunnel: what a server reports of itself is told once, of the server, and not of the tunnel.
func TestProfileInTunnel(t *testing.T) {
	const in = "@ tunnel gre 0 192.0.2.1 192.0.2.2\n" +
		"< FF FF FF FF 49 11 \"name\" 00 \"map\" 00 \"rust\" 00 \"Rust\" 00 00 00 03 20 01 \"dl\" 00 01 \"2.5\" 00 00\n"
	p := new(profiles)
	if _, err := Run(t.Context(), Config{Source: open(t, sourced(t, in)), Registry: protos.Registry(t), Jobs: 1, Watchers: []track.Watcher{p}}); err != nil {
		t.Fatal(err)
	}
	if want := []string{`1 198.18.0.1:27015 name 3 of 32, 1 bots, queue -1, 2.5, ""`}; !slices.Equal(p.got, want) {
		t.Errorf("got  %q\nwant %q", p.got, want)
	}
}
