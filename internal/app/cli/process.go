//go:build !js

package cli

import (
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
)

// SurviveSignals has signals do nothing. The messenger process ends when its orders do: a signal to all
// processes of a terminal or of a service must not keep it from sending the last notes. Signals are
// caught and not ignored: programs that it starts would inherit what is ignored.
func SurviveSignals() {
	all := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE}
	signal.Reset(all...)
	signal.Notify(make(chan os.Signal, 1), all...) // what is not read is dropped
}

// OwnCommand returns a command that runs this program, by its name, with other arguments.
func OwnCommand(name string, args ...string) (*exec.Cmd, error) {
	path := "/proc/self/exe" // as it was started, even if it was replaced on disk since
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Args[0] = name
	return cmd, nil
}
