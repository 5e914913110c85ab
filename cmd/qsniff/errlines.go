package main

import (
	"io"

	"qsniff/internal/display"
)

// errLines is standard error. Each Write, which is each call of fmt.Fprintf and its kin,
// is one line: what could act on a terminal, or look like another line of ours, is
// escaped, whoever wrote it and wherever it came from: names of files, of interfaces
// and of fields, arguments, words of the system and of libraries.
type errLines struct{ to io.Writer }

// Write writes p as one line. It counts the bytes of p, as io.Writer wants it.
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
