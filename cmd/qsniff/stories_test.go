package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qsniff/dissect/protocols"
)

const storiesPage = "docs/stories.md"

var (
	// shownOutput is an output in a page: what of it is shown, all if that is not said;
	// the command; the lines.
	shownOutput = regexp.MustCompile("(?ms)^```console(?: (frames|dialogues|parts|lines)=(\\S+))?\n\\$ qsniff ([^\n]*)\n(.*?)^```$")
	// A line of text begins with its frame, a message of the tree and a dialogue with
	// a line of it.
	textFrame = regexp.MustCompile(`^ *([0-9]+) `)
	treeFrame = regexp.MustCompile(`^frame ([0-9]+) `)
	talkFrame = regexp.MustCompile(`^(?:exchange|connection|message) ([0-9]+) `)

	firstWord   = regexp.MustCompile(`^[A-Za-z]+`)
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
			command := string(block[m[6]:m[7]])
			out, errs, status := output(t, strings.Fields(command)...)
			if status != exitOK {
				t.Errorf("%s: exit status %d: %s", command, status, errs)
			}
			shown, err := out, error(nil)
			if m[2] >= 0 {
				shown, err = excerpt(out, string(block[m[2]:m[3]]), string(block[m[4]:m[5]]))
			}
			if err != nil {
				t.Errorf("%s: %v", command, err)
			}
			return append(append(bytes.Clone(block[:m[8]]), shown...), "```"...)
		})
	})
	return filled
}

// excerpt takes something of out: frames or dialogues, which are given as 1-4,9,
// parts with an empty line between, which are given by the first words of their
// titles, or lines that match a pattern. Three dots stand for what is left out.
func excerpt(out, of, which string) (string, error) {
	switch of {
	case "parts":
		return parts(out, strings.Split(which, ","))
	case "lines":
		pattern, err := regexp.Compile("(?m)" + which)
		if err != nil || !pattern.MatchString(out) {
			return "", fmt.Errorf("no line with %q: %v", which, err)
		}
		return gaps(out, pattern.MatchString), nil
	}
	wanted, err := spans(which)
	if err != nil {
		return "", err
	}
	begins := textFrame
	switch {
	case of == "dialogues":
		begins = talkFrame
	case treeFrame.MatchString(out):
		begins = treeFrame
	}
	take := false
	shown := gaps(out, func(line string) bool {
		if m := begins.FindStringSubmatch(line); m != nil {
			take = within(wanted, m[1])
		}
		return take
	})
	for _, w := range wanted {
		if !w.met {
			return "", fmt.Errorf("nothing of %s %d to %d", of, w.lo, w.hi)
		}
	}
	return shown, nil
}

// parts takes those with one of the titles.
func parts(out string, titles []string) (string, error) {
	met := map[string]bool{}
	take, first := false, true
	shown := gaps(out, func(line string) bool {
		if first {
			title := firstWord.FindString(line)
			take = slices.Contains(titles, title)
			met[title] = true
		}
		first = line == "\n"
		return take
	})
	for _, title := range titles {
		if !met[title] {
			return "", fmt.Errorf("no part %s", title)
		}
	}
	return shown, nil
}

// gaps keeps the lines of out that take wants.
func gaps(out string, take func(line string) bool) string {
	var b strings.Builder
	gap := false
	for line := range strings.Lines(out) {
		if !take(line) {
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
	return b.String()
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

// within reports whether one of the spans has the frame, which is digits.
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
		text  = "    1 a\n    3 b\n    3 c\n   12 d\n"
		tree  = "frame 1  a\n   3  ff\n\nframe 2  b\n   1  ff\n"
		talks = "exchange 1  a\n  x\n\nconnection 4  b\n  y\n\nmessage 9  c\n\n"
		sums  = "2023 to 2024\n\nServers: all\n  x\n\nTime\n  y\n"
	)
	for _, tc := range []struct {
		name, out, of, which, want string
		fails                      bool
	}{
		{"all, named", text, "frames", "1,3,12", text, false},
		{"start", text, "frames", "1", "    1 a\n...\n", false},
		{"middle, two lines of a frame", text, "frames", "3", "...\n    3 b\n    3 c\n...\n", false},
		{"gap", text, "frames", "1,12", "    1 a\n...\n   12 d\n", false},
		{"range", tree, "frames", "1-2", tree, false},
		{"range with frames that have no message", text, "frames", "2-11", "...\n    3 b\n    3 c\n...\n", false},
		{"offsets are no frames", tree, "frames", "1", "frame 1  a\n   3  ff\n\n...\n", false},
		{"no such frame", tree, "frames", "1,3", "", true},
		{"no number", text, "frames", "x", "", true},
		{"no range", text, "frames", "1-", "", true},
		{"dialogues", talks, "dialogues", "1,9", "exchange 1  a\n  x\n\n...\nmessage 9  c\n\n", false},
		{"connection", talks, "dialogues", "4", "...\nconnection 4  b\n  y\n\n...\n", false},
		{"no such dialogue", talks, "dialogues", "5", "", true},
		{"parts", sums, "parts", "Servers", "...\nServers: all\n  x\n\n...\n", false},
		{"several", sums, "parts", "Time,Servers", "...\nServers: all\n  x\n\nTime\n  y\n", false},
		{"lines", sums, "lines", "^..[xy]", "...\n  x\n...\n  y\n", false},
		{"no such line", sums, "lines", "z", "", true},
		{"no pattern", sums, "lines", "(", "", true},
		{"no such part", sums, "parts", "Findings", "", true},
	} {
		got, err := excerpt(tc.out, tc.of, tc.which)
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
		for _, arg := range strings.Fields(m[3]) {
			shown[arg] = true
		}
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
	reg := protocols.NewRegistry()
	known := map[string]bool{}
	for _, c := range listCodes(reg) {
		known[c.ID] = true
	}
	for _, m := range findingLink.FindAllStringSubmatch(text, -1) {
		if !known[m[1]] || strings.ToLower(m[1]) != m[2] {
			t.Errorf("%s leads to no finding", m[0])
		}
	}
}
