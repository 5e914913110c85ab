package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// command is a program with a capture to read.
type command struct {
	tool    string   // qsniff, tcpdump, tshark, jq or gopacket
	program string   // the file to run
	before  []string // arguments before the capture
	capture *capture
	after   []string
	inside  bool   // runs in the folder of the capture, where the plugin is
	bytes   *int64 // how long the lines are that it writes or reads
	cable   *cable // where it listens in place of reading the capture, which is sent
	rate    int    // packets/s at which that is sent; 0: as fast as possible

	samples []sample // of the rounds that count
}

// sample holds the measures of one run.
type sample struct {
	wall    time.Duration
	cpu     time.Duration // of all threads, user and system
	peak    int64         // resident memory, bytes
	packets int           // that it read or received
}

// line returns the command as one would type it in the folder of the captures.
func (c *command) line() string {
	words := append([]string{c.tool}, c.before...)
	switch {
	case c.tool == dumpTool:
		words = []string{dumpTool, c.capture.name}
	case c.cable == nil:
		words = append(words, c.capture.name)
	}
	return strings.Join(append(words, c.after...), " ")
}

// short returns the command without program and capture.
func (c *command) short() string { return strings.Join(c.before, " ") }

// briefly is what a run takes of which one sample is little: what else the machine does in such a time
// changes it by a tenth.
const briefly = time.Second

// briefRuns is how often such a command runs in a round.
const briefRuns = 5

// run takes a sample of the command. Of one that is brief that is the run with the median of CPU time.
func (c *command) run() (sample, error) {
	if c.cable != nil {
		return c.listen()
	}
	var all []sample
	for {
		s, err := c.read()
		if all = append(all, s); err != nil {
			return s, err
		}
		if s.wall >= briefly || len(all) == briefRuns {
			return medianOf(all), nil
		}
	}
}

// medianOf returns the sample with the median of CPU time.
func medianOf(all []sample) sample {
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(a.cpu, b.cpu) })
	return all[len(all)/2]
}

// read times the command once. Its output goes to the null device.
func (c *command) read() (sample, error) {
	args := append(append([]string{}, c.before...), c.capture.path)
	cmd := exec.Command(c.program, append(args, c.after...)...)
	if c.inside {
		cmd.Dir = filepath.Dir(c.capture.path)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	start := time.Now()
	err := cmd.Run()
	s := sample{wall: time.Since(start), packets: c.capture.packets}
	if err != nil {
		return s, fmt.Errorf("%s: %w\n%s", c.line(), err, stderr.Bytes())
	}
	if c.tool == "qsniff" && !hasReadAll(stderr.String(), c.capture.packets) {
		return s, fmt.Errorf("%s: not all was read\n%s", c.line(), stderr.Bytes())
	}
	s.add(cmd.ProcessState)
	return s, nil
}

// add adds what a process took.
func (s *sample) add(p *os.ProcessState) {
	s.cpu = p.UserTime() + p.SystemTime()
	s.peak = peakOf(p.SysUsage())
}

var packetsRead = regexp.MustCompile(` messages in (\d+) packets`)

// hasReadAll reports whether qsniff's remark is about n packets, or about something else,
// as where each packet was a message. A capture that ends early is an error of its own.
func hasReadAll(remark string, n int) bool {
	m := packetsRead.FindStringSubmatch(remark)
	return m == nil || m[1] == strconv.Itoa(n)
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

// installCopy copies a program as install(1) does into a new folder below dir, and returns the path of the
// copy. Linux 6.18 maps the pages of a file in the pieces in which they came to its cache: of a program that
// the linker has just written whole megabytes, of a copy 64 KiB. 9 MiB more of qsniff are resident of the
// first, which nobody has who installed it.
func installCopy(program, dir string) (string, error) {
	from, err := os.Open(program)
	if err != nil {
		return "", err
	}
	defer from.Close()
	folder, err := os.MkdirTemp(dir, "program-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, filepath.Base(program))
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		os.RemoveAll(folder)
	}
	return path, err
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

// errInterrupted ends a run that a signal ended: the programs that it started end by it, too.
var errInterrupted = errors.New("interrupted")

// measure runs the group's commands in turns: each once a round.
func (g *group) measure(rounds int, interrupted <-chan os.Signal, log io.Writer) error {
	if g.cleanup != nil {
		defer g.cleanup()
	}
	if g.prepare != nil {
		fmt.Fprintf(log, "%s: preparing\n", g.name)
		if err := g.prepare(); err != nil {
			return err
		}
	}
	resetPeak()
	first := 0 // it warms up
	if g.once || rounds == 1 {
		first, rounds = 1, 1
	}
	for round := first; round <= rounds && len(g.commands) > 0; round++ {
		fmt.Fprintf(log, "%s: round %d of %d\n", g.name, round, rounds)
		for _, c := range g.commands {
			run := c.run
			if g.once { // for what does not change from run to run
				run = c.read
			}
			s, err := run()
			select {
			case <-interrupted:
				return errInterrupted
			default:
			}
			if err != nil {
				return err
			}
			if round > 0 {
				c.samples = append(c.samples, s)
			}
		}
	}
	return nil
}
