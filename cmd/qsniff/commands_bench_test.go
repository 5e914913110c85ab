package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// BenchmarkCommands runs the commands over captures that make profile makes, in the folder
// that QSNIFF_CAPTURES names: cmd/qsniff/default.pgo is the profile of it.
func BenchmarkCommands(b *testing.B) {
	dir := os.Getenv("QSNIFF_CAPTURES")
	if dir == "" {
		b.Skip("QSNIFF_CAPTURES names no folder with flood.pcap and mix.pcap: make profile does that")
	}
	for _, line := range []string{
		"read -o none mix.pcap", "read -o json mix.pcap", "read mix.pcap", "follow mix.pcap", "exchanges mix.pcap",
		"stats mix.pcap", "stats flood.pcap", "floods flood.pcap", "floods mix.pcap", "proven mix.pcap",
	} {
		b.Run(line, func(b *testing.B) {
			args := strings.Fields(line)
			last := len(args) - 1
			args[last] = filepath.Join(dir, args[last])
			for range b.N {
				if status := run(b.Context(), args, streams{io.Discard, io.Discard}); status != 0 {
					b.Fatalf("%s\n got status %d\nwant 0", line, status)
				}
			}
		})
	}
}
