package main

import (
	"errors"
	"os"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"qsniff/internal/test/testpcap"
)

// status runs a command and wants an exit status: status 2 qsniff --wrong.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// cutfile copies the first N bytes of a file: cutfile IN N OUT.
func cutfile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: cutfile IN N OUT")
	}
	data, err := os.ReadFile(args[0])
	ts.Check(err)
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), data[:n], 0o644))
}

// hole copies a file with N bytes from AT on set to zero: hole IN AT N OUT.
func hole(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: hole IN AT N OUT")
	}
	data, err := os.ReadFile(args[0])
	ts.Check(err)
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	n, err := strconv.Atoi(args[2])
	ts.Check(err)
	clear(data[at : at+n])
	ts.Check(os.WriteFile(ts.MkAbs(args[3]), data, 0o644))
}

// pcap writes a capture from its source: pcap IN.hex OUT.pcap.
func pcap(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: pcap IN OUT")
	}
	c, err := testpcap.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(c.WritePcap(f))
	ts.Check(f.Close())
}
