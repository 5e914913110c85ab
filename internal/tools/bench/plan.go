package main

import (
	"math"
	"slices"
)

// plan is what is measured, in the order of BENCHMARKS.md.
type plan struct{ groups []*group }

// group is commands that run in turns, and the rows that compare them.
type group struct {
	name     string
	about    string // what its rows mean
	commands []*command
	rows     []row
	once     bool                  // one round is enough, and none warms up
	prepare  func() error          // nil, or what comes before the commands
	cleanup  func()                // nil, or what undoes that
	blocked  func() (why string)   // nil, or why this machine cannot run it
	table    func(b []byte) []byte // nil, or appends a table of its own
}

// row is one comparison.
type row struct {
	what  string
	needs []*command
	value func(round int) float64
	unit  string
	bar   bar
	most  func() string // nil, or which of many the value is of
}

// bar is the limit that the value of a row has to keep. With none it has no limit.
type bar struct {
	kind  barKind
	limit float64
}

type barKind uint8

const (
	none barKind = iota
	atLeast
	atMost
)

// met reports whether v reaches the bar.
func (b bar) met(v float64) bool {
	return b.kind == atLeast && v >= b.limit || b.kind == atMost && v <= b.limit
}

// rounds returns how many rounds the row has values of.
func (x *row) rounds() int {
	if len(x.needs) == 0 {
		return 1
	}
	return len(x.needs[0].samples)
}

// measure returns a figure of a command's run.
type measure func(c *command, round int) float64

func seconds(c *command, round int) float64 { return c.samples[round].wall.Seconds() }

func cpuSeconds(c *command, round int) float64 { return c.samples[round].cpu.Seconds() }

func perSecond(c *command, round int) float64 {
	return float64(c.samples[round].packets) / seconds(c, round)
}

func perCPUSecond(c *command, round int) float64 {
	return float64(c.samples[round].packets) / cpuSeconds(c, round)
}

func perPacket(c *command, round int) float64 { return 1 / perSecond(c, round) }

func cpuPerPacket(c *command, round int) float64 { return 1 / perCPUSecond(c, round) }

func bytesPerCPUSecond(c *command, round int) float64 {
	return float64(*c.bytes) / cpuSeconds(c, round)
}

const mebi = 1 << 20

func peak(c *command, round int) float64 { return float64(c.samples[round].peak) / mebi }

// ratio is a row that divides a measure of a by that of b.
func ratio(what string, m measure, a, b *command, limit bar) row {
	return row{what: what, needs: []*command{a, b}, unit: "x", bar: limit,
		value: func(round int) float64 { return m(a, round) / m(b, round) }}
}

// greatest is a row of the greatest of a measure of some commands.
func greatest(what string, m measure, all []*command, unit string, limit bar) row {
	x := row{what: what, needs: all, unit: unit, bar: limit}
	worst := func(round int) *command {
		return slices.MaxFunc(all, func(a, b *command) int { return int(math.Copysign(1, m(a, round)-m(b, round))) })
	}
	x.value = func(round int) float64 { return m(worst(round), round) }
	x.most = func() string { return worst(0).short() }
	return x
}

// tools are the programs that rows need beside qsniff.
var tools = []string{"tcpdump", "tshark", "jq"}

// dropTools drops the commands of tools that are not installed, with the rows that need
// them, and returns the names of those tools.
func (p *plan) dropTools(isInstalled func(tool string) bool) (missing []string) {
	for _, tool := range tools {
		if !isInstalled(tool) {
			missing = append(missing, tool)
		}
	}
	isMissing := func(c *command) bool { return slices.Contains(missing, c.tool) }
	for _, g := range p.groups {
		g.rows = slices.DeleteFunc(g.rows, func(r row) bool { return slices.ContainsFunc(r.needs, isMissing) })
		g.commands = slices.DeleteFunc(g.commands, isMissing)
	}
	return missing
}

// keep keeps the group of one name, and reports whether there is one.
func (p *plan) keep(name string) bool {
	p.groups = slices.DeleteFunc(p.groups, func(g *group) bool { return g.name != name })
	return len(p.groups) > 0
}

// dropBlocked drops the groups that this machine cannot run, and returns why.
func (p *plan) dropBlocked() (why []string) {
	p.groups = slices.DeleteFunc(p.groups, func(g *group) bool {
		if g.blocked == nil {
			return false
		}
		reason := g.blocked()
		if reason != "" {
			why = append(why, "Rows of the group "+g.name+" are left out: "+reason+".")
		}
		return reason != ""
	})
	return why
}
