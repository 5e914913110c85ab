package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"

	"qsniff/capture"
)

// progressFrom is the size of input from which it is worth telling how far the
// run is, in bytes: smaller ones are read before anybody wonders.
const progressFrom = 64 << 20

// progress returns a function to call with the source's totals as it is read, and
// one to call at the end. Nothing is shown unless w is a terminal and the input
// is large.
func progress(w io.Writer, src capture.Source) (tell func(capture.Stats), done func()) {
	size := src.Stats().Size
	if size < progressFrom || !isTerminal(w) {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(os.Stderr), progressbar.OptionShowBytes(true), progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(200*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionSetWidth(20))
	start := time.Now()
	tell = func(s capture.Stats) {
		if sec := time.Since(start).Seconds(); sec > 0 {
			bar.Describe(fmt.Sprintf("%.0f packets/s", float64(s.Received)/sec))
		}
		_ = bar.Set64(s.Bytes) // a bar that cannot be drawn is no reason to stop
	}
	return tell, func() { _ = bar.Clear() }
}
