package cli

import (
	"io"
	"log/slog"

	"github.com/spf13/pflag"
)

// LogFlags are the flags about the log of a program that runs for long.
type LogFlags struct{ form, level string }

// Register adds the flags.
func (o *LogFlags) Register(f *pflag.FlagSet) {
	o.form, o.level = "text", "info"
	f.Var(OneOf(&o.form, "text", "json"), "log-format", "text: key=value; json: an object a line")
	f.Var(OneOf(&o.level, "debug", "info", "warn", "error"), "log-level", "log what is at least as important")
}

// NewLogger returns a logger that writes to w.
func (o *LogFlags) NewLogger(w io.Writer) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.level)) // the flag has no other values
	opt := &slog.HandlerOptions{Level: level}
	if o.form == "json" {
		return slog.New(slog.NewJSONHandler(w, opt))
	}
	return slog.New(slog.NewTextHandler(w, opt))
}
