package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"qsniff/capture"
	"qsniff/internal/test/protos"
	"qsniff/internal/test/race"
	"qsniff/internal/track"
)

func TestWatchingAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w := &watching{watchers: []track.Watcher{&counter{}}, doubt: newDoubt()}
	x := sight{}
	if n := testing.AllocsPerRun(10_000, func() {
		x.Age += 1e8
		x.Src[15]++
		w.tellWatchers(&x)
	}); n != 0 {
		t.Errorf("%v allocations for each sighting", n)
	}
}

// counter is the cheapest watcher.
type counter struct{ n int }

func (c *counter) Sight(*track.Sighting) { c.n++ }
func (c *counter) Tick(age, nanos int64) {}
func (c *counter) Lost(packets uint64)   {}
func (c *counter) End(age, nanos int64)  {}

// hanging is a source that brings no more packets and does not end, with a capturing
// program that lost some.
type hanging struct {
	capture.Source
	lost uint64
	over chan struct{}
}

func (h *hanging) Read(b *capture.Batch) error {
	err := h.Source.Read(b)
	if errors.Is(err, io.EOF) {
		if len(b.Packets) > 0 {
			return nil
		}
		<-h.over
	}
	return err
}

func (h *hanging) Stats() capture.Stats {
	s := h.Source.Stats()
	s.Dropped = h.lost
	return s
}

// impatient interrupts the run at the first packet.
type impatient struct {
	log
	interrupt context.CancelFunc
}

func (x *impatient) Sight(s *track.Sighting) {
	x.log.Sight(s)
	x.interrupt()
}

// TestWatchersWhenInterrupted: a run that is interrupted ends for watchers, too, and
// they know what the capturing program lost.
func TestWatchersWhenInterrupted(t *testing.T) {
	for _, jobs := range []int{1, 2, 4} {
		ctx, interrupt := context.WithCancel(context.Background())
		h := &hanging{Source: open(t, sourced(t, "> "+infoAsked+"\n")), lost: 7, over: make(chan struct{})}
		l := &impatient{interrupt: interrupt}
		_, err := Run(ctx, Config{Source: h, Registry: protos.Registry(t), Out: io.Discard, Jobs: jobs, Watchers: []track.Watcher{l}})
		close(h.over)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d jobs: got  %v\nwant %v", jobs, err, context.Canceled)
		}
		if !l.over || len(l.seen) != 1 || l.lost != 7 {
			t.Errorf("%d jobs: got  over %v, %d sightings, %d lost\nwant over, 1 sighting, 7 lost", jobs, l.over, len(l.seen), l.lost)
		}
	}
}

// TestEcho: what sends a request back is no request, and makes no server of a client. A request that was
// answered, and one that comes too late, are requests.
func TestEcho(t *testing.T) {
	const ask = "ff ff ff ff 54 \"Source Engine Query\\0\"\n"
	tests := []struct{ name, source, want string }{
		{"alone", "> " + ask + "< " + ask, "request other"},
		{"before a reply", "> " + ask + "< ff ff ff ff 54 \"Source Engine Query\\0\" 03 05 \"map\\0\"\n", "request other"},
		{"once", "> " + ask + "< " + ask + "< " + ask, "request other request"},
		{"not all of it", "> " + ask + "< ff ff ff ff 55 ff ff ff ff\n", "request request"},
		{"after a reply", "> " + ask + "< ff ff ff ff 41 01 02 03 04\n< " + ask, "request challenge request"},
		{"too late", "> " + ask + "@ wait 1100ms\n< " + ask, "request request"},
		{"other ports", "> " + ask + "@ client 10.64.0.1:40002\n< " + ask, "request request"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, line := range watchRun(t, sourced(t, tt.source), 1, nil).lines {
				got = append(got, strings.Fields(line)[1])
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestGamePacketsMakeNoServers: packets of a game that begin like an old query of master servers, from a
// server that others talk to, are no queries to the players.
func TestGamePacketsMakeNoServers(t *testing.T) {
	var b strings.Builder
	b.WriteString("@ server 198.18.0.1:27015\n")
	for i := range 40 {
		fmt.Fprintf(&b, "@ client 10.64.1.%d:27005\n> 01 02 03 04 05 06\n< 31 %02x 00 00\n", i+1, i%8)
	}
	for _, s := range watchRun(t, sourced(t, b.String()), 1, nil).seen {
		if s.What == track.IsRequest {
			t.Fatalf("got  a request to %v\nwant none", s.To().AddrPort())
		}
	}
}
