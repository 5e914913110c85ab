package main

import (
	"runtime"
	"strings"
)

// commands makes the commands of the plan.
type commands struct {
	qsniff string
	own    string // this program, which has the decoder on gopacket
	all    captures
	extra  []extra // what the group allocations counts
}

// run is qsniff with a line of arguments and a capture after them.
func (m *commands) run(line, capture string) *command {
	return &command{tool: "qsniff", program: m.qsniff, before: strings.Fields(line), capture: m.all[capture]}
}

// tcpdump is a copy to the null device.
func (m *commands) tcpdump(capture string) *command {
	return &command{tool: "tcpdump", program: "tcpdump", before: []string{"-nr"}, capture: m.all[capture], after: []string{"-w", "/dev/null"}}
}

func (m *commands) tshark(capture string, args ...string) *command {
	return &command{tool: "tshark", program: "tshark", before: []string{"-nr"}, capture: m.all[capture], after: args}
}

func newPlan(m *commands) *plan {
	return &plan{groups: []*group{
		m.flood(), m.decode(), m.json(), m.plugin(), m.jobs(), m.growth(), m.forms(), m.live(), m.monitor(), m.memory(), m.allocations(),
	}}
}

func (m *commands) flood() *group {
	stats, floods, dump := m.run("stats", "flood-5x.pcap"), m.run("floods", "flood-5x.pcap"), m.tcpdump("flood-5x.pcap")
	return &group{name: "flood", commands: []*command{stats, floods, dump},
		about: "A2S_INFO requests, each from a forged source of its own: added up, and who floods whom with evidence and advice, beside a copy of the packets to the null device.",
		rows: []row{
			ratio("`stats`, the flood: CPU of `tcpdump -w /dev/null`", cpuSeconds, stats, dump, bar{atMost, 4}),
			ratio("`stats`, the flood: time of the same", seconds, stats, dump, bar{}),
			ratio("`floods`, the flood: time of `tcpdump -w /dev/null`", seconds, floods, dump, bar{atMost, 2}),
			ratio("`floods`, the flood: CPU of the same", cpuSeconds, floods, dump, bar{}),
		}}
}

// nothing is a filter that chooses no message, and has to look at each.
const nothing = `a2s.info.players>300`

func (m *commands) decode() *group {
	count, dump := m.run("read -o none", "mix.pcap"), m.tcpdump("mix.pcap")
	filtered, shown := m.run("read -o none -Y "+nothing, "mix.pcap"), m.run("read -o json -Y "+nothing, "mix.pcap")
	stats, game, shark := m.run("stats", "mix.pcap"), m.run("read -o none", "game.pcap"), m.tshark("mix-head.pcap", "-q", "-z", "conv,udp")
	return &group{name: "decode", commands: []*command{count, dump, filtered, shown, stats, game, shark},
		about: "The mix joined and decoded, and added up, beside tcpdump's copy of it. The filter is for what no message has; where messages would be printed, floods among them are looked for, too. Of game.pcap half is ordinary traffic of the games on the same ports. " +
			"tshark decodes none of these protocols by itself; it counts conversations of the first tenth. Its rows measure its slowness and have no bar.",
		rows: []row{
			ratio("`read -o none`, the mix: CPU of `tcpdump -w /dev/null`", cpuSeconds, count, dump, bar{atMost, 12}),
			ratio("`read -o none`, the mix: time of the same", seconds, count, dump, bar{}),
			ratio("`read -o none -Y`, the mix, a filter that chooses nothing: CPU of `read -o none`", cpuSeconds, filtered, count, bar{atMost, 1.05}),
			ratio("`read -o json -Y`, the mix, the same filter: CPU of `read -o none`", cpuSeconds, shown, count, bar{}),
			ratio("`stats`, the mix: CPU of `tcpdump -w /dev/null`", cpuSeconds, stats, dump, bar{}),
			ratio("`read -o none`, half of it game traffic: time a packet of the mix", perPacket, game, count, bar{}),
			ratio("`stats`, the mix: packets/s of `tshark -q -z conv,udp`", perSecond, stats, shark, bar{}),
		}}
}

func (m *commands) json() *group {
	own, one, shark := m.run("read -o json", "mix.pcap"), m.run("read -o json --jobs 1", "mix.pcap"), m.tshark("mix-head.pcap", "-T", "json")
	one.bytes = &m.all["mix.pcap"].lines
	lines := m.all[linesName]
	jq := &command{tool: "jq", program: "jq", before: []string{"-c", "."}, capture: lines, bytes: &lines.lines}
	a2s, a2sOne := m.run("read -o json -Y a2s", "mix-head.pcap"), m.run("read -o json --jobs 1 -Y a2s", "mix-head.pcap")
	dump := &command{tool: "gopacket", program: m.own, before: []string{dumpCommand}, capture: m.all["mix-head.pcap"]}
	return &group{name: "json", commands: []*command{own, one, jq, a2s, a2sOne, dump, shark}, prepare: func() error { return writeLines(m.qsniff, m.all) },
		about: "The mix as JSON, a line a message, output thrown away. jq reads the beginning of the same lines and writes them again; compared are the bytes of lines. " +
			"Where CPU is compared, qsniff has one job: the others take one processor, too, but for Go's collector. " +
			"gopacket is a decoder of A2S alone, of some 300 lines (internal/tools/bench/gopacket.go): layers, ip4defrag, encoding/json, split and compressed replies joined; a test holds its messages to qsniff's. " +
			"The mix has more: of qsniff's lines it writes 84 of 100, with less than half of the bytes. So it is compared with qsniff writing A2S alone, on the same capture; qsniff decodes the rest, too, and pairs messages and looks for floods. " +
			"tshark decodes none of these protocols by itself and writes the bytes of each packet; its rows measure its slowness and have no bar. gopacket and tshark read the first tenth.",
		rows: []row{
			ratio("`read -o json --jobs 1`, the mix: MB of output a CPU second of `jq -c .` reading it", bytesPerCPUSecond, one, jq, bar{atLeast, 10}),
			ratio("`read -o json --jobs 1 -Y a2s`, a tenth of the mix: packets per CPU second of a decoder of A2S on gopacket", perCPUSecond, a2sOne, dump, bar{atLeast, 10}),
			ratio("`read -o json -Y a2s`, a tenth of the mix: packets/s of the same decoder", perSecond, a2s, dump, bar{}),
			ratio("`read -o json`, the mix: packets/s of `tshark -T json`", perSecond, own, shark, bar{}),
			ratio("`read -o json --jobs 1`, the mix: packets per CPU second of `tshark -T json`", perCPUSecond, one, shark, bar{}),
		}}
}

