package main

import (
	"context"
	"errors"
	"io"
	"testing"

	"qsniff/internal/app/payload"
)

// TestDecodeInterrupted: Ctrl-C ends the wait for standard input, but what the program on
// the other end writes as it ends, too, is decoded.
func TestDecodeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := io.Pipe()
	defer w.Close()
	silent := payloadInput{stdin: r, err: io.Discard}
	if ps, err := silent.readBefore(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing came: got %v %v, want %v", ps, err, context.Canceled)
	}
	r, w = io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "ffffffff69\n") // an error would fail the test below
		w.Close()
	}()
	ends := payloadInput{stdin: r, err: io.Discard}
	if ps, err := ends.readBefore(ctx); err != nil || len(ps) != 1 {
		t.Errorf("it ended: got %v %v, want one payload", ps, err)
	}
}

// zeros is an input without end.
type zeros struct{ read int }

func (z *zeros) Read(b []byte) (int, error) {
	clear(b)
	z.read += len(b)
	return len(b), nil
}

// TestDecodeEndless: no more is read of an input than a text may have.
func TestDecodeEndless(t *testing.T) {
	for _, raw := range []bool{false, true} {
		var z zeros
		in := payloadInput{stdin: &z, isRaw: raw, err: io.Discard}
		_, err := in.read()
		var usage *usageError
		if !errors.As(err, &usage) || usage.hint == "" {
			t.Errorf("got %v, want a usage error with a hint", err)
		}
		if z.read > payload.MaxText+1 {
			t.Errorf("read %d bytes", z.read)
		}
	}
}
