package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// result is the content of BENCHMARKS.md.
type result struct {
	options
	date         time.Time
	took         time.Duration
	machine      machine
	plan         *plan
	missing      []string // sentences about what is left out
	stages       map[string]figure
	stagesBefore map[string]figure
	floor        int64 // see measureFloor
}

// appendReport appends the file.
func (r *result) appendReport(b []byte) []byte {
	b = append(b, "# Benchmarks\n\nWritten by `make bench`. Ratios hold on other machines better than times do; they stand first.\n"...)
	if r.quick {
		b = append(b, "\n**A quick run, over few packets and once: it shows that the program works, not how fast qsniff is.**\n"...)
	}
	b = r.appendRatios(b)
	b = r.appendTimes(b)
	b = r.appendStages(b)
	b = append(b, whatLimits...)
	b = r.appendMeanings(b)
	b = r.appendMachine(b)
	return r.appendRepeat(b)
}

// appendGroup appends what was measured of one group.
func (r *result) appendGroup(b []byte) []byte {
	if r.plan == nil {
		return r.appendStages(b)
	}
	return r.appendTimes(r.appendRatios(b))
}

// appendRow appends a row of a table.
func appendRow(b []byte, words ...string) []byte {
	return append(append(append(b, "| "...), strings.Join(words, " | ")...), " |\n"...)
}

func (r *result) appendRatios(b []byte) []byte {
	b = append(b, "\n## Ratios\n\n"...)
	b = appendRow(b, "what", "median", "min..max", "bar", "")
	b = appendRow(b, "---", "---:", "---:", "---:", "---")
	for _, g := range r.plan.groups {
		for _, x := range g.rows {
			s := spreadOf(x.rounds(), x.value)
			b = appendRow(b, x.name(), formatNumber(s.median)+x.unit, formatNumber(s.min)+".."+formatNumber(s.max), x.bar.String()+x.barUnit(), x.bar.verdict(s.median))
		}
	}
	for _, line := range r.missing {
		b = append(b, "\n"+line+"\n"...)
	}
	return b
}

// name returns what the row is of.
func (x *row) name() string {
	if x.most == nil {
		return x.what
	}
	return x.what + ", the most: `" + x.most() + "`"
}

func (x *row) barUnit() string {
	if x.bar.kind == none {
		return ""
	}
	return x.unit
}

func (b bar) String() string {
	v := strconv.FormatFloat(b.limit, 'f', -1, 64)
	switch b.kind {
	case atLeast:
		return "≥ " + v
	case atMost:
		return "≤ " + v
	}
	return "none"
}

func (b bar) verdict(v float64) string {
	switch {
	case b.kind == none:
		return ""
	case b.met(v):
		return "met"
	}
	return "**missed**"
}

