package decode

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"qsniff/internal/app/cli"
	"qsniff/internal/app/payload"
)

// TestInterrupted: Ctrl-C ends the wait for standard input, but what the program on
// the other end writes as it ends, too, is decoded.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := io.Pipe()
	defer w.Close()
	silent := Input{Args: []string{Stdin}, Stdin: r}
	if ps, err := silent.ReadBefore(ctx, 300*time.Millisecond); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing came: got %v %v, want %v", ps, err, context.Canceled)
	}
	r, w = io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "ffffffff69\n") // an error would fail the test below
		w.Close()
	}()
	ends := Input{Args: []string{Stdin}, Stdin: r}
	if ps, err := ends.ReadBefore(ctx, 300*time.Millisecond); err != nil || len(ps) != 1 {
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

// TestEndless: no more is read of an input than a text may have.
func TestEndless(t *testing.T) {
	for _, raw := range []bool{false, true} {
		var z zeros
		in := Input{Args: []string{Stdin}, Stdin: &z, IsRaw: raw}
		_, err := in.read()
		var usage *cli.Error
		if !errors.As(err, &usage) || !usage.IsUsage || usage.Hint == "" {
			t.Errorf("got %v, want a usage error with a hint", err)
		}
		if z.read > payload.MaxText+1 {
			t.Errorf("read %d bytes", z.read)
		}
	}
}
