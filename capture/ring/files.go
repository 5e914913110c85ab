package ring

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"qsniff/capture"
	"qsniff/capture/file"
	"qsniff/internal/base/digits"
	"qsniff/internal/base/flock"
)

// fileMode lets only their owner read new files: captures hold passwords.
const fileMode = 0o600

// scan finds the files of earlier runs, finishes those that they did not, and
// checks that the folder can be written.
func (w *Writer) scan() error {
	folder, err := w.root.Open(".")
	if err != nil {
		return file.WriteError(w.names.pathOf("."), err)
	}
	defer folder.Close()
	var parts []ringFile
	for {
		entries, err := folder.ReadDir(1024)
		for _, e := range entries {
			number, finished, ok := w.names.parse(e.Name())
			if !ok || !e.Type().IsRegular() {
				continue
			}
			w.number = max(w.number, number)
			if f := (ringFile{number: number, name: e.Name()}); !finished {
				parts = append(parts, f)
			} else {
				w.addForeign(f)
			}
			if len(w.finished)+len(parts) > maxKept {
				return tooManyError(w.names.folder)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return file.WriteError(w.names.pathOf("."), err)
		}
	}
	for _, p := range parts {
		if err := w.adopt(p); err != nil {
			return err
		}
	}
	w.foreign = len(w.finished)
	slices.SortFunc(w.finished, func(a, b ringFile) int { return cmp.Compare(a.number, b.number) })
	return w.checkWritable()
}

func tooManyError(path string) error {
	return &file.Error{File: path, Offset: -1, Reason: "more than " + digits.Grouped(maxKept) + " files in one ring",
		Hint: "move some away, or make the files longer"}
}

// addFinished counts a finished file, and records it if anything bounds finished files.
func (w *Writer) addFinished(k ringFile) {
	w.stats.Present++
	w.stats.PresentBytes += k.size
	if w.opt.Files > 0 || w.opt.Total > 0 || w.opt.Age > 0 {
		w.finished = append(w.finished, k)
		w.bytes += k.size
	}
}

// addForeign records a finished file of an earlier run, if that is bounded. One that has gone since
// counts as empty.
func (w *Writer) addForeign(k ringFile) {
	if w.opt.OwnOnly && w.opt.Total == 0 && w.opt.Age == 0 {
		return
	}
	if info, err := w.root.Lstat(k.name); err == nil {
		k.size, k.last = info.Size(), info.ModTime().UnixNano()
	}
	w.addFinished(k)
}

// adopt finishes a file that an earlier run did not: it gives the file its name, or
// removes it if it has no packets. A file that is locked belongs to a run that still
// writes, and is an error.
func (w *Writer) adopt(p ringFile) error {
	f, err := w.root.OpenFile(p.name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil // of another user: it stays as it is
	}
	if err != nil {
		return file.WriteError(w.names.pathOf(p.name), err)
	}
	defer f.Close()
	if !flock.TryLock(f) {
		return busyError(w.names.pathOf(p.name))
	}
	if isEmpty(f) {
		if err := w.root.Remove(p.name); err != nil {
			return file.WriteError(w.names.pathOf(p.name), err)
		}
		return nil
	}
	p.name = p.name[:len(p.name)-len(partSuffix)]
	if err := w.root.Rename(p.name+partSuffix, p.name); err != nil {
		return file.WriteError(w.names.pathOf(p.name), err)
	}
	w.addForeign(p)
	return nil
}

// isEmpty reports whether there is nothing in a file, or nothing but the header of a
// capture. A malformed or cut one is not empty, as there may be packets in it.
func isEmpty(f *os.File) bool {
	if info, err := f.Stat(); err != nil || info.Size() == 0 {
		return err == nil
	}
	r, err := file.NewReader(f, f.Name())
	if err != nil {
		return false
	}
	var b capture.Batch
	err = r.Read(&b)
	return err == io.EOF && len(b.Gaps) == 0
}

// checkWritable creates a file and removes it, so that a folder that cannot be
// written is an error before the capture starts.
func (w *Writer) checkWritable() error {
	name := w.names.prefix + "_probe" + partSuffix
	f, err := w.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return file.WriteError(w.names.pathOf("."), err)
	}
	f.Close()
	if err := w.root.Remove(name); err != nil {
		return file.WriteError(w.names.pathOf("."), err)
	}
	return nil
}

