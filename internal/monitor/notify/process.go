package notify

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Order is a line to the other process: its configuration first, then Notes and the rest.
type Order struct {
	Config *Config `json:"config,omitempty"`
	Note   *Note   `json:"note,omitempty"`
	Lost   uint64  `json:"lost,omitempty"` // notes before this one that had no room
	Reopen bool    `json:"reopen,omitempty"`
	Report string  `json:"report,omitempty"` // a capture of which to make a report
	// HooksFile is the file of services, which is to be read again.
	HooksFile string        `json:"hooks_file,omitempty"`
	Fleet     *FleetMessage `json:"fleet,omitempty"`
}

// Report is a line from the other process: how its start went, what went wrong, and how many Notes
// reached whom.
type Report struct {
	Ready   bool   `json:"ready,omitempty"`
	Sandbox string `json:"sandbox,omitempty"` // with Ready: which rights it gave up
	Failed  string `json:"failed,omitempty"`  // in place of Ready; with Reloaded: why nothing has changed
	Log     string `json:"log,omitempty"`
	Sinks   []SinkCounts
	// Reloaded marks the answer to Order.HooksFile.
	Reloaded bool `json:"reloaded,omitempty"`
}

// Reports is the name of the sink that stands for reports of captures: Sent are those that were made,
// Lost those that were skipped as another one was being made, and Refused those that failed.
const Reports = "reports"

// SinkCounts are running totals of one sink.
type SinkCounts struct {
	Name string `json:"name"` // without secrets, unique
	QueueCounts
	Sent    uint64 `json:"sent"`
	Retried uint64 `json:"retried"` // attempts that failed and were made again
	Refused uint64 `json:"refused"` // notes that could not be delivered
}

// Messenger passes Notes, and messages of a fleet, to the other process. Put and PutFleet may be called from any goroutine.
type Messenger struct {
	queue  *Queue
	log    func(string)
	cmd    *exec.Cmd
	in     io.WriteCloser
	mu     sync.Mutex // guards out and sinks
	out    *json.Encoder
	sinks  []SinkCounts
	asked  chan Order // besides notes
	fleet  fleetWay
	loaded chan error // what came of Order.HooksFile
	gone   atomic.Bool
	ended  chan struct{} // the other process has closed its output
	wrote  chan struct{} // all Notes are in the pipe
	status string
}

// Start starts cmd, which runs messenger.Serve on its standard input and output, and waits until
// it has opened its sinks. It calls log with each line about what went wrong later, from a
// goroutine of its own.
func Start(cmd *exec.Cmd, c *Config, log func(string)) (*Messenger, error) {
	m := &Messenger{queue: NewQueue(), log: log, cmd: cmd, asked: make(chan Order, maxAsked), fleet: newFleetWay(), loaded: make(chan error, 1), ended: make(chan struct{}), wrote: make(chan struct{})}
	var err error
	if m.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	m.out = json.NewEncoder(m.in)
	m.out.SetEscapeHTML(false) // lines stay as they are
	reports := json.NewDecoder(bufio.NewReader(out))
	var first Report
	err = m.out.Encode(Order{Config: c})
	if err == nil {
		err = reports.Decode(&first)
	}
	if err == nil && !first.Ready {
		err = errors.New(first.Failed)
	}
	if err != nil {
		m.in.Close()
		_ = cmd.Wait()
		return nil, err
	}
	m.status, m.sinks = first.Sandbox, first.Sinks
	go m.read(reports)
	go m.write()
	return m, nil
}

// Sandbox returns which rights the other process dropped, in words.
func (m *Messenger) Sandbox() string { return m.status }

// Put passes a Note on, or counts it as lost.
func (m *Messenger) Put(n *Note) { m.queue.Put(n) }

// Reopen has the file opened anew, by its name.
func (m *Messenger) Reopen() { m.ask(Order{Reopen: true}) }

// MakeReport has a report made of a capture, beside it. It reports false if too many are waiting.
func (m *Messenger) MakeReport(capture string) bool { return m.ask(Order{Report: capture}) }

// ReloadHooks has the file of services read again, and returns why that has changed nothing.
func (m *Messenger) ReloadHooks(name string) error {
	select {
	case <-m.loaded: // of a reload whose caller stopped waiting
	default:
	}
	if !m.ask(Order{HooksFile: name}) {
		return errBusy
	}
	timer := time.NewTimer(reloading)
	defer timer.Stop()
	select {
	case err := <-m.loaded:
		return err
	case <-m.ended:
		return errBusy
	case <-timer.C:
		return errBusy
	}
}

var errBusy = errors.New("the process that tells of incidents does not answer")

// ask passes an order on, unless the other process does not take any.
func (m *Messenger) ask(o Order) bool {
	select {
	case m.asked <- o:
		return true
	default:
		return false
	}
}

