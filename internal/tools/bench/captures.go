package main

import (
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/klauspost/compress/zstd"
)

const (
	// headPart is the divisor of the part of a capture that tools read that take much
	// longer than qsniff, and no less a packet of a longer capture.
	headPart = 10
	// The long floods, in lengths of a capture.
	flooded = 5
	growth  = 10
)

// captureBytes is how many bytes all captures take, for each packet of one.
const captureBytes = 2200

// capture is a file to read.
type capture struct {
	name    string // in the folder
	path    string
	packets int
	lines   int64 // bytes of JSON that qsniff makes of it
}

// captures are the captures of the plan, by name.
type captures map[string]*capture

// recipe is how a capture is made.
type recipe struct {
	name    string
	packets int
	args    []string // of mkpcap
	source  string   // for one that is packed: of which capture
	pack    func(io.Writer) (io.WriteCloser, error)
}

func recipes(n int) []recipe {
	return []recipe{
		{name: "mix.pcap", packets: n, args: []string{"mix"}},
		{name: "mix-head.pcap", packets: n / headPart, args: []string{"mix"}},
		{name: "game.pcap", packets: n, args: []string{"mix", "-game"}},
		{name: "flood.pcap", packets: n, args: []string{"flood"}},
		{name: "flood-5x.pcap", packets: n * flooded, args: []string{"flood"}},
		{name: "flood-10x.pcap", packets: n * growth, args: []string{"flood"}},
		{name: "mix.pcap.gz", packets: n, source: "mix.pcap", pack: func(w io.Writer) (io.WriteCloser, error) {
			return gzip.NewWriterLevel(w, gzip.BestSpeed)
		}},
		{name: "mix.pcap.zst", packets: n, source: "mix.pcap", pack: func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w)
		}},
	}
}

// seed is the seed of all captures.
const seed = 1

// prepare makes the captures that are not in the cache yet. The name of the folder has a
// hash of the generator, so that captures of another version are not used.
func prepare(o options, log io.Writer) (captures, error) {
	tool, cleanup, err := buildGenerator()
	if err != nil {
		return nil, err
	}
	defer cleanup()
	version, err := hashFile(tool)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(o.cache, fmt.Sprintf("%x-%d", version, o.packets))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	all := captures{linesName: {name: linesName, path: filepath.Join(dir, linesName)}}
	for _, r := range recipes(o.packets) {
		c := &capture{name: r.name, path: filepath.Join(dir, r.name), packets: r.packets}
		all[r.name] = c
		if _, err := os.Stat(c.path); err == nil {
			continue
		}
		fmt.Fprintf(log, "making %s\n", c.path)
		if err := r.make(tool, dir, c.path); err != nil {
			return nil, fmt.Errorf("%s: %w", c.path, err)
		}
	}
	return all, nil
}

// buildGenerator builds mkpcap into a folder that cleanup removes. The same source
// gives the same bytes.
func buildGenerator() (tool string, cleanup func(), err error) {
	dir, err := os.MkdirTemp("", "qsniff-bench")
	if err != nil {
		return "", nil, err
	}
	cleanup = func() { os.RemoveAll(dir) }
	tool = filepath.Join(dir, "mkpcap")
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", tool, "qsniff/internal/tools/mkpcap")
	if out, err := cmd.CombinedOutput(); err != nil {
		cleanup()
		return "", nil, fmt.Errorf("go build: %w\n%s", err, out)
	}
	return tool, cleanup, nil
}

// hashFile returns the first four bytes of the SHA-256 of a file.
func hashFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return h.Sum(nil)[:4], err
}

// make writes the capture to path. It writes to another name first, so that an
// interrupted run leaves no part of a capture at path.
func (r *recipe) make(tool, dir, path string) error {
	part := path + ".part"
	if r.source != "" {
		if err := packFile(part, filepath.Join(dir, r.source), r.pack); err != nil {
			return err
		}
		return os.Rename(part, path)
	}
	args := append(r.args, "-n", strconv.Itoa(r.packets), "-seed", strconv.Itoa(seed), "-o", part)
	if out, err := exec.Command(tool, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return os.Rename(part, path)
}

func packFile(to, from string, pack func(io.Writer) (io.WriteCloser, error)) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	w, err := pack(out)
	if err == nil {
		_, err = io.Copy(w, in)
		err = errors.Join(err, w.Close())
	}
	return errors.Join(err, out.Close())
}
