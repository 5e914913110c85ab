// Package ring writes captures that never end as a ring of files: bounded by
// size, time and number, named by the time of their first packets, complete as
// soon as they have their name. Trigger writes to such a ring only what surrounds
// an incident.
//
// A packet arrives at Writer.Write. If the file is too long or too old, it is
// finished: closed and given its name. The next file is begun, the oldest ones are
// removed, and the packet is written.
//
// A ring goes on whatever happens to its disk: an error is returned once, packets
// that cannot be written are counted, and after 10 s at most (retryAfter) the next
// file is tried. Its time is packet time, it starts no goroutines, and allocates only
// when a file begins. After Open it works in its folder through a handle, so that
// a sandbox may close everything else.
package ring

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"qsniff/capture"
	"qsniff/capture/file"
)

// Options are where a ring is and what bounds it. Zero means no bound.
type Options struct {
	// Path is the folder and the beginning and end of the names, as in
	// DIR/PREFIX.pcapng for files DIR/PREFIX_20261121T201500Z_00001.pcapng. The end
	// of the name selects the format.
	Path string

	// Size is the most bytes of a file. A single packet that is longer gets a
	// file of its own.
	Size int64

	// Time is the most packet time between the first and the last packet of a
	// file.
	Time time.Duration

	// Files is how many files there are at most, including the one being written
	// and those of earlier runs; the oldest are removed.
	Files int

	// OwnOnly makes Files count, and remove, files of this run only: for a bound that
	// nobody asked for, which must not remove what earlier runs wrote.
	OwnOnly bool

	// Total is the most bytes of all files together, those of earlier runs among them; the
	// oldest are removed. Files are no longer than an eighth of it where they have no Size, and
	// than half of it in any case. Files that others make Beside do not count.
	Total int64

	// Age is how long ago the last packet of a file may be, in packet time, until it is
	// removed; of a file of an earlier run, its last change. The newest file stays. A clock
	// that was set forward makes files old.
	Age time.Duration

	// Beside is what follows the name of a file in that of another one, which others make of
	// it and which is removed with it, as ".html"; empty: there are none.
	Beside string

	// Finished is called with the path of each file that has got its name; may be nil. It is
	// called by the methods of Writer and must not block.
	Finished func(path string)

	// Write is how files are written. Path selects the Format, and FlushEvery
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
	Expired uint64 // of these, those that were older than Options.Age
	Errors  uint64 // attempts to write, rename or remove that failed
	Failing error  // why packets are not written at the moment, or nil

	// Present and PresentBytes are the finished files that are there now, with those of earlier runs
	// that a limit counts.
	Present      uint64
	PresentBytes int64
}

// Writer is a ring of files that is being written.
type Writer struct {
	opt      Options
	names    names
	root     *os.Root
	lockFile *os.File   // nil: nothing is
	finished []ringFile // the oldest first; none where nothing bounds them
	foreign  int        // how many of these, the oldest, are of earlier runs
	bytes    int64      // of all of these
	number   uint64     // of the last file
	clock    clock
	stats    Stats

	// The file that is being written.
	part    *os.File // nil: none
	out     *file.Writer
	name    string // without partSuffix
	begunAt int64  // time of clock
	newest  int64  // time of its last packet

	retryAt    int64  // when the next file is tried after an error, time of clock
	lostBytes  int64  // bytes lost since then
	lastReason string // reason of the last error that was returned
	hasFailed  bool   // there was an error since the file began
	hasRefused bool   // a packet was refused, and the error returned
}

// ringFile is a finished file.
type ringFile struct {
	number uint64
	name   string
	size   int64
	last   int64 // time of its last packet, Unix nanoseconds
}

