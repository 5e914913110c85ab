package pipeline

import (
	"io"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
)

// DefaultMemory is the budget of a run in bytes: what --memory scales.
const DefaultMemory = 64 << 20

// Config is what Run reads, how, and who gets the results.
type Config struct {
	Source        capture.Source
	Registry      *dissect.Registry
	Renderer      render.Renderer // nil: messages are counted only
	Out           io.Writer       // gets what a batch made in one Write, or several of about writeSize
	HasManyInputs bool            // there are several inputs: messages name theirs
	Jobs          int             // goroutines that serve the partitions, at least 1
	MaxMessages   int             // messages to write before the run ends, 0 for all
	Memory        int64           // budget of all tables in bytes; 0 is DefaultMemory
	DecodeAs      []DecodeAs
	Dedup         Dedup
	Listener      track.Listener      // gets facts and findings in packet order; may be nil
	Watchers      []track.Watcher     // get sightings in packet order; if nothing else wants messages, those in datagrams are not dissected
	Incidents     IncidentFinder      // a watcher whose incidents are written at their place, if the renderer can; may be nil
	Dialogues     *dialogue.Collector // renders in place of Renderer; may be nil
	// AppendEnding appends what is to precede the dialogues that the end of the run leaves open;
	// may be nil.
	AppendEnding func(dst []byte, run tally.Run) []byte
	// Filter chooses what the renderer, the listener and Packets get, and what is counted as
	// a message; nil: all. Dialogues are written if one of their messages or findings is
	// chosen. Watchers get all packets, or with WatchesMatches no requests that are not
	// chosen, and no segments.
	Filter         *Filter
	WatchesMatches bool
	// Packets gets messages, and after them the packets of each batch; may be nil.
	Packets PacketSink
	// Progress is called after each batch, empty ones included, with the source's totals, and
	// with a function for the counters of the run so far, which takes some microseconds and is
	// valid during the call; may be nil.
	Progress       func(s capture.Stats, totals func() tally.Run)
	CountsMessages bool // messages are counted, even if nothing but Watchers wants more

	// Clock returns nanoseconds since any moment, which never go back. It makes time
	// pass while a live source has no packets, which it shows by empty batches, so that
	// what waits expires. If it is nil, only packets make time pass.
	Clock func() int64

	// CutsToMicros is set if the renderer cuts times to microseconds: times since the
	// line before are cut alike then.
	CutsToMicros bool

	// Sampled is of how many packets the source has one; 0 or 1: it has all.
	Sampled uint32

	// Seed keys the hashes by which numbers are estimated and copies recognised; tables
	// have seeds of their own. It must be random on live traffic. If it is 0, the seed is
	// made of the first packet, see seedOf.
	Seed uint64
}

// IncidentFinder finds incidents in sightings, and calls its observers with the events
// of them that are to be written.
type IncidentFinder interface {
	track.Watcher
	Observe(found func(in *flood.Incident, e flood.Event))
}

// wantsPairs reports whether the exchanges of messages are wanted: shown, counted or asked for
// by the filter.
func (c *Config) wantsPairs() bool { return c.wantsResults() || c.Filter.wantsPairs() }

// wantsHosts reports whether findings are wanted that messages of several partitions show
// together. Of a dialogue that is written all are.
func (c *Config) wantsHosts() bool {
	return c.wantsResults() && (c.Dialogues != nil || c.Filter.allowsRecords())
}

// wantsAll reports whether the fold gets what Filter does not choose, too.
func (c *Config) wantsAll() bool {
	return c.Filter == nil || c.Dialogues != nil || c.Packets != nil || c.Filter.holds() || c.wantsHosts()
}

// skipsTexts returns of which protocols nobody is shown or chooses the texts, so that no secrets
// have to be found in them: of streams one by one, of datagrams all or none, because they share
// passwords.
func (c *Config) skipsTexts() (ofDatagrams bool, ofStreams map[*dissect.Proto]bool) {
	ofDatagrams, ofStreams = true, map[*dissect.Proto]bool{}
	showsChosen := c.Renderer != nil
	showsAll := c.Dialogues != nil || c.Packets != nil || showsChosen && c.Filter == nil
	for _, p := range c.Registry.Protos() {
		skips := !showsAll && (c.Filter == nil || !showsChosen && !c.Filter.Program.ReadsTexts() || !c.Filter.Program.CanMatchProto(p))
		if c.Registry.IsStream(p) {
			ofStreams[p] = skips
		} else {
			ofDatagrams = ofDatagrams && skips
		}
	}
	return ofDatagrams, ofStreams
}

// wantsResults reports whether the run is for more than the number of messages.
func (c *Config) wantsResults() bool {
	return c.Renderer != nil || c.Listener != nil || c.Dialogues != nil || c.Packets != nil
}

// wantsOnlySightings reports whether the run is for watchers only.
func (c *Config) wantsOnlySightings() bool {
	return len(c.Watchers) > 0 && !c.wantsResults() && c.Filter == nil && !c.CountsMessages
}

// sharesGoroutine reports whether the reader and the only worker share a goroutine: with one job they do,
// and where a run is for watchers only, for the fold, with them, has more to do than both then, and on
// live traffic it counts more what a packet costs than how many processors share it.
func (c *Config) sharesGoroutine() bool {
	return c.isSerial() || c.wantsOnlySightings() && (c.Jobs <= 2 || c.Clock != nil)
}

// isSerial reports whether one goroutine runs all stages: with one job it does, so that a run takes one
// processor and what it makes of a packet stays in the caches of that. Messages of live traffic are not
// written by it: while the output stalls, packets would wait in the kernel.
func (c *Config) isSerial() bool {
	return c.Jobs <= 1 && (c.Clock == nil || c.wantsOnlySightings())
}

// numWorkers returns how many goroutines serve the partitions, besides that of the fold.
func (c *Config) numWorkers() int {
	switch jobs := min(max(c.Jobs, 1), Partitions); {
	case c.sharesGoroutine():
		return 1
	case c.wantsOnlySightings(): // the fold, with the watchers, has as much to do as a worker
		return jobs - 1
	default:
		return jobs
	}
}

// numSegments returns how many segments each worker has.
func (c *Config) numSegments() int {
	if c.isSerial() {
		return 1
	}
	return segmentsPerWorker
}
