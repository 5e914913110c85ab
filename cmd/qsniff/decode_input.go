package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"qsniff/capture/file"
	"qsniff/internal/base/display"
	"qsniff/internal/base/payload"
)

// payloadInput is what decode reads its payloads from.
type payloadInput struct {
	args  []string // none: standard input
	stdin io.Reader
	marks payload.Marks // first bytes of messages: a line that begins with one is a payload of its own
	isRaw bool          // files and standard input hold bytes, whatever they look like
	err   io.Writer
}

// readBefore reads the payloads unless ctx ends first. Standard input that ends soon
// after ctx counts as read: Ctrl-C reaches the program that writes it too.
func (in *payloadInput) readBefore(ctx context.Context) ([]payload.Payload, error) {
	var ps []payload.Payload
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ps, err = in.read()
	}()
	select {
	case <-done:
		return ps, err
	case <-ctx.Done():
	}
	select {
	case <-done:
		return ps, err
	case <-time.After(grace):
		return nil, ctx.Err()
	}
}

// read reads the arguments, or standard input where there are none.
func (in *payloadInput) read() ([]payload.Payload, error) {
	args := in.args
	if len(args) == 0 {
		args = []string{stdin}
		if isTerminal(in.stdin) {
			return nil, &usageError{errors.New("decode: no payload given"), "give one as " + payload.Forms + "; name a file that holds it, or pipe it in"}
		}
	}
	var all []payload.Payload
	for i, arg := range args {
		ps, err := in.readArg(i+1, arg)
		if err != nil {
			return nil, err
		}
		if all = append(all, ps...); len(all) > payload.MaxPayloads {
			return nil, &usageError{fmt.Errorf("argument %d: more than %d payloads in all", i+1, payload.MaxPayloads),
				"a capture has room for more: qsniff read takes those"}
		}
	}
	return all, nil
}

// readArg reads one argument: standard input, a file if there is one of that name, or a
// payload. An argument that is no file is never quoted: it may hold a password.
func (in *payloadInput) readArg(no int, arg string) ([]payload.Payload, error) {
	if arg == stdin {
		return in.readContent("standard input", in.stdin)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && (in.isRaw || !info.IsDir()):
		return in.readFile(arg)
	case in.isRaw:
		return nil, &usageError{fmt.Errorf("argument %d: %w", no, systemReason(err)), "--raw takes files, and standard input as -; leave it out to give a payload itself"}
	}
	ps, err := payload.Read([]byte(arg), in.marks)
	if err != nil {
		return nil, unreadError(fmt.Sprintf("argument %d", no), "no file has that name either; ", err)
	}
	return ps, nil
}

// readFile reads a file, and prints a remark where its name could be a payload.
func (in *payloadInput) readFile(arg string) ([]payload.Payload, error) {
	name := string(display.AppendEscaped(nil, []byte(arg), 0))
	f, err := os.Open(arg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, systemReason(err))
	}
	defer f.Close()
	if _, err := payload.Parse(arg, in.marks); err == nil && !in.isRaw {
		fmt.Fprintf(in.err, "qsniff: %s is read as a file; to decode the name: echo %s | qsniff decode\n", name, name)
	}
	return in.readContent(name, f)
}

// readContent reads the payloads in r, which errors call name.
func (in *payloadInput) readContent(name string, r io.Reader) ([]payload.Payload, error) {
	b, err := io.ReadAll(io.LimitReader(r, payload.MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, systemReason(err))
	}
	read := func(b []byte) ([]payload.Payload, error) { return payload.Read(b, in.marks) }
	if in.isRaw {
		read = payload.AsIs
	} else if !payload.IsText(b) {
		if err := file.NotPayload(name, b); err != nil {
			return nil, &usageError{err, err.Hint + "; --raw takes its bytes as a payload"}
		}
	}
	ps, err := read(b)
	if err != nil {
		return nil, unreadError(name, "", err)
	}
	return ps, nil
}

// unreadError is the error of an input that holds no payload. Its hint begins with also if
// err has none.
func unreadError(name, also string, err error) error {
	hint := also + "give it as " + payload.Forms
	if why := (*payload.Error)(nil); errors.As(err, &why) && why.Hint != "" {
		hint = why.Hint
	}
	return &usageError{fmt.Errorf("%s: %w", name, err), hint}
}

// systemReason returns the system's error about a file without operation and name.
func systemReason(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}
