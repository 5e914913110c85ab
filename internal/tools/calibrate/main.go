// Calibrate counts how many incidents of labelled captures are what the label says, by the rows of flood.Calibration:
//
//	go run ./internal/tools/calibrate [-qsniff FILE] FOLDER...
//
// A label is NAME.json beside NAME.pcap or NAME.pcapng: {"labels": [{"kinds": ["flood_few"], "target": "198.51.100.17:27015",
// "start": 1700000120, "end": 1700000180}]}, times in Unix seconds, no labels where no attack is in the capture. Incidents are read
// from NAME.out, which is what qsniff floods -o json --explain prints; where that is missing it is made of the capture, so that
// captures need not stay. A capture counts an incident of one kind and row once as true and once as false.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"qsniff/internal/flood"
)

// label is what is in a capture.
type label struct {
	Labels []struct {
		Kinds      []string
		Target     string
		Start, End float64
	}
}

// incident is what counts of a line.
type incident struct {
	Record, Kind, Level, Target string
	Start, Detected             time.Time
	End                         *time.Time
	Weight                      struct {
		Value float64
		Basis string
	}
}

// before and after are how many seconds an incident may begin before its label and after its end.
const before, after = 5, 15

func main() {
	log.SetFlags(0)
	qsniff := flag.String("qsniff", "qsniff", "the program that is measured")
	flag.Parse()
	c := newCount()
	for _, dir := range flag.Args() {
		err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".json") {
				return err
			}
			return c.addCapture(*qsniff, strings.TrimSuffix(path, ".json"))
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	c.print()
}

// count is how many incidents were said, and were true, by rows of flood.Calibration.
type count struct {
	said, right []int
	wrong       []map[string]int // by capture and kind
}

func newCount() *count {
	n := len(flood.Calibration)
	c := &count{make([]int, n), make([]int, n), make([]map[string]int, n)}
	for i := range c.wrong {
		c.wrong[i] = map[string]int{}
	}
	return c
}

// addCapture counts the incidents of the capture called name.
func (c *count) addCapture(qsniff, name string) error {
	text, err := os.ReadFile(name + ".json")
	if err != nil {
		return err
	}
	var l label
	if err := json.Unmarshal(text, &l); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	out, err := os.ReadFile(name + ".out")
	if err != nil {
		capture := name + ".pcap"
		if _, err := os.Stat(capture); err != nil {
			capture += "ng"
		}
		if out, err = exec.Command(qsniff, "floods", "-o", "json", "--explain", capture).Output(); err != nil {
			return fmt.Errorf("%s: %w", capture, err)
		}
	}
	type outcome struct {
		row    int
		kind   string
		isTrue bool
	}
	seen := map[outcome]bool{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var in incident
		if err := json.Unmarshal(lines.Bytes(), &in); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if in.Record != "incident" {
			continue
		}
		row, isTrue := in.row(), in.isTrue(&l)
		o := outcome{row, in.Kind, isTrue}
		if row < 0 || seen[o] {
			continue
		}
		seen[o] = true
		c.said[row]++
		if isTrue {
			c.right[row]++
		} else {
			c.wrong[row][filepath.Base(name)+" "+in.Kind]++
		}
	}
	return lines.Err()
}

// row returns the index in flood.Calibration of an incident.
func (in *incident) row() int {
	kind := flood.KindNamed(in.Kind)
	basis := flood.WholeCapture
	for b := range flood.NumBases {
		if b.String() == in.Weight.Basis {
			basis = b
		}
	}
	r := flood.CalibrationOf(kind, flood.Weight{Value: in.Weight.Value, Basis: basis})
	return slices.IndexFunc(flood.Calibration, func(x flood.CalibrationRow) bool { return x.Name == r.Name })
}

// isTrue reports whether an incident is what a label says. A note of load is true where no attack is there at that
// time; one of an open amplifier is an observation, and true.
func (in *incident) isTrue(l *label) bool {
	end := float64(1 << 40)
	if in.End != nil {
		end = seconds(*in.End)
	}
	isNear := false
	for _, x := range l.Labels {
		if !isSame(in.Target, x.Target) || seconds(in.Start) > x.End+after || end < x.Start-before {
			continue
		}
		isNear = true
		if slices.Contains(x.Kinds, in.Kind) && seconds(in.Detected) >= x.Start-before {
			return true
		}
	}
	return in.Level == flood.Info.String() && (!isNear || in.Kind == flood.OpenAmplifier.String())
}

func seconds(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }

// isSame reports whether a target is that of a label: the same end, or a network that overlaps it, of the same port
// unless the label has none.
func isSame(target, want string) bool {
	a, portA := parseTarget(target)
	b, portB := parseTarget(want)
	if !a.IsValid() || !b.IsValid() || portA != portB && !(portB == "" && !b.IsSingleIP()) {
		return false
	}
	if a == b {
		return true
	}
	return !b.IsSingleIP() && a.Overlaps(b) || !a.IsSingleIP() && a.Addr().Is6() && a.Overlaps(b)
}

// parseTarget returns the address or network of a target, and its port if there is one.
func parseTarget(s string) (p netip.Prefix, port string) {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "udp/"), "tcp/")
	if host, n, ok := strings.Cut(s, "]:"); ok {
		s, port = host[1:], n
	} else if strings.Count(s, ":") == 1 {
		s, port, _ = strings.Cut(s, ":")
	}
	if strings.Contains(s, "/") {
		p, _ = netip.ParsePrefix(s)
		return p.Masked(), port
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, port
	}
	return netip.PrefixFrom(a, a.BitLen()), port
}

func (c *count) print() {
	for i := range flood.Calibration {
		r := &flood.Calibration[i]
		now := flood.CalibrationRow{Said: c.said[i], True: c.right[i]}
		fmt.Printf("%-12s %4d of %4d true, %.2f; in the program %d of %d, %.2f\n", r.Name, c.right[i], c.said[i],
			now.Confidence(), r.True, r.Said, r.Confidence())
		wrong := make([]string, 0, len(c.wrong[i]))
		for w, n := range c.wrong[i] {
			wrong = append(wrong, fmt.Sprintf("%s (%d)", w, n))
		}
		slices.Sort(wrong)
		for _, w := range wrong {
			fmt.Println("    not", w)
		}
	}
}
