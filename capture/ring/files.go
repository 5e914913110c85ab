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
	"qsniff/internal/digits"
	"qsniff/internal/flock"
)

// mode is that of new files: captures hold passwords.
const mode = 0o600

// scan finds the files of earlier runs, finishes what they left, and makes sure
// that the folder can be written.
func (w *Writer) scan() error {
	folder, err := w.root.Open(".")
	if err != nil {
		return file.WriteError(w.names.path("."), err)
	}
	defer folder.Close()
	var parts []kept
	for {
		entries, err := folder.ReadDir(1024)
		for _, e := range entries {
			number, finished, ok := w.names.parse(e.Name())
			if !ok || !e.Type().IsRegular() {
				continue
			}
			w.number = max(w.number, number)
			if !finished {
				parts = append(parts, kept{number, e.Name()})
			} else if !w.opt.Own {
				w.keep(kept{number, e.Name()})
			}
			if len(w.kept)+len(parts) > maxKept {
				return tooMany(w.names.folder)
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return file.WriteError(w.names.path("."), err)
		}
	}
	for _, p := range parts {
		if err := w.adopt(p); err != nil {
			return err
		}
	}
	slices.SortFunc(w.kept, func(a, b kept) int { return cmp.Compare(a.number, b.number) })
	return w.probe()
}

func tooMany(path string) error {
	return &file.Error{File: path, Offset: -1, Reason: "more than " + digits.Grouped(maxKept) + " files in one ring",
		Hint: "move some away, or make the files longer"}
}

// keep counts a finished file in. Without a bound on their number, nobody asks.
func (w *Writer) keep(k kept) {
	if w.opt.Files > 0 {
		w.kept = append(w.kept, k)
	}
}

// adopt gives a file its name that an earlier run did not finish, or removes it
// if it has no packets. One that is locked belongs to a run that still lives.
func (w *Writer) adopt(p kept) error {
	f, err := w.root.OpenFile(p.name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil // of another user: it stays as it is
	}
	if err != nil {
		return file.WriteError(w.names.path(p.name), err)
	}
	defer f.Close()
	if !flock.Take(f) {
		return busy(w.names.path(p.name))
	}
	if empty(f) {
		if err := w.root.Remove(p.name); err != nil {
			return file.WriteError(w.names.path(p.name), err)
		}
		return nil
	}
	p.name = p.name[:len(p.name)-len(partSuffix)]
	if err := w.root.Rename(p.name+partSuffix, p.name); err != nil {
		return file.WriteError(w.names.path(p.name), err)
	}
	if !w.opt.Own {
		w.keep(p)
	}
	return nil
}

// empty says that there is nothing in a file, or nothing but the header of a
// capture. Damage may hide packets, and what was cut is kept, too.
func empty(f *os.File) bool {
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

// probe makes a file and removes it: a folder that cannot be written is better
// known before the capture starts.
func (w *Writer) probe() error {
	name := w.names.prefix + "_probe" + partSuffix
	f, err := w.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return file.WriteError(w.names.path("."), err)
	}
	f.Close()
	if err := w.root.Remove(name); err != nil {
		return file.WriteError(w.names.path("."), err)
	}
	return nil
}

// begin begins the next file. Old files are removed once it is there, so that a
// folder that cannot be written does not lose them.
func (w *Writer) begin(nanos int64) error {
	for {
		w.number++
		w.name = w.names.name(w.number, nanos)
		f, err := w.root.OpenFile(w.name+partSuffix, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
		if errors.Is(err, fs.ErrExist) {
			continue // somebody else's; numbers go on
		}
		if err != nil {
			w.number-- // numbers have no holes
			return w.fail(file.WriteError(w.names.path(w.name), err))
		}
		w.part = f
		break
	}
	flock.Take(w.part) // says that this file is not left over
	if w.out == nil {
		w.out = file.NewWriter(w.part, w.names.path(w.name), w.opt.Write)
	} else {
		w.out.Reset(w.part, w.names.path(w.name))
	}
	w.since = w.clock.passed
	w.trouble = false
	return w.removeOld()
}

// removeOld removes as many of the oldest files as there are too many. One that
// cannot be removed stays, and is tried again with the next file.
func (w *Writer) removeOld() error {
	var first error
	for w.opt.Files > 0 && len(w.kept) >= w.opt.Files {
		err := w.root.Remove(w.kept[0].name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			first = w.report(file.WriteError(w.names.path(w.kept[0].name), err))
			break
		}
		if err == nil {
			w.stats.Removed++
		}
		w.kept = w.kept[1:]
	}
	return first
}

// finish closes the file and gives it its name, or removes it if it has no
// packets. A file that cannot be renamed keeps its packets, and gets its name when
// a ring is opened here again.
func (w *Writer) finish() error {
	err := w.out.Close()
	if e := w.part.Close(); e != nil && err == nil {
		err = file.WriteError(w.names.path(w.name), e)
	}
	w.part = nil
	s := w.out.Stats()
	w.stats.Packets += s.Packets
	w.stats.Lost += s.Lost
	unnamed := w.nameFinished(s.Packets)
	switch {
	case err != nil:
		return w.fail(err)
	case unnamed != nil:
		return w.report(file.WriteError(w.names.path(w.name), unnamed))
	case s.Packets > 0 && !w.trouble:
		w.stats.Failing, w.reported = nil, ""
	}
	return nil
}

func (w *Writer) nameFinished(packets uint64) error {
	if packets == 0 {
		return w.root.Remove(w.name + partSuffix)
	}
	if err := w.root.Rename(w.name+partSuffix, w.name); err != nil {
		return err
	}
	w.stats.Files++
	w.keep(kept{w.number, w.name})
	return nil
}
