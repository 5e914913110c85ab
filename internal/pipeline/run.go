// Package pipeline runs a capture through all stages, from the packets of a source to the
// text and the findings about them. It reads no format and no protocol itself: its stages
// call packet, reassembly, dissect, track and render in turn. It starts all goroutines
// below cmd:
//
//	          +-> partitions 0, 2, 4 ... (goroutine 0) -+
//	reader ---+                                         +--> fold --> writer
//	          +-> partitions 1, 3, 5 ... (goroutine 1) -+
//
// A packet arrives:
//
//  1. The reader reads a batch of packets. Of each it decodes the network layers, drops
//     copies (copies, census), joins IP fragments, advances time (clock, idle), and makes an item,
//     which goes to one of 16 partitions by its address pair. Ticks, gaps and the end go
//     to all.
//  2. A worker passes the items of a batch to the partitions that it serves. Each passes
//     an item through its stages, drawn below; a stage calls only those after it. What
//     becomes of the items is collected in segments, which are no segments of TCP.
//  3. The fold receives the segments of all workers and merges what is in them in packet
//     order: messages, notes, silences (spans) and sightings. It gives them to
//     hostFindings, which finds what messages of many address pairs show together, to
//     dialogues or textOutput, which write, to the listener, and to watching.
//
// Within a partition, a datagram goes through joiner, identifier and so on to the
// segment; a TCP segment takes the other way to the tracker:
//
//	sightMaker   makes sightings for the watchers of floods, by the packet alone
//	joiner       joins split messages, and the fragments of protocols
//	identifier   finds protocol and type of a payload; parks requests too weak to believe
//	parser       makes the message, and records what it shows about its flow
//	    streams      joins the segments of a connection
//	    claims       finds the protocol of a connection
//	    connReport   makes its messages; gives logins to sightMaker
//	tracker      finds the place of a message in an exchange, and what that shows
//	emitter      writes it to the segment: text, fact, turn of a dialogue
//
// What passes between stages is declared apart from them: item (batch.go), payload,
// span and sight (worker.go), totals. The item that a partition works on, which all of
// its stages read, is in current.
//
// ReadAhead lets a goroutine decompress a file while another decodes it.
//
// The number of partitions is fixed and time is packet time, so the output, and
// what the bounded tables evict, is the same for any number of goroutines.
package pipeline

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"qsniff/capture"
	"qsniff/dissect"
	"qsniff/internal/flood"
	"qsniff/internal/render"
	"qsniff/internal/render/dialogue"
	"qsniff/internal/render/tally"
	"qsniff/internal/track"
)

// Run reads the source to its end and returns the counters of the run. The error is that
// of the source, of the writer or of ctx; the counters are valid in any case, and
// what preceded the error is written. If ctx ends while the source blocks, Run returns
// without waiting for it. The caller closes the source.
func Run(ctx context.Context, cfg Config) (tally.Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	size := 1.0
	if cfg.Memory > 0 {
		size = float64(cfg.Memory) / DefaultMemory
	}
	r := newReader(cfg.Source, int(fragMemory*size))
	r.copies.mode, r.copies.looksAhead = cfg.Dedup, cfg.Dedup != DedupOff && cfg.Clock == nil && r.decoder == nil
	r.seed, r.idle.now = cfg.Seed, cfg.Clock
	r.weight = min(cfg.Sampled, track.MaxWeight)
	r.offload = dissect.NewOffload(cfg.Registry)
	r.proxies = newProxies(cfg.Registry)
	r.proxies.looksAhead = cfg.Clock == nil && r.decoder == nil
	if cfg.Incidents != nil {
		cfg.Watchers = append(slices.Clip(cfg.Watchers), cfg.Incidents)
	}
	r.watched = len(cfg.Watchers) > 0
	parts := make([]*partition, Partitions)
	for i := range parts {
		parts[i] = newPartition(i, &cfg, size)
	}
	jobs := cfg.numWorkers()
	for i := jobs; i < Partitions; i++ {
		parts[i].shareMemory(parts[i%jobs])
	}
	f := newFold(&cfg, jobs, size)
	if cfg.Clock == nil {
		f.skews = alignClocks(cfg.Source, cfg.Registry, cfg.DecodeAs)
		r.clocks = newClockWatch(cfg.Source, cfg.Registry, cfg.DecodeAs)
	}
	for j := range jobs {
		w := newWorker(j, jobs, parts, cfg.numSegments())
		w.looksAhead = parts[j].brevity.hasShortWay && !parts[j].skipsDatagrams
		w.endsEarly = cfg.MaxMessages > 0 || cfg.Dialogues != nil
		f.workers = append(f.workers, w)
	}
	err := newStages(r, f, &cfg).run(ctx)
	if err == nil && !f.isFull() {
		f.findings.finish()
		err = f.out.flush()
	}
	if f.hold != nil {
		err = f.finishHold(err)
	}
	if f.dialogues != nil {
		err = f.finishDialogues(err, cfg.AppendEnding)
	}
	if end := f.watching.endEarly(err); end != nil {
		err = end
	}
	return f.summary(), err
}

