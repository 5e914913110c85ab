package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json, see go doc test2json.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// log counts tests and keeps the output of those that have not ended.
type log struct {
	out     io.Writer
	began   time.Time
	printed time.Time
	running map[string]map[string]*strings.Builder // output of packages by test, "" for none, until these end
	tests   int
	failed  int
	skipped map[string][]string // by reason
	skips   int
	long    map[string]bool // names of tests that do less with -short, where that was given
}

func newLog(out io.Writer) *log {
	now := time.Now()
	return &log{out: out, began: now, printed: now, running: map[string]map[string]*strings.Builder{}, skipped: map[string][]string{}}
}

func (l *log) print(text string) {
	fmt.Fprint(l.out, text)
	l.printed = time.Now()
}

// addEvent handles one line. A line that is no event comes from go itself and is printed.
func (l *log) addEvent(line []byte) {
	var e event
	if json.Unmarshal(line, &e) != nil || e.Action == "" {
		l.print(string(line))
		return
	}
	switch e.Action {
	case "start":
		l.running[e.Package] = map[string]*strings.Builder{}
	case "build-output":
		l.print(e.Output)
	case "run":
		l.buffer(&e)
	case "output":
		l.buffer(&e).WriteString(e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			l.endPackage(&e)
		} else {
			l.endTest(&e)
		}
	}
}

func (l *log) buffer(e *event) *strings.Builder {
	p := l.running[e.Package]
	if p == nil {
		p = map[string]*strings.Builder{}
		l.running[e.Package] = p
	}
	if p[e.Test] == nil {
		p[e.Test] = new(strings.Builder)
	}
	return p[e.Test]
}

func (l *log) endTest(e *event) {
	text := l.buffer(e).String()
	delete(l.running[e.Package], e.Test)
	l.tests++
	switch e.Action {
	case "fail":
		l.failed++
		l.print(text)
	case "skip":
		l.skips++
		top, _, _ := strings.Cut(e.Test, "/")
		why := skipReason(text)
		if l.long[top] {
			why = "left to make test-long"
		}
		if !slices.Contains(l.skipped[why], top) {
			l.skipped[why] = append(l.skipped[why], top)
		}
	}
}

// endPackage prints the line that go test ends a package with. If the package failed, it
// prints all output of the package that belongs to no ended test, as that of a crash.
func (l *log) endPackage(e *event) {
	p := l.running[e.Package]
	delete(l.running, e.Package)
	for _, test := range slices.Sorted(maps.Keys(p)) {
		for line := range strings.Lines(p[test].String()) {
			if e.Action == "fail" || strings.HasPrefix(line, "ok  \t") {
				l.print(line)
			}
		}
	}
}

// skipLine is a line that t.Skip prints, scriptSkip one that a script of testscript
// prints for its command skip.
var (
	skipLine   = regexp.MustCompile(`(?m)^ +[^ ]+\.go:\d+: (.*)$`)
	scriptSkip = regexp.MustCompile(`(?m)^ +> .*\bskip '(.*)'$`)
)

// skipReason returns why a test was skipped: the last line that it logged.
func skipReason(output string) string {
	if m := scriptSkip.FindStringSubmatch(output); m != nil {
		return m[1]
	}
	said := skipLine.FindAllStringSubmatch(output, -1)
	if said == nil {
		return "no reason given"
	}
	return said[len(said)-1][1]
}

// printWaiting prints which packages have not ended.
func (l *log) printWaiting() {
	what := "compiling"
	if len(l.running) > 0 {
		what = "running " + strings.Join(slices.Sorted(maps.Keys(l.running)), ", ")
	}
	l.print(fmt.Sprintf("... %.0f s: %s\n", time.Since(l.began).Seconds(), what))
}

// printSummary prints the skipped tests by reason, and the totals.
func (l *log) printSummary() {
	const most = 4 // names of tests for a reason
	for _, why := range slices.Sorted(maps.Keys(l.skipped)) {
		names := l.skipped[why]
		more := ""
		if n := len(names) - most; n > 0 {
			names, more = names[:most], fmt.Sprintf(" and %d more", n)
		}
		l.print(fmt.Sprintf("skipped: %s%s: %s\n", strings.Join(names, ", "), more, why))
	}
	sum := fmt.Sprintf("DONE %d tests", l.tests)
	if l.skips > 0 {
		sum += fmt.Sprintf(", %d skipped", l.skips)
	}
	if l.failed > 0 {
		sum += fmt.Sprintf(", %d failed", l.failed)
	}
	l.print(fmt.Sprintf("%s in %.1fs\n", sum, time.Since(l.began).Seconds()))
}
