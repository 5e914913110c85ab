// Package binary builds qsniff, and what else tests start as processes. The package is no part
// of qsniff: tests alone import it.
package binary

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Root is the folder of the module, from the folder of a package in internal/test.
const Root = "../../.."

// copyTo copies the program that go run was to start. go run keeps what it linked in the build
// cache, go build does not: linking takes two seconds of CPU time.
const copyTo = `sh -c 'cp "$0" "$1"'`

// dir has the program for as long as Main runs, built with environment.
var (
	dir         string
	environment []string
)

// Main is the body of a TestMain: it runs the tests of m, removes the program, and returns the
// exit status. The environment of the tests and env are what Path builds with.
func Main(m *testing.M, env ...string) int {
	var err error
	if dir, err = os.MkdirTemp("", "qsniff-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	environment = append(os.Environ(), env...)
	return m.Run()
}

// Path returns the path of the program, which is built at the first call.
func Path(t testing.TB) string {
	t.Helper()
	Watch(t)
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var build = builder("cmd/qsniff")

// others are the other programs that tests start, by their names.
var others = map[string]func() (string, error){"qsniff-hub": builder("cmd/qsniff-hub"), "mkpcap": builder("internal/tools/mkpcap")}

// Program is Path of qsniff-hub or mkpcap, too.
func Program(t testing.TB, name string) string {
	t.Helper()
	if name == "qsniff" {
		return Path(t)
	}
	Watch(t)
	path, err := others[name]()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// builder builds without a profile: tests are compiled without one, so that what was compiled for
// them serves here.
func builder(source string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		path := filepath.Join(dir, filepath.Base(source))
		c := exec.Command("go", "run", "-pgo=off", "-exec", copyTo, Root+"/"+source, path)
		c.Env = environment
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("%w\n%s", err, out)
		}
		return path, nil
	})
}

// Watch opens the folders of the module. go test runs a test again where a file changed that the
// test itself opened; what the compiler opens for it does not count.
func Watch(t testing.TB) {
	t.Helper()
	err := filepath.WalkDir(Root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && path != Root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