// newFold returns the fold of a run with so many workers, which the caller adds.
func newFold(cfg *Config, jobs int, size float64) *fold {
	o := &textOutput{w: cfg.Out, cutsToMicros: cfg.CutsToMicros}
	f := &fold{out: o, max: uint64(max(cfg.MaxMessages, 0)), progress: cfg.Progress,
		listener: cfg.Listener, packets: cfg.Packets, watching: watching{out: o, watchers: cfg.Watchers, foreseers: foreseersOf(cfg.Watchers), doubt: newDoubt()}, heads: make([]head, jobs)}
	f.totals, f.watching.totals = f.summary, f.summary
	for _, start := range cfg.OnStart {
		start(f.summary)
	}
	f.addFilter(cfg)
	renderer := cfg.Renderer
	if cfg.Dialogues != nil {
		renderer, f.dialogues = cfg.Dialogues.Renderer(), newDialogues(o, cfg.Dialogues, f.outcomes)
	}
	if cfg.Incidents != nil {
		f.watching.announcer, _ = cfg.Renderer.(render.IncidentRenderer)
		cfg.Incidents.Observe(f.watching.announce)
	}
	if cfg.wantsHosts() {
		f.findings = newHostFindings(o, size, cfg.Listener, renderer, f.dialogues)
		f.findings.chooser, f.findings.hold = f.watching.chooser, f.hold
	}
	return f
}

// addFilter adds what Config.Filter needs.
func (f *fold) addFilter(cfg *Config) {
	if cfg.Filter == nil {
		return
	}
	f.filter, f.watching.chooser = cfg.Filter, newChooser(cfg.Filter)
	if cfg.Listener != nil {
		f.requests = newRequests()
	}
	if cfg.Filter.holds() {
		f.outcomes = newStreamOutcomes(cfg.Filter)
		if cfg.Dialogues == nil { // which hold messages themselves
			f.hold = &hold{outcomes: f.outcomes}
			f.watching.hold = f.hold
		}
	}
}

// finishDialogues writes the dialogues that the end of the run leaves open, unless the
// writer failed. It returns err or, if that is nil, the error of writing them.
func (f *fold) finishDialogues(err error, ending func([]byte, tally.Run) []byte) error {
	if f.out.failed != nil {
		return err
	}
	if ending != nil {
		f.out.buf = ending(f.out.buf, f.summary())
	}
	f.dialogues.finish(f.isFull())
	if failed := f.out.flush(); err == nil {
		err = failed
	}
	return err
}

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
	Progress func(s capture.Stats, totals func() tally.Run)
	// OnStart are called before the first packet with a function for the counters of the run so far, which
	// watchers and listeners may call; may be nil.
	OnStart        []func(totals func() tally.Run)
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

// writeSize is how many bytes are written at a time, and at the end of a batch.
const writeSize = 64 << 10

// textOutput collects the text of a run and writes it. Callers append to buf.
type textOutput struct {
	w            io.Writer
	buf          []byte
	start        int64 // time stamp of the first packet
	before       int64 // time of the line before
	cutsToMicros bool  // times since the line before are cut to microseconds
	failed       error // of the writer; nothing is written after it
}

// addSpan appends the text of a span.
func (o *textOutput) addSpan(seg *segment, s *span) {
	at := len(o.buf)
	o.buf = append(o.buf, seg.buf[s.start:s.end]...)
	if s.hole > 0 {
		o.fillHole(at+int(s.hole)-1, int(s.width), s.nanos)
	}
}

// fillHole writes the time from the line before to nanos into the hole of buf at at.
func (o *textOutput) fillHole(at, width int, nanos int64) {
	if o.cutsToMicros {
		nanos = render.TruncateMicros(nanos)
	}
	if o.before == 0 {
		o.before = nanos
	}
	o.buf = render.FillHole(o.buf, at, width, nanos-o.before)
	o.before = nanos
}

// isFull reports whether buf has as much as is written at a time.
func (o *textOutput) isFull() bool { return len(o.buf) >= writeSize }

