package browse

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/maphash"
	"os"
	"sync"

	"qsniff/capture"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/tally"
	"qsniff/internal/render/text"
)

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
