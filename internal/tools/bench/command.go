package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"
)

// command is a program with a capture to read.
type command struct {
	tool    string   // qsniff, tcpdump or tshark
	program string   // the file to run
	before  []string // arguments before the capture
	capture *capture
	after   []string
	inside  bool // runs in the folder of the capture, where the plugin is

	samples []sample // of the rounds that count
}

// sample holds the measures of one run.
type sample struct {
	wall time.Duration
	cpu  time.Duration // of all threads, user and system
	peak int64         // resident memory, bytes
}

// line returns the command as one would type it in the folder of the captures.
func (c *command) line() string {
	words := append([]string{c.tool}, c.before...)
	words = append(words, c.capture.name)
	return strings.Join(append(words, c.after...), " ")
}

// run times the command once. Its output goes to the null device.
func (c *command) run() (sample, error) {
	args := append(append([]string{}, c.before...), c.capture.path)
	cmd := exec.Command(c.program, append(args, c.after...)...)
	if c.inside {
		cmd.Dir = filepath.Dir(c.capture.path)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start)}
	if err != nil {
		return s, fmt.Errorf("%s: %w\n%s", c.line(), err, stderr.Bytes())
	}
	if c.tool == "qsniff" && !hasReadAll(stderr.String(), c.capture.packets) {
		return s, fmt.Errorf("%s: not all was read\n%s", c.line(), stderr.Bytes())
	}
	s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	s.peak = peakOf(cmd.ProcessState.SysUsage())
	return s, nil
}

// oneWay is the start of qsniff's remark about a flood that nobody answers.
const oneWay = "qsniff: only requests were captured"

// noneMatches is the end of its remark about a filter that chose nothing.
const noneMatches = " matches the filter\n"

// hasReadAll reports whether qsniff's remark is about n packets, or missing, as where
// each packet was a message.
func hasReadAll(remark string, n int) bool {
	return remark == "" || strings.HasSuffix(remark, noneMatches) || strings.HasPrefix(remark, oneWay) || strings.Contains(remark, fmt.Sprintf(" in %d packets", n))
}

// peakOf returns the peak of a process's resident memory in bytes; 0 if usage has none.
// On Linux a process inherits the peak of the one that started it: see resetPeak and
// measureFloor.
func peakOf(usage any) int64 {
	u, ok := usage.(*syscall.Rusage)
	switch {
	case !ok:
		return 0
	case runtime.GOOS == "darwin":
		return int64(u.Maxrss)
	}
	return int64(u.Maxrss) << 10
}

// resetPeak makes the system measure this process's peak anew, where it can: making
// captures took more memory than this program needs from now on.
func resetPeak() {
	debug.FreeOSMemory()
	const peakOnly = "5" // proc(5), clear_refs
	os.WriteFile("/proc/self/clear_refs", []byte(peakOnly), 0)
}

// measureFloor returns the least peak that can be measured: that of a program that does
// nothing. It returns 0 if there is none to run.
func measureFloor() int64 {
	cmd := exec.Command("true")
	if cmd.Run() != nil {
		return 0
	}
	return peakOf(cmd.ProcessState.SysUsage())
}

// measure runs the group's commands in turns: each once a round.
func (g *group) measure(rounds int, log io.Writer) error {
	for round := range rounds + 1 {
		fmt.Fprintf(log, "%s: round %d of %d\n", g.name, round, rounds)
		for _, c := range g.commands {
			s, err := c.run()
			if err != nil {
				return err
			}
			if round > 0 { // the first warms up
				c.samples = append(c.samples, s)
			}
		}
	}
	return nil
}
