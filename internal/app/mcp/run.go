package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/base/digits"
	"qsniff/internal/pipeline"
	"qsniff/internal/pipeline/filter"
	"qsniff/internal/render/manual"
	"qsniff/internal/render/tally"
)

// reader answers questions about captures.
type reader struct {
	o     Options
	in    folder
	cache cache
	runs  chan struct{} // as many as there are runs, at most maxRuns
}

// recipe makes the records of an answer. prepare sets what the run has to collect; what the
// run writes to cfg.Out are records, and finish, which may be nil, appends those that are known
// at its end, and returns notes.
type recipe struct {
	isText      bool // lines of text, not of JSON
	isOfPackets bool // made of sightings: no message is decoded, or counted
	prepare     func(cfg *pipeline.Config, q *question) finisher
}

// ask returns a page of the records of q.
func (r *reader) ask(ctx context.Context, q question, how recipe, cursor string, limit int) (*answer, error) {
	if len(q.filter) > maxExpression {
		return nil, fmt.Errorf("filter: %d bytes, of at most %d: ask for less at a time", len(q.filter), maxExpression)
	}
	var p *filter.Program
	if q.filter != "" {
		var err error
		if p, err = r.compile(q.filter); err != nil {
			return nil, err
		}
	}
	if err := r.identify(ctx, &q); err != nil {
		return nil, err
	}
	from, err := q.place(cursor)
	if err != nil {
		return nil, err
	}
	s := r.cache.find(q, from)
	if s == nil {
		if s, err = r.read(ctx, q, how, p, from); err != nil {
			return nil, err
		}
	}
	a := &answer{Capture: q.capture}
	return a, a.pageOf(&q, s, from, limit)
}

// identify sets the members of q by which this content of the capture differs from others.
func (r *reader) identify(ctx context.Context, q *question) error {
	f, err := r.in.open(q.capture)
	if err != nil {
		return r.refuse(ctx, q.capture, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return r.refuse(ctx, q.capture, err)
	}
	q.size, q.changed = info.Size(), info.ModTime().UnixNano()
	return nil
}

// read reads the capture of q, and returns the stretch of its records that begins at number
// from.
func (r *reader) read(ctx context.Context, q question, how recipe, p *filter.Program, from int) (*stretch, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxRead, errTooLong)
	defer cancel()
	select {
	case r.runs <- struct{}{}:
		defer func() { <-r.runs }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s := r.cache.find(q, from); s != nil { // another one has asked the same meanwhile
		return s, nil
	}
	cfg := pipeline.Config{}
	if p != nil {
		cfg.Filter = &pipeline.Filter{Program: p}
		if p.NeedsAnswers() {
			cfg.Filter.Outcomes = pipeline.NewOutcomes(p)
			r.run(ctx, &q, pipeline.Config{Listener: cfg.Filter.Outcomes}) // what is wrong shows the second time
		}
	}
	c := &collector{stretch: stretch{first: from}, isText: how.isText, skip: from}
	finish := how.prepare(&cfg, &q)
	cfg.Out = c
	run, err := r.run(ctx, &q, cfg)
	switch {
	case ctx.Err() != nil:
		return nil, cmp.Or(context.Cause(ctx), err)
	case errors.Is(err, errEnough):
		c.scope = "the capture was read only as far as this page needs"
	case err != nil && run.Packets == 0:
		return nil, r.refuse(ctx, q.capture, unreadable(err))
	default:
		c.scope = how.scope(&run, p != nil)
		c.finish(&run, err, finish)
	}
	r.cache.keep(q, &c.stretch)
	return &c.stretch, nil
}

// errTooLong is why a run was ended after maxRead.
var errTooLong = fmt.Errorf("reading took longer than %s: cut the capture in a shell (qsniff read -Y FILTER -w SMALL.pcapng), or ask for a smaller one", maxRead)

// unreadable returns the error of a capture without a packet, with the hint that it has.
func unreadable(err error) error {
	var wrong *file.Error
	if !errors.As(err, &wrong) {
		return bareError(err)
	}
	if wrong.Hint != "" && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s (%s)", wrong.Reason, wrong.Hint)
	}
	return errors.New(wrong.Reason)
}

// run reads the capture of q from its beginning. An error of the pipeline is returned with the
// counters up to it.
func (r *reader) run(ctx context.Context, q *question, cfg pipeline.Config) (tally.Run, error) {
	f, err := r.in.open(q.capture)
	if err != nil {
		return tally.Run{}, err
	}
	defer f.Close()
	in, err := file.NewReader(f, q.capture, file.ReadAhead(pipeline.ReadAhead))
	if err != nil {
		return tally.Run{}, err
	}
	base := r.o.Config
	cfg.Registry, cfg.DecodeAs, cfg.Dedup, cfg.Memory, cfg.Jobs = base.Registry, base.DecodeAs, base.Dedup, base.Memory, base.Jobs
	cfg.Source = capture.Align(in)
	run, err := pipeline.Run(ctx, cfg)
	return run, cmp.Or(err, in.Close())
}

// compile compiles a filter, which never compares a secret. The error shows the place.
func (r *reader) compile(text string) (*filter.Program, error) {
	p, err := filter.Compile(text, r.o.Config.Registry, filter.Options{UTC: true, Codes: r.o.Codes})
	var wrong *filter.Error
	if errors.As(err, &wrong) {
		return nil, fmt.Errorf("filter:\n%s\nThe tool fields lists the names that filters take", wrong.Page())
	}
	return p, err
}

