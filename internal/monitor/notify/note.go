package notify

import "encoding/json"

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
