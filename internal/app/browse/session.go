package browse

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"math"
	"os"
	"sort"
	"sync"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/dissect/finding"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
)

// entry is a line of the list: as little as it takes to find the message again, and to check
// that it is the same.
type entry struct {
	frame uint64
	print uint32 // of the reading, with the severity of the worst finding in its low bits
	after uint8  // marks between the frame and where the message was decided; 255: or more
	back  uint16 // marks between the first request of its exchange and the frame; 65,535: or more
}

// severityBits are the bits of entry.print for the severity; 0 is no finding.
const severityBits = 3

// severity returns that of the worst finding plus 1, or 0.
func (e entry) severity() int { return int(e.print & (1<<severityBits - 1)) }

// isFinding is the value of severity of findings that belong to no message; the rest of
// entry.print is their place in index.findings.
const isFinding = int(finding.Error) + 2

// index is the list of the messages that one run found, in its order. The run appends to it
// while it is read.
type index struct {
	mu       sync.RWMutex
	chunks   [][]entry
	n        int
	marks    []file.Mark
	findings []*Row
	start    int64 // of the first packet
	stats    capture.Stats
	isFull   bool // there are more than maxEntries
	isDone   bool
	err      error // of the run
}

// add appends a message that a frame completed and first began; what decided it precedes the
// last mark. The caller holds x.mu.
func (x *index) add(k ident, first uint64) {
	at := x.search(k.frame)
	e := entry{frame: k.frame, print: k.print, after: uint8(min(len(x.marks)-at, math.MaxUint8))}
	if first != 0 && first < k.frame {
		e.back = uint16(min(at-x.search(first), math.MaxUint16))
	}
	if x.n == maxEntries {
		x.isFull = true
		return
	}
	if x.n%chunkEntries == 0 {
		x.chunks = append(x.chunks, make([]entry, 0, chunkEntries))
	}
	last := &x.chunks[len(x.chunks)-1]
	*last = append(*last, e)
	x.n++
}

// at returns entry i. The caller holds x.mu.
func (x *index) at(i int) entry { return x.chunks[i/chunkEntries][i%chunkEntries] }

// len returns how many entries there are.
func (x *index) len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n
}

// done reports whether all is read.
func (x *index) done() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.isDone
}

// has reports whether a frame, or one after it, is listed, or never will be.
func (x *index) has(frame uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.isDone || x.n > 0 && x.at(x.n-1).frame >= frame
}

// first returns the time of the first packet.
func (x *index) first() int64 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.start
}

// entries returns those from lo to hi, as far as there are any.
func (x *index) entries(lo, hi int) []entry {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var all []entry
	for i := max(lo, 0); i < min(hi, x.n); i++ {
		all = append(all, x.at(i))
	}
	return all
}

// findFrame returns the first entry of a frame, or of the nearest after it, or else the last.
func (x *index) findFrame(frame uint64) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	best, bestFrame := x.n-1, ^uint64(0)
	for i := range x.n { // frames do not only rise: incomplete messages come later
		if f := x.at(i).frame; f >= frame && f < bestFrame {
			if best, bestFrame = i, f; f == frame {
				break
			}
		}
	}
	return best
}

// findFinding returns the nearest entry after i, or before it, that has a finding of note or
// worse, or -1.
func (x *index) findFinding(i, step int) int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i += step; i >= 0 && i < x.n; i += step {
		if x.at(i).severity() > int(finding.Note) {
			return i
		}
	}
	return -1
}

// search returns the index of the first mark that a frame precedes, which is after it. The caller
// holds x.mu.
func (x *index) search(frame uint64) int {
	return sort.Search(len(x.marks), func(i int) bool { return x.marks[i].Packets >= frame })
}

// span returns the marks between which the packets of an entry lie, back more before it: the
// index of the first, and how many packets precede the last.
func (x *index) span(e entry, back int) (from int, end uint64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	at := x.search(e.frame)
	end = math.MaxUint64
	if to := at + int(e.after); e.after < math.MaxUint8 && to < len(x.marks) {
		end = x.marks[to].Packets
	}
	return max(at-1-int(e.back)-back, 0), end
}

// mark returns mark i, or false where there is none.
func (x *index) mark(i int) (file.Mark, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i >= len(x.marks) {
		return file.Mark{}, false
	}
	return x.marks[i], true
}

// finding returns the row of a finding that belongs to no message.
func (x *index) finding(e entry) *Row {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i := int(e.print >> severityBits); i < len(x.findings) {
		return x.findings[i]
	}
	return &Row{Frame: e.frame, Reading: "a finding for which there was no room: qsniff findings lists all"}
}

// Options are what is browsed, and how messages look.
type Options struct {
	Name   string   // of the capture; "-" is Stdin
	Stdin  *os.File // of a capture; nil if it is the keyboard
	Follow bool     // the capture grows
	Config pipeline.Config
	Text   text.Options
	// Compile makes a program of a filter, and Complete returns how one may go on.
	Compile  func(string) (*filter.Program, error)
	Complete func(string) []string
	// Write writes the packets of the messages that a filter chooses to a file of that name,
	// and returns a sentence about it; nil: the capture cannot be read for that.
	Write func(ctx context.Context, path, filter string) (string, error)
}

