// Package contrib tests the files in the folder contrib with the programs that they are for: systemd,
// Prometheus, promtool. There is nothing in it but tests.
package contrib

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// root is the folder of the module, and folder the one of the files.
const (
	root   = "../../.."
	folder = root + "/contrib"
)

// question is what clients ask in tests.
const question = "\xff\xff\xff\xffTSource Engine Query\x00"

// build builds the program, static, as for an image, and returns its path.
func build(t *testing.T) string {
	t.Helper()
	watch(t)
	bin := filepath.Join(t.TempDir(), "qsniff")
	c := exec.Command("go", "build", "-o", bin, root+"/cmd/qsniff")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// watch looks at the sources. go test runs a test again where a file changed that the test
// itself opened; what the compiler opens for it does not count.
func watch(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

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
