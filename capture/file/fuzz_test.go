package file

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture"
)

// FuzzReader checks, besides what drain checks of every batch, that the way in
// which the input hands over its bytes makes no difference, and that what was
// delivered adds up to the file.
func FuzzReader(f *testing.F) {
	for i, v := range variants {
		file, _ := randomFile(v, rand.New(rand.NewPCG(uint64(i), 1)), 20, 40)
		f.Add(file, uint64(i))
		f.Add(file[:len(file)-3], uint64(i))
		f.Add(v.record(file, 0, 0, capture.MaxCaptured+1, 0, nil), uint64(i))
	}
	f.Add(variants[0].record(variants[0].header(3, 1<<32-1, 1<<32-1), 1, 1<<32-1, 9, 2, []byte("abcd")), uint64(0))
	f.Add([]byte("\x0a\x0d\x0d\x0a"), uint64(0))
	f.Add([]byte("<html>"), uint64(0))
	f.Fuzz(func(t *testing.T, file []byte, seed uint64) {
		read := func(in io.Reader) ([]packet, error) {
			r, err := NewReader(in, "x.pcap")
			if err != nil {
				return nil, err
			}
			all, err := drain(t, r)
			checkSum(t, r, all, file, err)
			return all, err
		}
		atOnce, err := read(bytes.NewReader(file))
		rng := rand.New(rand.NewPCG(seed, 0))
		top := 1 + int(seed%300)
		inPieces, err2 := read(&shortReader{bytes.NewReader(file), func() int { return 1 + rng.IntN(top) }})
		if diff := cmp.Diff(atOnce, inPieces); diff != "" {
			t.Errorf("(-at once +in pieces):\n%s", diff)
		}
		// What kind of foreign file it is may depend on how much has arrived.
		var e *Error
		if errors.As(err, &e) && e.Offset == wholeFile && len(file) > 0 {
			return
		}
		if err.Error() != err2.Error() {
			t.Errorf("at once    %v\nin pieces  %v", err, err2)
		}
	})
}

// checkSum checks that the packets account for every byte up to the end or the
// damage.
func checkSum(t *testing.T, r *Reader, all []packet, file []byte, err error) {
	t.Helper()
	sum := int64(fileHeaderLen)
	for _, p := range all {
		sum += recordHeaderLen + int64(len(p.Data))
	}
	want := capture.Stats{Received: uint64(len(all)), Bytes: sum}
	if got := r.Stats(); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var e *Error
	switch {
	case err == io.EOF:
		if sum != int64(len(file)) {
			t.Errorf("got  EOF behind byte %d\nwant %d", sum, len(file))
		}
	case !errors.As(err, &e) || e.Offset != sum || e.Hint == "":
		t.Errorf("got  %#v\nwant damage at byte %d with a hint", err, sum)
	}
}
