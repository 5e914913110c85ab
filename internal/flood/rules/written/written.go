// Package written keeps a file of rules against what goes on, for nft, while packets are
// captured. Nothing here loads it.
package written

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"qsniff/internal/base/sandbox"
	"qsniff/internal/flood"
	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules"
	"qsniff/internal/flood/rules/nft"
)

// Options are what a File is made by.
type Options struct {
	Path   string
	Asked  rules.Invocation
	Expiry time.Duration
	IsOurs func(*flood.Incident) bool       // the incidents that count
	Tell   func(format string, args ...any) // says what was written first, and what failed
	Proofs *proof.Collector                 // clients that pass first; nil: not asked for
}

// File is written once there is an attack that rules help against, and again whenever they
// change. A reader never sees half of it.
type File struct {
	Options
	kept   flood.Collector
	last   []byte // what the file has
	failed bool   // an error was told
}

// ErrOther is the error for a path at which something else is.
var ErrOther = errors.New("it is there, and is no file of rules of qsniff")

// New returns a File. What is at its path must be nothing, or rules of qsniff.
func New(o Options) (*File, error) {
	f, err := os.Open(o.Path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("--rules: %w", err)
	default:
		defer f.Close()
		head := make([]byte, len(nft.FirstWords))
		if n, err := io.ReadFull(f, head); n > 0 && (err != nil || string(head) != nft.FirstWords) {
			return nil, fmt.Errorf("--rules %s: %w", o.Path, ErrOther)
		}
	}
	o.Asked.Written = o.Path
	return &File{Options: o, kept: flood.Collector{KeepsOpen: true, MinLevel: flood.Warn, IsOurs: o.IsOurs}}, nil
}

// Observe is an observer of a flood.Detector.
func (r *File) Observe(in *flood.Incident, e flood.Event) {
	r.kept.Observe(in, e)
	all := r.kept.Incidents()
	if !slices.ContainsFunc(all, func(in flood.Incident) bool { return in.Level == flood.Alert && in.Advice.Rules != nil }) {
		return
	}
	input := &rules.Input{Asked: r.Asked, Incidents: all, Expiry: r.Expiry}
	if r.Proofs != nil {
		input.Proven = r.Proofs.Summary()
	}
	text := nft.AppendFloods(nil, input)
	if bytes.Equal(text, r.last) {
		return
	}
	isFirst := r.last == nil
	switch err := sandbox.ReplaceFile(r.Path, text); {
	case err != nil && !r.failed:
		r.failed = true
		r.Tell("--rules: %v", err)
	case err == nil:
		r.last, r.failed = text, false
		if isFirst {
			r.Tell("the rules against %s at %s are in %s", in.Kind, in.Target.String(), r.Path)
			r.Tell("load: %s", r.Asked.LoadNFT())
			r.Tell("undo: sudo nft delete table inet %s", nft.Table)
		}
	}
}
