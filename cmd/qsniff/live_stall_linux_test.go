package main

import (
	"flag"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

var stall = flag.Duration("stall", 10*time.Second, "how long nobody reads the output in TestLiveStalled")

// TestLiveStalled: whoever does not read the output costs packets, which are counted,
// and nothing else. Files get them all the same.
func TestLiveStalled(t *testing.T) {
	timing.SkipUnlessLive(t)
	t.Parallel()
	for _, tc := range []struct {
		name         string
		keep, resume bool
	}{{"resumed", false, true}, {"kept, resumed", true, true}, {"for good", false, false}, {"kept, for good", true, false}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			server, clients := cable(t)
			server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
			name := filepath.Join(t.TempDir(), "q.pcap")
			args := []string{"-o", "json", "-B", "1M"}
			if tc.keep {
				args = []string{"-o", "json", "-w", name}
			}
			s := sniff(t, server, args...)
			sent := stallFor(t, *stall, clients.Dial(t, gameAddr))
			want := exitFailed
			if tc.resume {
				want = exitOK
				sent += s.resume(t, clients)
			}
			status, took := s.end(t, os.Interrupt)
			if status != want {
				t.Fatalf("status %d after %v: %s", status, took, s.said())
			}
			timing.CheckLimit(t, "the end", took, patience)
			captured, undecoded := s.counted(t, sent, tc.keep)
			if tc.resume {
				if n := countMessages(parse(t, <-s.output)); n != captured-undecoded {
					t.Errorf("%d messages of %d packets, %d of them undecoded", n, captured, undecoded)
				}
			}
			if tc.keep {
				if n, _ := packetsIn(t, filepath.Dir(name), "q.pcap"); n != captured {
					t.Errorf("%d packets in the file, want %d", n, captured)
				}
			}
		})
	}
}

// resume reads the output again, and sends until a message of that comes: then all that
// came before was decoded. It returns how many it sent.
func (s *sniffer) resume(t *testing.T, clients *netns.Namespace) (sent int) {
	t.Helper()
	s.collect()
	conn := clients.Dial(t, gameAddr)
	src := `"src":"` + conn.LocalAddr().String() + `"`
	came := s.watch(func(_ int, text string) bool { return strings.Contains(text, src) })
	timing.Await(t, "a message from "+src, func() bool {
		flow(t, conn, 1, 0) // the first ones may find no room
		sent++
		return came()
	})
	return sent
}

// stallFor sends requests for some time, and returns how many.
func stallFor(t *testing.T, d time.Duration, conn net.Conn) (sent int) {
	t.Helper()
	for start := time.Now(); time.Since(start) < d; sent += 500 {
		flow(t, conn, 500, 0)
		time.Sleep(20 * time.Millisecond)
	}
	return sent
}

// counted holds the summary of a run whose output was not read against what was sent.
func (s *sniffer) counted(t *testing.T, sent int, keep bool) (captured, undecoded int) {
	t.Helper()
	number := func(text string) int {
		m := regexp.MustCompile(text).FindStringSubmatch(s.said())
		if m == nil {
			return 0
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	captured = number(`\nqsniff: (\d+) packets captured`)
	dropped := number(`dropped: (\d+) by the kernel`)
	undecoded = number(`qsniff: (\d+) packets were not decoded, because the output was not read in time`)
	t.Logf("%d sent, %d dropped, %d not decoded", sent, dropped, undecoded)
	if captured+dropped != sent {
		t.Errorf("captured and dropped\ngot  %d + %d\nwant %d", captured, dropped, sent)
	}
	// A busy machine costs some packets of any capture; the stall costs most of them where they are not kept.
	if keep != (dropped < sent/10) {
		t.Errorf("kept %v: %d of %d were dropped", keep, dropped, sent)
	}
	return captured, undecoded
}

func countMessages(all []seen) (n int) {
	for _, m := range all {
		if m.Record == "" {
			n++
		}
	}
	return n
}
