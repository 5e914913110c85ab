package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	traffic "qsniff/internal/test/forms"
)

// BenchmarkArrivals shows what each form of the same traffic costs stats and floods: the CPU time of the whole process,
// kernel and collector included, in nanoseconds for each datagram. A copy of a datagram is one, a fragment is none, and
// frames that offload merged count as what they hold. QSNIFF_ARRIVALS names a folder in which the files stay, for other
// programs to be timed on.
func BenchmarkArrivals(b *testing.B) {
	dir := os.Getenv("QSNIFF_ARRIVALS")
	if dir == "" {
		dir = b.TempDir()
	}
	sent := &base{packets: traffic.Base(10_000, 1_000_000), t: b}
	for i := range arrivals {
		a := &arrivals[i]
		b.Run(strings.ReplaceAll(a.name, " ", "-"), func(b *testing.B) {
			paths := sent.write(dir, a)
			datagrams := len(sent.packets) + copiesIn(b, slices.Concat(a.args, paths))
			for _, command := range []string{"stats", "floods"} {
				b.Run(command, func(b *testing.B) {
					before := processTime(b)
					for range b.N {
						_, errs, status := output(b, slices.Concat([]string{command, "-o", "json"}, a.args, paths)...)
						if status != exitOK {
							b.Fatalf("exit status %d: %s", status, errs)
						}
					}
					b.ReportMetric(float64(processTime(b)-before)/float64(datagrams*b.N), "cpu-ns/datagram")
					b.ReportMetric(0, "ns/op")
				})
			}
			if os.Getenv("QSNIFF_ARRIVALS") == "" {
				for _, path := range paths {
					os.Remove(path)
				}
			}
		})
	}
}

// copiesIn returns how many copies of datagrams stats leaves out.
func copiesIn(b *testing.B, args []string) int {
	out, errs, status := output(b, slices.Concat([]string{"stats", "-o", "json"}, args)...)
	var stats struct{ Input struct{ Doubled int } }
	if err := json.Unmarshal([]byte(out), &stats); err != nil || status != exitOK {
		b.Fatalf("%v, exit status %d: %s", err, status, errs)
	}
	return stats.Input.Doubled
}

// processTime returns the CPU time of the process in nanoseconds, with what the kernel did for it.
func processTime(b *testing.B) int64 {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return used.Utime.Nano() + used.Stime.Nano()
}
