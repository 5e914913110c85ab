package deptest

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"qsniff/dissect/protocols"
)

// TestPageNamesNoProtocol: views show what a report says of fields, messages and findings, so
// that a new protocol changes none of them.
func TestPageNamesNoProtocol(t *testing.T) {
	words := slices.Clone(nicknames)
	for _, p := range protocols.All() {
		words = append(words, p.Proto().Name)
		for _, m := range p.Proto().Types {
			words = append(words, strings.ToLower(m.Name))
		}
	}
	// A word of English that is a message type as well is no name of one.
	words = slices.DeleteFunc(words, func(w string) bool {
		return !strings.ContainsAny(w, "_0123456789") && w != "rcon" && !slices.Contains(nicknames, w)
	})
	word := regexp.MustCompile(`[a-z0-9_]+`)
	files := 0
	err := filepath.WalkDir(filepath.Join(root, "internal/web", "src"), func(file string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, ".js") && !strings.HasSuffix(file, ".css") {
			return err
		}
		files++
		text, err := os.ReadFile(file)
		for _, w := range word.FindAllString(strings.ToLower(string(text)), -1) {
			if slices.Contains(words, w) {
				t.Errorf("%s names a protocol: %s", file, w)
			}
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files of the page were read: %v", files, err)
	}
}

// TestPageIsBuilt: what is embedded is what the sources give.
func TestPageIsBuilt(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	web, dist, fresh := filepath.Join(root, "internal/web"), filepath.Join(root, "internal/render", "html", "dist"), t.TempDir()
	if _, err := os.Stat(filepath.Join(web, "node_modules", "esbuild")); err != nil {
		t.Skip("esbuild is not installed: npm ci in web")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, node, filepath.Join(web, "build.mjs"), fresh).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	files, err := os.ReadDir(fresh)
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files were built: %v", len(files), err)
	}
	for _, f := range files {
		built, err := os.ReadFile(filepath.Join(fresh, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join(dist, f.Name()))
		if err != nil || !bytes.Equal(built, committed) {
			t.Errorf("internal/render/html/dist/%s is not what internal/web gives (%v): make web", f.Name(), err)
		}
	}
}
