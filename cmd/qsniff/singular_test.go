package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// several finds one thing that is counted as if it were several.
var several = regexp.MustCompile(`(?:^|[ (>])1 (?:different |refused )?(?:[a-z]+ies|sources|servers|packets|frames|bytes|messages|requests|players|clients|incidents|attacks|warnings|notes|parts|datagrams|addresses|logins|passwords|hosts|answers|files|connections|dialogues)\b`)

// TestSingular: in no output that the repository holds one thing is several.
func TestSingular(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pcapfiles, "*", "*.txt"))
	if err != nil || len(files) < 100 {
		t.Fatalf("%d outputs, %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := several.Find(text); found != nil {
			t.Errorf("%s: %q", name, found)
		}
	}
}
