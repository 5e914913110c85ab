package contrib

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// units are the units, and what systemd-analyze security may say of them at most, of 100. What
// remains of the first is what a program has that captures on a network of its host: the address
// families, the network itself, the right to packet sockets.
var units = map[string]int{"qsniff-monitor.service": 16, "qsniff.service": 41, "qsniff-hub.service": 12}

// TestUnits: systemd takes the units, and they are as hard as they say.
func TestUnits(t *testing.T) {
	analyze := tool(t, "systemd-analyze", "systemd")
	dir := t.TempDir()
	for _, name := range []string{"qsniff", "qsniff-hub"} { // verify looks whether the program is there
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, limit := range units {
		text := strings.ReplaceAll(read(t, "systemd/"+name), "/usr/local/bin/qsniff", filepath.Join(dir, "qsniff"))
		text = strings.ReplaceAll(text, "Documentation=", "#") // verify asks man, where the page is not installed
		unit := filepath.Join(dir, name)
		if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		check := []string{"verify", unit}
		if name == "qsniff-monitor.service" {
			socket := filepath.Join(dir, "qsniff-monitor.socket")
			if err := os.WriteFile(socket, []byte(read(t, "systemd/qsniff-monitor.socket")), 0o644); err != nil {
				t.Fatal(err)
			}
			check = append(check, socket)
		}
		if out := run(t, analyze, check...); strings.Contains(out, "qsniff") { // it warns, and succeeds
			t.Errorf("systemd-analyze verify %s:\n%s", name, out)
		}
		run(t, analyze, "security", "--offline=true", "--threshold="+strconv.Itoa(limit), unit)
	}
}
