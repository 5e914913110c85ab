package main

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/html"

	"qsniff/internal/base/digits"
)

// example is a line of the manual that runs qsniff.
type example struct {
	line string
	at   *html.Node // what its output is added to
}

var (
	// runsQsniff matches a line of commands in which qsniff is one, and is not a synopsis.
	runsQsniff = regexp.MustCompile(`^(?:[^#']*(?:\| |&& ))?(?:[A-Z]+=\S+ |sudo |timeout \d+ )*qsniff(?: |$)`)
	synopsis   = regexp.MustCompile(`\[flags\]| [a-z]+(?:\|[a-z]+)+$`)
	// remark is what follows a command after two blanks: in the README also after #.
	remark = regexp.MustCompile(`^(.*?\S) {2,}(?:# ?)?(\S.*)$`)
)

// prepareBlock makes of a block of code what the site shows: a shell dialogue with its command marked, lines of
// commands each with its output, or the block itself. All but a dialogue's output can be copied.
func (s *site) prepareBlock(pre *html.Node) {
	code := onlyChild(pre, "code")
	if code == nil {
		return
	}
	lines := strings.Split(strings.TrimSuffix(textOf(code), "\n"), "\n")
	if command, ok := strings.CutPrefix(lines[0], "$ "); ok {
		setAttr(code, "class", "dialogue")
		code.RemoveChild(code.FirstChild)
		code.AppendChild(classed("span", "cmd", textNode(command)))
		code.AppendChild(textNode("\n" + strings.Join(lines[1:], "\n")))
		wrap(pre, classed("div", "code"))
		return
	}
	if attr(code, "class") != "" || !slices.ContainsFunc(lines, isExample) {
		wrap(pre, classed("div", "code"))
		return
	}
	block := classed("div", "examples")
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			block.AppendChild(s.prepareLine(line))
		}
	}
	replace(pre, block)
}

func isExample(line string) bool { return runsQsniff.MatchString(line) && !synopsis.MatchString(line) }

// prepareLine shows a line of commands, and notes it if it is an example that can be run.
func (s *site) prepareLine(line string) *html.Node {
	command, what := line, ""
	if m := remark.FindStringSubmatch(line); m != nil {
		command, what = m[1], m[2]
	}
	code := element("code", classed("span", "cmd", textNode(command)))
	shown := classed("div", "example", classed("div", "code", element("pre", code)))
	if what != "" {
		shown.AppendChild(classed("p", "remark", textNode(what)))
	}
	if isExample(line) {
		s.examples = append(s.examples, example{line: command, at: shown})
	}
	return shown
}

// Most of an output that is shown. Chosen: what a reader looks through; the rest is said to be there.
const (
	mostLines = 60
	mostChars = 12000
	openLines = 6 // an output that is shorter is open
)

// addExampleOutputs runs the examples, as many at a time as there are processors, and puts their outputs
// after them.
func (s *site) addExampleOutputs() error {
	if s.run == nil {
		return nil
	}
	outputs, errs := make([]output, len(s.examples)), make([]error, len(s.examples))
	var all sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, ex := range s.examples {
		slots <- struct{}{}
		all.Go(func() {
			outputs[i], errs[i] = s.run(ex.line)
			<-slots
		})
	}
	all.Wait()
	for i, ex := range s.examples {
		if errs[i] != nil {
			return fmt.Errorf("%s: %w", ex.line, errs[i])
		}
		for _, part := range outputs[i].parts {
			ex.at.AppendChild(showPart(part))
		}
		if outputs[i].exempt == "" {
			s.shown++
		}
		if name := outputs[i].missing; name != "" {
			s.missing[name]++
		}
	}
	return nil
}

// showPart shows a part of an output, folded if it is long.
func showPart(p part) *html.Node {
	lines, rest := cut(p.text)
	title := element("summary", textNode(p.title))
	fold := classed("details", "output", title)
	if strings.Count(lines, "\n") <= openLines {
		setAttr(fold, "open", "")
	}
	if lines == "" {
		return classed("p", "remark", textNode(p.title))
	}
	fold.AppendChild(element("pre", element("code", textNode(lines))))
	if rest != "" {
		fold.AppendChild(classed("p", "remark", textNode(rest)))
	}
	return fold
}

// cut takes what is shown of an output, and says how much that leaves out.
func cut(s string) (shown, rest string) {
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	lines := strings.SplitAfter(s, "\n")
	n, size := 0, 0
	for n < len(lines) && n < mostLines && size+len(lines[n]) <= mostChars {
		size += len(lines[n])
		n++
	}
	switch left := len(lines) - 1 - n; {
	case n == 0 && s != "": // one line, longer than all that is shown
		return strings.ToValidUTF8(s[:mostChars], "") + "\n", "… " + digits.Counted(uint64(len(s)-mostChars), "more byte")
	case left > 0:
		return s[:size], "… " + digits.Counted(uint64(left), "more line")
	}
	return s, ""
}
