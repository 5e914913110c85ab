package main

import (
	"regexp"
	"testing"
)

// several finds one thing that is counted as if it were several.
var several = regexp.MustCompile(`(?:^|[ (>])1 (?:different |refused )?(?:[a-z]+ies|sources|servers|packets|frames|bytes|messages|requests|players|clients|incidents|attacks|warnings|notes|parts|datagrams|addresses|logins|passwords|hosts|answers|files|connections|dialogues)\b`)

// TestSingular: in no output of a capture that people read one thing is several.
func TestSingular(t *testing.T) {
	eachCapture(t, func(t *testing.T, _ int, name string) {
		p := printedOf(t, name)
		if found := several.FindString(p.remarks + p.forms["text"] + p.forms["tree"] + p.forms["hex"]); found != "" {
			t.Errorf("%q", found)
		}
	})
}
