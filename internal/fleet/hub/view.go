package hub

import (
	"context"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet/campaign"
)

// View is what a hub shows. Nobody changes it.
type View struct {
	ID     string // of this hub; empty: unknown as yet
	Leader Holder
	Leads  bool   // this hub leads
	At     int64  // the broker's time in Unix nanoseconds, up to which messages were read; 0: unknown
	Unread uint64 // messages in the streams

	Sensors  []campaign.Sensor
	Open     []Shown
	Closed   []Shown // newest first
	Windows  []campaign.Totals
	Top      []ShownNetwork // of the last window that was not late
	Counters campaign.Counters
	Totals   Totals
	Pending  int
	Refused  []Refused
	Streams  []StreamState
}

// StreamState is how a stream is.
type StreamState struct {
	Name     string
	Messages uint64
	Bytes    uint64
	First    time.Time // of the oldest message
}

// View returns what the hub shows.
func (h *Hub) View() *View { return h.view.Load() }

// show makes what readers see anew, now and then.
func (x *leader) show(ctx context.Context) {
	if time.Since(x.shown) < x.pace.view {
		return
	}
	x.shown = time.Now()
	v := x.viewOf(ctx, x.engine, x.state)
	v.Leads, v.Leader = true, x.me
	v.Unread = x.counts.unread() + x.events.unread()
	x.view.Store(v)
}

// viewOf returns what a state shows.
func (h *Hub) viewOf(ctx context.Context, e *campaign.Engine, st *state) *View {
	v := &View{ID: h.id, At: time.Now().UnixNano(), Sensors: slices.Clone(e.Sensors()), Windows: slices.Clone(e.Windows()), Counters: e.Counters(),
		Totals: st.Totals, Pending: len(st.Pending), Refused: h.refused.list(), Streams: h.lookAtStreams(ctx)}
	v.Top = ShowNetworks(h.opt.Secret, v.Last().Top)
	for i := range v.Windows {
		v.Windows[i].Top = nil // it is the engine's
	}
	v.Open, v.Closed = h.showAll(e.Open()), h.showAll(e.Closed())
	return v
}

// Last returns the sums of the last window that was not late.
func (v *View) Last() campaign.Totals {
	for i := len(v.Windows) - 1; i >= 0; i-- {
		if !v.Windows[i].Late {
			return v.Windows[i]
		}
	}
	return campaign.Totals{}
}

// showAll copies campaigns, which are the engine's, and opens their networks.
func (h *Hub) showAll(list []*campaign.Campaign) []Shown {
	all := make([]Shown, len(list))
	for i, c := range list {
		x := *c
		x.Members, x.Evidence = slices.Clone(c.Members), slices.Clone(c.Evidence)
		all[i] = Show(h.opt.Secret, &x)
		x.Top = nil
	}
	return all
}

// lookAtStreams returns how the streams are, as of a moment ago.
func (h *Hub) lookAtStreams(ctx context.Context) []StreamState {
	if time.Since(h.asked) < streamsEvery {
		return h.streams
	}
	h.asked = time.Now()
	var all []StreamState
	for _, s := range []jetstream.Stream{h.counts, h.events, h.campaigns} {
		info, err := s.Info(ctx)
		if err != nil {
			return h.streams
		}
		all = append(all, StreamState{Name: info.Config.Name, Messages: info.State.Msgs, Bytes: info.State.Bytes, First: info.State.FirstTime})
	}
	h.streams = all
	return all
}
