package mcp

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"qsniff/internal/render/manual"
)

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
