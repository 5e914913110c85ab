// Package ring writes captures that never end as a ring of files: bounded by
// size, time and number, named by the time of their first packets, complete as
// soon as they have their name. Trigger writes to such a ring only what surrounds
// an incident.
//
// A ring goes on whatever happens to its disk: an error is returned once, packets
// that cannot be written are counted, and after a while the next file is tried.
// It has no clock of its own, starts no goroutines, and allocates only when a
// file begins. After Open it works in its folder through a handle, so that a
// sandbox may close everything else.
package ring

import (
	"os"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
)

// Options are where a ring is and what bounds it. Zero means no bound.
type Options struct {
	// Path is the folder and the beginning and end of the names, as in
	// DIR/PREFIX.pcapng for files DIR/PREFIX_20261121T201500Z_00001.pcapng. The end
	// tells the format.
	Path string

	// Size is the most bytes of a file. A single packet that is longer gets a
	// file of its own.
	Size int64

	// Time is the most packet time between the first and the last packet of a
	// file.
	Time time.Duration

	// Files is how many files there are at most, with that being written and
	// those of earlier runs; the oldest are removed.
	Files int

	// Own has Files count, and remove, files of this run only: for a bound that nobody
	// asked for, which must not remove what earlier runs kept.
	Own bool

	// Write is how files are written; Format is overruled by Path, and FlushEvery
	// is DefaultFlush if it is zero.
	Write file.WriteOptions
}

// Stats are running totals.
type Stats struct {
	Packets uint64 // in files, or in the buffer of the one being written
	Lost    uint64 // packets that could not be written
	Refused uint64 // packets that the format cannot hold
	Files   uint64 // finished by this run
	Removed uint64 // old files
	Errors  uint64 // attempts to write, rename or remove that failed
	Failing error  // why packets are not written at the moment, or nil
}

// Writer is a ring of files that is being written.
type Writer struct {
	opt    Options
	names  names
	root   *os.Root
	locked *os.File // nil: nothing is
	kept   []kept   // finished files, the oldest first; none without Options.Files
	number uint64   // of the last file
	clock  clock
	stats  Stats

	// The file that is being written.
	part  *os.File // nil: none
	out   *file.Writer
	name  string // without partSuffix
	since int64  // when it began, by clock

	retryAt  int64  // when the next file is tried after an error, by clock
	lost     int64  // bytes lost since then
	reported string // reason of the last error that was returned
	trouble  bool   // there was an error since the file began
	refused  bool   // a packet, and that was returned
}

// kept is a finished file.
type kept struct {
	number uint64
	name   string
}

// Open opens the folder of a ring and counts in what earlier runs with the same
// Path left there: their numbers go on, and Files bounds all of them. A file that
// an earlier run did not finish gets its name, and its end stays as it is; it is
// removed if it got no packets. Until Close, nobody else can open the ring. An
// error is of type *file.Error; it is one if the folder cannot be written.
func Open(o Options) (*Writer, error) {
	n, err := namesOf(o.Path)
	if err != nil {
		return nil, err
	}
	if o.Files > maxKept {
		return nil, tooMany(o.Path)
	}
	if o.Write.Format, err = file.FormatOf(n.prefix + n.ext); err != nil {
		return nil, err
	}
	if o.Write.FlushEvery == 0 {
		o.Write.FlushEvery = DefaultFlush
	}
	root, err := os.OpenRoot(n.folder)
	if err != nil {
		return nil, file.WriteError(n.path("."), err)
	}
	w := &Writer{opt: o, names: n, root: root}
	if err = w.lock(); err == nil {
		err = w.scan()
	}
	if err != nil {
		w.unlock()
		root.Close()
		return nil, err
	}
	return w, nil
}

// Folder is the folder of the files, for a sandbox.
func (w *Writer) Folder() string { return w.names.folder }

// Stats counts what has been written so far.
func (w *Writer) Stats() Stats {
	s := w.stats
	if w.part != nil {
		s.Packets += w.out.Stats().Packets
	}
	return s
}

// Write writes a packet, to the next file if this one is at its end. An error, of
// type *file.Error, is returned when it first occurs, and again only after the
// ring had recovered or when there is another; it never means that Write should
// not be called any more. The data of p is copied.
func (w *Writer) Write(p *capture.Packet) error {
	w.clock.to(p.Nanos)
	var first error
	if w.part != nil && (w.expired() || w.opt.Size > 0 && w.out.Stats().Packets > 0 && w.out.SizeWith(p) > w.opt.Size) {
		first = w.finish()
	}
	if w.part == nil {
		if w.waiting() {
			w.stats.Lost++
			w.lost += int64(len(p.Data))
			return first
		}
		if err := w.begin(p.Nanos); err != nil {
			first = err
		}
		if w.part == nil {
			w.stats.Lost++
			return first
		}
	}
	written := w.safe()
	if err := w.out.Write(p); err != nil {
		return w.failed(err)
	}
	w.recovered(written)
	return first
}

// Tick says what time it is in packet time, when no packets arrive: files are
// flushed and finished in time.
func (w *Writer) Tick(nanos int64) error {
	w.clock.to(nanos)
	if w.part == nil {
		return nil
	}
	if w.expired() {
		return w.finish()
	}
	written := w.safe()
	if err := w.out.Tick(nanos); err != nil {
		return w.failed(err)
	}
	w.recovered(written)
	return nil
}

// Rotate finishes the file that is being written. The next packet begins another.
func (w *Writer) Rotate() error {
	if w.part == nil {
		return nil
	}
	return w.finish()
}

// Close finishes the file that is being written, and the ring.
func (w *Writer) Close() error {
	err := w.Rotate()
	w.unlock()
	if e := w.root.Close(); e != nil && err == nil {
		err = file.WriteError(w.names.path("."), e)
	}
	return err
}

// expired says that the file has lasted its time.
func (w *Writer) expired() bool {
	return w.opt.Time > 0 && w.clock.passed-w.since >= int64(w.opt.Time)
}

// waiting says that it is too early to try again after an error: the next
// rotation is not due, nor has the time to retry passed.
func (w *Writer) waiting() bool {
	return w.stats.Failing != nil && w.clock.passed < w.retryAt && (w.opt.Size <= 0 || w.lost < w.opt.Size)
}
