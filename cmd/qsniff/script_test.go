package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"qsniff/capture/file"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"qsniff": func() { os.Exit(program()) },
	})
}

// TestScripts runs testdata/*.txtar: the command line as a user meets it. $P is
// the folder of captures.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata",
		UpdateScripts: *update,
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
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"status": status, "cutfile": cutfile, "hole": hole, "pcap": pcap},
	})
}
