package main

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// machine is the machine of the measurements, without its name and user.
type machine struct {
	cores     int
	processor string // empty where the system does not have it
	kernel    string
	golang    string
	load      string // of the last minute; empty where the system does not have it
}

// describeMachine describes the machine before anything is measured.
func describeMachine() machine {
	m := machine{cores: runtime.NumCPU(), golang: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH,
		kernel: firstLine("uname", "-srm")}
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.processor = findField(string(b), "model name")
	}
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.load, _, _ = strings.Cut(string(b), " ")
	}
	return m
}

// findField returns the value after the first "key :" in text, or "".
func findField(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// firstLine runs a command and returns the first line that it prints, or "unknown".
func firstLine(name string, args ...string) string {
	out, err := exec.Command(name, args...).Output()
	line, _, _ := strings.Cut(string(out), "\n")
	if line = strings.TrimSpace(line); err != nil || line == "" {
		return "unknown"
	}
	return line
}
