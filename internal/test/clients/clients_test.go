// Package clients holds qsniff against the programs that people ask servers with:
// each asks a server of internal/test/responder on the loopback interface, the traffic is
// captured there, and what qsniff reads in the capture has to be what the program
// printed. So has what qsniff live sees of them on a cable between two network
// namespaces. The package has no code of its own.
//
// The programs are quakestat (qstat 2.17 of Debian 12), gamedig 5.3.3,
// rcon-client 4.2.5 and the packages of programs.mjs (with Node.js 20), and those built in
// testdata of Go modules; "make clients" installs them. masscan 1.3.2 and zmap 2.1.1 of Debian
// are run where they are installed, between namespaces. A test whose
// program is missing is skipped, and so are all where capturing takes a right that
// the tests do not have.
package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"testing"

	"qsniff/internal/test/npm"
)

// program returns the path of an installed program, or skips t.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed (make clients)", name)
	}
	return path
}

// modules returns the node_modules folder that holds a package, or skips t.
func modules(t *testing.T, name string) string { return npm.Modules(t, name) }

// output runs a program and returns what it printed on standard output.
func output(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", cmd, err, out, &stderr)
	}
	return out
}

// hostPort is an address as the scripts take it.
func hostPort(a netip.AddrPort) []string {
	return []string{a.Addr().String(), fmt.Sprint(a.Port())}
}

// parse parses what a script printed.
func parse(t *testing.T, b []byte, to any) {
	t.Helper()
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatalf("%v in %s", err, b)
	}
}
