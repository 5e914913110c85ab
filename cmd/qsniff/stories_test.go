package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const storiesPage = "docs/stories.md"

var (
	// shownOutput is an output in a page: of which frames it is shown, of all if that
	// is not said; the command; the lines.
	shownOutput = regexp.MustCompile("(?ms)^```console(?: frames=([-0-9,]+))?\n\\$ qsniff ([^\n]*)\n(.*?)^```$")
	// A line of text begins with its frame, a message of the tree with a line of it.
	textFrame = regexp.MustCompile(`^ *([0-9]+) `)
	treeFrame = regexp.MustCompile(`^frame ([0-9]+) `)

	findingLink = regexp.MustCompile(`\[([A-Z0-9]+-[A-Z0-9]+)\]\(findings\.md#([a-z0-9-]+)\)`)
)

func page(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(module, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// withOutputs is a page with what its commands print now.
func withOutputs(t *testing.T, text []byte) (filled []byte) {
	t.Helper()
	t.Run("outputs", func(t *testing.T) { // ends with the old working directory
		t.Chdir(module)
		filled = shownOutput.ReplaceAllFunc(text, func(block []byte) []byte {
			m := shownOutput.FindSubmatchIndex(block)
			command := string(block[m[4]:m[5]])
			out, errs, status := output(t, strings.Fields(command)...)
			if status != exitOK {
				t.Errorf("%s: exit status %d: %s", command, status, errs)
			}
			frames := ""
			if m[2] >= 0 {
				frames = string(block[m[2]:m[3]])
			}
			shown, err := excerpt(out, frames)
			if err != nil {
				t.Errorf("%s: %v", command, err)
			}
			return append(append(bytes.Clone(block[:m[6]]), shown...), "```"...)
		})
	})
	return filled
}

// excerpt takes what out has of frames, which are given as 1-4,9; three dots stand
// for what is left out.
func excerpt(out, frames string) (string, error) {
	if frames == "" {
		return out, nil
	}
	wanted, err := spans(frames)
	if err != nil {
		return "", err
	}
	begins := textFrame
	if treeFrame.MatchString(out) {
		begins = treeFrame
	}
	var b strings.Builder
	take, gap := false, false
	for line := range strings.Lines(out) {
		if m := begins.FindStringSubmatch(line); m != nil {
			take = within(wanted, m[1])
		}
		if !take {
			gap = true
			continue
		}
		if gap {
			b.WriteString("...\n")
		}
		b.WriteString(line)
		gap = false
	}
	if gap {
		b.WriteString("...\n")
	}
	for _, w := range wanted {
		if !w.met {
			return "", fmt.Errorf("nothing of frames %d to %d", w.lo, w.hi)
		}
	}
	return b.String(), nil
}

// span is frames lo to hi, and whether one of them was met.
type span struct {
	lo, hi int
	met    bool
}

// spans reads 1-4,9.
func spans(list string) ([]span, error) {
	var all []span
	for r := range strings.SplitSeq(list, ",") {
		from, to, isRange := strings.Cut(r, "-")
		if !isRange {
			to = from
		}
		lo, err := strconv.Atoi(from)
		if err != nil {
			return nil, err
		}
		hi, err := strconv.Atoi(to)
		if err != nil {
			return nil, err
		}
		all = append(all, span{lo: lo, hi: hi})
	}
	return all, nil
}

// within tells whether one of the spans has the frame, which is digits.
func within(all []span, frame string) bool {
	n, err := strconv.Atoi(frame)
	for i := range all {
		if w := &all[i]; err == nil && w.lo <= n && n <= w.hi {
			w.met = true
			return true
		}
	}
	return false
}

func TestExcerpt(t *testing.T) {
	const (
		text = "    1 a\n    3 b\n    3 c\n   12 d\n"
		tree = "frame 1  a\n   3  ff\n\nframe 2  b\n   1  ff\n"
	)
	for _, tc := range []struct {
		name, out, frames, want string
		fails                   bool
	}{
		{"all", text, "", text, false},
		{"all, named", text, "1,3,12", text, false},
		{"start", text, "1", "    1 a\n...\n", false},
		{"middle, two lines of a frame", text, "3", "...\n    3 b\n    3 c\n...\n", false},
		{"gap", text, "1,12", "    1 a\n...\n   12 d\n", false},
		{"range", tree, "1-2", tree, false},
		{"range with frames that have no message", text, "2-11", "...\n    3 b\n    3 c\n...\n", false},
		{"offsets are no frames", tree, "1", "frame 1  a\n   3  ff\n\n...\n", false},
		{"no such frame", tree, "1,3", "", true},
		{"no number", text, "x", "", true},
		{"no range", text, "1-", "", true},
	} {
		got, err := excerpt(tc.out, tc.frames)
		if got != tc.want || (err != nil) != tc.fails {
			t.Errorf("%s\ngot  %q %v\nwant %q", tc.name, got, err, tc.want)
		}
	}
}

// TestStories: every reported case is told, and what is told of findings can be
// read on. TestDocs compares the outputs.
func TestStories(t *testing.T) {
	text := string(page(t, storiesPage))
	shown := map[string]bool{}
	for _, m := range shownOutput.FindAllStringSubmatch(text, -1) {
		args := strings.Fields(m[2])
		shown[args[len(args)-1]] = true
	}
	if n := strings.Count(text, "\n$ qsniff "); n != len(shownOutput.FindAllString(text, -1)) {
		t.Errorf("%d commands, of which %d can be checked", n, len(shownOutput.FindAllString(text, -1)))
	}
	for _, name := range captures(t) {
		rel, err := filepath.Rel(module, name)
		if err != nil {
			t.Fatal(err)
		}
		if rel = filepath.ToSlash(rel); strings.HasPrefix(rel, "pcapfiles/stories/") && !shown[rel] {
			t.Errorf("%s has no command for %s", storiesPage, rel)
		}
	}
	reg, err := registry()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, c := range codes(reg) {
		known[c.ID] = true
	}
	for _, m := range findingLink.FindAllStringSubmatch(text, -1) {
		if !known[m[1]] || strings.ToLower(m[1]) != m[2] {
			t.Errorf("%s leads to no finding", m[0])
		}
	}
}
