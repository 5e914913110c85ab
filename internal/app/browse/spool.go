package browse

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"qsniff/capture/file"
	"qsniff/internal/base/digits"
)

// input is the capture: a file that can be read at any place, and the Reader whose marks are
// these places. A capture that is compressed, or comes through a pipe, is first put into
// a temporary file without a name, and read there.
type input struct {
	name   string
	bytes  io.ReaderAt // of the capture, expanded
	first  *file.Reader
	start  file.Mark
	spool  *spool // nil: it is a plain file
	follow bool   // it grows
}

// openInput opens a capture; in is standard input where name is "-".
func openInput(ctx context.Context, name string, in *os.File, follow bool) (*input, error) {
	x := &input{name: name, follow: follow}
	var from io.Reader
	if name == "-" {
		s, err := newSpool(ctx, in)
		if err != nil {
			return nil, err
		}
		x.name, x.bytes, x.spool, from = "standard input", s.f, s, s.reader(0)
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		if info, err := f.Stat(); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			s, err := newSpool(ctx, f)
			if err != nil {
				return nil, err
			}
			x.bytes, x.spool, from = s.f, s, s.reader(0)
		} else {
			x.bytes, from = f, f
		}
		if follow {
			from = &growing{ctx: ctx, in: f}
		}
	}
	var failed error
	r, err := file.NewReader(from, x.name, file.ReadAhead(func(expanded io.Reader) io.ReadCloser {
		var s *spool
		if s, failed = newSpool(ctx, expanded); failed != nil {
			return io.NopCloser(expanded)
		}
		x.bytes, x.spool = s.f, s
		return io.NopCloser(s.reader(0))
	}))
	if err != nil || failed != nil {
		return nil, cmp.Or(failed, err)
	}
	x.first = r
	x.start, _ = r.Mark() // nothing was read, so nothing can be wrong
	return x, nil
}

// progress returns how many bytes of the input have been read, of how many; 0 for unknown. at is
// how far a run is in what they expand to.
func (x *input) progress(at int64) (n, size int64) {
	first := x.first.Stats()
	if x.spool == nil || first.Size == 0 {
		return at, first.Size
	}
	x.spool.mu.Lock()
	defer x.spool.mu.Unlock()
	return int64(float64(first.Bytes) * float64(at) / float64(max(x.spool.size, 1))), first.Size
}

// from returns what the capture holds from an offset on; waits: it may grow, or come through a
// pipe.
func (x *input) from(ctx context.Context, offset int64, waits bool) io.Reader {
	switch {
	case waits && x.spool != nil:
		return x.spool.reader(offset)
	case waits && x.follow:
		return &growing{ctx: ctx, in: io.NewSectionReader(x.bytes, offset, 1<<62)}
	}
	return io.NewSectionReader(x.bytes, offset, 1<<62)
}

// growing is a file that has no end until ctx ends.
type growing struct {
	ctx context.Context
	in  io.Reader
}

// pollEvery is how often a file that grows is looked at. Chosen: less than people notice.
const pollEvery = 100 * time.Millisecond

// Read waits for more at the end.
func (g *growing) Read(b []byte) (int, error) {
	for {
		n, err := g.in.Read(b)
		if n > 0 || err != io.EOF {
			if err == io.EOF { // of now
				err = nil
			}
			return n, err
		}
		select {
		case <-g.ctx.Done():
			return 0, io.EOF
		case <-time.After(pollEvery):
		}
	}
}

// spool is a temporary file that is filled from an input, and read meanwhile.
type spool struct {
	f       *os.File
	mu      sync.Mutex
	changed *sync.Cond
	size    int64
	err     error // io.EOF after the end; nil while it is filled
}

// newSpool begins to fill a temporary file from in, until that or ctx ends.
func newSpool(ctx context.Context, in io.Reader) (*spool, error) {
	f, err := os.CreateTemp("", "qsniff-browse-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil { // its room is free once the program ends
		return nil, err
	}
	s := &spool{f: f}
	s.changed = sync.NewCond(&s.mu)
	go s.fill(ctx, in)
	return s, nil
}

func (s *spool) fill(ctx context.Context, in io.Reader) {
	buf := make([]byte, 1<<18)
	for {
		n, err := in.Read(buf)
		if _, e := s.f.Write(buf[:n]); e != nil {
			n, err = 0, fmt.Errorf("temporary file (TMPDIR chooses where): %w", e)
		}
		s.mu.Lock()
		s.size += int64(n)
		switch {
		case err == nil && ctx.Err() != nil:
			err = io.EOF
		case err == nil && s.size >= maxSpool:
			err = fmt.Errorf("more than %s of compressed or piped capture: expand it into a file first", digits.Bytes(maxSpool))
		}
		s.err = err
		s.mu.Unlock()
		s.changed.Broadcast()
		if err != nil {
			return
		}
	}
}

// reader returns what the file holds and will hold, from an offset on.
func (s *spool) reader(offset int64) io.Reader { return &spoolReader{s, offset} }

type spoolReader struct {
	s      *spool
	offset int64
}

// Read waits for more while the file is filled.
func (r *spoolReader) Read(b []byte) (int, error) {
	s := r.s
	s.mu.Lock()
	for r.offset >= s.size && s.err == nil {
		s.changed.Wait()
	}
	left, err := s.size-r.offset, s.err
	s.mu.Unlock()
	if left <= 0 {
		return 0, err
	}
	n, err := s.f.ReadAt(b[:min(int64(len(b)), left)], r.offset)
	r.offset += int64(n)
	return n, err
}

// limit: maxSpool is how much of a compressed or piped capture is put into a temporary file, in
// bytes, to be read again. Chosen: less than a disk for captures has free.
const maxSpool = 16 << 30
