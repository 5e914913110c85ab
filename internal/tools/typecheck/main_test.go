package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: what one platform lacks is an error there alone, in tests as well unless programs are asked for.
func TestCheck(t *testing.T) {
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module example.org/m\n\ngo 1.26\n",
		"a/a.go":           "package a\n\nfunc F() int { return only }\n",
		"a/only_linux.go":  "package a\n\nconst only = 1\n",
		"b/b.go":           "package b\n\nfunc F() int { return 1 << 20 }\n",
		"b/b_test.go":      "package b\n\nimport \"testing\"\n\nfunc TestF(*testing.T) { var n int = 1 << 40; _ = n }\n",
		"cmd/x/x.go":       "package main\n\nimport (\n\t\"fmt\"\n\n\t\"example.org/m/b\"\n)\n\nfunc main() { fmt.Println(b.F()) }\n",
		"cmd/x/linux.go":   "//go:build linux && amd64\n\npackage main\n\nvar _ = undefinedThere\n",
		"cmd/x/windows.go": "//go:build windows\n\npackage main\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		platform string
		want     []string
	}{
		{"windows/amd64", []string{"undefined: only"}},
		{"windows/amd64:programs", nil},
		{"linux/arm64", nil},
		{"linux/amd64:programs", []string{"undefined: undefinedThere"}},
		{"linux/armv7", []string{"1 << 40"}},
		{"linux/armv7:programs", nil},
	} {
		var out strings.Builder
		n, err := check(dir, tc.platform, &out)
		if err != nil {
			t.Fatalf("%s: %v", tc.platform, err)
		}
		if n != len(tc.want) {
			t.Errorf("%s: %d errors, want %d:\n%s", tc.platform, n, len(tc.want), out.String())
		}
		for _, want := range tc.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q in\n%s", tc.platform, want, out.String())
			}
		}
	}
	if _, err := check(dir, "windows", os.Stdout); err == nil {
		t.Error("a platform without a processor is taken")
	}
}
