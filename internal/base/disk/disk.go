// Package disk reports how much room a file system has. It does not watch it.
package disk

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Free returns how many bytes a user without rights may still write on the file system of a path; where that does not
// exist yet, of the nearest folder above it that does.
func Free(path string) (uint64, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return 0, err
	}
	for {
		n, err := free(path)
		above := filepath.Dir(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || above == path {
			return n, err
		}
		path = above
	}
}

// Used returns how many bytes the regular files below a folder have. What vanishes meanwhile is left out.
func Used(folder string) (n int64) {
	_ = filepath.WalkDir(folder, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
