package live

import (
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qsniff/capture"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/race"
)

func TestAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for _, names := range [][]string{{hereName}, {hereName, "lo"}, {Any}} {
		t.Run(strings.Join(names, " and "), func(t *testing.T) {
			each(t, func(t *testing.T, backend Backend) {
				const n = 200
				here, there := cable(t)
				here.RunIP(t, "link set lo up")
				here.Listen(t, hereIP+":27015")
				s := open(t, here, Options{Interfaces: names, Backend: backend, Delay: time.Millisecond, AutoFilter: usual})
				conn := there.Dial(t, hereIP+":27015")
				var b capture.Batch
				packet := []byte("\xff\xff\xff\xffTSource Engine Query\x00")
				round := func() {
					for range n {
						conn.Write(packet)
					}
					for left := n; left > 0; left -= len(b.Packets) {
						if err := s.Read(&b); err != nil {
							t.Fatal(err)
						}
					}
				}
				round() // two batches have to grow
				round()
				if got := testing.AllocsPerRun(50, round); got != 0 {
					t.Errorf("allocations for %d packets\ngot  %v\nwant 0", n, got)
				}
			})
		})
	}
}

// BenchmarkFlood sends queries through a cable as fast as one core does, and reports
// which share of them is captured, beside tcpdump.
func BenchmarkFlood(b *testing.B) {
	for _, backend := range backends() {
		b.Run(backend.String(), func(b *testing.B) {
			here, there := cable(b)
			here.Listen(b, hereIP+":27015")
			s := open(b, here, Options{Interfaces: []string{hereName}, Backend: backend})
			ended := make(chan time.Duration)
			go func() {
				runtime.LockOSThread() // whose time is counted
				var batch capture.Batch
				for s.Read(&batch) == nil {
				}
				var used unix.Rusage
				unix.Getrusage(unix.RUSAGE_THREAD, &used)
				ended <- time.Duration(used.Utime.Nano() + used.Stime.Nano())
			}()
			flood(b, there)
			s.Stop()
			used := <-ended
			share(b, s.Stats().Received, used)
		})
	}
	b.Run("tcpdump", func(b *testing.B) {
		if _, err := exec.LookPath("tcpdump"); err != nil {
			b.Skip("tcpdump is not there")
		}
		here, there := cable(b)
		here.Listen(b, hereIP+":27015")
		var said strings.Builder
		c := exec.Command("tcpdump", "-i", hereName, "-n", "-B", strconv.Itoa(DefaultBuffer>>10), "-w", "/dev/null")
		c.Stderr = &said
		here.Start(b, c)
		time.Sleep(time.Second) // until it listens
		flood(b, there)
		time.Sleep(time.Second) // for its last block
		c.Process.Signal(syscall.SIGINT)
		c.Wait()
		m := regexp.MustCompile(`(\d+) packets? captured`).FindStringSubmatch(said.String())
		if m == nil {
			b.Fatal(said.String())
		}
		n, _ := strconv.ParseUint(m[1], 10, 64)
		share(b, n, c.ProcessState.UserTime()+c.ProcessState.SystemTime())
	})
}

// flood sends b.N queries.
func flood(b *testing.B, from *netns.Namespace) {
	conn := from.Dial(b, hereIP+":27015")
	packet := []byte("\xff\xff\xff\xffTSource Engine Query\x00")
	b.ResetTimer()
	for range b.N {
		conn.Write(packet)
	}
	b.StopTimer()
}

// share reports how much was captured, and what time a processor took for it.
func share(b *testing.B, captured uint64, used time.Duration) {
	b.ReportMetric(float64(used)/float64(max(captured, 1)), "ns-used/packet")
	b.ReportMetric(float64(captured)/float64(b.N)*100, "%captured")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "sent/s")
}

// BenchmarkDrain reads a ring that is full: how fast packets are fetched when the
// sender is not what is measured.
func BenchmarkDrain(b *testing.B) {
	for _, backend := range backends() {
		b.Run(backend.String(), func(b *testing.B) {
			here, there := cable(b)
			here.Listen(b, hereIP+":27015")
			s := open(b, here, Options{Interfaces: []string{hereName}, Backend: backend, Buffer: maxBuffer / 2})
			flood(b, there)
			time.Sleep(2 * DefaultDelay)
			var batch capture.Batch
			b.ResetTimer()
			b.StartTimer()
			for s.Read(&batch) == nil && len(batch.Packets) > 0 {
			}
			b.StopTimer()
			if got := s.Stats().Received; got < uint64(b.N) {
				b.Fatalf("%d of %d packets", got, b.N)
			}
		})
	}
}
