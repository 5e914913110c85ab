// Package hub runs internal/fleet/campaign on the streams of a JetStream broker: it makes the streams, reads
// them, keeps its state in a key-value bucket, and reports each event of a campaign once, however many
// hubs there are. It judges nothing itself.
//
// # One leads
//
// Any number of hubs may run on the same broker. One of them leads: it holds the key leader of the
// bucket and renews it. The others look at that key: the first that has seen it unchanged for LeaseTime,
// by its own clock, takes it. No clock of one machine is compared with that of another.
//
// # A round
//
//	COUNTS, EVENTS   what came since the last round, by the broker's time
//	  |
//	campaign.Engine  events of campaigns
//	  |
//	bucket           the state, with these events in it, replaces the one before by its revision
//	  |
//	CAMPAIGNS        the events, each after the last message that the hub has seen there
//	  |
//	bucket           told.EVENT: the hub that makes this key reports the event
//	  |
//	tell.Messenger   a Note
//
// The state has the numbers of the last messages read, and the events that are not known to be delivered.
// A hub that takes over goes on from it: what was read after it was written is read again, and no event
// of that was reported. A hub that is paused for an hour and goes on believes that it leads; what it
// writes fails by the revision, its events are there already, and its marks are taken.
//
// # What is counted
//
// Between the mark and the report that a Note was delivered a hub can die. It cannot be determined then whether the
// Note was delivered: such an event counts as uncertain and is not reported again. Messages that the streams
// dropped before they were read count as lost, those that Parse refuses by reason and sensor.
package hub

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet"
	"qsniff/internal/fleet/campaign"
	"qsniff/internal/flood"
	"qsniff/internal/monitor/notify"
)

// Options are what a Hub is made of.
type Options struct {
	Conn      *nats.Conn
	Prefix    string // of subjects
	Secret    *fleet.Secret
	Retention Retention
	Replicas  int // of streams, in a cluster; 0: 1
	// Thresholds decide about campaigns; the zero value stands for flood.Defaults.
	Thresholds flood.Thresholds
	// Messenger passes notes on; nil: no notes are sent.
	Messenger Messenger
	Log       *slog.Logger
	// Times returns the broker's and the sensor's time of a message in place of those that it came
	// with, and Now the broker's time in place of its own, both in Unix nanoseconds: for simulations, which
	// have packets of a day within a minute. nil: as they came.
	Times func(m fleet.Message, broker, sent int64) (int64, int64)
	Now   func(broker int64) int64
	// Monotonic is a clock that is never set, in nanoseconds: by it the hub notices when the broker's is set. nil: that of
	// this machine, and none with Now.
	Monotonic func() int64
}

// Messenger is what a hub needs of a notify.Messenger.
type Messenger interface {
	Put(*notify.Note)
	Counts() (way notify.QueueCounts, sinks []notify.SinkCounts)
}

// Hub is one of the hubs of a fleet.
type Hub struct {
	opt   Options
	names Names
	id    string
	host  string
	js    jetstream.JetStream

	counts, events, campaigns jetstream.Stream
	bucket                    jetstream.KeyValue

	store   store
	refused refusals
	told    deliveries
	streams []StreamState // for the goroutine of Run
	asked   time.Time     // when these were asked for

	pace pace

	view   atomic.Pointer[View]
	health atomic.Pointer[error] // why the hub does not do what it is for
	caught atomic.Bool           // it has read what there was when it began
}

// New returns a hub, and makes the streams.
func New(ctx context.Context, o Options) (*Hub, error) {
	if err := CheckPrefix(o.Prefix); err != nil {
		return nil, err
	}
	js, err := jetstream.New(o.Conn, jetstream.WithDefaultTimeout(requestTime))
	if err != nil {
		return nil, err
	}
	o.Replicas = max(o.Replicas, 1)
	if o.Monotonic == nil && o.Now == nil {
		begin := time.Now()
		o.Monotonic = func() int64 { return int64(time.Since(begin)) }
	}
	var id [8]byte
	if _, err := rand.Read(id[:]); err != nil {
		return nil, err
	}
	h := &Hub{opt: o, names: NamesOf(o.Prefix), id: hex.EncodeToString(id[:]), js: js, refused: refusals{}}
	h.host, _ = os.Hostname() // for people
	h.view.Store(&View{})
	if err := h.makeStreams(ctx); err != nil {
		return nil, err
	}
	h.pace = pace{LeaseTime, lookEvery, roundEvery, retryWait, viewEvery}
	h.store = store{bucket: h.bucket, id: h.id}
	return h, nil
}

