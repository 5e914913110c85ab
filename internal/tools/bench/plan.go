package main

import "slices"

// plan is what is measured, in the order of BENCHMARKS.md.
type plan struct{ groups []group }

// group is commands that run in turns, and the rows that compare them.
type group struct {
	name     string
	about    string // what its rows mean
	commands []*command
	rows     []row
}

// row is one comparison.
type row struct {
	what  string
	needs []*command
	value func(round int) float64
	unit  string
	bar   bar
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

// measure returns a figure of a command's run.
type measure func(c *command, round int) float64

func perSecond(c *command, round int) float64 {
	return float64(c.capture.packets) / c.samples[round].wall.Seconds()
}

func seconds(c *command, round int) float64 { return c.samples[round].wall.Seconds() }

func cpuSeconds(c *command, round int) float64 { return c.samples[round].cpu.Seconds() }

func perCPUSecond(c *command, round int) float64 {
	return float64(c.capture.packets) / c.samples[round].cpu.Seconds()
}

func perPacket(c *command, round int) float64 {
	return c.samples[round].wall.Seconds() / float64(c.capture.packets)
}

const mebi = 1 << 20

func peak(c *command, round int) float64 { return float64(c.samples[round].peak) / mebi }

// ratio is a row that divides a measure of a by that of b.
func ratio(what string, m measure, a, b *command, limit bar) row {
	return row{what: what, needs: []*command{a, b}, unit: "x", bar: limit,
		value: func(round int) float64 { return m(a, round) / m(b, round) }}
}

func newPlan(qsniff string, all captures) *plan {
	own := func(capture string, args ...string) *command {
		return &command{tool: "qsniff", program: qsniff, before: append([]string{"read"}, args...), capture: all[capture]}
	}
	count := func(capture string) *command { return own(capture, "-o", "none") }
	stats := func(capture string) *command {
		return &command{tool: "qsniff", program: qsniff, before: []string{"stats"}, capture: all[capture]}
	}
	floods := func(capture string) *command {
		return &command{tool: "qsniff", program: qsniff, before: []string{"floods", "-o", "json"}, capture: all[capture]}
	}
	copyOf := func(capture string) *command {
		return &command{tool: "tcpdump", program: "tcpdump", before: []string{"-nr"}, capture: all[capture], after: []string{"-w", "/dev/null"}}
	}
	shark := func(capture string, args ...string) *command {
		return &command{tool: "tshark", program: "tshark", before: []string{"-nr"}, capture: all[capture], after: args}
	}
	withPlugin := func(capture string) *command {
		c := shark(capture, "-T", "json")
		c.before, c.inside = []string{"-X", "lua_script:" + pluginName, "-nr"}, true
		return c
	}
	conversations := func(capture string) *command { return shark(capture, "-q", "-z", "conv,udp") }
	return &plan{groups: []group{
		jsonGroup(own("mix.pcap", "-o", "json"), shark("mix-head.pcap", "-T", "json")),
		mixGroup(stats("mix.pcap"), copyOf("mix.pcap"), conversations("mix-head.pcap")),
		pluginGroup(own("mix-start.pcap", "-o", "json"), withPlugin("mix-start.pcap")),
		floodGroup(stats("flood.pcap"), copyOf("flood.pcap"), conversations("flood-head.pcap")),
		detectGroup(floods("flood-10x.pcap"), copyOf("flood-10x.pcap")),
		growthGroup(stats("flood.pcap"), stats("flood-10x.pcap")),
		filterGroup(count("mix.pcap"), own("mix.pcap", "-o", "none", "-Y", noMatch), own("mix.pcap", "-Y", noMatch)),
		gameGroup(count("mix.pcap"), count("game.pcap")),
		formGroup(count("mix.pcap"), count("mix.pcap.gz"), count("mix.pcap.zst")),
	}}
}

func jsonGroup(own, shark *command) group {
	return group{name: "JSON", commands: []*command{own, shark},
		about: "Every packet of the mix as JSON, output thrown away. qsniff joins and decodes all messages and writes a line for each; " +
			"tshark decodes none of these protocols by itself and writes the bytes of each packet. tshark reads only the first tenth.",
		rows: []row{
			ratio("`read -o json`, the mix: packets/s of `tshark -T json`", perSecond, own, shark, bar{atLeast, 100}),
			ratio("`read -o json`, the mix: packets per CPU second of `tshark -T json`", perCPUSecond, own, shark, bar{}),
		}}
}

func pluginGroup(own, shark *command) group {
	return group{name: "plugin", commands: []*command{own, shark},
		about: "The same job on the same capture, the first twentieth of the mix: tshark decodes the messages with the plugin that `qsniff wireshark-plugin` writes. " +
			"qsniff decompresses what was compressed, which the plugin does not.",
		rows: []row{
			ratio("`read -o json`, the mix: packets per CPU second of `tshark -T json` with the plugin", perCPUSecond, own, shark, bar{atLeast, 100}),
		}}
}

func mixGroup(own, dump, shark *command) group {
	return group{name: "mix", commands: []*command{own, dump, shark},
		about: "The mix added up: qsniff joins, decodes, pairs and counts all messages, tcpdump copies the packets to the null device, " +
			"tshark counts conversations (of the first tenth: more of them make it slower).",
		rows: []row{
			ratio("`stats`, the mix: packets/s of `tshark -q -z conv,udp`", perSecond, own, shark, bar{atLeast, 40}),
			ratio("`stats`, the mix: packets per CPU second of `tshark -q -z conv,udp`", perCPUSecond, own, shark, bar{}),
			ratio("`stats`, the mix: time of `tcpdump -w /dev/null`", seconds, own, dump, bar{}),
		}}
}

func floodGroup(own, dump, shark *command) group {
	return group{name: "flood", commands: []*command{own, dump, shark},
		about: "A2S_INFO requests, each from a forged source of its own: no table can know them all, and memory must not grow.",
		rows: []row{
			ratio("`stats`, the flood: time of `tcpdump -w /dev/null`", seconds, own, dump, bar{atMost, 1}),
			ratio("`stats`, the flood: packets/s of `tshark -q -z conv,udp`", perSecond, own, shark, bar{}),
			ratio("`stats`, the flood: peak memory of `tshark -q -z conv,udp`, which reads a tenth", peak, own, shark, bar{}),
		}}
}

func detectGroup(own, dump *command) group {
	return group{name: "detection", commands: []*command{own, dump},
		about: "Ten million forged requests: who floods whom, with evidence and advice, beside a copy of the packets.",
		rows: []row{
			ratio("`floods`, 10x the flood: time of `tcpdump -w /dev/null`", seconds, own, dump, bar{atMost, 2.5}),
			ratio("`floods`, 10x the flood: CPU time of `tcpdump -w /dev/null`", cpuSeconds, own, dump, bar{}),
			{what: "`floods`, 10x the flood: peak memory", needs: []*command{own}, unit: " MiB", bar: bar{atMost, 64},
				value: func(round int) float64 { return peak(own, round) }},
		}}
}

func growthGroup(short, long *command) group {
	return group{name: "growth", commands: []*command{short, long},
		about: "The flood, and one ten times as long.",
		rows: []row{
			ratio("`stats`, 10x the flood: time of the flood", seconds, long, short, bar{atMost, 10.5}),
			ratio("`stats`, 10x the flood: peak memory of the flood", peak, long, short, bar{atMost, 1.1}),
			{what: "`stats`, 10x the flood: peak memory", needs: []*command{long}, unit: " MiB", bar: bar{atMost, 64},
				value: func(round int) float64 { return peak(long, round) }},
		}}
}

// noMatch is a filter that chooses nothing of the mix.
const noMatch = "a2s.info.players > 250"

func filterGroup(plain, none, text *command) group {
	return group{name: "filter", commands: []*command{plain, none, text},
		about: "The mix with a filter on a field that chooses nothing. Where messages are printed, each is paired before it is known which one is chosen.",
		rows: []row{
			ratio("`read -o none -Y`, nothing matches: CPU time of `read -o none`", cpuSeconds, none, plain, bar{atMost, 1.05}),
			ratio("`read -Y`, nothing matches: CPU time of `read -o none`", cpuSeconds, text, plain, bar{}),
		}}
}

func gameGroup(mix, game *command) group {
	return group{name: "game", commands: []*command{mix, game},
		about: "The mix, and the same number of packets of which half are ordinary traffic of the games on the same ports: " +
			"what a query tool is not interested in must cost less than what it is.",
		rows: []row{ratio("`read -o none`, half of it game traffic: time per packet of the mix alone", perPacket, game, mix, bar{})}}
}

func formGroup(plain, gz, zst *command) group {
	return group{name: "forms", commands: []*command{plain, gz, zst},
		about: "The mix as a plain file and compressed. Decompression runs ahead of decoding, on another core if there is one.",
		rows: []row{
			ratio("`read -o none`, mix.pcap.gz: time of mix.pcap", seconds, gz, plain, bar{}),
			ratio("`read -o none`, mix.pcap.zst: time of mix.pcap", seconds, zst, plain, bar{}),
		}}
}

// dropTools drops the commands of tools that are not installed, with the rows that need
// them, and returns the names of those tools.
func (p *plan) dropTools(isInstalled func(tool string) bool) (missing []string) {
	for _, tool := range []string{"tcpdump", "tshark"} {
		if !isInstalled(tool) {
			missing = append(missing, tool)
		}
	}
	isMissing := func(c *command) bool { return slices.Contains(missing, c.tool) }
	for i := range p.groups {
		g := &p.groups[i]
		g.rows = slices.DeleteFunc(g.rows, func(r row) bool { return slices.ContainsFunc(r.needs, isMissing) })
		g.commands = slices.DeleteFunc(g.commands, isMissing)
	}
	return missing
}
