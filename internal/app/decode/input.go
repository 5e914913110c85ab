package decode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"qsniff/capture/file"
	"qsniff/internal/app/cli"
	"qsniff/internal/app/payload"
	"qsniff/internal/base/display"
)

// Stdin is the argument that stands for standard input.
const Stdin = "-"

// Input is where payloads are read from.
type Input struct {
	Args  []string // payloads, files, and Stdin
	Stdin io.Reader
	Marks payload.Marks     // first bytes of messages: a line that begins with one is a payload of its own
	IsRaw bool              // files and standard input hold bytes, whatever they look like
	Note  func(line string) // is called where an argument has two readings
}

// ReadBefore reads the payloads unless ctx ends first. Standard input that ends within grace after ctx counts as
// read: Ctrl-C reaches the program that writes it, too.
func (in *Input) ReadBefore(ctx context.Context, grace time.Duration) ([]payload.Payload, error) {
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

// read reads the arguments.
func (in *Input) read() ([]payload.Payload, error) {
	var all []payload.Payload
	for i, arg := range in.Args {
		ps, err := in.readArg(i+1, arg)
		if err != nil {
			return nil, err
		}
		if all = append(all, ps...); len(all) > payload.MaxPayloads {
			return nil, cli.Usage(fmt.Errorf("argument %d: more than %d payloads in all", i+1, payload.MaxPayloads),
				"a capture has room for more: qsniff read takes those")
		}
	}
	return all, nil
}

// readArg reads one argument: standard input, a file if there is one of that name, or a
// payload. An argument that is no file is never quoted: it may hold a password.
func (in *Input) readArg(no int, arg string) ([]payload.Payload, error) {
	if arg == Stdin {
		return in.readContent("standard input", in.Stdin)
	}
	info, err := os.Stat(arg)
	switch {
	case err == nil && (in.IsRaw || !info.IsDir()):
		return in.readFile(arg)
	case in.IsRaw:
		return nil, cli.Usage(fmt.Errorf("argument %d: %w", no, cli.Reason(err)),
			"--raw takes files, and standard input as -; leave it out to give a payload itself")
	}
	ps, err := payload.Read([]byte(arg), in.Marks)
	if err != nil {
		return nil, unreadError(fmt.Sprintf("argument %d", no), "no file has that name either; ", err)
	}
	return ps, nil
}

// readFile reads a file, and notes where its name could be a payload.
func (in *Input) readFile(arg string) ([]payload.Payload, error) {
	name := string(display.AppendEscaped(nil, []byte(arg), 0))
	f, err := os.Open(arg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cli.Reason(err))
	}
	defer f.Close()
	if _, err := payload.Parse(arg, in.Marks); err == nil && !in.IsRaw {
		in.Note(fmt.Sprintf("%s is read as a file; to decode the name: echo %s | qsniff decode", name, name))
	}
	return in.readContent(name, f)
}

// readContent reads the payloads in r, which errors call name.
func (in *Input) readContent(name string, r io.Reader) ([]payload.Payload, error) {
	b, err := io.ReadAll(io.LimitReader(r, payload.MaxText+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, cli.Reason(err))
	}
	read := func(b []byte) ([]payload.Payload, error) { return payload.Read(b, in.Marks) }
	if in.IsRaw {
		read = payload.AsIs
	} else if !payload.IsText(b) {
		if err := file.NotPayload(name, b); err != nil {
			return nil, cli.Usage(err, err.Hint+"; --raw takes its bytes as a payload")
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
	return cli.Usage(fmt.Errorf("%s: %w", name, err), hint)
}
