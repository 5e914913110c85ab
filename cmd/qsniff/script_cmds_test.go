package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"qsniff/internal/test/testpcap"
)

// runProgramHere runs the program: ! run --wrong.
func runProgramHere(ts *testscript.TestScript, neg bool, args []string) {
	if got := exitStatus(ts, append([]string{"qsniff"}, args...)); (got != exitOK) != neg {
		ts.Fatalf("exit status %d", got)
	}
}

// wantStatus runs a command and wants an exit status: status 2 qsniff --wrong.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	if got := exitStatus(ts, args[1:]); got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// exitStatus runs a command. With -short, qsniff is no process unless exec precedes it: see TestScripts.
func exitStatus(ts *testscript.TestScript, line []string) int {
	switch {
	case line[0] == "exec":
		line = line[1:]
	case line[0] == "qsniff" && testing.Short():
		return runHere(ts, line[1:])
	}
	err := ts.Exec(line[0], line[1:]...)
	checkScriptOutput(ts, line, ts.ReadFile("stdout"))
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return exitOK
}

// runHere runs the program in the process of the tests, in the folder and the environment of the
// script.
func runHere(ts *testscript.TestScript, args []string) int {
	was, err := os.Getwd()
	ts.Check(err)
	ts.Check(os.Chdir(ts.MkAbs(".")))
	defer func() { ts.Check(os.Chdir(was)) }()
	zone, err := time.LoadLocation(ts.Getenv("TZ"))
	ts.Check(err)
	defer func(z *time.Location) { time.Local = z }(time.Local)
	local := *zone // in UTC as TZ says it, times have no Z
	time.Local = &local
	defer os.Setenv("COLUMNS", os.Getenv("COLUMNS"))
	os.Setenv("COLUMNS", ts.Getenv("COLUMNS"))
	var out bytes.Buffer
	defer func() { checkScriptOutput(ts, args, out.String()) }()
	return run(context.Background(), args, streams{io.MultiWriter(ts.Stdout(), &out), ts.Stderr()})
}

// checkScriptOutput holds what a command line wrote as JSON against the schema.
func checkScriptOutput(ts *testscript.TestScript, line []string, out string) {
	if !slices.Contains(line, "json") {
		return
	}
	x, err := compiledSchema()
	ts.Check(err)
	x.check(scriptErrors{ts}, strings.Join(line, " "), out)
}

// scriptErrors fails a script.
type scriptErrors struct{ *testscript.TestScript }

func (s scriptErrors) Errorf(format string, args ...any) { s.Fatalf(format, args...) }
func (scriptErrors) Helper()                             {}

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
