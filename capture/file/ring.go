package file

import (
	"io/fs"
	"path/filepath"
	"time"
)

// ring finds the next file of a directory to which a capturing program adds
// files, or of which it overwrites the oldest.
type ring struct {
	directory string
	current   begun // the capture that packets were read from last
	known     map[string]seen
	peek      peeker
}

// seen is what a file was found to be, and when it had that size.
type seen struct {
	size     int64
	modified time.Time
	start    int64
}

// newer returns the capture that begins next after the current one, "" if none
// does yet; except is the file that is being read, which may have got its first
// packet just now. Files without packets are looked at again when they have
// changed.
func (r *ring) newer(except string) (string, error) {
	entries, err := regularFiles(r.directory)
	if err != nil {
		return "", err
	}
	next := begun{start: noStart}
	known := make(map[string]seen, len(entries)) // forgets those that are gone
	for _, e := range entries {
		path := filepath.Join(r.directory, e.Name())
		info, err := e.Info()
		if err != nil {
			continue // deleted in between
		}
		s := r.look(path, info)
		known[path] = s
		one := begun{path, s.start}
		if path != except && r.current.compare(one) < 0 && one.compare(next) < 0 {
			next = one
		}
	}
	r.known = known
	return next.path, nil
}

// look returns what is known of a file, from its content if it has changed. A
// first packet does not change while a file grows, but a file may be
// overwritten and be longer than before when it is looked at.
func (r *ring) look(path string, info fs.FileInfo) seen {
	s, ok := r.known[path]
	if ok && s.size == info.Size() && s.modified.Equal(info.ModTime()) {
		return s
	}
	start, err := r.peek.start(path)
	if err != nil {
		start = noStart
	}
	return seen{size: info.Size(), modified: info.ModTime(), start: start}
}
