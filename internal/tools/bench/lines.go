package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// linesName is the beginning of what qsniff writes of the mix, for jq.
const linesName = "mix-lines.json"

// mostLines is how much of it jq reads, in bytes: at a fortieth of qsniff's speed all of
// it would take minutes.
const mostLines = 16 * mebi

// headWriter counts what is written to it, and writes the first lines of it to a file. It
// keeps nothing: programs that are started inherit the peak of this one's memory.
type headWriter struct {
	file  *os.File
	n     int64
	head  int64
	lines int
	full  bool
}

func (w *headWriter) Write(b []byte) (int, error) {
	w.n += int64(len(b))
	if w.full {
		return len(b), nil
	}
	head := b
	if end := bytes.LastIndexByte(b, '\n'); w.n > mostLines && end >= 0 {
		head, w.full = b[:end+1], true
	}
	w.head += int64(len(head))
	w.lines += bytes.Count(head, []byte("\n"))
	if _, err := w.file.Write(head); err != nil {
		return 0, err
	}
	return len(b), nil
}

// writeLines writes the lines for jq, and notes how long they and all lines are.
func writeLines(qsniff string, all captures) error {
	mix, lines := all["mix.pcap"], all[linesName]
	f, err := os.Create(lines.path)
	if err != nil {
		return err
	}
	w := headWriter{file: f}
	err = errors.Join(output(&w, qsniff, "read", "-o", "json", mix.path), f.Close())
	mix.lines, lines.lines, lines.packets = w.n, w.head, w.lines
	return err
}

// countOutputs returns how many different outputs there are with one, two and four jobs.
func countOutputs(qsniff string, c *capture) (float64, error) {
	seen := map[string]bool{}
	for _, jobs := range []int{1, 2, 4} {
		h := sha256.New()
		if err := output(h, qsniff, "read", "-o", "json", "--jobs", strconv.Itoa(jobs), c.path); err != nil {
			return 0, err
		}
		seen[string(h.Sum(nil))] = true
	}
	return float64(len(seen)), nil
}

// output runs a program and writes what it prints to w.
func output(w io.Writer, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = w, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %v: %w\n%s", filepath.Base(program), args, err, errs.Bytes())
	}
	return nil
}

// pluginName is the plugin for Wireshark, in the folder of the captures.
const pluginName = "qsniff.lua"

// writePlugin writes the plugin of the program that is measured beside the captures.
func writePlugin(qsniff string, all captures) error {
	var w bytes.Buffer
	if err := output(&w, qsniff, "wireshark-plugin"); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(filepath.Dir(all["mix.pcap"].path), pluginName), w.Bytes(), 0o644)
}
