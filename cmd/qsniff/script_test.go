package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"qsniff/capture/file"
)

func TestMain(m *testing.M) {
	testscript.Main(inside{m}, map[string]func(){
		"qsniff": func() { os.Exit(runProgram()) },
	})
}

// inside runs the tests, in which the program runs as a function.
type inside struct{ m *testing.M }

// insideMemory is what the collector lets the tests take. A run over a small capture
// leaves 28 MB of empty tables; with the usual setting, which collects whenever the heap
// has doubled, that takes half the CPU time of all tests here.
const insideMemory = 1000 << 20

func (i inside) Run() int {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(insideMemory)
	os.Setenv("COLUMNS", "") // the width of pages is not the terminal's
	for _, name := range []string{"QSNIFF_SERVERS", "QSNIFF_OWN", "SUDO_USER", "SUDO_UID"} {
		os.Unsetenv(name)
	}
	dir, err := os.MkdirTemp("", "qsniff-config-") // servers are not those of who runs the tests
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_CONFIG_HOME", dir)
	return i.m.Run()
}

// TestScripts runs testdata/*.txtar: the command line as a user meets it. $P is
// the folder of captures. exec qsniff is a process. So is run, except with -short: starting
// 400 processes takes 12 s of CPU time.
func TestScripts(t *testing.T) {
	p := scriptParams()
	p.UpdateScripts = *update
	testscript.RunT(scriptT{t}, p)
}

// scriptParams is how scripts run.
func scriptParams() testscript.Params {
	return testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			p, err := filepath.Abs(pcapfiles)
			env.Setenv("P", p)
			env.Setenv("TZ", "UTC")
			return err
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "unprivileged":
				return os.Getuid() != 0, nil
			case "libpcap":
				return file.HasLibpcap, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"run": runProgramHere, "status": wantStatus, "cutfile": cutfile, "hole": hole, "pcap": pcap},
	}
}

// scriptT is t, for which scripts run one after another where they run in the process of the
// tests: each has its own folder and environment.
type scriptT struct{ *testing.T }

func (t scriptT) Verbose() bool { return testing.Verbose() }

func (t scriptT) Parallel() {
	if !testing.Short() {
		t.T.Parallel()
	}
}

func (t scriptT) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(scriptT{t}) })
}
