package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"qsniff/internal/base/sandbox"
	"qsniff/internal/flood"
	"qsniff/internal/flood/proof"
	"qsniff/internal/flood/rules"
	"qsniff/internal/flood/rules/nft"
)

// rulesFile writes the rules against what goes on to a file for nft, while packets are captured: once there
// is an attack that rules help against, and again whenever they change. A reader never sees half of a file.
// Nothing loads it.
type rulesFile struct {
	path   string
	asked  rules.Invocation
	expiry time.Duration
	tell   func(format string, args ...any) // says what was written first, and what failed
	kept   flood.Collector
	proofs *proof.Collector // clients that pass first; nil: not asked for
	last   []byte           // what the file has
	failed bool             // an error was told
}

// registerRules registers the flag of commands that write rules while they capture.
func registerRules(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "rules", "", "while capturing: write the rules against an attack to `FILE` for nft -f, once it is sure, and again as they change")
}

// newRulesFile returns a rulesFile for the incidents that isOurs allows, nil if path is empty. What is at path
// must be nothing, or rules of qsniff.
func newRulesFile(path string, asked rules.Invocation, expiry time.Duration, isOurs func(*flood.Incident) bool, tell func(string, ...any)) (*rulesFile, error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("--rules: %w", err)
	default:
		defer f.Close()
		head := make([]byte, len(nft.FirstWords))
		if n, err := io.ReadFull(f, head); n > 0 && (err != nil || string(head) != nft.FirstWords) {
			return nil, &hintedError{fmt.Errorf("--rules %s: it is there, and is no file of rules of qsniff", path), "name another file: it is rewritten as the rules change"}
		}
	}
	asked.Written = path
	return &rulesFile{path: path, asked: asked, expiry: expiry, tell: tell, kept: flood.Collector{KeepsOpen: true, MinLevel: flood.Warn, IsOurs: isOurs}}, nil
}

// observe is an observer of a flood.Detector.
func (r *rulesFile) observe(in *flood.Incident, e flood.Event) {
	r.kept.Observe(in, e)
	all := r.kept.Incidents()
	if !slices.ContainsFunc(all, func(in flood.Incident) bool { return in.Level == flood.Alert && in.Advice.Rules != nil }) {
		return
	}
	input := &rules.Input{Asked: r.asked, Incidents: all, Expiry: r.expiry}
	if r.proofs != nil {
		input.Proven = r.proofs.Summary()
	}
	text := nft.AppendFloods(nil, input)
	if bytes.Equal(text, r.last) {
		return
	}
	isFirst := r.last == nil
	switch err := replaceFile(r.path, text); {
	case err != nil && !r.failed:
		r.failed = true
		r.tell("--rules: %v", err)
	case err == nil:
		r.last, r.failed = text, false
		if isFirst {
			r.tell("the rules against %s at %s are in %s", in.Kind, in.Target.String(), r.path)
			r.tell("load: %s", r.asked.LoadNFT())
			r.tell("undo: sudo nft delete table inet %s", nft.Table)
		}
	}
}

// replaceFile writes a file and gives it its name when it is whole. It opens it for writing only: a sandbox
// allows no more.
func replaceFile(path string, text []byte) error {
	name := path + ".new"
	_ = os.Remove(name) // what a run left that was killed
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		_ = os.Remove(name)
	}
	return err
}

// allowRules adds the folder of a file of rules to what a run may write.
func allowRules(p *sandbox.Policy, path string) error {
	if path == "" {
		return nil
	}
	folder := filepath.Dir(path)
	p.Write = append(p.Write, folder)
	if p.User != nil {
		return nil
	}
	var err error
	p.User, err = sandbox.OwnerOf(folder)
	return err
}
