// Package top is the screens of qsniff top: the traffic of a host at a glance. It captures
// nothing and reads no file: Feed is put into a run of the pipeline, and Model is a pure function
// of what Feed gives out, keys and the size of the screen, so that tests compare its screens
// with files. It names no protocol and no message.
//
//	pipeline.Run   goroutine of the capture: monitor.Meter, flood.Detector, recent.Tap
//	  |
//	  |  between two batches, if the screen asked
//	  v
//	State          four times a second, for the goroutine of the screen
//	  |
//	  v
//	Model          servers -> server -> exchange; incidents, columns and help beside them
//
// The clients, exchanges and findings of a server are not counted while packets arrive: when its screen
// is opened, Decoder decodes the packets that are kept of it.
package top

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"

	"qsniff/capture"
	"qsniff/capture/play"
	"qsniff/capture/recent"
	"qsniff/internal/app/terminal"
	"qsniff/internal/flood"
	"qsniff/internal/flood/rules"
	"qsniff/internal/flood/rules/loaded"
	"qsniff/internal/monitor"
	"qsniff/internal/pipeline"
	"qsniff/internal/render/counters"
	"qsniff/internal/render/tally"
)

// Options are what a Model shows, and what it has others do.
type Options struct {
	Source  Source
	Player  Player // nil: what happens now cannot be played
	Decoder *Decoder
	Input   string           // what is read, from the user
	Asked   rules.Invocation // the same, for commands
	// Rules returns the lines that load rules against an incident; empty: there are none.
	Rules func(*flood.Incident) string
	// WriteRules writes the rules against incidents to a file, and returns its name; nil: it cannot.
	WriteRules func([]flood.Incident) (string, error)
	// Write writes packets to a new file in the current folder, and returns its name.
	Write func(packets recent.Packets) (string, error)
	// Save keeps settings for the next time.
	Save     func(Settings) error
	Settings Settings
	Remark   string // shown at first
	Limits   flood.Thresholds
	Expiry   time.Duration // of the rules
	Look     terminal.Look
	UTC      bool
}

// Source gives states. A Feed is one.
type Source interface {
	// Take may wait for up to monitor.Patience.
	Take(context.Context) *State
	// Open has more packets kept of a server; an address that is not valid: of none.
	Open(netip.AddrPort)
}

// Player plays a capture.
type Player interface {
	SetSpeed(float64)
	SetPaused(bool)
	GoTo(nanos int64) // Unix time of packets
}

// Model is the model of the screens, for bubbletea. Update is called with states, keys, clicks
// and sizes, and View shows the screen that is on top.
type Model struct {
	opt           Options
	width, height int
	state         *State // nil: none yet
	history       history
	looks         map[netip.AddrPort]*lookAt // of the servers on the screen
	nextLook      int                        // row whose packets are looked at next
	isLooking     bool
	servers       *servers
	stack         []screen // the last one is seen
	input         terminal.Input
	accept        func(string) tea.Cmd // what the input is for
	help          terminal.Help
	message       string // until the next key
	isWrong       bool   // message is about something that failed
	saved         string // the settings that are kept
}

// screen is one of the screens.
type screen interface {
	// title is what the line of state begins with.
	title() string
	// refresh is called after each state, and after a change of the size.
	refresh()
	// update handles what is no key of the list of keys.
	update(tea.Msg) tea.Cmd
	view(width, height int) string
}

// New returns a model that has seen nothing yet.
func New(opt Options) *Model {
	m := &Model{opt: opt, width: 80, height: 24, looks: map[netip.AddrPort]*lookAt{}, message: opt.Remark, isWrong: opt.Remark != "", saved: opt.Settings.Text()}
	m.servers = newServers(m)
	m.stack = []screen{m.servers}
	return m
}

func (m *Model) top() screen { return m.stack[len(m.stack)-1] }

func (m *Model) push(s screen) tea.Cmd {
	m.stack = append(m.stack, s)
	s.refresh()
	return nil
}

// pop goes back to the screen before.
func (m *Model) pop() tea.Cmd {
	if len(m.stack) > 1 {
		if _, ok := m.top().(*server); ok {
			m.opt.Source.Open(netip.AddrPort{})
		}
		m.stack = m.stack[:len(m.stack)-1]
		m.top().refresh()
	}
	return nil
}

// tookMsg is a state that was taken.
type tookMsg struct{ *State }

// Init begins to take states.
func (m *Model) Init() tea.Cmd { return m.take }

// take takes a state. It is run beside the screen.
func (m *Model) take() tea.Msg { return tookMsg{m.opt.Source.Take(context.Background())} }

