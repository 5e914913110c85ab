package broker

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
)

// logger brings the broker's log to that of the program. What it says of its start is for those who
// search for an error.
type logger struct {
	log    *slog.Logger
	fatal  *atomic.Pointer[string] // why it did not start
	failed *atomic.Pointer[string] // why it stores no more
}

// final are words of errors after which a stream, or all of them, take nothing more until the broker is started
// again: filestore.go and jetstream.go of nats-server 2.15.2.
var final = []string{"Critical write error", "will be DISABLED"}

func (l logger) Noticef(format string, v ...any) {
	l.log.Debug("broker", "what", fmt.Sprintf(format, v...))
}
func (l logger) Warnf(format string, v ...any) {
	l.log.Warn("broker", "what", fmt.Sprintf(format, v...))
}
func (l logger) Errorf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.log.Error("broker", "what", text)
	if slices.ContainsFunc(final, func(words string) bool { return strings.Contains(text, words) }) {
		l.failed.CompareAndSwap(nil, &text)
	}
}

// Fatalf notes why the broker does not start: it stays as it is then, and does nothing.
func (l logger) Fatalf(format string, v ...any) {
	why := fmt.Sprintf(format, v...)
	l.fatal.Store(&why)
}

func (l logger) Debugf(string, ...any) {}
func (l logger) Tracef(string, ...any) {}