// Open opens the folder of a ring and finds the files that earlier runs with the
// same Path left there: numbers continue theirs, and Files bounds all of them. A
// file that an earlier run did not finish gets its name, and its end stays as it
// is; it is removed if it has no packets. Until Close, no other run can open the
// ring. A folder that cannot be written is an error. Errors are of type *file.Error.
func Open(o Options) (*Writer, error) {
	n, err := namesOf(o.Path)
	if err != nil {
		return nil, err
	}
	if o.Files > maxKept {
		return nil, tooManyError(o.Path)
	}
	if o.Write.Format, err = file.FormatOf(n.prefix + n.ext); err != nil {
		return nil, err
	}
	if o.Total > 0 {
		o.Size = min(cmp.Or(o.Size, o.Total/filesOfTotal), o.Total/2)
	}
	if o.Write.FlushEvery == 0 {
		o.Write.FlushEvery = DefaultFlush
	}
	root, err := os.OpenRoot(n.folder)
	if err != nil {
		return nil, file.WriteError(n.pathOf("."), err)
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

// Stats returns the counts so far.
func (w *Writer) Stats() Stats {
	s := w.stats
	if w.part != nil {
		s.Packets += w.out.Stats().Packets
	}
	return s
}

// Write writes a packet, to the next file if this one has reached its Size or Time.
// An error, of type *file.Error, is returned when it first occurs, and again only
// after packets were written in between or when its reason changes; Write can be
// called after any error. The data of p is copied.
func (w *Writer) Write(p *capture.Packet) error {
	w.clock.advance(p.Nanos)
	var first error
	if w.part != nil && (w.fileIsOld() || w.opt.Size > 0 && w.out.Stats().Packets > 0 && w.out.SizeWith(p) > w.opt.Size) {
		first = w.finishFile()
	}
	if w.part == nil {
		if w.mustWait() {
			w.stats.Lost++
			w.lostBytes += int64(len(p.Data))
			return first
		}
		if err := w.beginFile(p.Nanos); err != nil {
			first = err
		}
		if w.part == nil {
			w.stats.Lost++
			return first
		}
	}
	if w.opt.Total > 0 && w.bytes+w.out.SizeWith(p) > w.opt.Total {
		first = cmp.Or(first, w.makeRoom(p))
	}
	written := w.packetsInFile()
	if err := w.out.Write(p); err != nil {
		return w.handleWriteError(err)
	}
	w.newest = p.Nanos
	w.noteRecovery(written)
	return first
}

// Tick moves the ring's time to a packet time when no packets arrive, so that files
// are flushed and finished in time.
func (w *Writer) Tick(nanos int64) error {
	w.clock.advance(nanos)
	if w.part == nil {
		return nil
	}
	if w.fileIsOld() {
		return w.finishFile()
	}
	written := w.packetsInFile()
	if err := w.out.Tick(nanos); err != nil {
		return w.handleWriteError(err)
	}
	w.noteRecovery(written)
	return nil
}

// Rotate finishes the file that is being written. The next packet begins another.
func (w *Writer) Rotate() error {
	if w.part == nil {
		return nil
	}
	return w.finishFile()
}

// Close finishes the file that is being written, and the ring.
func (w *Writer) Close() error {
	err := w.Rotate()
	w.unlock()
	if e := w.root.Close(); e != nil && err == nil {
		err = file.WriteError(w.names.pathOf("."), e)
	}
	return err
}

// fileIsOld reports whether the file has lasted Options.Time.
func (w *Writer) fileIsOld() bool {
	return w.opt.Time > 0 && w.clock.elapsed-w.begunAt >= int64(w.opt.Time)
}

// mustWait reports whether it is too early to try the next file after an error:
// retryAt is not reached, and fewer bytes were lost than a file would have held.
func (w *Writer) mustWait() bool {
	return w.stats.Failing != nil && w.clock.elapsed < w.retryAt && (w.opt.Size <= 0 || w.lostBytes < w.opt.Size)
}

// clock turns packet time, which steps forward and back, into elapsed time, which
// never goes back: it stands still while packets arrive out of order, and continues
// after the system's clock was set back. A clock that was set forward cannot be
// distinguished from silence, and counts as that.
type clock struct {
	elapsed int64 // nanoseconds since the first packet
	newest  int64 // packet time at that moment
	started bool
}

// advance moves the clock to a packet time.
func (c *clock) advance(nanos int64) {
	switch {
	case !c.started:
		c.newest, c.started = nanos, true
	case nanos > c.newest:
		c.elapsed = addSpan(c.elapsed, nanos-c.newest)
		c.newest = nanos
	case c.newest-nanos > int64(maxDisorder):
		c.newest = nanos
	}
}

// elapsedAt returns the elapsed time that belongs to a packet time, before or after
// the present one.
func (c *clock) elapsedAt(nanos int64) int64 {
	switch ahead := nanos - c.newest; {
	case nanos > c.newest && ahead < 0: // it overflowed
		return addSpan(c.elapsed, 1<<63-1)
	case nanos < c.newest && ahead > 0:
		return -1 << 63
	case ahead > 0:
		return addSpan(c.elapsed, ahead)
	default:
		return c.elapsed + ahead
	}
}

// addSpan returns a plus a span that is not negative, or the largest int64 if the sum
// is beyond it.
func addSpan(a, span int64) int64 {
	if sum := a + span; sum >= a {
		return sum
	}
	return 1<<63 - 1
}

// span returns a duration in nanoseconds, 0 for a negative one.
func span(d time.Duration) int64 { return max(0, int64(d)) }

// handleWriteError returns an error of the file's Writer if it is to be reported to the
// caller. A packet that the format cannot hold is counted as refused, and reported once;
// after any other error the file is finished.
func (w *Writer) handleWriteError(err error) error {
	if errors.Is(err, file.ErrRefused) {
		w.stats.Refused++
		if w.hasRefused {
			return nil
		}
		w.hasRefused = true
		return err
	}
	return w.finishFile() // Close returns the same error
}

// pauseAfter sets the time before which no next file is tried: after retryAfter, or
// after Options.Time if that is shorter. It returns err if it is to be reported.
func (w *Writer) pauseAfter(err error) error {
	wait := retryAfter
	if w.opt.Time > 0 {
		wait = min(wait, w.opt.Time)
	}
	w.retryAt = addSpan(w.clock.elapsed, span(wait))
	w.lostBytes = 0
	w.stats.Failing = err
	return w.reportOnce(err)
}

// reportOnce counts an error, and returns it unless its reason is that of the last one
// returned since the ring recovered.
func (w *Writer) reportOnce(err error) error {
	w.stats.Errors++
	w.hasFailed = true
	reason := err.Error()
	if e := (*file.Error)(nil); errors.As(err, &e) {
		reason = e.Reason
	}
	if reason == w.lastReason {
		return nil
	}
	w.lastReason = reason
	return err
}

// noteRecovery ends the state of failing once more packets are in the file than
// before. A header alone is no recovery: a full disk may still take that.
func (w *Writer) noteRecovery(before uint64) {
	if w.stats.Failing != nil && w.packetsInFile() > before {
		w.stats.Failing = nil
		w.lastReason = ""
	}
}

// packetsInFile returns how many packets are in the file, without those in the buffer.
func (w *Writer) packetsInFile() uint64 {
	s := w.out.Stats()
	return s.Packets - s.Held
}

// Names of a ring's files are
//
//	PREFIX_20261121T201500Z_00001.pcapng
//
// with the time of the first packet and a number that goes up by one with each
// file, over all runs. The number is the order of the files: times are not, once a
// clock is set back. While a file is written, its name ends in partSuffix. While the
// ring is open, there is a file .PREFIX.pcapng.lock.
const (
	partSuffix   = ".part"
	lockSuffix   = ".lock"
	timeLayout   = "20060102T150405Z"
	numberDigits = 5
	defaultExt   = ".pcapng"
)

// names makes and parses the names of one ring's files.
type names struct {
	folder, prefix, ext string
}

// namesOf splits Options.Path into folder, prefix and extension.
func namesOf(path string) (names, error) {
	n := names{folder: filepath.Dir(path), ext: filepath.Ext(path)}
	n.prefix = strings.TrimSuffix(filepath.Base(path), n.ext)
	if n.ext == "" {
		n.ext = defaultExt
	}
	if strings.HasSuffix(path, string(filepath.Separator)) || n.prefix == "" || n.prefix == "." || n.prefix == ".." {
		return n, &file.Error{File: path, Offset: -1, Reason: "no name for the files of a ring",
			Hint: "name the folder and how the files begin, such as " + filepath.Join(path, "qsniff.pcapng")}
	}
	return n, nil
}

// fileName returns the name of a finished file whose first packet is of that time.
func (n names) fileName(number uint64, nanos int64) string {
	digits := strconv.FormatUint(number, 10)
	for len(digits) < numberDigits {
		digits = "0" + digits
	}
	return n.prefix + "_" + time.Unix(0, nanos).UTC().Format(timeLayout) + "_" + digits + n.ext
}

// parse returns the number of a file of the ring, and whether it is finished; ok is
// false for any other name.
func (n names) parse(name string) (number uint64, finished, ok bool) {
	rest, part := strings.CutSuffix(name, partSuffix)
	rest, ok1 := strings.CutPrefix(rest, n.prefix+"_")
	rest, ok2 := strings.CutSuffix(rest, n.ext)
	when, digits, ok3 := strings.Cut(rest, "_")
	if !ok1 || !ok2 || !ok3 || len(digits) < numberDigits || strings.Trim(digits, "0123456789") != "" {
		return 0, false, false
	}
	if _, err := time.Parse(timeLayout, when); err != nil {
		return 0, false, false
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, !part, err == nil
}

// lockName returns the name of the file that is locked while the ring is open.
func (n names) lockName() string { return "." + n.prefix + n.ext + lockSuffix }

// pathOf returns a name with its folder, for messages.
func (n names) pathOf(name string) string { return filepath.Join(n.folder, name) }

const (
	// limit: DefaultFlush is how much packet time may pass before packets in the buffer are
	// written to the file: what a process that is killed may lose. A write a second
	// costs nothing that can be measured.
	DefaultFlush = time.Second

	// limit: retryAfter is how much packet time passes at most after an error before the
	// next file is tried. Chosen: six attempts a minute are no load for a full disk,
	// and 10 s of packets are all that is lost once there is room.
	retryAfter = 10 * time.Second

	// limit: filesOfTotal is how many files share Options.Total where they have no size of their own.
	// Chosen: room for a new file costs an eighth of what is there, and no more.
	filesOfTotal = 8

	// limit: maxDisorder is how far back time may go between packets and count as packets
	// of several interfaces that arrive in turn; more is a clock that was set back.
	// Chosen: interfaces are read in turn within capture/live's delay, below 1 s.
	maxDisorder = 2 * time.Second
)
