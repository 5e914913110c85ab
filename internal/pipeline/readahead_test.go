package pipeline

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"qsniff/internal/test/race"
)

func TestReadAhead(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	broken := errors.New("broken")
	for _, size := range []int{0, 1, aheadBytes - 1, aheadBytes, 10*aheadBytes + 7} {
		for _, end := range []error{io.EOF, broken} {
			data := make([]byte, size)
			for i := range data {
				data[i] = byte(rng.Uint32())
			}
			r := ReadAhead(io.MultiReader(bytes.NewReader(data), ended{end}))
			var got []byte
			buf := make([]byte, 100_000)
			var err error
			for err == nil {
				var n int
				n, err = r.Read(buf[:1+rng.IntN(len(buf))])
				got = append(got, buf[:n]...)
			}
			if !bytes.Equal(got, data) || err != end {
				t.Errorf("got  %d bytes, %v\nwant %d, %v", len(got), err, size, end)
			}
			if _, again := r.Read(buf); again != end {
				t.Errorf("after the end: got  %v\nwant %v", again, end)
			}
			r.Close()
		}
	}
}

type ended struct{ err error }

func (e ended) Read([]byte) (int, error) { return 0, e.err }

// What has arrived is handed over although the input goes on later.
func TestReadAheadHoldsNothingBack(t *testing.T) {
	in, out := io.Pipe()
	r := ReadAhead(in)
	defer out.Close()
	defer r.Close()
	buf := make([]byte, 100)
	for _, want := range []string{"first", "second"} {
		out.Write([]byte(want))
		if n, err := r.Read(buf); err != nil || string(buf[:n]) != want {
			t.Errorf("got  %q, %v\nwant %q", buf[:n], err, want)
		}
	}
}

// Close ends the goroutine that reads an input which never ends.
func TestReadAheadClose(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		r := ReadAhead(endless{})
		r.Read(make([]byte, 10))
		for range 2 {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for {
			if _, err := r.Read(make([]byte, aheadBytes)); errors.Is(err, fs.ErrClosed) {
				break
			}
		}
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > before && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	if got := runtime.NumGoroutine(); got > before {
		t.Errorf("got  %d goroutines\nwant %d", got, before)
	}
}

func TestReadAheadHangs(t *testing.T) {
	r := ReadAhead(ended{nil})
	if _, err := r.Read(make([]byte, 1)); err != io.ErrNoProgress {
		t.Errorf("got  %v\nwant %v", err, io.ErrNoProgress)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestReadAheadAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	r := ReadAhead(endless{})
	defer r.Close()
	buf := make([]byte, 50_000)
	if got := testing.AllocsPerRun(1000, func() { r.Read(buf) }); got != 0 {
		t.Errorf("got  %v allocations\nwant 0", got)
	}
}

func TestPipe(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789"), 50_000)
	out, err := Pipe(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(out)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("got  %d bytes, %v\nwant %d", len(got), err, len(data))
	}
	if err := out.Close(); err != nil {
		t.Error(err)
	}
}
