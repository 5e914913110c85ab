package cli

import (
	"io"
	"os"
	"slices"

	"qsniff/internal/base/display"
)

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
