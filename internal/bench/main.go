// Command bench times qsniff beside tcpdump and tshark on the same capture, in
// turns, so that a machine whose speed drifts slows all of them. It prints
// medians and ratios; the programs that are not installed are left out.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"text/tabwriter"
	"time"
)

// contender is one command; %s in its arguments is the capture.
type contender struct {
	name string
	args []string

	wall []time.Duration
	peak []int64 // KiB
}

func main() {
	packets := flag.Int("n", 1_000_000, "packets in the capture")
	runs := flag.Int("runs", 5, "runs of each command")
	qsniff := flag.String("qsniff", "./qsniff", "the program to measure")
	keep := flag.String("capture", "", "measure this capture instead of making one")
	flag.Parse()
	if err := bench(*qsniff, *keep, *packets, *runs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func bench(qsniff, capture string, packets, runs int) error {
	if capture == "" {
		dir, err := os.MkdirTemp("", "qsniff-bench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		capture = filepath.Join(dir, "mix.pcap")
		gen := exec.Command("go", "run", "./internal/mkpcap", "mix", "-n", strconv.Itoa(packets), "-seed", "1", "-o", capture)
		if out, err := gen.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
	}
	all := []*contender{
		{name: "qsniff read -o json", args: []string{qsniff, "read", "-o", "json", capture}},
		{name: "qsniff read -o tree", args: []string{qsniff, "read", "-o", "tree", capture}},
		{name: "qsniff read -o none", args: []string{qsniff, "read", "-o", "none", capture}},
		{name: "tcpdump -w /dev/null udp", args: []string{"tcpdump", "-nr", capture, "-w", "/dev/null", "udp"}},
		{name: "tshark -q -z conv,udp", args: []string{"tshark", "-nr", capture, "-q", "-z", "conv,udp"}},
		{name: "tshark -T json", args: []string{"tshark", "-nr", capture, "-T", "json"}},
	}
	all = slices.DeleteFunc(all, func(c *contender) bool {
		_, err := exec.LookPath(c.args[0])
		if err != nil {
			fmt.Printf("left out: %s is not installed\n", c.args[0])
		}
		return err != nil
	})
	for range runs {
		for _, c := range all {
			if err := c.run(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return table(all, packets)
}

// run times the command once, its output thrown away.
func (c *contender) run() error {
	cmd := exec.Command(c.args[0], c.args[1:]...)
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return err
	}
	c.wall = append(c.wall, time.Since(start))
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.peak = append(c.peak, u.Maxrss)
	}
	return nil
}

// table prints medians; the ratios are to the first command.
func table(all []*contender, packets int) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "packets/s\twall s\tpeak MiB\tfirst is\t command\t")
	first := median(all[0].wall)
	for _, c := range all {
		m := median(c.wall)
		fmt.Fprintf(w, "%.0f\t%.2f\t%d\t%.2fx\t %s\t\n", float64(packets)/m.Seconds(), m.Seconds(),
			median(c.peak)>>10, m.Seconds()/first.Seconds(), c.name)
	}
	return w.Flush()
}

func median[T cmp.Ordered](v []T) T {
	s := slices.Clone(v)
	slices.Sort(s)
	return s[len(s)/2]
}
