package broker

import (
	"fmt"
	"log/slog"
	"sync/atomic"
)

// logger brings the broker's log to that of the program. What it says of its start is for those who
// search for an error.
type logger struct {
	log   *slog.Logger
	fatal *atomic.Pointer[string] // why it cannot go on
}

func (l logger) Noticef(format string, v ...any) {
	l.log.Debug("broker", "what", fmt.Sprintf(format, v...))
}
func (l logger) Warnf(format string, v ...any) {
	l.log.Warn("broker", "what", fmt.Sprintf(format, v...))
}
func (l logger) Errorf(format string, v ...any) {
	l.log.Error("broker", "what", fmt.Sprintf(format, v...))
}

// Fatalf notes why the broker does not start: it stays as it is then, and does nothing.
func (l logger) Fatalf(format string, v ...any) {
	why := fmt.Sprintf(format, v...)
	l.fatal.Store(&why)
}

func (l logger) Debugf(string, ...any) {}
func (l logger) Tracef(string, ...any) {}
