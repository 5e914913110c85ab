package mem

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// residentProgram returns how many KiB of the program's file are resident and not written to.
func residentProgram(t *testing.T) (sum int) {
	t.Helper()
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, ours, _ := strings.Cut(string(list), self+"\n")
	for part := range strings.SplitSeq(ours, self+"\n") {
		part, _, _ = strings.Cut(part, "VmFlags")
		_, rss, _ := strings.Cut(part, "\nRss:")
		_, dirty, _ := strings.Cut(part, "\nAnonymous:")
		var kib, written int
		if _, err := fmt.Sscan(rss, &kib); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Sscan(dirty, &written); err != nil {
			t.Fatal(err)
		}
		sum += kib - written
	}
	return sum
}

// TestReturnProgram: pages that nobody uses are returned, and what they held is there again.
func TestReturnProgram(t *testing.T) {
	file, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time with what is open since the first
		_ = regexp.MustCompile(`[[:alpha:]]+`).FindAllString(string(file[:1<<12]), -1) // uses code that nothing else does
		first := residentProgram(t)
		residentProgram(t) // what this function uses is resident
		ReturnProgram()
		if last := residentProgram(t); last >= first {
			t.Errorf("%d KiB of the program are resident after %d KiB", last, first)
		}
	}
	if again, err := os.ReadFile("/proc/self/exe"); err != nil || len(again) != len(file) {
		t.Errorf("the file has %d bytes after %d: %v", len(again), len(file), err)
	}
}