// flush writes buf and empties it. Once the writer has failed, each call returns its error.
func (o *textOutput) flush() error {
	if len(o.buf) > 0 && o.failed == nil {
		_, o.failed = o.w.Write(o.buf)
	}
	if cap(o.buf) > 16*writeSize { // a long message grew it
		o.buf = nil
	}
	o.buf = o.buf[:0]
	return o.failed
}

// stages passes the batches of a run from the reader to the workers and the fold. Each has a
// goroutine; with one job all of them share one (Config.isSerial). Where there are only sightings to
// make, which is little work, the reader's goroutine is that of the only worker, too. It is also that of
// the fold while a source is read as fast as it brings packets: so no other processor is woken for each batch.
//
// While a file brings hardly anything but requests, the reader's goroutine runs all stages: see flooded.
type stages struct {
	reader     *reader
	fold       *fold
	free, full chan *batch // each with room for all batches, so that sending never blocks
	isShared   bool        // the reader's goroutine runs the only worker
	isSerial   bool        // it always runs the fold, too
	isLive     bool
	fullInRow  int // batches in a row after which more was waiting
	flooded    flooded

	queued atomic.Int32 // batches that the fold has not finished
	mu     sync.Mutex   // held by the reader's goroutine while it runs the fold
	ended  chan error   // how the run ended there
}

// maxFullInRow is after how many batches in a row that left packets waiting the fold of a live run
// gets a goroutine of its own. Chosen: a fifth of the kernel's ring in queries, more than a million
// a second bring while the source rests.
const maxFullInRow = 64

// newStages returns the stages of a run. The fold has its workers.
func newStages(r *reader, f *fold, cfg *Config) *stages {
	s := &stages{reader: r, fold: f, isShared: cfg.sharesGoroutine(), isSerial: cfg.isSerial(), isLive: cfg.Clock != nil,
		ended: make(chan error, 1)}
	n := inFlight
	switch {
	case s.isSerial:
		n = 1
	case s.isShared:
		n = segmentsPerWorker + 1
	}
	s.free, s.full = make(chan *batch, n), make(chan *batch, n)
	for range n {
		s.free <- newBatch()
	}
	return s
}

// run starts the goroutines of the reader and the workers, which end with the source or ctx,
// and folds batches until the last one, the limit or an error.
func (s *stages) run(ctx context.Context) error {
	if !s.isShared {
		for _, w := range s.fold.workers {
			go w.run(ctx)
		}
	}
	go s.read(ctx)
	return s.foldBatches(ctx)
}

// read reads batches until the last one and passes them on.
func (s *stages) read(ctx context.Context) {
	defer func() {
		for _, w := range s.fold.workers {
			close(w.in)
		}
	}()
	for more := true; more; {
		var b *batch
		select {
		case b = <-s.free:
		case <-ctx.Done():
			return
		}
		more = s.reader.fill(ctx, b)
		if s.flooded.isOn.Load() && !s.drain(ctx) {
			return
		}
		for more && (s.flooded.isOn.Load() || s.isUnhurried(b)) {
			if !s.foldHere(ctx, b) {
				return
			}
			more = s.reader.fill(ctx, b)
		}
		s.refill()
		if !s.pass(ctx, b) {
			return
		}
	}
}

// pass passes a batch to the workers and the fold. It returns false if ctx ended.
func (s *stages) pass(ctx context.Context, b *batch) bool {
	s.queued.Add(1)
	if s.isShared {
		return s.fold.workers[0].processBatch(ctx, b, s.full)
	}
	for _, w := range s.fold.workers {
		w.in <- b
	}
	s.full <- b
	return true
}

// isUnhurried reports whether the reader's goroutine is to fold a batch: it always does, or the
// source brings no more than it can. The fold's own goroutine has nothing to do then.
func (s *stages) isUnhurried(b *batch) bool {
	switch {
	case !s.isShared || !s.isLive && !s.isSerial:
		return false
	case !b.raw.HasMore:
		s.fullInRow = 0
	default:
		s.fullInRow++
	}
	return (s.isSerial || s.fullInRow < maxFullInRow) && s.queued.Load() == 0
}

// foldHere folds a batch in the reader's goroutine, and reports whether the run goes on.
func (s *stages) foldHere(ctx context.Context, b *batch) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return false
	}
	for _, w := range s.fold.workers {
		w.begin(b)
		w.isInline = true
	}
	enough, err := s.merge(ctx, b)
	for _, w := range s.fold.workers {
		w.isInline = false
	}
	if enough || err != nil {
		s.ended <- err
		return false
	}
	return true
}

