// Package contrib tests the files in the folder contrib with the programs that they are for: systemd,
// Prometheus, promtool. There is nothing in it but tests.
package contrib

import (
	"os"
	"os/exec"
	"path/filepath"
	"qsniff/internal/test/binary"
	"strconv"
	"strings"
	"testing"
)

// root is the folder of the module, and folder the one of the files.
const (
	root   = binary.Root
	folder = root + "/contrib"
)

// question is what clients ask in tests.
const question = "\xff\xff\xff\xffTSource Engine Query\x00"

func TestMain(m *testing.M) { os.Exit(binary.Main(m)) }

// tool returns the path of a program, and skips t without it.
func tool(t *testing.T, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed (on Debian: apt-get install %s)", name, debian)
	}
	return path
}

// run runs a program, which must succeed, and returns its output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// read returns a file of the folder.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
