package pipeline

import (
	"errors"
	"io"
	"testing"

	"qsniff/internal/pipeline/filter"
)

// Where the run ends within a batch, workers are still at it: the reader must not
// fill it again before it learns of the end.
func TestEndWithinBatch(t *testing.T) {
	full := errors.New("disk full")
	for _, tc := range []struct {
		name string
		out  io.Writer
		max  uint64
		want error
	}{
		{"enough messages", io.Discard, 1, nil},
		{"writer fails", brokenWriter{full}, 0, full},
	} {
		w := newWorker(0, 1, nil, segmentsPerWorker)
		seg := <-w.free
		seg.buf = make([]byte, writeSize)
		seg.spans = append(seg.spans, span{isMessage: true, end: len(seg.buf), truth: filter.All})
		w.out <- seg
		f := &fold{out: &textOutput{w: tc.out}, max: tc.max, workers: []*worker{w}, heads: make([]head, 1)}
		s := &stages{fold: f, free: make(chan *batch, 1), full: make(chan *batch, 1)}
		s.full <- newBatch()
		if err := s.foldBatches(t.Context()); err != tc.want {
			t.Errorf("%s: got %v, want %v", tc.name, err, tc.want)
		}
		if len(s.free) != 0 {
			t.Errorf("%s: the reader got the batch", tc.name)
		}
	}
}