func (m *commands) plugin() *group {
	own, shark := m.run("read -o json --jobs 1", "mix-head.pcap"), m.tshark("mix-head.pcap", "-T", "json")
	shark.before, shark.inside = []string{"-X", "lua_script:" + pluginName, "-nr"}, true
	return &group{name: "plugin", commands: []*command{own, shark}, prepare: func() error { return writePlugin(m.qsniff, m.all) },
		about: "The same job on the same capture, the first tenth of the mix: tshark decodes the messages with the plugin that `qsniff wireshark-plugin` writes. " +
			"Each takes one processor. qsniff decompresses what was compressed, which the plugin does not.",
		rows: []row{
			ratio("`read -o json --jobs 1`, a tenth of the mix: packets per CPU second of `tshark -T json` with the plugin", perCPUSecond, own, shark, bar{atLeast, 100}),
		}}
}

func (m *commands) jobs() *group {
	one, two := m.run("read -o json --jobs 1", "mix.pcap"), m.run("read -o json --jobs 2", "mix.pcap")
	forms := 0.0
	return &group{name: "jobs", commands: []*command{one, two},
		prepare: func() (err error) {
			forms, err = countOutputs(m.qsniff, m.all["mix.pcap"])
			return err
		},
		about: "One job reads, decodes, renders and writes in one goroutine, on one core. Of two jobs each is a goroutine that decodes and renders; one that reads and one that writes come to them. " +
			"What all cores could give is the time of one job over that of two if these had kept every core busy.",
		rows: []row{
			{what: "`read -o json`, the mix, with --jobs 1, 2 and 4: different outputs", value: func(int) float64 { return forms }, bar: bar{atMost, 1}},
			ratio("`read -o json --jobs 2`, the mix: packets/s of one job", perSecond, two, one, bar{atLeast, 1.7}),
			{what: "the same, if no core had been idle", needs: []*command{one, two}, unit: "x",
				value: func(round int) float64 {
					return seconds(one, round) * float64(runtime.NumCPU()) / cpuSeconds(two, round)
				}},
		}}
}

func (m *commands) growth() *group {
	short, long := m.run("stats", "flood.pcap"), m.run("stats", "flood-10x.pcap")
	return &group{name: "growth", commands: []*command{short, long},
		about: "A flood, and one of ten times as many packets.",
		rows: []row{
			ratio("`stats`, ten times the packets: time", seconds, long, short, bar{atMost, 10.5}),
			ratio("`stats`, ten times the packets: peak memory", peak, long, short, bar{atMost, 1.1}),
		}}
}

func (m *commands) forms() *group {
	plain, gz, zst := m.run("read -o none", "mix.pcap"), m.run("read -o none", "mix.pcap.gz"), m.run("read -o none", "mix.pcap.zst")
	return &group{name: "forms", commands: []*command{plain, gz, zst},
		about: "The mix as a plain file and compressed. Decompression runs ahead of decoding, on another core if there is one.",
		rows: []row{
			ratio("`read -o none`, mix.pcap.gz: time of mix.pcap", seconds, gz, plain, bar{}),
			ratio("`read -o none`, mix.pcap.zst: time of mix.pcap", seconds, zst, plain, bar{}),
		}}
}

// every is each command that reads captures and prints, and each of its outputs that has
// code of its own.
var every = []string{"read -o none", "read -o text", "read -o tree", "read -o json", "read -o csv", "read -o json -Y " + nothing,
	"read -w -", "read --anonymize -w -", "stats", "stats -o json", "floods", "floods -o json",
	"proven", "follow", "follow -o json", "exchanges", "findings"}

func (m *commands) memory() *group {
	g := &group{name: "memory", once: true,
		about: "Peak of resident memory of every command, one run each: with forged sources, ten times as many as a capture has packets, and with the mix. A command that writes files writes to standard output here."}
	for _, x := range []struct{ what, capture string }{{"forged sources, ten times the packets", "flood-10x.pcap"}, {"the mix", "mix.pcap"}} {
		var all []*command
		for _, line := range every {
			all = append(all, m.run(line, x.capture))
		}
		g.commands = append(g.commands, all...)
		g.rows = append(g.rows, greatest("every command, "+x.what+": peak memory", peak, all, " MiB", bar{atMost, 64}))
	}
	return g
}
