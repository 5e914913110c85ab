package notify

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
)

// Note is one event of a thread. It is not changed after it was made, so that it may be in several
// queues.
type Note struct {
	Thread string `json:"thread"` // the same in all Notes of an incident or of a finding that repeats
	Event  Event  `json:"event"`
	Record string `json:"record"` // "incident" or "finding"
	Kind   string `json:"kind"`   // of the incident; of a finding its id
	Level  string `json:"level"`  // of the incident; of a finding its severity
	Target string `json:"target"` // as in the line; of a finding its server, if it has one
	// Name is what the server calls itself: text from the network without control characters.
	// Empty: unknown.
	Name   string `json:"name,omitempty"`
	Text   string `json:"text"`   // what happened, as one sentence; may have text from the network
	Advice string `json:"advice"` // what to do, in short
	Facts  []Fact `json:"facts,omitempty"`
	Nanos  int64  `json:"nanos"` // Unix time of the event
	// Line is the note as floods -o json and findings -o json print it, with its event and
	// thread.
	Line json.RawMessage `json:"line"`
}

// Fact is one number of a Note, with its name.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Event is what happened to a thread, by the names of flood.Event.
type Event string

// The events.
const (
	Begins  Event = "open"
	Changes Event = "update"
	Ends    Event = "close"
)

// IsUrgent reports whether somebody should look at once: an attack, or harm that is being done.
func (n *Note) IsUrgent() bool { return n.Level == "alert" || n.Level == "error" }

// Queue holds the notes that wait for a sink, at most queued of them. Put never blocks: of the
// changes of one thread the newest stays, an end takes their place, and what has no room is
// counted as lost. It may be used by several goroutines.
type Queue struct {
	mu     sync.Mutex
	notes  []*Note
	busy   map[string]bool // threads of notes that were taken and are not done
	wake   chan struct{}   // is sent to when there may be something to take
	closed bool
	counts QueueCounts
	untold uint64 // of the lost ones, those that Take has not returned
}

// QueueCounts are running totals, but for Waiting.
type QueueCounts struct {
	Waiting int    `json:"waiting"` // at present, with those that are being handled
	Folded  uint64 `json:"folded"`  // changes that a later note of their thread replaced
	Lost    uint64 `json:"lost"`    // had no room
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{busy: map[string]bool{}, wake: make(chan struct{}, 1)} }

// Put appends a note. A queue that is full drops its oldest change, or else n.
func (q *Queue) Put(n *Note) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		q.lose(1)
		return
	}
	if n.Event != Begins {
		before := len(q.notes)
		q.notes = slices.DeleteFunc(q.notes, func(x *Note) bool { return x.Event == Changes && x.Thread == n.Thread })
		q.counts.Folded += uint64(before - len(q.notes))
	}
	if len(q.notes) >= queued {
		q.lose(1)
		i := slices.IndexFunc(q.notes, func(x *Note) bool { return x.Event == Changes })
		if i < 0 {
			return
		}
		q.notes = slices.Delete(q.notes, i, i+1)
	}
	q.notes = append(q.notes, n)
	q.notify()
}

// AddLost counts notes that were lost before they came here.
func (q *Queue) AddLost(n uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lose(n)
}

func (q *Queue) lose(n uint64) {
	q.counts.Lost += n
	q.untold += n
}

// Take waits for a note of a thread of which none is being handled, and returns it with how many
// notes were lost since the last one. It returns nil once the queue is closed and empty, or ctx
// has ended. The caller calls Done with the note.
func (q *Queue) Take(ctx context.Context) (n *Note, lost uint64) {
	for {
		q.mu.Lock()
		i := slices.IndexFunc(q.notes, func(x *Note) bool { return !q.busy[x.Thread] })
		if i >= 0 && ctx.Err() == nil {
			n, lost = q.notes[i], q.untold
			q.notes, q.untold = slices.Delete(q.notes, i, i+1), 0
			q.busy[n.Thread] = true
			q.notify()
			q.mu.Unlock()
			return n, lost
		}
		isOver := ctx.Err() != nil || q.closed && len(q.notes) == 0
		if isOver {
			q.notify() // the next one who waits
		}
		q.mu.Unlock()
		if isOver {
			return nil, 0
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
		}
	}
}

// Done is called when a note that Take returned was handled.
func (q *Queue) Done(n *Note) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, n.Thread)
	q.notify()
}

// Close makes Take return nil once it has returned all notes. Further ones are lost.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.notify()
}

// Drop drops all notes that wait, as lost.
func (q *Queue) Drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lose(uint64(len(q.notes)))
	q.notes = nil
}

// Counts returns the counts so far.
func (q *Queue) Counts() QueueCounts {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.counts
	c.Waiting = len(q.notes) + len(q.busy)
	return c
}

// notify wakes one who waits in Take.
func (q *Queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// limit: queued is how many notes wait for one sink at most. Chosen: a receiver that is away for an
// hour misses none in a bad hour, in which an incident a minute begins, changes and ends; with
// the rules in a line a note has about 10 KiB, so that a full queue has 2.5 MiB.
const queued = 256
