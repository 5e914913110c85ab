// Package npm finds packages of npm that tests compare qsniff with; make clients installs them. It is no part of qsniff:
// tests alone import it.
package npm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"qsniff/internal/test/binary"
)

// Modules returns the node_modules folder that holds a package, or skips t.
func Modules(t testing.TB, name string) string {
	t.Helper()
	dir, ok := Find(name)
	if !ok {
		t.Skipf("the npm package %s is not in %s (make clients)", name, dir)
	}
	return dir
}

// Find returns the node_modules folder that holds a package, or the folders that
// were searched. The environment variable QSNIFF_NPM names one to search first.
func Find(name string) (dir string, ok bool) {
	roots := []string{filepath.Join(binary.Root, ".clients", "node_modules")}
	if dir := os.Getenv("QSNIFF_NPM"); dir != "" {
		roots = append([]string{filepath.Join(dir, "node_modules")}, roots...)
	}
	if dir := globalModules(); dir != "" {
		roots = append(roots, dir)
	}
	for _, dir := range roots {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			continue
		}
		if dir, err := filepath.Abs(dir); err == nil {
			return dir, true
		}
	}
	return strings.Join(roots, ", "), false
}

// globalModules returns the folder of what npm installed for everybody, or nothing.
var globalModules = sync.OnceValue(func() string {
	out, _ := exec.Command("npm", "root", "-g").Output() // without npm there is none
	return strings.TrimSpace(string(out))
})
