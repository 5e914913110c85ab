package ring

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"qsniff/capture/file"
)

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
