package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The ends of the cable.
const (
	serverEnd = "bench0"
	clientEnd = "bench1"
)

// sendLoops is how often the flood is sent for one sample.
const sendLoops = 2

// cable is a pair of veth, each end in a network namespace of its own.
type cable struct{ server, client string }

// live is a group of commands that listen to a flood on a cable.
func (m *commands) live() *group {
	at := fmt.Sprintf("qsniff-bench-%d", os.Getpid())
	c := &cable{server: at + "-server", client: at + "-client"}
	listen := func(tool, program string, args ...string) *command {
		return &command{tool: tool, program: program, before: args, capture: m.all["flood.pcap"], cable: c}
	}
	own := listen("qsniff", m.qsniff, "live", "-o", "none", "-i", serverEnd)
	dump := listen("tcpdump", "tcpdump", "-w", "/dev/null", "-B", "32768", "-ni", serverEnd)
	return &group{name: "live", commands: []*command{own, dump}, prepare: c.make, cleanup: c.remove, blocked: whyNoCable,
		about: "The flood as fast as tcpreplay can send it over a pair of veth, to one who listens. Packets are those received; CPU time is that of the process, and of the kernel for it. " +
			"One core is tcpreplay's.",
		rows: []row{
			ratio("`live -o none`, a flood: CPU a packet received of `tcpdump -w /dev/null`", cpuPerPacket, own, dump, bar{atMost, 4}),
			ratio("`live -o none`, a flood: packets received of `tcpdump -w /dev/null`", received, own, dump, bar{}),
		}}
}

// steadyRate is the packets/s of a busy host: twenty times what hundreds of servers are asked.
const steadyRate = 50_000

// monitor is a group of commands that listen for long to what comes at a steady rate.
func (m *commands) monitor() *group {
	at := fmt.Sprintf("qsniff-bench-%d-monitor", os.Getpid())
	c := &cable{server: at + "-server", client: at + "-client"}
	g := &group{name: "monitor", prepare: c.make, cleanup: c.remove, blocked: whyNoCable,
		about: "A million packets over a pair of veth at 50,000 a second, to one who listens. CPU time is that of the process, and of the kernel for it, from its hundred thousandth packet on: what a start costs does not count."}
	for _, x := range []struct{ what, capture string }{{"a flood", "flood.pcap"}, {"the mix", "mix.pcap"}, {"half of it game traffic", "game.pcap"}} {
		listen := func(args ...string) *command {
			return &command{tool: "qsniff", program: m.qsniff, before: append(args, "-i", serverEnd), capture: m.all[x.capture], cable: c, rate: steadyRate}
		}
		own, live := listen("monitor", "--listen", "127.0.0.1:0"), listen("live", "-o", "none")
		g.commands = append(g.commands, own, live)
		g.rows = append(g.rows, ratio("`monitor`, "+x.what+": CPU a packet of `live -o none`", cpuPerPacket, own, live, bar{atMost, 1.15}))
	}
	return g
}

func received(c *command, round int) float64 { return float64(c.samples[round].packets) }

// whyNoCable returns why there cannot be one here, or "".
func whyNoCable() string {
	for _, tool := range []string{"ip", "tcpreplay", "tcpdump"} {
		if _, err := exec.LookPath(tool); err != nil {
			return tool + " is not installed"
		}
	}
	if os.Geteuid() != 0 {
		return "network namespaces take root"
	}
	return ""
}

// make makes the namespaces and the cable between them, over which nothing goes but what
// is sent.
func (c *cable) make() error {
	for _, line := range []string{
		"netns add " + c.server,
		"netns add " + c.client,
		"-n " + c.server + " link add " + serverEnd + " type veth peer name " + clientEnd + " netns " + c.client,
		"-n " + c.server + " link set " + serverEnd + " addrgenmode none",
		"-n " + c.client + " link set " + clientEnd + " addrgenmode none",
		"-n " + c.server + " link set " + serverEnd + " up",
		"-n " + c.client + " link set " + clientEnd + " up",
	} {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w: %s", line, err, out)
		}
	}
	return nil
}