// foldBatches folds batches until the last one, the limit or an error.
func (s *stages) foldBatches(ctx context.Context) error {
	for {
		var b *batch
		select {
		case b = <-s.full:
		case err := <-s.ended:
			return err
		case <-ctx.Done():
			s.mu.Lock() // what the reader's goroutine folds is finished, and it folds nothing any more
			defer s.mu.Unlock()
			return ctx.Err()
		}
		enough, err := s.merge(ctx, b)
		if err != nil || enough {
			return err // the batch is not given back: workers may still be at it
		}
		last := b.err
		s.queued.Add(-1)
		s.free <- b
		switch last {
		case nil:
		case io.EOF:
			return nil
		default:
			return last
		}
	}
}

// A request of a usual form costs some two hundred nanoseconds in all stages together. To hand it from
// one processor to another, and to wake that, costs as much again. So while such requests are nearly
// all that a file brings, one goroutine runs all stages. Measured with 5 million forged A2S_INFO on two
// processors of a quiet machine: qsniff stats took 1.9 s of processor time and 1.2 s in all, and in one
// goroutine 1.2 s of both; qsniff floods 1.3 s and 1.0 s, and 0.9 s of both.

// flooded decides whether one goroutine runs all stages.
type flooded struct {
	isOn   atomic.Bool
	inRow  int      // batches in a row that are nearly nothing but such requests
	before int      // such requests in earlier batches
	held   []*batch // of the reader's goroutine: what drain took
}

// floodedInRow is how many such batches in a row begin it. Chosen: while the fold finishes what is
// queued the reader waits, for less than inFlight batches, which must be little beside what follows.
const floodedInRow = 32

// update takes account of a batch of so many items. requests are those of the run so far that were
// little work. Nearly all are seven of eight: others, replies first of all, cost several times as much,
// and two processors share them well.
func (f *flooded) update(requests, items int) {
	n := requests - f.before
	f.before = requests
	if items == 0 || n < items-items/8 {
		f.inRow = 0
	} else {
		f.inRow++
	}
	f.isOn.Store(f.inRow >= floodedInRow)
}

// merge has the fold merge a batch, and decides which goroutines run the stages for those that follow.
func (s *stages) merge(ctx context.Context, b *batch) (enough bool, err error) {
	enough, err = s.fold.merge(ctx, b)
	switch {
	case s.isLive: // its packets would wait in the kernel
	case s.isShared:
		s.flooded.update(s.fold.watching.requests, len(b.items))
	default:
		s.flooded.update(s.fold.briefs, len(b.items))
	}
	return enough, err
}

// drain waits until the fold has finished all batches: then workers and the fold are at rest until
// refill. It returns false if ctx ended.
func (s *stages) drain(ctx context.Context) bool {
	for len(s.flooded.held) < cap(s.free)-1 {
		select {
		case b := <-s.free:
			s.flooded.held = append(s.flooded.held, b)
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// refill gives back what drain took.
func (s *stages) refill() {
	for _, b := range s.flooded.held {
		s.free <- b
	}
	s.flooded.held = s.flooded.held[:0]
}

// idleLag is how far time lags while a source brings nothing: a packet that was captured
// before may still come. Kernels hold packets back for 20 ms; the rest is chosen for a
// program that is late itself.
const idleLag = 250 * time.Millisecond

// idle measures the time that passes while a live source brings nothing, and the most that
// can have passed when it brings packets. It measures spans, not the time of day: when
// the system clock is set, the stamps of packets jump, but nothing expires because of
// that.
type idle struct {
	now    func() int64 // nil: only packets make time pass
	since  int64        // when the last packets came
	passed int64        // by how much the clock was advanced since then

	begun, base int64 // when the first packets came, and the age after them
}

// maxAge returns the most that the clock's age can be at now, with stampLag to spare.
func (i *idle) maxAge(age, now int64) int64 {
	if i.base == 0 {
		i.begun, i.base = i.since, age-i.passed
	}
	return i.base + now - i.begun + int64(stampLag)
}

// takeSpan returns by how much the clock is to be advanced now, and counts it as passed.
func (i *idle) takeSpan() int64 {
	span := max(i.now()-i.since-int64(idleLag)-i.passed, 0)
	i.passed += span
	return span
}

const (
	// Tables in bytes are parts of DefaultMemory: they grow and shrink with the budget. The flows of track take
	// 4.4 MiB and the sets of split 4; batches, output and the runtime need the rest.

	// limit: fragments of IP datagrams: one table, in the reader
	fragMemory = 2 << 20
)
