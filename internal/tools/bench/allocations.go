package main

import (
	"cmp"
	"fmt"
	"math"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// allocations is a group without commands: each command runs inside of a test, which can
// count.
func (m *commands) allocations() *group {
	short, long := m.all["mix-head.pcap"], m.all["mix.pcap"]
	each := func(x extra) float64 { return float64(max(x.count, 0)) / float64(long.packets-short.packets) }
	worst := func() extra {
		return slices.MaxFunc(m.extra, func(a, b extra) int { return cmp.Compare(a.count, b.count) })
	}
	return &group{name: "allocations",
		about: "How many more allocations a command needs for the mix than for its first tenth, a packet of the rest, to two digits. Tables of TCP connections take memory for up to 64 at a time while they fill; other tables take it once. What is left is advice about one more incident, and longer lists in reports. " +
			"Tests assert the same of the packages.",
		prepare: func() (err error) {
			m.extra, err = countAllocations(short, long)
			return err
		},
		table: func(b []byte) []byte {
			b = append(b, "\n## Allocations\n\n"...)
			b = appendRow(b, "command, the mix", "allocations a packet")
			b = appendRow(b, "---", "---:")
			for _, x := range m.extra {
				b = appendRow(b, "`"+x.line+"`", strconv.FormatFloat(each(x), 'f', 4, 64))
			}
			return b
		},
		rows: []row{{what: "every command, the mix: allocations a packet", value: func(int) float64 { return math.Round(each(worst())*100) / 100 }, bar: bar{atMost, 0},
			most: func() string { return worst().line }}}}
}

// extra is how many allocations more a command needs for the longer capture.
type extra struct {
	line  string
	count int64
}

// countAllocations runs TestSteady of cmd/qsniff.
func countAllocations(short, long *capture) ([]extra, error) {
	out, err := exec.Command("go", "test", "qsniff/cmd/qsniff", "-run", "^TestSteady$", "-v", "-count", "1", "-timeout", "1h",
		"-steady", short.path+","+long.path, "-steady-commands", strings.Join(every, ",")).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test: %w\n%s", err, out)
	}
	return parseExtra(string(out))
}

// parseExtra reads what TestSteady prints: lines of "steady", command and count.
func parseExtra(out string) (all []extra, err error) {
	for line := range strings.Lines(out) {
		words := strings.Split(strings.TrimSpace(line), "\t")
		if len(words) != 3 || words[0] != "steady" {
			continue
		}
		n, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("TestSteady printed %q", line)
		}
		all = append(all, extra{words[1], n})
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("TestSteady printed no counts:\n%s", out)
	}
	return all, nil
}
