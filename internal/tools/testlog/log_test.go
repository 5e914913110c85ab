package main

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLog: of what passes a line is left, of what fails all; skips are summed up.
func TestLog(t *testing.T) {
	var out strings.Builder
	l := newLog(&out)
	l.long = map[string]bool{"TestLong": true}
	for _, e := range []event{
		{"start", "a", "", ""},
		{"run", "a", "TestGood", ""},
		{"output", "a", "TestGood", "noise\n"},
		{"pass", "a", "TestGood", ""},
		{"run", "a", "TestRoot/x", ""},
		{"output", "a", "TestRoot/x", "=== RUN   TestRoot/x\n"},
		{"output", "a", "TestRoot/x", "    a_test.go:7: needs root: to capture\n"},
		{"output", "a", "TestRoot/x", "--- SKIP: TestRoot/x (0.00s)\n"},
		{"skip", "a", "TestRoot/x", ""},
		{"run", "a", "TestLong", ""},
		{"output", "a", "TestLong", "    a_test.go:8: takes long\n"},
		{"skip", "a", "TestLong", ""},
		{"output", "a", "", "PASS\n"},
		{"output", "a", "", "ok  \ta\t0.1s\n"},
		{"pass", "a", "", ""},
		{"start", "b", "", ""},
		{"run", "b", "TestBad", ""},
		{"output", "b", "TestBad", "    b_test.go:9: got 1, want 2\n"},
		{"fail", "b", "TestBad", ""},
		{"run", "b", "TestCrash", ""},
		{"output", "b", "TestCrash", "panic: no\n"},
		{"output", "b", "", "FAIL\tb\t0.2s\n"},
		{"fail", "b", "", ""},
		{"output", "c", "", "?   \tc\t[no test files]\n"},
		{"skip", "c", "", ""},
		{"build-output", "", "", "d.go:1: no such thing\n"},
	} {
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		l.addEvent(line)
	}
	l.addEvent([]byte("go: what is no event\n"))
	l.printSummary()
	want := `ok  	a	0.1s
    b_test.go:9: got 1, want 2
FAIL	b	0.2s
panic: no
d.go:1: no such thing
go: what is no event
skipped: TestLong: left to make test-long
skipped: TestRoot: needs root: to capture
DONE 4 tests, 2 skipped, 1 failed in 0.0s
`
	if diff := cmp.Diff(want, regexp.MustCompile(`in \S+s\n`).ReplaceAllString(out.String(), "in 0.0s\n")); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
}

// TestReason: the last thing that a test said, or what a script skips with.
func TestReason(t *testing.T) {
	for _, tc := range []struct{ output, want string }{
		{"    a_test.go:7: first\n    a_test.go:9: then: why\n--- SKIP: TestA (0.00s)\n", "then: why"},
		{"    testscript.go:609: WORK=$WORK\n        TZ=UTC\n        \n        > [!libpcap] skip 'no libpcap'\n", "no libpcap"},
		{"--- SKIP: TestA (0.00s)\n", "no reason given"},
	} {
		if got := skipReason(tc.output); got != tc.want {
			t.Errorf("got  %q\nwant %q", got, tc.want)
		}
	}
}

// TestWaiting: where nothing ends it is said what has begun.
func TestWaiting(t *testing.T) {
	var out strings.Builder
	l := newLog(&out)
	l.printWaiting()
	l.addEvent([]byte(`{"Action":"start","Package":"a"}`))
	l.printWaiting()
	if want := "... 0 s: compiling\n... 0 s: running a\n"; out.String() != want {
		t.Errorf("got  %q\nwant %q", out.String(), want)
	}
}

// TestStatus: the exit status is that of go test, whose output is no event here.
func TestStatus(t *testing.T) {
	var out strings.Builder
	if status, err := run([]string{"-nosuchflag"}, &out); err != nil || status == 0 {
		t.Errorf("status %d, error %v", status, err)
	}
	if status, err := run([]string{"-run", "^$", "qsniff/internal/test/race"}, &out); err != nil || status != 0 {
		t.Errorf("status %d, error %v\n%s", status, err, out.String())
	}
}

// TestMain: go test starts this program to measure, as it would testlog.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "-measure" {
		main()
	}
	os.Exit(m.Run())
}

// TestTimes: a package that was run has its times, and the exit status is that of its tests.
func TestTimes(t *testing.T) {
	var out strings.Builder
	if status, err := run([]string{"-times", "-run", "^$", "qsniff/internal/base/digits"}, &out); err != nil || status != 0 {
		t.Errorf("status %d, error %v\n%s", status, err, out.String())
	}
	if !regexp.MustCompile(`(?m)^ +CPU +clock +package\n( +\d+\.\d s){2} +[./]+base/digits\n( +\d+\.\d s){2} +all\n`).MatchString(out.String()) {
		t.Errorf("the table of times is not as it should be:\n%s", out.String())
	}
	if status, err := measure(t.TempDir(), []string{"sh", "-c", "exit 3"}); err != nil || status != 3 {
		t.Errorf("status %d, error %v", status, err)
	}
}