// write writes Notes and orders to the pipe until Close.
func (m *Messenger) write() {
	defer close(m.wrote)
	defer m.in.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	notes := make(chan Order)
	go func() {
		defer close(notes)
		for n, lost := m.queue.Take(ctx); n != nil; n, lost = m.queue.Take(ctx) {
			select {
			case notes <- Order{Note: n, Lost: lost}:
			case <-ctx.Done():
			}
			m.queue.Done(n)
		}
	}()
	for isOpen := true; isOpen; {
		var o Order
		select {
		case o, isOpen = <-notes:
		case o = <-m.asked:
		case o.Fleet = <-m.fleet.waiting:
		}
		m.encode(o)
	}
	for len(m.asked) > 0 { // nobody else takes them
		m.encode(<-m.asked)
	}
	for len(m.fleet.waiting) > 0 {
		m.encode(Order{Fleet: <-m.fleet.waiting})
	}
}

// encode writes an order to the pipe.
func (m *Messenger) encode(o Order) {
	if o == (Order{}) {
		return
	}
	if m.gone.Load() || m.out.Encode(o) != nil {
		m.gone.Store(true)
		if o.Note != nil {
			m.queue.AddLost(1)
		}
		if o.Fleet != nil {
			m.fleet.lost.Add(1)
		}
	}
}

// read reads reports until the other process ends.
func (m *Messenger) read(reports *json.Decoder) {
	defer close(m.ended)
	for {
		var r Report
		if err := reports.Decode(&r); err != nil {
			m.gone.Store(true)
			return
		}
		if r.Log != "" {
			m.log(r.Log)
		}
		if r.Reloaded {
			var err error
			if r.Failed != "" {
				err = errors.New(r.Failed)
			}
			select {
			case m.loaded <- err:
			default:
			}
		}
		if r.Sinks != nil {
			m.mu.Lock()
			m.sinks = r.Sinks
			m.mu.Unlock()
		}
	}
}

// Gone reports whether the other process has ended or takes no more Notes: none is sent then.
func (m *Messenger) Gone() bool { return m.gone.Load() }

// Counts returns what became of Notes: those on their way to the other process, and those at each
// sink as of its last report.
func (m *Messenger) Counts() (way QueueCounts, sinks []SinkCounts) {
	m.mu.Lock()
	defer m.mu.Unlock()
	sinks = slices.Clone(m.sinks)
	for i := range sinks {
		if x := &sinks[i]; strings.HasPrefix(x.Name, FleetSink) {
			x.Lost += m.fleet.lost.Load()
			x.Waiting += len(m.fleet.waiting)
		}
	}
	return m.queue.Counts(), sinks
}

// Close has all Notes sent that were put, and waits half a second for that. The other process sends the
// rest on its own, as long as messenger.Serve allows.
func (m *Messenger) Close() error {
	m.queue.Close()
	timer := time.NewTimer(closing)
	defer timer.Stop()
	select {
	case <-m.ended:
		if err := m.cmd.Wait(); err != nil {
			return fmt.Errorf("what tells of incidents ended: %w", err)
		}
	case <-timer.C:
	}
	return nil
}

// Fleet is where the messages of a sensor go, and where they wait. Secrets are in the files that
// it names.
type Fleet struct {
	URL       string `json:"url"`
	Name      string `json:"name"` // of the sensor
	Prefix    string `json:"prefix"`
	Creds     string `json:"creds,omitempty"`
	CA        string `json:"ca,omitempty"`
	Spool     string `json:"spool,omitempty"`
	SpoolSize int64  `json:"spool_size,omitempty"`
}

// FleetSink begins the name of the sink that stands for the broker of a fleet: Sent are the messages
// that it has acknowledged, Retried the connections that failed, Refused what it will not take, and
// Lost what had no room.
const FleetSink = "fleet at "

// FleetMessage is a message to the hub of a fleet.
type FleetMessage struct {
	Kind string          `json:"kind"`
	ID   string          `json:"id"`
	Line json.RawMessage `json:"line"`
}

// fleetWay has the messages on their way to the other process.
type fleetWay struct {
	waiting chan *FleetMessage
	lost    atomic.Uint64
}

func newFleetWay() fleetWay { return fleetWay{waiting: make(chan *FleetMessage, maxFleet)} }

// PutFleet passes a message on, or counts it as lost. It never blocks.
func (m *Messenger) PutFleet(f *FleetMessage) {
	select {
	case m.fleet.waiting <- f:
	default:
		m.fleet.lost.Add(1)
	}
}

// AddFleetLost counts a message that could not be made.
func (m *Messenger) AddFleetLost() { m.fleet.lost.Add(1) }

const (
	// limit: closing is how long an ended run waits until its notes were delivered. Chosen: less than
	// an interrupted run may take to end. The other process goes on.
	closing = 500 * time.Millisecond

	// limit: reloading is how long a reload waits for the other process. Chosen: it reads a file, and orders
	// before this one are in its queues at once.
	reloading = 2 * time.Second
)

const (
	// limit: maxAsked is how many orders wait for the other process. Chosen: more incidents than may be
	// open end at once hardly ever, and one report is made at a time.
	maxAsked = 64

	// limit: maxFleet is how many messages to the hub of a fleet wait for the other process. Chosen: three
	// windows of a sensor with all its servers, 1.5 MiB; what the broker has not taken waits there.
	maxFleet = 256
)
