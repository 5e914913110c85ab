// Package cli has what the command lines of qsniff and qsniff-hub share: values and groups of flags, the flags
// about who is told, files that flags name, and how a program starts itself. It prints nothing.
package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Error is an error with a hint on what to do.
type Error struct {
	Err     error
	Hint    string
	IsUsage bool // the command line is wrong
}

// Usage returns an error about the command line.
func Usage(err error, hint string) error { return &Error{err, hint, true} }

// Hinted returns an error about anything else.
func Hinted(err error, hint string) error { return &Error{err, hint, false} }

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
	var path *fs.PathError
	switch {
	case err == nil:
		return "", errors.New("too long to be a " + what)
	case errors.As(err, &path):
		return "", path.Err
	}
	return "", err
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
