package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestFindLong: a test does less with -short where it, or a function that it uses, asks for that.
func TestFindLong(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"a/a_test.go": `package a
import "testing"
func TestMain(m *testing.M) { if testing.Short() { panic(1) } }
func TestSelf(t *testing.T) { if testing.Short() { t.Skip() } }
func TestHelper(t *testing.T) { first(t) }
func TestPlain(t *testing.T) { third(t) }
func TestMethod(t *testing.T) { new(suite).check(t) }
func third(t *testing.T) { third(t) }
`,
		"a/b_test.go": `package a_test
import "testing"
type suite struct{}
type other struct{}
func (other) TestPlain() { second() }
func first(t *testing.T) { for range 2 { second() } }
func second() bool { return testing.Short() }
func (suite) check(t *testing.T) { t.Run("", func(t *testing.T) { _ = second() }) }
func FuzzIt(f *testing.F) { f.Add(second()) }
func BenchmarkIt(b *testing.B) { second() }
`,
		"b/b_test.go":          "package b\nimport \"testing\"\nfunc TestB(t *testing.T) {}\n",
		"a/testdata/x_test.go": "not Go",
	} {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := addLong([]string{"-timeout", "1h"}, root)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-timeout", "1h", "-run", "^(FuzzIt|TestHelper|TestMethod|TestSelf)$", "./a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	if err := os.RemoveAll(filepath.Join(root, "a")); err != nil {
		t.Fatal(err)
	}
	if _, err := addLong(nil, root); err == nil {
		t.Error("where no test is long, go test would run all of this folder")
	}
}
