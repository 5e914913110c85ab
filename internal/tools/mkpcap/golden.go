package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"qsniff/internal/test/testpcap"
)

// writeGolden writes NAME.pcap beside every NAME.hex below dir and returns how
// many it wrote: none in a folder of recordings, which have no source. It stops at the first source that is wrong.
func writeGolden(dir string) (int, error) {
	n := 0
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".hex") {
			return err
		}
		capture, err := testpcap.ReadFile(path)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := capture.WritePcap(&out); err != nil {
			return err
		}
		n++
		return os.WriteFile(strings.TrimSuffix(path, ".hex")+".pcap", out.Bytes(), 0o644)
	})
	if recorded, _ := filepath.Glob(filepath.Join(dir, "*.pcap")); err == nil && n == 0 && len(recorded) == 0 {
		err = fmt.Errorf("%s: no .hex files", dir)
	}
	return n, err
}
