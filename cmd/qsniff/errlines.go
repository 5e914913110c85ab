package main

import (
	"io"

	"qsniff/internal/base/display"
)

// errLines is a standard error that is safe for terminals. Each Write, which is each call of
// fmt.Fprintf and its kin, is one line: it escapes what could act on a terminal or look
// like another line of ours. Messages contain names of files, of interfaces and of fields,
// arguments, and errors of the system and of libraries, any of which may be hostile.
type errLines struct{ to io.Writer }

// Write writes p as one line. It returns len(p), and not what the escaped line has.
func (m errLines) Write(p []byte) (int, error) {
	text, end := p, ""
	if n := len(p); n > 0 && p[n-1] == '\n' {
		text, end = p[:n-1], "\n"
	}
	line := display.AppendVisible(make([]byte, 0, len(p)), text)
	if _, err := m.to.Write(append(line, end...)); err != nil {
		return 0, err
	}
	return len(p), nil
}