// session is a capture with the index of its messages, which a goroutine makes, and the rows
// around those on the screen. Its methods may be called by several goroutines.
type session struct {
	o    Options
	in   *input
	seed maphash.Seed
	line *text.Line

	mu   sync.Mutex
	all  *index // without a filter, once it is whole; nil before
	now  *index // that is shown
	stop context.CancelFunc
	rows map[int]*Row // of now
}

// open opens a capture.
func open(ctx context.Context, o Options) (*session, error) {
	in, err := openInput(ctx, o.Name, o.Stdin, o.Follow)
	if err != nil {
		return nil, err
	}
	line := o.Text
	line.Palette = text.Palette{}
	return &session{o: o, in: in, seed: maphash.MakeSeed(), line: text.NewLine(line)}, nil
}

// list begins to list what a program chooses, nil for all, and returns the index, which a
// goroutine fills.
func (s *session) list(ctx context.Context, p *filter.Program) *index {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	s.rows = map[int]*Row{}
	if p == nil && s.all != nil {
		s.now = s.all
		return s.now
	}
	x := &index{}
	s.now = x
	ctx, s.stop = context.WithCancel(ctx)
	go s.fill(ctx, x, p)
	return x
}

// fill reads the capture into an index.
func (s *session) fill(ctx context.Context, x *index, p *filter.Program) {
	cfg, err := s.o.Config, error(nil)
	if p != nil {
		cfg.Filter = &pipeline.Filter{Program: p}
		if p.NeedsAnswers() && !s.o.Follow { // as read does of a file
			cfg.Filter.Outcomes = pipeline.NewOutcomes(p)
			_, err = s.run(ctx, x, pipeline.Config{Listener: cfg.Filter.Outcomes}, nil)
		}
	}
	r := &reading{line: s.line, seed: s.seed}
	if err == nil || isDamage(err) {
		out := indexWriter{x, r}
		cfg.Renderer, cfg.Out = r, out
		_, err = s.run(ctx, x, cfg, x)
	}
	x.mu.Lock()
	x.isDone, x.err, x.findings = true, err, r.rows
	whole := p == nil && ctx.Err() == nil
	x.mu.Unlock()
	if whole {
		s.mu.Lock()
		s.all = x
		s.mu.Unlock()
	}
}

// isDamage reports whether err is about the capture, of which all was read that can be.
func isDamage(err error) bool { return err != nil && !errors.Is(err, context.Canceled) }

// run reads the capture from its beginning; progress is that of x.
func (s *session) run(ctx context.Context, x *index, cfg pipeline.Config, marks *index) (tally.Run, error) {
	base := s.o.Config
	cfg.Registry, cfg.DecodeAs, cfg.Dedup, cfg.Seed, cfg.Memory, cfg.Jobs = base.Registry, base.DecodeAs, base.Dedup, base.Seed, base.Memory, base.Jobs
	src := &source{Reader: s.in.first.Resume(s.in.start, s.in.from(ctx, s.in.start.Offset, true)), marks: marks}
	cfg.Source = src
	cfg.Progress = func(st capture.Stats, _ func() tally.Run) {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.stats = st
	}
	run, err := pipeline.Run(ctx, cfg)
	if errors.Is(err, errFull) {
		err = nil
	}
	return run, err
}

// errFull ends a run that has found more than can be listed.
var errFull = errors.New("more messages than can be listed")

// indexWriter appends the heads that a run writes to an index.
type indexWriter struct {
	x *index
	r *reading
}

// Write implements io.Writer: b has whole heads.
func (w indexWriter) Write(b []byte) (int, error) {
	x := w.x
	x.mu.Lock()
	defer x.mu.Unlock()
	for h := b; len(h) >= headLen; h = h[headLen:] {
		k, first := parseHead(h)
		x.add(k, first)
	}
	w.r.mu.Lock()
	x.findings, x.start = w.r.rows, w.r.start
	w.r.mu.Unlock()
	if x.isFull {
		return 0, errFull
	}
	return len(b), nil
}

func parseHead(h []byte) (k ident, more uint64) {
	return ident{binary.LittleEndian.Uint64(h), binary.LittleEndian.Uint32(h[8:])}, binary.LittleEndian.Uint64(h[12:])
}

// row returns row i, or nil where it is not there yet.
func (s *session) row(i int) *Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows[i]
}

// missing returns which of the entries from lo to hi have no row; needsEvent is one whose row
// is not enough without its message.
func (s *session) missing(lo, hi, needsEvent int) (all []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.now.len()
	for i := max(lo, 0); i < min(hi, n); i++ {
		if r := s.rows[i]; r == nil || i == needsEvent && r.Event == nil && r.Proto != "" {
			all = append(all, i)
		}
	}
	return all
}

// limit: maxEntries is how many messages can be listed, at 16 bytes each: 256 MB. Chosen: those of
// about 2 GB of the shortest queries, and a filter lists a part of more.
const maxEntries = 16_000_000

// limit: chunkEntries is how many of them are allocated at a time. Chosen: 1 MiB.
const chunkEntries = 1 << 16
