// Package newprotocol follows the steps of CONTRIBUTING.md for a new protocol, with the template under another name. There is
// nothing in it but a test.
package newprotocol

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"qsniff/internal/test/testpcap"
)

// root is the folder of the module.
const root = "../../.."

// capture has a message of each type.
const capture = `# Constructed: a client brings back the token that it was given.
@ client 10.64.0.1:40001
@ server 198.18.0.1:4040
> "XQi"
< "XRc" 4b a1 d5 22
> "XQi" 4b a1 d5 22
< "XRi" "Test server\0" "dm1\0" 03 10
`

// tree is a copy of the module without its captures, in which the steps are followed. What is compiled is this module with
// the files that differ in the copy (go build -overlay), for which only these are compiled anew.
type tree struct {
	dir     string
	overlay map[string]string // files of the copy by their paths here
}

// write writes a file of the copy.
func (x *tree) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(x.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	here, err := filepath.Abs(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	x.overlay[here] = path
}

// copyTree copies the module. Of the captures it has links to the folders.
func copyTree(t *testing.T) *tree {
	t.Helper()
	x := &tree{t.TempDir(), map[string]string{}}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		to := filepath.Join(x.dir, rel)
		switch {
		case d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && rel != "."):
			return fs.SkipDir
		case d.IsDir() && filepath.ToSlash(filepath.Dir(rel)) == "pcapfiles":
			from, err := filepath.Abs(path)
			if err == nil {
				err = os.Symlink(from, to)
			}
			if err != nil {
				return err
			}
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(to, 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// build runs go with the files of the copy in place of those here, in the folder of this package.
func (x *tree) build(t *testing.T, args ...string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Replace": x.overlay})
	if err != nil {
		t.Fatal(err)
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		t.Fatal(err)
	}
	args = append([]string{args[0], "-overlay", overlay, "-pgo=off", "-ldflags=-w"}, args[1:]...)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// test runs the tests of a package in the folder that it has in the copy.
func (x *tree) test(t *testing.T, name string) {
	t.Helper()
	tests := filepath.Join(t.TempDir(), "tests.exe")
	x.build(t, "test", "-c", "-vet=off", "-o", tests, root+"/"+name)
	cmd := exec.Command(tests, "-test.short")
	cmd.Dir = filepath.Join(x.dir, name)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("the tests of %s: %v\n%s", name, err, out)
	}
}

// replaced returns a file of the module with replacements, each of which must be made.
func replaced(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	s := string(text)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(s, pairs[i]) {
			t.Fatalf("%s has no %q", name, pairs[i])
		}
		s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
	}
	return s
}

// TestSteps: the template is a protocol of the program once it is copied, listed and has a capture. No step changes another
// file, and none needs a reader in Lua. With -short the program is not built with it.
func TestSteps(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links take a right there")
	}
	x := copyTree(t)
	x.write(t, "dissect/teapot/doc.go", replaced(t, "dissect/example/doc.go", "Package example", "Package teapot", "package example", "package teapot"))
	names := []string{"example", "teapot", "EXAMPLE", "TEAPOT", "XMP-", "TPT-"}
	x.write(t, "dissect/teapot/teapot.go", replaced(t, "dissect/example/example.go", names...))
	x.write(t, "dissect/teapot/teapot_test.go", replaced(t, "dissect/example/example_test.go", "package example", "package teapot", "FuzzExample", "FuzzTeapot", "XMP-", "TPT-"))
	x.write(t, "dissect/protocols/protocols.go", replaced(t, "dissect/protocols/protocols.go",
		"\t\trcon.New(),\n", "\t\trcon.New(),\n\t\tteapot.New(),\n", "\t\"qsniff/dissect/rcon\"\n", "\t\"qsniff/dissect/rcon\"\n\t\"qsniff/dissect/teapot\"\n"))
	x.write(t, "pcapfiles/teapot/token.hex", capture)
	for _, name := range []string{"dissect/teapot", "dissect/protocols", "internal/test/deptest"} {
		x.test(t, name)
	}
	if testing.Short() {
		return
	}
	packets, err := testpcap.ReadFile(filepath.Join(x.dir, "pcapfiles/teapot/token.hex"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(x.dir, "pcapfiles/teapot/token.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	if err := packets.WritePcap(file); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "qsniff.exe")
	x.build(t, "build", "-buildvcs=false", "-o", program, root+"/cmd/qsniff")
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"read", "-o", "json", file.Name()}, []string{`"message":"TEAPOT_QUERY"`, `"message":"TEAPOT_CHALLENGE"`, `"name":"Test server"`, `"request_frame":3`}},
		{[]string{"proven", file.Name()}, []string{"10.64.0.1"}},
		{[]string{"explain", "TPT-01"}, []string{"More players than the server has room for"}},
	} {
		out, err := exec.Command(program, tc.args...).CombinedOutput()
		if err != nil {
			t.Fatalf("qsniff %s: %v\n%s", strings.Join(tc.args, " "), err, out)
		}
		for _, want := range tc.want {
			if !strings.Contains(string(out), want) {
				t.Errorf("qsniff %s does not print %s:\n%s", strings.Join(tc.args, " "), want, out)
			}
		}
	}
}
