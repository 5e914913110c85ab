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
	if err := said.await("listening on", "sandbox: "); err != nil {
		return sample{}, fmt.Errorf("%s: %w", c.line(), err)
	}
	start := time.Now()
	send := in(c.cable.client, "tcpreplay", "-q", "-i", clientEnd, "--preload-pcap", "--topspeed", "--loop="+strconv.Itoa(sendLoops), c.capture.path)
	if out, err := send.CombinedOutput(); err != nil {
		return sample{}, fmt.Errorf("tcpreplay: %w: %s", err, out)
	}
	s := sample{wall: time.Since(start)}
	time.Sleep(time.Second) // until the last block is read
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
	s.packets, _ = strconv.Atoi(m[1])
	if s.packets == 0 {
		return s, fmt.Errorf("%s: nothing received\n%s", c.line(), said.text())
	}
	s.add(cmd.ProcessState)
	return s, nil
}

var captured = regexp.MustCompile(`(\d+) packets? captured`)

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