// beginFile begins the next file, whose first packet is of that time. Old files are
// removed once it exists, so that none are lost where none can be created.
func (w *Writer) beginFile(nanos int64) error {
	for {
		w.number++
		w.name = w.names.fileName(w.number, nanos)
		f, err := w.root.OpenFile(w.name+partSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
		if errors.Is(err, fs.ErrExist) {
			continue // not of this run: take the next number
		}
		if err != nil {
			w.number-- // the next attempt takes the same number
			return w.pauseAfter(file.WriteError(w.names.pathOf(w.name), err))
		}
		w.part = f
		break
	}
	flock.TryLock(w.part) // so that no other run adopts it
	if w.out == nil {
		w.out = file.NewWriter(w.part, w.names.pathOf(w.name), w.opt.Write)
	} else {
		w.out.Reset(w.part, w.names.pathOf(w.name))
	}
	w.begunAt = w.clock.elapsed
	w.hasFailed = false
	return w.removeOld()
}

// removeOld removes the oldest files until there is room for one more below
// Options.Files. One that cannot be removed stays, and is tried again with the next
// file.
func (w *Writer) removeOld() error {
	first := 0
	if w.opt.OwnOnly {
		first = w.foreign
	}
	for w.opt.Files > 0 && len(w.finished)-first >= w.opt.Files {
		if err := w.remove(first); err != nil {
			return err
		}
	}
	return nil
}

// makeRoom removes the oldest files until there is room for a packet below Options.Total.
func (w *Writer) makeRoom(p *capture.Packet) error {
	for w.bytes+w.out.SizeWith(p) > w.opt.Total && len(w.finished) > 0 {
		if err := w.remove(0); err != nil {
			return err
		}
	}
	return nil
}

// Expire removes the files that are older than Options.Age at a packet time, but for the newest.
// It is quick where there are none.
func (w *Writer) Expire(nanos int64) error {
	for w.opt.Age > 0 && len(w.finished) > 1 && nanos-w.finished[0].last > int64(w.opt.Age) {
		if err := w.remove(0); err != nil {
			return err
		}
		w.stats.Expired++
	}
	return nil
}

// remove removes a finished file, and what others made of it. One that has gone already is no
// error.
func (w *Writer) remove(i int) error {
	k := w.finished[i]
	err := w.root.Remove(k.name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w.reportOnce(file.WriteError(w.names.pathOf(k.name), err))
	}
	if err == nil {
		w.stats.Removed++
	}
	if w.opt.Beside != "" {
		_ = w.root.Remove(k.name + w.opt.Beside) // there may be none
	}
	w.finished = slices.Delete(w.finished, i, i+1)
	w.bytes -= k.size
	w.stats.Present--
	w.stats.PresentBytes -= k.size
	if i < w.foreign {
		w.foreign--
	}
	return nil
}

// finishFile closes the file and gives it its name, or removes it if it has no
// packets. A file that cannot be renamed stays as it is, and gets its name when
// the ring is opened again.
func (w *Writer) finishFile() error {
	err := w.out.Close()
	if e := w.part.Close(); e != nil && err == nil {
		err = file.WriteError(w.names.pathOf(w.name), e)
	}
	w.part = nil
	s := w.out.Stats()
	w.stats.Packets += s.Packets
	w.stats.Lost += s.Lost
	unnamed := w.nameFinished(s.Packets)
	switch {
	case err != nil:
		return w.pauseAfter(err)
	case unnamed != nil:
		return w.reportOnce(file.WriteError(w.names.pathOf(w.name), unnamed))
	case s.Packets > 0 && !w.hasFailed:
		w.stats.Failing, w.lastReason = nil, ""
	}
	return nil
}

// nameFinished gives a closed file its name, or removes it if it has no packets.
func (w *Writer) nameFinished(packets uint64) error {
	if packets == 0 {
		return w.root.Remove(w.name + partSuffix)
	}
	if err := w.root.Rename(w.name+partSuffix, w.name); err != nil {
		return err
	}
	w.stats.Files++
	w.addFinished(ringFile{w.number, w.name, w.out.Stats().Bytes, w.newest})
	if w.opt.Finished != nil {
		w.opt.Finished(w.names.pathOf(w.name))
	}
	return nil
}

// lock locks the ring until unlock, or returns an error if another run holds it.
// Files that are being written are locked themselves, but between two of them there
// may be none for long; so a hidden file beside them is locked. One that a killed
// run left there is not locked, and is used again.
//
// The lock file is opened for reading, so that the file system can be made
// read-only meanwhile. NFS locks files only if they are open for writing; there the
// ring has only the locks of its files.
func (w *Writer) lock() error {
	name := w.names.lockName()
	for range lockTries {
		f, err := w.root.OpenFile(name, os.O_CREATE|os.O_RDONLY, fileMode)
		if errors.Is(err, fs.ErrPermission) && w.exists(name) {
			return nil // of another user, who may have been killed long ago
		}
		if err != nil {
			return file.WriteError(w.names.pathOf("."), err)
		}
		if !flock.TryLock(f) {
			f.Close()
			return busyError(w.names.pathOf(w.names.prefix + w.names.ext))
		}
		w.lockFile = f
		if w.ownsLock(name) {
			return nil
		}
		w.lockFile = nil // it was removed before it was locked
		f.Close()
	}
	return nil
}

// unlock removes the lock file and releases the ring.
func (w *Writer) unlock() {
	if w.lockFile == nil {
		return
	}
	if name := w.names.lockName(); w.ownsLock(name) {
		_ = w.root.Remove(name) // else it is left over
	}
	w.lockFile.Close()
	w.lockFile = nil
}

// ownsLock reports whether the file of that name is the one that this run locked.
func (w *Writer) ownsLock(name string) bool {
	mine, err := w.lockFile.Stat()
	if err != nil {
		return false
	}
	now, err := w.root.Stat(name)
	return err == nil && os.SameFile(mine, now)
}

// exists reports whether there is a file of that name in the folder.
func (w *Writer) exists(name string) bool {
	_, err := w.root.Lstat(name)
	return err == nil
}

func busyError(path string) error {
	return &file.Error{File: path, Offset: -1, Err: fs.ErrExist,
		Reason: "another capture is writing this ring", Hint: "end it, or choose another name"}
}

const (
	// limit: maxKept is how many files a ring may have: as many as capture/file reads of one
	// folder, with about 8 MiB of names. A ring with more is refused.
	maxKept = 1 << 16

	// limit: lockTries is how often the lock file may be removed by another run between the
	// moment it is opened and the moment it is locked. Once is rare; more often means
	// that the file system does not identify files, and the ring is written without
	// its lock.
	lockTries = 10
)
