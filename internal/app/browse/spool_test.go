package browse

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

// TestInputs: a compressed capture, one that comes through a pipe, compressed or not, and one
// that grows are listed as the plain one is, and their rows are read again.
func TestInputs(t *testing.T) {
	data, err := os.ReadFile("../../../pcapfiles/a2s/css-2007.pcap")
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(data); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for name, made := range map[string]func(t *testing.T) Options{
		"gzip": func(t *testing.T) Options {
			name := filepath.Join(t.TempDir(), "a.pcap.gz")
			if err := os.WriteFile(name, packed.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			return options(t, name)
		},
		"pipe":      func(t *testing.T) Options { return piped(t, data) },
		"gzip pipe": func(t *testing.T) Options { return piped(t, packed.Bytes()) },
		"growing": func(t *testing.T) Options {
			name := filepath.Join(t.TempDir(), "a.pcap")
			f, err := os.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { f.Close() })
			if _, err := f.Write(data[:200]); err != nil {
				t.Fatal(err)
			}
			go func() { // the rest, once the first part has been read
				time.Sleep(pollEvery)
				f.Write(data[200:])
			}()
			o := options(t, name)
			o.Follow = true
			return o
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := open(t.Context(), made(t))
			if err != nil {
				t.Fatal(err)
			}
			x := s.list(t.Context(), nil)
			for end := time.Now().Add(10 * time.Second); x.len() < 8 && time.Now().Before(end); {
				time.Sleep(time.Millisecond)
			}
			s.fetch(t.Context(), x, s.missing(0, 8, -1))
			for i := range 8 {
				if r := s.row(i); r == nil || r.Event == nil || r.Frame != uint64(i+1) {
					t.Errorf("row %d is %+v", i, r)
				}
			}
			if n, size := s.in.progress(x.stats.Bytes); size > 0 && n > size {
				t.Errorf("%d of %d bytes are read", n, size)
			}
		})
	}
}

func piped(t *testing.T, data []byte) Options {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		io.Copy(w, bytes.NewReader(data))
		w.Close()
	}()
	o := options(t, "-")
	o.Stdin = r
	return o
}
