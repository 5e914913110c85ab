package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"qsniff/dissect/protocols"
	"qsniff/internal/test/netns"
)

// Flags of TestLiveRate, which make bench-live runs.
var (
	rates  = flag.String("rates", "", "packets per second that TestLiveRate replays, as 100000,200000; 0 is as fast as tcpreplay can")
	rounds = flag.Int("rounds", 5, "rounds at each rate")
	hold   = flag.Duration("hold", 0, "how long TestLiveRate holds each rate, with qsniff alone (0: some seconds, beside tcpdump)")
)

// rateSeconds is about how long a rate is replayed.
const rateSeconds = 5

// TestLiveRate replays captures over a cable and tells which share of the packets gets
// lost in qsniff live -o none, and in tcpdump -w /dev/null, which run in turns. It is
// about figures; what it requires is that no packet is lost without being counted, and
// with -hold that memory does not grow and that nothing is lost at all.
func TestLiveRate(t *testing.T) {
	if *rates == "" {
		t.Skip("no -rates given (make bench-live)")
	}
	for _, tool := range []string{"tcpreplay", "tcpdump"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	server, clients := cable(t)
	for _, x := range []replayed{flooded(t), shipped(t)} {
		for word := range strings.SplitSeq(*rates, ",") {
			rate, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			if *hold > 0 {
				x.hold(t, server, clients, rate)
			} else {
				x.compare(t, server, clients, rate)
			}
		}
	}
}

// replayed is what is sent.
type replayed struct {
	name    string
	files   []string
	packets int
}

// flooded is a flood, of which each packet has a forged source of its own.
func flooded(t *testing.T) replayed {
	t.Helper()
	const n = 200_000
	name := filepath.Join(t.TempDir(), "flood.pcap")
	if out, err := exec.Command("go", "run", "qsniff/internal/tools/mkpcap", "flood", "-n", strconv.Itoa(n), "-o", name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return replayed{"flood", []string{name}, n}
}

// shipped are the shipped captures that a cable of Ethernet can carry.
func shipped(t *testing.T) replayed {
	t.Helper()
	x := replayed{name: "shipped"}
	folders := []string{"split"}
	for _, p := range protocols.All() {
		folders = append(folders, p.Proto().Name)
	}
	for _, dir := range folders {
		names, err := filepath.Glob(filepath.Join("../../pcapfiles", dir, "*.pcap"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if n, ok := onEthernet(t, name); ok {
				x.files, x.packets = append(x.files, name), x.packets+n
			}
		}
	}
	return x
}

// onEthernet counts the packets of a capture. It is false where one does not fit.
func onEthernet(t *testing.T, name string) (packets int, ok bool) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if binary.LittleEndian.Uint32(b) != 0xa1b2c3d4 || binary.LittleEndian.Uint32(b[20:]) != 1 {
		return 0, false
	}
	for b = b[24:]; len(b) >= 16; packets++ {
		n := binary.LittleEndian.Uint32(b[8:])
		if n > 1514 || n != binary.LittleEndian.Uint32(b[12:]) {
			return 0, false
		}
		b = b[16+n:]
	}
	return packets, packets > 0
}

// send replays for about as long as wanted, and returns what was sent and how fast.
func (x *replayed) send(t *testing.T, from *netns.Namespace, rate int, long time.Duration) (sent uint64, pps float64) {
	t.Helper()
	speed, assumed := "--topspeed", 300_000
	if rate > 0 {
		speed, assumed = "--pps="+strconv.Itoa(rate), rate
	}
	loops := max(1, int(long.Seconds()*float64(assumed))/x.packets)
	args := append([]string{"-q", "-i", "client0", "--preload-pcap", speed, "--loop=" + strconv.Itoa(loops)}, x.files...)
	c := exec.Command("tcpreplay", args...)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	from.Start(t, c)
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	n := regexp.MustCompile(`Successful packets: +(\d+)`).FindStringSubmatch(out.String())
	v := regexp.MustCompile(`([0-9.]+) pps`).FindStringSubmatch(out.String())
	if n == nil || v == nil {
		t.Fatal(out.String())
	}
	sent, _ = strconv.ParseUint(n[1], 10, 64)
	pps, _ = strconv.ParseFloat(v[1], 64)
	return sent, pps
}

// watchers are the programs that are compared.
func watchers() []string { return append([]string{"tcpdump"}, backends()...) }

// compare sends at one rate in rounds, to each program in turn.
func (x *replayed) compare(t *testing.T, server, clients *netns.Namespace, rate int) {
	t.Helper()
	type result struct {
		sent, lost uint64
		worst      float64
		pps        []float64
	}
	all := map[string]*result{}
	for range *rounds {
		for _, name := range watchers() {
			r := all[name]
			if r == nil {
				r = &result{}
				all[name] = r
			}
			end := x.watch(t, server, name)
			sent, pps := x.send(t, clients, rate, rateSeconds*time.Second)
			captured, dropped := end()
			if captured+dropped != sent {
				t.Errorf("%s, %s at %d/s: captured and dropped\ngot  %d + %d\nwant %d", name, x.name, rate, captured, dropped, sent)
			}
			r.sent, r.lost, r.pps = r.sent+sent, r.lost+dropped, append(r.pps, pps)
			r.worst = max(r.worst, float64(dropped)/float64(sent))
		}
	}
	for _, name := range watchers() {
		r := all[name]
		slices.Sort(r.pps)
		t.Logf("%-7s asked %7d/s: %-8s sent at %7.0f/s (median of %d), lost %d of %d, %.2f %% at worst",
			x.name, rate, name, r.pps[len(r.pps)/2], len(r.pps), r.lost, r.sent, 100*r.worst)
	}
}

// watch starts a program. What it returns ends the program.
func (x *replayed) watch(t *testing.T, server *netns.Namespace, name string) (end func() (captured, dropped uint64)) {
	t.Helper()
	if name != "tcpdump" {
		s := sniff(t, server, "--backend", name, "-o", "none")
		return func() (uint64, uint64) {
			s.end(t, os.Interrupt)
			return numbers(t, s.said(), `(\d+) packets captured`, `dropped: (\d+) by the kernel`)
		}
	}
	var said strings.Builder
	c := exec.Command("tcpdump", "-ni", serverEnd, "-B", "32768", "-w", "/dev/null")
	c.Stderr = &said
	server.Start(t, c)
	time.Sleep(time.Second) // until it listens
	return func() (uint64, uint64) {
		time.Sleep(time.Second) // for its last block
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		return numbers(t, said.String(), `(\d+) packets? captured`, `(\d+) packets? dropped by kernel`)
	}
}

func numbers(t *testing.T, said, first, second string) (a, b uint64) {
	t.Helper()
	for _, x := range []struct {
		text string
		to   *uint64
	}{{first, &a}, {second, &b}} {
		m := regexp.MustCompile(x.text).FindStringSubmatch(said)
		if m == nil {
			t.Fatalf("no %s in %s", x.text, said)
		}
		*x.to, _ = strconv.ParseUint(m[1], 10, 64)
	}
	return a, b
}

// hold sends at one rate for long, and looks at the memory of qsniff.
func (x *replayed) hold(t *testing.T, server, clients *netns.Namespace, rate int) {
	t.Helper()
	s := sniff(t, server, "-o", "none")
	done := make(chan []int, 1)
	over := make(chan bool)
	go func() {
		var seen []int
		for {
			select {
			case <-over:
				done <- seen
				return
			case <-time.After(*hold / 20):
				seen = append(seen, residentKiB(s.cmd.Process.Pid))
			}
		}
	}()
	sent, pps := x.send(t, clients, rate, *hold)
	close(over)
	memory := <-done
	s.end(t, os.Interrupt)
	captured, dropped := numbers(t, s.said(), `(\d+) packets captured`, `dropped: (\d+) by the kernel`)
	t.Logf("%s at %.0f/s: %d sent, %d captured, %d dropped; memory in KiB: %d", x.name, pps, sent, captured, dropped, memory)
	if captured != sent || dropped != 0 {
		t.Errorf("captured, dropped\ngot  %d, %d\nwant %d, 0", captured, dropped, sent)
	}
	if n := len(memory); n > 4 && (memory[n-1] == 0 || float64(memory[n-1]) > 1.1*float64(slices.Max(memory[:n/2]))) {
		t.Errorf("memory grows: %d", memory)
	}
}

// residentKiB is the memory of a process.
func residentKiB(pid int) (n int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // 0 is a failure, too
	if m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(b); m != nil {
		n, _ = strconv.Atoi(string(m[1]))
	}
	return n
}
