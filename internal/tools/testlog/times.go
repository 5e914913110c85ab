package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// times is how long the tests of a package took: the time of the clock depends on what else the machine does, that of
// the processors hardly. The processes that tests started and waited for are in it, compiling is not.
type times struct {
	Dir          string
	CPU, Elapsed time.Duration
}

// measureWith returns the flag that has go test start the tests of each package by measure, which leaves a file in dir.
func measureWith(dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("-exec='%s' -measure '%s'", self, dir), nil
}

// measure runs the tests of a package in the folder of the package, as go test does, and returns their exit status.
func measure(dir string, command []string) (int, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGQUIT) // by which go test ends tests that take too long
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 1, err
	}
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s) // the tests may have ended
		}
	}()
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 1, err
	}
	where, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	s := cmd.ProcessState
	text, err := json.Marshal(times{where, s.UserTime() + s.SystemTime(), time.Since(began)})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprint(os.Getpid())), text, 0o600)
	}
	if err != nil {
		return 1, err
	}
	if code := s.ExitCode(); code >= 0 {
		return code, nil
	}
	return 1, nil // by a signal
}

// formatTimes returns a row for each package whose tests were measured into dir, those that took most CPU time first.
func formatTimes(dir string) (string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return "", err
	}
	root, err := os.Getwd()
	if err != nil {
		return "", err
	}
	var all []times
	sum := times{Dir: "all"}
	for _, name := range names {
		var x times
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &x)
		}
		if err != nil {
			return "", err
		}
		if rel, err := filepath.Rel(root, x.Dir); err == nil {
			x.Dir = filepath.ToSlash(rel)
		}
		all = append(all, x)
		sum.CPU += x.CPU
		sum.Elapsed += x.Elapsed
	}
	slices.SortFunc(all, func(a, b times) int { return int(b.CPU - a.CPU) })
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "CPU\tclock\t\tpackage")
	for _, x := range append(all, sum) {
		fmt.Fprintf(w, "%.1f s\t%.1f s\t\t%s\n", x.CPU.Seconds(), x.Elapsed.Seconds(), x.Dir)
	}
	err = w.Flush()
	return out.String(), err
}
