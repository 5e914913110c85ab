package pipeline

import (
	"io"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/flood"
	"qsniff/render"
	"qsniff/render/dialogue"
	"qsniff/render/tally"
	"qsniff/track"
)

// DefaultMemory is the budget of a run in bytes: what --memory scales.
const DefaultMemory = 64 << 20

// Config says what to run.
type Config struct {
	Source        capture.Source
	Registry      *dissect.Registry
	Renderer      render.Renderer // nil: messages are counted only
	Out           io.Writer       // gets one Write for each batch that has output
	HasManyInputs bool            // several inputs: messages name theirs
	Jobs          int             // goroutines that serve the partitions, at least 1
	MaxMessages   int             // messages to write before the run ends, 0 for all
	Memory        int64           // budget of all tables in bytes; 0 is DefaultMemory
	DecodeAs      []DecodeAs
	Dedup         Dedup
	Listener      track.Listener      // gets facts and findings in packet order; may be nil
	Watchers      []track.Watcher     // get sightings in packet order; where nobody else wants messages, those in datagrams are not read
	Incidents     IncidentFinder      // a watcher whose word is written at its place, if the renderer has a form for it; may be nil
	Dialogues     *dialogue.Collector // renders in place of Renderer; may be nil
	// AppendEnding appends what is to precede the dialogues that the end of the run leaves open;
	// may be nil.
	AppendEnding   func(dst []byte, run tally.Run) []byte
	Progress       func(capture.Stats) // called with the source's totals after each batch; may be nil
	CountsMessages bool                // messages are read though nobody gets more than their number

	// Clock is asked where the source brings nothing, which a live one says with empty
	// batches, so that what waits goes on: nanoseconds that never go back, from any
	// moment on. nil: only packets make time pass.
	Clock func() int64

	// CutsToMicros says that the renderer cuts times to microseconds: those since the line
	// before are cut alike.
	CutsToMicros bool

	// Seed keys the hashes from which estimates are made and copies recognised; tables
	// have seeds of their own. It must be random on live traffic; 0 is the seed of the
	// capture, see seedOf.
	Seed uint64
}

// IncidentFinder finds incidents in sightings, and calls its observers with those events
// that are to be written.
type IncidentFinder interface {
	track.Watcher
	Observe(found func(in *flood.Incident, e flood.Event))
}

// wantsFacts reports whether somebody wants more than the count of messages.
func (c *Config) wantsFacts() bool {
	return c.Renderer != nil || c.Listener != nil || c.Dialogues != nil
}

// wantsOnlySightings reports whether watchers are all that wants anything.
func (c *Config) wantsOnlySightings() bool {
	return len(c.Watchers) > 0 && !c.wantsFacts() && !c.CountsMessages
}
