// Package cli has what the command lines of qsniff and qsniff-hub share: values and groups of flags, the flags
// about who is told, files that flags name, and how a program starts itself. It prints nothing.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"qsniff/internal/base/display"
)

// Error is an error with a hint on what to do.
type Error struct {
	Err     error
	Hint    string
	IsUsage bool     // the command line is wrong
	Lines   []string // what was written, with a mark at the place
}

// Usage returns an error about the command line.
func Usage(err error, hint string) error { return &Error{Err: err, Hint: hint, IsUsage: true} }

// Hinted returns an error about anything else.
func Hinted(err error, hint string) error { return &Error{Err: err, Hint: hint} }

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// ReadFile reads a file of at most so many bytes, as what has. The errors do not have its name.
func ReadFile(name string, longest int64, what string) (string, error) {
	f, err := os.Open(name)
	if err == nil {
		defer f.Close()
		var b []byte
		if b, err = io.ReadAll(io.LimitReader(f, longest+1)); err == nil && int64(len(b)) <= longest {
			return string(b), nil
		}
	}
	if err == nil {
		return "", errors.New("too long to be a " + what)
	}
	return "", Reason(err)
}

// Reason returns the system's error about a file, without operation and name.
func Reason(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// NameFile returns an error about a file with its name and a hint, nil for nil.
func NameFile(name string, err error, hint string) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("no such file")
	}
	if err == nil {
		return nil
	}
	return Hinted(fmt.Errorf("%s: %w", name, err), hint)
}

// Build describes how a program was built.
type Build struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified"`       // sources differ from the revision
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// ReadBuild returns the description of this program. packaged is the version of sources that come without git, as those that
// packagers download do; empty: there is none.
func ReadBuild(packaged string) Build {
	b := Build{Version: "(unknown)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.setVersion(info.Main.Version, packaged)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// AppendVersion appends the version of a program and the revision that it was built from, a line each.
func (b *Build) AppendVersion(dst []byte, program string) []byte {
	dst = fmt.Appendf(dst, "%s %s\n", program, b.Short())
	switch {
	case b.Revision != "" && b.Modified:
		return fmt.Appendf(dst, "revision: %s of %s, changed since\n", b.Revision, b.Time)
	case b.Revision != "":
		return fmt.Appendf(dst, "revision: %s of %s\n", b.Revision, b.Time)
	case b.Version == unversioned:
		return append(dst, "revision: not recorded: built with -buildvcs=false, or not from a git clone; there, make build records it\n"...)
	}
	return dst
}

// unversioned is what Go calls the version of sources that have none; it adds dirty to one of changed sources.
const (
	unversioned = "(devel)"
	dirty       = "+dirty"
)

// madeUp is the form of the versions that Go makes for a commit without a tag: of a version before or after
// it, its time and the begin of its hash.
var madeUp = regexp.MustCompile(`^v\d+\.\d+\.\d+-(?:.+\.)?(\d{14})-([0-9a-f]{12})(?:\+.*)?$`)

// setVersion sets Version and what Go has put into it: the only place of a revision in a build of
// go install MODULE/cmd/qsniff@REVISION.
func (b *Build) setVersion(v, packaged string) {
	if v == unversioned && packaged != "" {
		v = packaged
	}
	b.Version, b.Modified = v, strings.HasSuffix(v, dirty)
	if m := madeUp.FindStringSubmatch(v); m != nil {
		if at, err := time.Parse("20060102150405", m[1]); err == nil {
			b.Revision, b.Time = m[2], at.Format(time.RFC3339)
		}
	}
}

// Short returns the tag that the program was built from, or the commit if it has none.
func (b *Build) Short() string {
	name := strings.TrimSuffix(b.Version, dirty)
	switch {
	case name != unversioned && !madeUp.MatchString(name):
	case b.Revision == "":
		return "of an unknown revision"
	default:
		name = b.Revision[:min(12, len(b.Revision))]
	}
	if b.Modified {
		name += ", changed since"
	}
	return name
}

// Quote returns words as one line for a POSIX shell, separated by blanks. A word with
// characters that a terminal would act on is written as $'...', which bash and zsh take.
func Quote(words ...string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		quote(&b, w)
	}
	return b.String()
}

func quote(b *strings.Builder, w string) {
	switch {
	case w != "" && strings.IndexFunc(w, isSpecial) < 0:
		b.WriteString(w)
	case !isPrintable(w):
		b.WriteString("$'")
		for len(w) > 0 {
			r, n := utf8.DecodeRuneInString(w)
			switch {
			case r == '\'' || r == '\\':
				b.WriteByte('\\')
				b.WriteRune(r)
			case r == utf8.RuneError && n == 1 || !unicode.IsPrint(r):
				for _, c := range []byte(w[:n]) {
					fmt.Fprintf(b, `\%03o`, c)
				}
			default:
				b.WriteRune(r)
			}
			w = w[n:]
		}
		b.WriteByte('\'')
	default:
		b.WriteString("'" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
}

// isSpecial reports whether a shell may take a character for more than itself.
func isSpecial(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_@%+=:,./-", r))
}

func isPrintable(w string) bool {
	return utf8.ValidString(w) && strings.IndexFunc(w, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// Lines is a standard error that is safe for terminals. Each Write, which is each call of
// fmt.Fprintf and its kin, is one line: it escapes what could act on a terminal or look
// like another line of ours. Messages contain names of files, of interfaces and of fields,
// arguments, and errors of the system and of libraries, any of which may be hostile.
type Lines struct{ To io.Writer }

// Write writes p as one line. It returns len(p), and not what the escaped line has.
func (m Lines) Write(p []byte) (int, error) {
	text, end := p, ""
	if n := len(p); n > 0 && p[n-1] == '\n' {
		text, end = p[:n-1], "\n"
	}
	line := display.AppendVisible(make([]byte, 0, len(p)), text)
	if _, err := m.To.Write(append(line, end...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Stdin is the file name that means standard input.
const Stdin = "-"

// AreFiles reports whether all words are files, or standard input.
func AreFiles(words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool {
		_, err := os.Stat(word)
		return err != nil && word != Stdin
	})
}

// SplitWords returns the words after the captures of a command line that may be an expression:
// those from the first word on that is no file, unless a file follows it. hasFiles reports whether
// -r named captures.
func SplitWords(args []string, hasFiles bool) (words []string) {
	first := len(args)
	for i, word := range args {
		isFile := AreFiles([]string{word})
		switch {
		case isFile && first < len(args):
			return nil
		case !isFile && first == len(args) && (i > 0 || hasFiles):
			first = i
		case !isFile && first == len(args):
			return nil
		}
	}
	return args[first:]
}