// Update implements tea.Model.
func (m *Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.top().refresh()
		return m, nil
	case tookMsg:
		return m, tea.Batch(m.show(msg.State), tea.Tick(redrawEvery, func(time.Time) tea.Msg { return m.take() }))
	case lookedMsg:
		m.isLooking = false
		if msg.look != nil {
			m.looks[msg.look.server] = msg.look
		}
		m.servers.refresh()
		return m, nil
	case decodedMsg:
		return m, msg.of.update(msg)
	case messagesMsg:
		return m, msg.of.update(msg)
	case tea.KeyPressMsg:
		return m, m.press(msg)
	case tea.PasteMsg:
		if m.input.IsOpen() {
			_, _, cmd := m.input.Update(msg)
			return m, cmd
		}
		return m, nil
	}
	if m.help.IsOpen() {
		m.help.Update(msg)
		return m, nil
	}
	return m, m.top().update(msg)
}

// show shows a state, and has the packets of the next server looked at.
func (m *Model) show(s *State) tea.Cmd {
	m.state = s
	m.history.add(s.Snapshot)
	m.servers.refresh()
	switch x := m.top().(type) {
	case *servers:
		return m.lookOn()
	case *server:
		return x.decodeAgain()
	default:
		x.refresh()
		return nil
	}
}

// press handles a key: for the help or the input, if one of these is open, else by the list of
// keys, else for the screen.
func (m *Model) press(k tea.KeyPressMsg) tea.Cmd {
	m.message, m.isWrong = "", false
	switch {
	case m.help.IsOpen():
		m.help.Update(k)
		return nil
	case m.input.IsOpen():
		text, isAccepted, cmd := m.input.Update(k)
		if isAccepted {
			cmd = tea.Batch(cmd, m.accept(text))
		}
		m.top().refresh()
		return cmd
	}
	for i := range keys {
		if b := &keys[i]; key.Matches(k, b.Binding) && b.isFor(m) {
			return b.do(m)
		}
	}
	return m.top().update(k)
}

// ask opens the input.
func (m *Model) ask(prompt, text string, check func(string) *terminal.Mistake, accept func(string) tea.Cmd) tea.Cmd {
	m.input.Check, m.accept = check, accept
	cmd := m.input.Open(prompt, text)
	m.top().refresh()
	return cmd
}

// say shows a message until the next key.
func (m *Model) say(text string) tea.Cmd {
	m.message = text
	return nil
}

// fail shows what went wrong.
func (m *Model) fail(err error) tea.Cmd {
	m.isWrong = true
	return m.say(err.Error())
}

// room returns how many lines the screen on top has.
func (m *Model) room() int {
	n := m.height - 1
	if m.input.IsOpen() {
		n -= m.input.Height()
	}
	return max(n, 0)
}

// View implements tea.Model.
func (m *Model) View() tea.View {
	if m.help.IsOpen() {
		return m.opt.Look.Screen(m.help.View(), m.width, m.height)
	}
	content := m.top().view(m.width, m.room()) + "\n"
	if m.input.IsOpen() {
		content += m.input.View(m.width) + "\n"
	}
	return m.opt.Look.Screen(content+m.bar(), m.width, m.height)
}

// location returns the zone of the times on the screen.
func (m *Model) location() *time.Location {
	if m.opt.UTC {
		return time.UTC
	}
	return time.Local
}

// clock writes a time of day.
func (m *Model) clock(nanos int64) string { return m.formatTime(nanos, time.TimeOnly) }

// millis writes a time of day with milliseconds.
func (m *Model) millis(nanos int64) string { return m.formatTime(nanos, "15:04:05.000") }

func (m *Model) formatTime(nanos int64, layout string) string {
	if nanos == 0 {
		return "-"
	}
	s := time.Unix(0, nanos).In(m.location()).Format(layout)
	if m.opt.UTC {
		s += "Z"
	}
	return s
}

// State is what the screens show. It does not change.
type State struct {
	*monitor.Snapshot
	Incidents []flood.Incident // in the order of detection
	Omitted   flood.Omitted
	Play      *play.State   // nil: what happens now
	IsStuck   bool          // the capture brings nothing, not even that time passes
	Loaded    *loaded.State // what the rules that are loaded do; nil: unknown
	Ended     error         // why the run is over; nil: it is not
}

// Feed is the part of a run that fills screens.
type Feed struct {
	Meter *monitor.Meter
	Store *recent.Store
	// Count fills in what the source counts besides; may be nil.
	Count func(*counters.Result)

	detector *flood.Detector
	kept     flood.Collector // for the goroutine of the pipeline
	servers  int             // of Meter, for the goroutine of the pipeline
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
	f := &Feed{Meter: monitor.New(cfg.Registry.Protos(), o), Store: store, detector: d, kept: flood.Collector{KeepsOpen: true, IsOurs: isOurs, Describe: d.Describe}}
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

// limit: redrawEvery is how often the screens change by themselves.
const redrawEvery = 250 * time.Millisecond