// pace is how often a hub does what; tests have no time.
type pace struct{ lease, look, round, retry, view time.Duration }

// ID returns the name by which this hub is known to the others.
func (h *Hub) ID() string { return h.id }

// Names returns the names of the streams.
func (h *Hub) Names() Names { return h.names }

// Run leads, or waits until it may, until ctx ends. It returns an error only for what trying again
// does not mend.
func (h *Hub) Run(ctx context.Context) error {
	defer h.fail(errors.New("the hub has ended"))
	for ctx.Err() == nil {
		l := &lease{bucket: h.bucket, time: h.pace.lease, mine: Holder{ID: h.id, Host: h.host}}
		err := h.follow(ctx, l)
		if err == nil {
			h.opt.Log.Info("this hub leads", "id", h.id)
			err = h.leadWhile(ctx, l)
		}
		if ctx.Err() != nil {
			return nil
		}
		h.fail(err)
		h.opt.Log.Warn("this hub does not lead any more", "why", err)
		rest(ctx, h.pace.retry)
	}
	return nil
}

// leadWhile leads until the lease is lost, or ctx ends.
func (h *Hub) leadWhile(ctx context.Context, l *lease) error {
	// Work that was begun when ctx ends is finished: an event that is cut off would be uncertain.
	own, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, func() { time.AfterFunc(requestTime, func() { lose(ctx.Err()) }) })()
	me := l.mine // keep changes it
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		l.keep(own, func(err error) { lose(err) })
	}()
	err := h.lead(own, ctx, me)
	lose(err)
	<-kept
	if cause := context.Cause(own); errors.Is(cause, errLost) {
		return errLost
	}
	l.release()
	return err
}

// follow waits until this hub may lead, and shows meanwhile what the leader wrote last.
func (h *Hub) follow(ctx context.Context, l *lease) error {
	var shown uint64
	for {
		is, err := l.try(ctx)
		if is {
			return nil
		}
		if err == nil && l.other.ID != "" {
			shown, err = h.showOther(ctx, l.other, shown)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		h.fail(err)
		rest(ctx, h.pace.look)
	}
}

// showOther shows the state that another hub wrote, unless that of this revision is shown already.
func (h *Hub) showOther(ctx context.Context, leader Holder, shown uint64) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	e, err := h.bucket.Get(ctx, keyHead)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, nil
	}
	if err != nil || e.Revision() == shown {
		return shown, err
	}
	st, err := h.store.read(ctx)
	if err != nil || st == nil {
		return shown, nil // the leader is just writing another one
	}
	engine := campaign.New(campaign.Options{Thresholds: h.opt.Thresholds})
	if err := engine.Restore(st.Engine); err != nil {
		return shown, fmt.Errorf("the state of %s: %w", leader.Host, err)
	}
	v := h.viewOf(ctx, engine, st)
	v.Leader = leader
	h.view.Store(v)
	h.caught.Store(true)
	return e.Revision(), nil
}

// fail notes why the hub does not do what it is for; nil: it does.
func (h *Hub) fail(err error) { h.health.Store(&err) }

// Health returns why the hub does not do what it is for, nil if it does.
func (h *Hub) Health() error {
	if err := h.health.Load(); err != nil {
		return *err
	}
	return nil
}

// IsReady reports whether the hub has read what there was, or shows what the leader has.
func (h *Hub) IsReady() bool { return h.caught.Load() }

// rest waits, at most until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// View is what a hub shows. It does not change.
type View struct {
	ID     string // of this hub; empty: unknown as yet
	Leader Holder
	Leads  bool   // this hub leads
	At     int64  // the broker's time in Unix nanoseconds, up to which messages were read; 0: unknown
	Unread uint64 // messages in the streams

	Sensors []campaign.Sensor
	Open    []Shown
	Closed  []Shown // newest first
	// Incidents are the attacks and warnings that go on at hosts, the worst first.
	Incidents []campaign.OpenIncident
	Windows   []campaign.Totals
	Top       []ShownNetwork // of the last window that was not late
	Counters  campaign.Counters
	Totals    Totals
	Pending   int
	Refused   []Refused
	Streams   []StreamState
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
	v.Open, v.Closed, v.Incidents = h.showAll(e.Open()), h.showAll(e.Closed()), e.Incidents()
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
