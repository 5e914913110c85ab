package file

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ulikunitz/xz"
)

// TestXzFilters: blocks with a filter beside LZMA2 are refused before the library sees them.
func TestXzFilters(t *testing.T) {
	var out bytes.Buffer
	w, err := xz.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("text")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	whole := out.Bytes()
	const flags, filter = xzHeaderLen + 1, xzHeaderLen + 2
	for _, tt := range []struct {
		name          string
		flags, filter byte
	}{
		{"delta and LZMA2", 1, 0x03},
		{"x86 and LZMA2", 1, 0x04},
		{"ARM64 and LZMA2", 1, 0x0a},
		{"one that is no LZMA2", 0, 0x03},
	} {
		data := bytes.Clone(whole)
		data[flags], data[filter] = tt.flags, tt.filter
		r, err := openXz(bytes.NewReader(data))
		if err == nil {
			_, err = io.ReadAll(r)
		}
		if !errors.Is(err, errXzFilter) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// TestXzDamaged: of a file with any byte changed, all is expanded, or an error says that it is not.
func TestXzDamaged(t *testing.T) {
	var out bytes.Buffer
	w, _ := xz.NewWriter(&out)
	text := strings.Repeat("some bytes of a capture ", 40)
	if _, err := io.WriteString(w, text); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for i := range out.Len() {
		data := bytes.Clone(out.Bytes())
		data[i] ^= 0x55
		r, err := openXz(bytes.NewReader(data))
		var got []byte
		if err == nil {
			got, err = io.ReadAll(r)
		}
		if err == nil && string(got) != text {
			t.Errorf("byte %d changed: other bytes and no error", i)
		}
	}
}

// TestXzPanic: a panic of the library is an error, which stays.
func TestXzPanic(t *testing.T) {
	r := &xzReader{guard: &xzGuard{}}
	for range 2 { // a reader that was not made panics
		if _, err := r.Read(make([]byte, 1)); err == nil || !strings.HasPrefix(err.Error(), "the decoder failed: ") {
			t.Errorf("got %v", err)
		}
	}
}
