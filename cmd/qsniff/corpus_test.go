package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestCorpus holds qsniff against recorded packets, which are not part of this
// repository: QSNIFF_CORPUS names the folder with corpus.pcap, expected.json and
// check.py.
func TestCorpus(t *testing.T) {
	dir := os.Getenv("QSNIFF_CORPUS")
	if dir == "" {
		t.Skip("QSNIFF_CORPUS is not set")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	bin, err := exec.LookPath("qsniff") // TestMain has put it there
	if err != nil {
		t.Fatal(err)
	}
	check := exec.Command(python, filepath.Join(dir, "check.py"), bin, filepath.Join(dir, "corpus.pcap"),
		filepath.Join(dir, "expected.json"))
	out, err := check.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
