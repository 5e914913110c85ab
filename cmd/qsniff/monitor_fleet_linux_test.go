package main

import (
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"qsniff/internal/fleet"
	"qsniff/internal/test/natstest"
	"qsniff/internal/test/timing"
)

// TestMonitorFleetBroker: a monitor tells the hub of its fleet what servers are asked, in order, all of it and
// nothing twice, also of the time in which the broker was away; after the end of a monitor whose broker is
// away, the next one sends the rest. Its sandbox is on.
func TestMonitorFleetBroker(t *testing.T) {
	t.Parallel()
	b := natstest.Start(t, nil)
	natstest.MakeStream(t, b.Connect(), "FLEET", "qsniff.*.*")
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("a secret of a fleet for tests\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--fleet", b.URL(), "--fleet-name", "web-1", "--fleet-secret", secret, "--fleet-spool", filepath.Join(dir, "spool")}
	w := watchPipe(t, flags...)
	server, n := netip.MustParseAddrPort(watchedServer), 0
	minute := func(w *watcher) {
		for range 60 {
			n += 2
			w.poll(t, uint32(n%20), server)
			w.at += 980 * time.Millisecond
		}
		w.flush(t)
	}
	sent := func(least int) func() bool {
		return func() bool {
			_, body := w.get(t, "/metrics")
			got := sentToFleet.FindStringSubmatch(body)
			if got == nil {
				return false
			}
			n, err := strconv.Atoi(got[1])
			return err == nil && n >= least && strings.Contains(body, "\nqsniff_told_waiting_notes{sink=\"fleet at 127.0.0.1\"} 0\n")
		}
	}
	minute(w)
	timing.Await(t, "messages of a minute", sent(8))
	b.Stop()
	minute(w)
	w.awaitLog(t, "telling", "fleet at 127.0.0.1: ")
	b.Restart()
	timing.Await(t, "messages of two minutes", sent(20))
	b.Stop()
	minute(w)
	w.awaitPackets(t, n)
	if status := w.end(t); status != exitOK {
		t.Errorf("status %d", status)
	}
	awaitSpool(t, filepath.Join(dir, "spool"))
	b.Restart()
	w2 := watchPipe(t, flags...)
	w2.at = w.at
	n = 0
	minute(w2)
	w = w2
	timing.Await(t, "messages of both", sent(20))
	if status, body := w.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if status := w.end(t); status != exitOK {
		t.Errorf("status %d", status)
	}
	if log := fmt.Sprint(w.logged("telling")); !strings.Contains(log, "telling fleet at 127.0.0.1, from a process of its own; its sandbox: ") {
		t.Errorf("log %s", log)
	}
	timing.Await(t, "the last messages", func() bool { return len(runsIn(t, b)) == 2 && countIn(t, b) == 240 })
	for run, seqs := range runsIn(t, b) {
		for i, seq := range seqs {
			if seq != uint64(i)+1 {
				t.Errorf("run %s: message %d is at %d of %d", run, seq, i+1, len(seqs))
				break
			}
		}
	}
}

var sentToFleet = regexp.MustCompile(`\nqsniff_told_notes_total\{outcome="sent",sink="fleet at 127.0.0.1"\} (\d+)\n`)

// awaitSpool waits until the process that tells has left messages in its spool, and nobody has it.
func awaitSpool(t *testing.T, dir string) {
	t.Helper()
	timing.Await(t, "the spool", func() bool {
		all, err := filepath.Glob(filepath.Join(dir, "*.qsniff"))
		return err == nil && len(all) > 0
	})
}

// parsed returns the messages that a broker has, which must be what they say.
func parsed(t *testing.T, b *natstest.Broker) (all []fleet.Message) {
	t.Helper()
	for _, m := range natstest.Messages(t, b.Connect(), "FLEET") {
		sensor, kind, err := fleet.ParseSubject(fleet.DefaultPrefix, m.Subject)
		if err != nil || sensor != "web-1" {
			t.Fatalf("%s: %v", m.Subject, err)
		}
		x, err := fleet.Parse(sensor, kind, m.Data)
		if err != nil {
			t.Fatalf("%v: %s", err, m.Data)
		}
		all = append(all, x)
	}
	return all
}

// runsIn returns the numbers of messages at a broker, by their run.
func runsIn(t *testing.T, b *natstest.Broker) map[string][]uint64 {
	t.Helper()
	runs := map[string][]uint64{}
	for _, m := range parsed(t, b) {
		h := fleet.HeadOf(m)
		runs[h.Run] = append(runs[h.Run], h.Seq)
	}
	return runs
}

// countIn returns how many queries the messages at a broker count.
func countIn(t *testing.T, b *natstest.Broker) (n uint64) {
	t.Helper()
	for _, m := range parsed(t, b) {
		switch m := m.(type) {
		case *fleet.Server:
			n += m.PacketsIn
		case *fleet.Host:
			n += m.Others.PacketsIn
		}
	}
	return n
}