// formatNumber writes v with three digits, or with all before the point.
func formatNumber(v float64) string {
	switch {
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

func (r *result) appendTimes(b []byte) []byte {
	b = append(b, "\n## Times and memory\n\nCommands of one group ran in turns. One that takes less than a second ran five times a turn; the run with the median of CPU time counts.\n\n"...)
	b = appendRow(b, "group", "command", "packets", "wall s", "min..max", "packets/s", "CPU s", "peak MiB")
	b = appendRow(b, "---", "---", "---:", "---:", "---:", "---:", "---:", "---:")
	for _, g := range r.plan.groups {
		for _, c := range g.commands {
			n := len(c.samples)
			spread := func(m measure) spread {
				return spreadOf(n, func(round int) float64 { return m(c, round) })
			}
			wall := spread(seconds)
			b = appendRow(b, g.name, "`"+c.line()+"`", strconv.Itoa(c.samples[n-1].packets), formatNumber(wall.median),
				formatNumber(wall.min)+".."+formatNumber(wall.max), formatNumber(spread(perSecond).median), formatNumber(spread(cpuSeconds).median), formatNumber(spread(peak).median))
		}
	}
	for _, g := range r.plan.groups {
		if g.table != nil {
			b = g.table(b)
		}
	}
	return b
}

func (r *result) appendStages(b []byte) []byte {
	b = append(b, "\n## Per stage\n\nOne core, the fastest of three runs of a benchmark: `go test -cpu 1 -bench NAME PACKAGE`."...)
	if r.before != "" {
		b = append(b, " The version before, in turns with this one, is "+firstLine("git", "-C", r.before, "log", "-1", "--format=%h of %cs")+"."...)
	}
	b = append(b, "\n\n"...)
	b = appendRow(b, "stage", "package and benchmark", "ns a packet", "before", "allocations")
	b = appendRow(b, "---", "---", "---:", "---:", "---:")
	for _, s := range stages {
		now, ok := r.stages[s.key()]
		if !ok {
			continue
		}
		before := ""
		if f, ok := r.stagesBefore[s.key()]; ok {
			before = formatNumber(f.nanos / float64(s.packets))
		}
		b = appendRow(b, s.what, "`"+s.key()+"`", formatNumber(now.nanos/float64(s.packets)), before, strconv.FormatFloat(now.allocations, 'f', -1, 64))
	}
	return b
}

// whatLimits is what profiles said when they were last looked at.
const whatLimits = `
## What limits it

As of 2026-11-24, on two cores of an AMD EPYC. The profiles are flat: no function takes a
tenth of a run, and many wait for memory: the tables are larger than the caches of a core.

- ` + "`read -o json`" + `, the mix: of 4.5 µs a packet the tables of flows, exchanges and servers take 23%,
  rendering 17%, the detector of floods 12%, decompression 9%, findings about hosts 8%. A
  program of the same packages that reads, joins, dissects and renders alone, without these
  tables, TCP and the detector, writes 11.5 times jq's bytes a CPU second, and takes a
  sixth of gopacket's CPU: ten times as fast as gopacket no version of this design can be.
- ` + "`floods`" + `, the flood: of 0.23 µs a packet reading and decoding take 16%, telling copies of packets
  6%, windows of sources and rates 18%, trying the rules of the advice on the flood 12%. The
  copy of tcpdump takes 0.08 µs. On two cores of an Intel Xeon, the same day, it was 1.96 times
  tcpdump's time, and ` + "`stats`" + ` 2.68 times its CPU. A second processor does not help: to hand a
  packet over costs as much as half of the work on it.
- Small captures: of 0.016 s a start takes, a third is the package of layers that the
  bindings of libpcap bring along.
`

const howMeasured = `
A ratio is taken within each round, and the median of the rounds is shown. The bar is
what qsniff has set itself; a row without one is for information. Of a capture all tools
read all packets. CPU time is that of all threads; the other tools have one. Other work on
the machine slows the program with more threads more; ratios of CPU time suffer less. Peak
memory is the resident set, pages of the program's file included, which are 10 to 14 MiB of
qsniff's. What is measured is a copy of it, as make install makes one: of a file that the
linker has just written Linux may map 9 MiB more. Less than %s MiB, which the measuring
program has itself, cannot be measured.

The captures are made, with a fixed seed. The mix is clients polling 200 servers; of its
exchanges 40%% are A2S_INFO with a challenge, 20%% players, 15%% rules in split replies, 3%%
compressed ones, 8%% GoldSource, 9%% ASE, 2%% master servers, 3%% RCON sessions over TCP.
Replies change as those of servers do: players come, go, score and play longer, maps and
rules change; a list of players never comes twice, and of parts of split replies 2%% do.
`

func (r *result) appendMeanings(b []byte) []byte {
	b = append(b, "\n## What the rows mean\n\n"...)
	for _, g := range r.plan.groups {
		b = append(b, "- **"+g.name+"**: "+g.about+"\n"...)
	}
	return fmt.Appendf(b, howMeasured, formatNumber(float64(r.floor)/mebi))
}

func (r *result) appendMachine(b []byte) []byte {
	m := &r.machine
	b = append(b, "\n## Where and when\n\n"...)
	rounds := "1"
	if r.rounds > 1 {
		rounds = fmt.Sprintf("%d, after one that warmed up", r.rounds)
	}
	b = fmt.Appendf(b, "- %s; rounds: %s; packets in a capture: %d; it took %s\n", r.date.UTC().Format(time.DateOnly), rounds, r.packets, r.took.Round(time.Minute))
	b = fmt.Appendf(b, "- %d cores", m.cores)
	if m.processor != "" {
		b = append(b, " of "+m.processor...)
	}
	b = append(b, "\n- "+m.kernel+"\n- "+m.golang+"\n"...)
	if m.load != "" {
		b = append(b, "- load average when it began: "+m.load+"; more than a little means that other work took part of the cores\n"...)
	}
	for _, tool := range tools {
		if isInstalled(tool) {
			b = append(b, "- "+firstLine(tool, "--version")+"\n"...)
		}
	}
	return b
}

func (r *result) appendRepeat(b []byte) []byte {
	return fmt.Appendf(b, "\n## How to repeat it\n\n"+
		"    make bench PACKETS=%d ROUNDS=%d\n\n"+
		"makes the captures (%s GB, in the user's cache folder), runs the commands above and writes\n"+
		"this file. GROUP=json measures one group and prints it, GROUP=stages the stages;\n"+
		"BEFORE=FOLDER adds the stages of another version. Root gets the group live, too. By hand:\n\n"+
		"    go run ./internal/tools/mkpcap mix -n %[1]d -o mix.pcap\n"+
		"    go run ./internal/tools/mkpcap mix -game -n %[1]d -o game.pcap\n"+
		"    go run ./internal/tools/mkpcap flood -n %[1]d -o flood.pcap\n", r.packets, r.rounds,
		formatNumber(float64(r.packets)*captureBytes/1e9))
}
