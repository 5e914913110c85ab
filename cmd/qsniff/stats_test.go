package main

import (
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/internal/test/testpcap"
)

// TestStatsJobs: what captures come to does not depend on the number of goroutines,
// also where every table overflows.
func TestStatsJobs(t *testing.T) {
	t.Parallel()
	jobs := []string{"2", "4", "16"}
	if testing.Short() {
		jobs = jobs[1:2]
	}
	for _, tc := range []struct {
		name string
		args []string
	}{
		{"all captures", captures(t)},
		{"everybody asks everybody", []string{"--memory", "16M", crowd(t)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, form := range []string{"text", "json"} {
				args := append([]string{"stats", "--utc", "-o", form}, tc.args...)
				want, errs, status := output(t, append(args, "--jobs", "1")...)
				if status != exitOK {
					t.Fatalf("exit status %d: %s", status, errs)
				}
				harmless(t, want)
				if form == "json" && !json.Valid([]byte(want)) {
					t.Errorf("not JSON: %s", want)
				}
				for _, jobs := range jobs {
					if got, _, _ := output(t, append(args, "--jobs", jobs)...); got != want {
						t.Errorf("%s: 1 job -, %s jobs +\n%s", form, jobs, cmp.Diff(want, got))
					}
				}
			}
		})
	}
}

// TestStatsEach: of each capture there is an object, and a page that does no harm
// and keeps to its width.
func TestStatsEach(t *testing.T) {
	someCaptures(t, func(t *testing.T, _ int, name string) {
		object, errs, status := output(t, "stats", "-o", "json", name)
		var s struct {
			Messages []struct{ Count uint64 }
			Requests uint64
			Replies  uint64
			Series   []struct{ Requests, Replies uint64 }
		}
		if err := json.Unmarshal([]byte(object), &s); err != nil || status != exitOK {
			t.Fatalf("exit status %d: %s (%v)", status, errs, err)
		}
		var inSeries, inTable uint64
		for _, p := range s.Series {
			inSeries += p.Requests + p.Replies
		}
		for _, m := range s.Messages {
			inTable += m.Count
		}
		if inSeries != s.Requests+s.Replies || inTable < inSeries {
			t.Errorf("%d requests and replies, %d in the series, %d messages", s.Requests+s.Replies, inSeries, inTable)
		}
		page, _, _ := output(t, "stats", name)
		harmless(t, page)
		secretless(t, page+object)
	}, "floods", "stories", "hostile")
}

// crowd writes a capture of more servers and clients than the smallest tables hold.
// Some servers answer.
func crowd(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "crowd.pcap")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := testpcap.NewWriter(f, testpcap.Format{Link: testpcap.LinkEthernet, SnapLen: 262_144})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	link := testpcap.Link{Type: testpcap.LinkEthernet}
	for i := range 40_000 {
		client, server := end(10<<24|rng.Uint32N(1<<13), 40_000), end(198<<24|18<<16|rng.Uint32N(1<<12), 27_015)
		d := testpcap.Datagram{Src: client, Dst: server, TTL: 64, Payload: []byte("\xff\xff\xff\xffTSource Engine Query\x00")}
		if i%3 == 0 {
			d = testpcap.Datagram{Src: server, Dst: client, TTL: 64, Payload: []byte("\xff\xff\xff\xffI\x11name\x00map\x00dir\x00game\x00\x0a\x00\x01\x10\x00dl\x00\x01\x31\x00")}
		}
		if err := w.WritePacket(testpcap.Start+int64(i)*1e6, d.Frame(link)); err != nil {
			t.Fatal(err)
		}
	}
	return name
}

func end(addr uint32, port uint16) netip.AddrPort {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], addr)
	return netip.AddrPortFrom(netip.AddrFrom4(b), port)
}