// finish adds the records that the end of the run brings, and what is to be said about it.
func (c *collector) finish(run *tally.Run, err error, records finisher) {
	c.isLast = true
	if records != nil {
		var b []byte
		b, c.notes = records(nil, run)
		_, full := c.Write(b)
		c.isLast = full == nil
	}
	if err != nil {
		c.notes = append(c.notes, "the capture is damaged, and the records are of what precedes or surrounds that: "+err.Error())
	}
	if run.Dropped > 0 {
		c.notes = append(c.notes, "the program that captured lost "+digits.Counted(run.Dropped, "packet"))
	}
}

// scope returns what was read, as a sentence.
func (how *recipe) scope(run *tally.Run, isFiltered bool) string {
	if run.Packets == 0 {
		return "the capture has no packets"
	}
	at := func(nanos int64) string { return time.Unix(0, nanos).UTC().Format("2006-01-02T15:04:05.000000Z") }
	text := fmt.Sprintf("%s from %s to %s", digits.Counted(run.Packets, "packet"), at(run.First), at(run.Last))
	switch {
	case how.isOfPackets:
		return text
	case run.Messages+run.Unmatched == 0:
		return text + ", none with a message that qsniff decodes"
	case isFiltered:
		return fmt.Sprintf("%s; the filter chose %s of %s", text, digits.Grouped(int64(run.Messages)), digits.Counted(run.Messages+run.Unmatched, "message"))
	}
	return fmt.Sprintf("%s, with %s", text, digits.Counted(run.Messages, "message"))
}

// folder is the folder with the captures: regular files in it or below, reached without any
// symbolic link.
type folder struct{ root *os.Root }

// errElsewhere is the reason why a name is refused that is none of a file below the folder.
var errElsewhere = errors.New("names no file below the folder: no absolute path, no . or .., no empty part")

// open opens a capture. It opens nothing but regular files: a named pipe would wait for its
// writer, and a device may act when it is opened.
func (f folder) open(name string) (*os.File, error) {
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\\x00") {
		return nil, errElsewhere
	}
	parts := strings.Split(name, "/")
	for i := range parts {
		info, err := f.root.Lstat(path.Join(parts[:i+1]...))
		switch {
		case err != nil:
			return nil, bareError(err)
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, errors.New("is a symbolic link, or below one: these are not followed")
		case i+1 < len(parts) && !info.IsDir():
			return nil, fs.ErrNotExist
		case i+1 == len(parts) && info.IsDir():
			return nil, errors.New("is a folder")
		case i+1 == len(parts) && !info.Mode().IsRegular():
			return nil, errors.New("is no regular file")
		}
	}
	flag := os.O_RDONLY
	if runtime.GOOS != "windows" {
		flag |= syscall.O_NONBLOCK // should a pipe have taken the place of the file since
	}
	in, err := f.root.OpenFile(name, flag, 0)
	if err != nil {
		return nil, bareError(err)
	}
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		in.Close()
		return nil, cmp.Or(err, errors.New("is no regular file"))
	}
	return in, nil
}

// bareError returns err without the operation and the path, which the caller adds as text of
// the question.
func bareError(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// nearest returns the files that are called as a name is, in other folders, or else similarly.
func nearest(name string, files []string) (near []string) {
	for _, f := range files {
		if path.Base(f) == path.Base(name) && len(near) < 3 {
			near = append(near, f)
		}
	}
	if len(near) == 0 && len(name) <= maxSpelling {
		near = manual.Nearest(name, files)
	}
	return near
}

// listing is what a folder has, by name.
type listing struct {
	files   []string // regular files that are not hidden
	unnamed int      // files whose names are not UTF-8, so that no question can name them
	isCut   bool     // there are more than maxFiles, or deeper ones than maxDepth
}

// list lists the regular files of the folder and below.
func (f folder) list(ctx context.Context) (listing, error) {
	var l listing
	seen := 0
	var walk func(dir string, depth int) error
	walk = func(dir string, depth int) error {
		entries, err := f.entries(dir, maxFiles-seen+1)
		if err != nil && depth == 0 {
			return bareError(err)
		}
		if seen += len(entries); seen > maxFiles {
			l.isCut = true
			entries = entries[:len(entries)-(seen-maxFiles)]
			seen = maxFiles
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			name := path.Join(dir, e.Name())
			switch {
			case strings.HasPrefix(e.Name(), "."):
			case !utf8.ValidString(e.Name()) || strings.Contains(e.Name(), "\\"):
				l.unnamed++
			case e.Type().IsRegular():
				l.files = append(l.files, name)
			case e.IsDir() && depth == maxDepth:
				l.isCut = true
			case e.IsDir():
				if err := walk(name, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := walk(".", 0)
	slices.Sort(l.files)
	return l, err
}

// entries returns up to most entries of a folder below the root, by name.
func (f folder) entries(dir string, most int) ([]fs.DirEntry, error) {
	d, err := f.root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	all, err := d.ReadDir(most)
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, err
}

// limit: maxRead is how long a question may take. Chosen: a capture of 50 GB is read in that, and
// assistants stop waiting before.
const maxRead = 5 * time.Minute

// limit: maxFiles and maxDepth bound the files of a folder that are listed, and how deep below it they
// lie. Chosen: rings have hundreds of files, and folders by server and day are three deep.
const (
	maxFiles = 10_000
	maxDepth = 8
)

// limit: maxExpression is how many bytes a filter or a pattern has at most. Chosen: people write about a
// hundred, programs that list addresses thousands.
const maxExpression = 8 << 10
