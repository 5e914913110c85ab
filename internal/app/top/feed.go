package top

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"qsniff/capture"
	"qsniff/capture/play"
	"qsniff/capture/recent"
	"qsniff/internal/flood"
	"qsniff/internal/monitor"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
)

// State is what the screens show. Nobody changes it.
type State struct {
	*monitor.Snapshot
	Incidents []flood.Incident // in the order of detection
	Omitted   flood.Omitted
	Play      *play.State // nil: what happens now
	IsStuck   bool        // the capture brings nothing, not even that time passes
	Ended     error       // why the run is over; nil: it is not
}

// Feed is the part of a run that fills screens.
type Feed struct {
	Meter *monitor.Meter
	Store *recent.Store
	// Count fills in what the source counts besides; may be nil.
	Count func(*counters.Result)

	detector *flood.Detector
	kept     flood.Collector // for the goroutine of the pipeline
	servers  int             // of Meter, likewise
	player   *play.Source    // nil: what happens now
	extra    atomic.Pointer[extra]
	ended    atomic.Pointer[error]

	mu      sync.Mutex
	open    netip.AddrPort // the server that is looked at
	watched []netip.AddrPort
}

// extra is what a State has besides the snapshot.
type extra struct {
	incidents []flood.Incident
	omitted   flood.Omitted
}

// NewFeed adds to a run what counts and keeps, besides a detector, whose incidents are shown as
// far as isOurs allows; nil: all. Packets of servers are kept in store.
func NewFeed(cfg *pipeline.Config, o monitor.Options, d *flood.Detector, isOurs func(*flood.Incident) bool, store *recent.Store) *Feed {
	f := &Feed{Meter: monitor.New(cfg.Registry.Protos(), o), Store: store, detector: d, kept: flood.Collector{KeepsOpen: true, IsOurs: isOurs}}
	f.player, _ = cfg.Source.(*play.Source)
	d.AddObserver(func(in *flood.Incident, e flood.Event) {
		if isOurs == nil || isOurs(in) {
			f.Meter.AddIncident(in, e)
		}
		f.kept.Observe(in, e)
	})
	cfg.Watchers = append(cfg.Watchers, f.Meter, d)
	cfg.Progress = f.progress
	cfg.Source = &recent.Tap{Source: cfg.Source, Store: f.Store}
	return f
}

// progress is called after each batch: it makes a snapshot if one is wanted.
func (f *Feed) progress(read capture.Stats, totals func() tally.Run) {
	f.Meter.Read(read.Received)
	if n := f.Meter.NumServers(); n != f.servers { // at once, while its first packets are at hand
		f.servers = n
		f.mu.Lock()
		f.watch(f.Meter.Servers())
		f.mu.Unlock()
	}
	f.Meter.Publish(func(r *counters.Result) {
		r.Run = totals()
		x := &extra{slices.Clone(f.kept.Incidents()), f.kept.Omitted(f.detector)}
		r.Floods = x.omitted
		f.extra.Store(x)
		if f.Count != nil {
			f.Count(r)
		}
	})
}

// End notes that the run is over. What was counted stays.
func (f *Feed) End(err error) { f.ended.Store(&err) }

// Take returns what was counted until now. It may wait for the packets at hand, up to
// monitor.Patience.
func (f *Feed) Take(ctx context.Context) *State {
	s := new(State)
	var isNew bool
	if e := f.ended.Load(); e != nil {
		s.Ended, ctx = *e, canceled
	}
	s.Snapshot, isNew = f.Meter.Snapshot(ctx)
	s.IsStuck = !isNew && s.Ended == nil
	if x := f.extra.Load(); x != nil {
		s.Incidents, s.Omitted = x.incidents, x.omitted
	}
	if f.player != nil {
		p := f.player.State()
		s.Play = &p
	}
	return s
}

// watch has packets kept of servers, and more of the open one.
func (f *Feed) watch(servers []netip.AddrPort) {
	f.watched = servers
	f.Store.Watch(servers, f.open)
}

// Open has more packets kept of a server from now on; an address that is not valid: of none.
func (f *Feed) Open(server netip.AddrPort) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = server
	f.watch(f.watched)
}

// canceled is for a snapshot that is there already.
var canceled = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()
