package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine is where it was measured. It has no name and no user.
type machine struct {
	cores     int
	processor string // empty where the system does not tell
	kernel    string
	golang    string
	load      string // of the last minute; empty where the system does not tell
}

// thisMachine describes the machine before anything is measured.
func thisMachine() machine {
	m := machine{cores: runtime.NumCPU(), golang: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		kernel: firstLine("uname", "-srm")}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.processor = field(string(b), "model name")
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(b), " ")
	}
	return m
}

// field returns what stands after the first "key :" in text.
func field(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// firstLine is the first line that a command prints, or "unknown".
func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if line = strings.TrimSpace(line); err != nil || line == "" {
		return "unknown"
	}
	return line
}