func (c *cable) remove() {
	for _, name := range []string{c.server, c.client} {
		exec.Command("ip", "netns", "del", name).Run() // what is not there needs no removal
	}
}

// in is a command in a namespace. It is the program itself whose time is measured: ip
// executes it in its place.
func in(namespace, program string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", namespace, program}, args...)...)
}

// listen takes a sample of a command that listens while the flood is sent.
func (c *command) listen() (sample, error) {
	var said says
	cmd := in(c.cable.server, c.program, c.before...)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		return sample{}, err
	}
	defer cmd.Process.Kill() // it has ended, unless something failed
	if err := said.await("listening on", "sandbox: ", "msg=sandbox"); err != nil {
		return sample{}, fmt.Errorf("%s: %w", c.line(), err)
	}
	s, err := c.send(cmd.Process.Pid)
	if err != nil {
		return s, err
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return s, err
	}
	if err := cmd.Wait(); err != nil {
		return s, fmt.Errorf("%s: %w\n%s", c.line(), err, said.text())
	}
	m := captured.FindStringSubmatch(said.text())
	if m == nil {
		return s, fmt.Errorf("%s: no count of packets\n%s", c.line(), said.text())
	}
	n, _ := strconv.Atoi(m[1] + m[2]) // one of them is empty
	if c.rate > 0 {
		if n != warmUp+c.capture.packets {
			return s, fmt.Errorf("%s: %d packets of %d received\n%s", c.line(), n, warmUp+c.capture.packets, said.text())
		}
		s.packets, s.peak = c.capture.packets, peakOf(cmd.ProcessState.SysUsage())
		return s, nil
	}
	if s.packets = n; n == 0 {
		return s, fmt.Errorf("%s: nothing received\n%s", c.line(), said.text())
	}
	s.add(cmd.ProcessState)
	return s, nil
}

var captured = regexp.MustCompile(`(\d+) packets? captured|msg=end .*packets=(\d+)`)

// warmUp is how many packets come before a sample at a steady rate.
const warmUp = 100_000

// send sends the capture to the process that listens. At a steady rate, the sample has the CPU time
// that it took for it.
func (c *command) send(pid int) (s sample, err error) {
	if c.rate == 0 {
		s.wall, err = c.replay("--topspeed", "--loop="+strconv.Itoa(sendLoops))
		return s, err
	}
	pace := "--pps=" + strconv.Itoa(c.rate)
	if _, err = c.replay(pace, "--limit="+strconv.Itoa(warmUp)); err != nil {
		return s, err
	}
	before, err := cpuOf(pid)
	if err != nil {
		return s, err
	}
	if s.wall, err = c.replay(pace); err != nil {
		return s, err
	}
	after, err := cpuOf(pid)
	s.cpu = after - before
	return s, err
}

// replay has tcpreplay send the capture, and waits until the last block is read.
func (c *command) replay(how ...string) (time.Duration, error) {
	args := append([]string{"-q", "-i", clientEnd, "--preload-pcap"}, how...)
	start := time.Now()
	out, err := in(c.cable.client, "tcpreplay", append(args, c.capture.path)...).CombinedOutput()
	took := time.Since(start)
	if err != nil {
		return took, fmt.Errorf("tcpreplay: %w: %s", err, out)
	}
	time.Sleep(time.Second)
	return took, nil
}

// cpuOf returns the CPU time that a process has taken, to a hundredth of a second: proc(5), stat.
func cpuOf(pid int) (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(b), ") ") // after the name, which may have spaces
	var user, system int64
	if f := strings.Fields(rest); len(f) > 12 {
		user, _ = strconv.ParseInt(f[11], 10, 64)
		system, _ = strconv.ParseInt(f[12], 10, 64)
	}
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

// says is what a program has said so far.
type says struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *says) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(b)
}

func (s *says) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.String()
}

// patience is how long a program may take to begin to listen.
const patience = 20 * time.Second

// await waits for one of some texts.
func (s *says) await(texts ...string) error {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, text := range texts {
			if strings.Contains(s.text(), text) {
				return nil
			}
		}
	}
	return fmt.Errorf("it does not listen\n%s", s.text())
}
