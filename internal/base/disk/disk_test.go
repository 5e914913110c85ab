package disk

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestRoom(t *testing.T) {
	dir := t.TempDir()
	if n := Used(dir); n != 0 {
		t.Errorf("an empty folder has %d bytes", n)
	}
	for _, name := range []string{"a", "b/c"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := Used(dir); n != 2000 {
		t.Errorf("got %d bytes, want 2000", n)
	}
	if runtime.GOOS != "linux" {
		t.Skip("the room on a disk is looked up where brokers run: Linux, macOS, FreeBSD")
	}
	here, err := Free(dir)
	below, errBelow := Free(filepath.Join(dir, "not", "there", "yet"))
	if err != nil || errBelow != nil || here == 0 || below == 0 {
		t.Errorf("got %d, %v and %d, %v", here, err, below, errBelow)
	}
}
