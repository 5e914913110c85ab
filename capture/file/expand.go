package file

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qsniff/capture"
	"qsniff/internal/base/digits"
)

// Listing is what a directory holds.
type Listing struct {
	Captures []string // paths, by the time of the first packet, then by name
	Skipped  []string // paths of files that are no captures; hidden ones are not mentioned
}

// Expand replaces the directories among names by the captures in them, and
// leaves all other names as they are and where they are. A directory without
// captures is an error.
func Expand(names []string) ([]string, error) {
	var all []string
	for _, name := range names {
		info, err := os.Stat(name)
		if name == stdinArg || err != nil || !info.IsDir() {
			all = append(all, name) // Open returns what is wrong with it
			continue
		}
		l, err := List(name)
		if err != nil {
			return nil, err
		}
		if len(l.Captures) == 0 {
			return nil, &Error{File: name, Offset: wholeFile, Reason: "no captures in this directory", Err: ErrFormat}
		}
		all = append(all, l.Captures...)
	}
	if len(all) > maxDirectory {
		return nil, &Error{File: names[0], Offset: wholeFile,
			Reason: digits.Grouped(int64(len(all))) + " captures, above the limit of " + digits.Grouped(maxDirectory)}
	}
	return all, nil
}

// List lists the files of a directory, not those below it. A file that cannot be
// read is listed as a capture, so that opening it returns why. Captures without a
// packet come last.
func List(directory string) (Listing, error) {
	entries, err := regularFiles(directory)
	if err != nil {
		return Listing{}, err
	}
	var l Listing
	var found []datedCapture
	var p peeker
	for _, e := range entries {
		path := filepath.Join(directory, e.Name())
		start, err := p.firstTime(path)
		switch {
		case errors.Is(err, ErrFormat), errors.Is(err, io.ErrUnexpectedEOF) && start == noStart:
			l.Skipped = append(l.Skipped, path)
		default:
			found = append(found, datedCapture{path, start})
		}
	}
	slices.SortFunc(found, datedCapture.compare)
	for _, f := range found {
		l.Captures = append(l.Captures, f.path)
	}
	return l, nil
}

// regularFiles returns the files of a directory that are not hidden, by name.
func regularFiles(directory string) ([]fs.DirEntry, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return nil, systemError(directory, err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), ".") || !e.Type().IsRegular()
	})
	if len(entries) > maxDirectory {
		return nil, &Error{File: directory, Offset: wholeFile,
			Reason: digits.Grouped(int64(len(entries))) + " files, above the limit of " + digits.Grouped(maxDirectory)}
	}
	return entries, nil
}

// datedCapture is a capture with the time of its first packet.
type datedCapture struct {
	path  string
	start int64 // Unix time in nanoseconds, or noStart
}

// noStart is the start of a capture without packets, or of no capture.
const noStart = math.MaxInt64

// compare orders captures by the time of the first packet, then by path.
func (a datedCapture) compare(b datedCapture) int {
	return cmp.Or(cmp.Compare(a.start, b.start), strings.Compare(a.path, b.path))
}

// peeker reads the first packets of captures, one after the other, into one batch.
type peeker struct{ batch capture.Batch }

// firstTime returns the time of a capture's first packet, noStart if it has none. Its
// error is that of Open.
func (p *peeker) firstTime(path string) (int64, error) {
	r, err := Open(path)
	if err != nil {
		return noStart, err
	}
	defer r.Close()
	r.Read(&p.batch) // of its error only the absence of packets matters here
	if len(p.batch.Packets) == 0 {
		return noStart, nil
	}
	return p.batch.Packets[0].Nanos, nil
}

// OpenAll opens several captures, such as those that Expand returns, for
// capture.Merge. Of each regular file it reads the time of the first packet, closes
// it, and has the merge open it again when it has come to that time. A name that does
// not exist is an error at once, because it was mistyped. A file that cannot be read
// does not stop the others: it is a source without packets whose Read returns why.
func OpenAll(names []string, opts ...Option) ([]capture.Source, error) {
	const size = 1 // of a file that cannot be read: 0 would mean that its size is unknown
	var p peeker
	var all []capture.Source
	for _, name := range names {
		src, err := p.openDelayed(name, opts)
		if errors.Is(err, fs.ErrNotExist) {
			for _, s := range all {
				s.Close()
			}
			return nil, err
		}
		if err != nil {
			src = capture.Delayed(noStart, size, func() (capture.Source, error) { return nil, err })
		}
		all = append(all, src)
	}
	return all, nil
}

// OpenMerged opens captures as one source: several are merged by time, and the clocks of interfaces of one
// are compared.
func OpenMerged(names []string, opts ...Option) (capture.Source, error) {
	isByGopacket := optionsOf(opts).gopacket
	if len(names) == 1 && !isByGopacket {
		src, err := Open(names[0], opts...)
		if err != nil {
			return nil, err
		}
		return capture.Align(src), nil
	}
	openAll := OpenAll
	if isByGopacket {
		openAll = openAllGopacket
	}
	all, err := openAll(names, opts...)
	switch {
	case err != nil:
		return nil, err
	case len(all) == 1:
		return all[0], nil
	}
	return capture.Merge(all...), nil
}

// openAllGopacket opens captures with gopacket's reader. One that cannot be read is an error.
func openAllGopacket(names []string, opts ...Option) ([]capture.Source, error) {
	var all []capture.Source
	for _, name := range names {
		src, err := OpenGopacket(name, opts...)
		if err != nil {
			for _, s := range all {
				s.Close()
			}
			return nil, err
		}
		all = append(all, src)
	}
	return all, nil
}

// openDelayed opens standard input or a pipe, and prepares the opening of a regular
// file.
func (p *peeker) openDelayed(name string, opts []Option) (capture.Source, error) {
	info, err := os.Stat(name)
	if name == stdinArg || err != nil || !info.Mode().IsRegular() {
		return Open(name, opts...)
	}
	start, err := p.firstTime(name)
	if err != nil {
		return nil, err
	}
	return capture.Delayed(start, info.Size(), func() (capture.Source, error) { return Open(name, opts...) }), nil
}
