package file

import (
	"io/fs"
	"path/filepath"
	"time"
)

// ringFinder finds the next file of a directory to which a capturing program adds
// files, or in which it overwrites the oldest.
type ringFinder struct {
	directory string
	current   datedCapture // the capture that packets were read from last
	known     map[string]fileState
	peek      peeker
}

// fileState is a file as it was when its first packet was read.
type fileState struct {
	size     int64
	modified time.Time
	start    int64
}

// findNext returns the capture that begins next after the current one, "" if there is
// none yet. It never returns except, the file that is being read, which may have got its
// first packet just now.
func (r *ringFinder) findNext(except string) (string, error) {
	entries, err := regularFiles(r.directory)
	if err != nil {
		return "", err
	}
	next := datedCapture{start: noStart}
	known := make(map[string]fileState, len(entries)) // without files that were deleted
	for _, e := range entries {
		path := filepath.Join(r.directory, e.Name())
		info, err := e.Info()
		if err != nil {
			continue // deleted in between
		}
		s := r.inspect(path, info)
		known[path] = s
		one := datedCapture{path, s.start}
		if path != except && r.current.compare(one) < 0 && one.compare(next) < 0 {
			next = one
		}
	}
	r.known = known
	return next.path, nil
}

// inspect returns the state of a file. It reads the first packet again whenever the file
// has changed: a file that has grown may have been overwritten by a longer one.
func (r *ringFinder) inspect(path string, info fs.FileInfo) fileState {
	s, ok := r.known[path]
	if ok && s.size == info.Size() && s.modified.Equal(info.ModTime()) {
		return s
	}
	start, err := r.peek.firstTime(path)
	if err != nil {
		start = noStart
	}
	return fileState{size: info.Size(), modified: info.ModTime(), start: start}
}
