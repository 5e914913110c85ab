package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"qsniff/internal/test/timing"
)

// TestMonitorTells: an incident is told by its server's name while it goes on and when it is over; a
// service that hangs costs nobody else anything; SIGHUP in the middle has the file opened anew and a
// new service told, in the sandbox; and a monitor that cannot tell any more says that it is not well.
func TestMonitorTells(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := ""
	works := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got += string(b)
	}))
	defer works.Close()
	over := make(chan struct{})
	hangs := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	defer hangs.Close()
	defer close(over)
	dir := t.TempDir()
	name, hooks := filepath.Join(dir, "out.jsonl"), filepath.Join(dir, "hooks")
	putHooks := func(text string) {
		t.Helper()
		if err := os.WriteFile(hooks, fmt.Appendf(nil, "ntfy %s/topic\nslack %s/SECRET\n%s", works.URL, hangs.URL, text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	putHooks("")
	w := watchPipe(t, "--tell", name, "--webhooks", hooks)
	server, n := netip.MustParseAddrPort(watchedServer), 0
	calm := func() {
		for range 120 {
			n += 2
			w.poll(t, uint32(n%20), server)
			w.at += 980 * time.Millisecond
		}
	}
	flood := func() { n = w.flood(t, server, n) }
	calm()
	flood()
	w.awaitPackets(t, n)
	has := func(name, text string) func() bool {
		return func() bool { b, _ := os.ReadFile(name); return strings.Contains(string(b), text) }
	}
	timing.Await(t, "the begin in the file", has(name, `"event":"open"`))
	if err := os.Rename(name, name+".old"); err != nil {
		t.Fatal(err)
	}
	putHooks("sms nonsense")
	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w.awaitLog(t, "nothing was reloaded", `line 3: "sms" is no service`)
	putHooks("json " + works.URL)
	hangUp(t, w, 1)
	flood()
	calm()
	w.awaitPackets(t, n)
	timing.Await(t, "the end in the new file", has(name, `"event":"close"`))
	timing.Await(t, "the end at the service", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(got, "ALERT flood_spoofed at udp/"+watchedServer+" (a server)") && strings.Contains(got, "New: ") && strings.Contains(got, "Over: ") && strings.Contains(got, `"event":"close"`)
	})
	timing.Await(t, "the counts", func() bool {
		_, body := w.get(t, "/metrics")
		for _, line := range []string{`notes_total{outcome="sent",sink="ntfy at 127.0.0.1"} 2`, `notes_total{outcome="sent",sink="slack at 127.0.0.1"} 0`,
			`notes_total{outcome="lost",sink="all"} 0`, `waiting_notes{sink="slack at 127.0.0.1"} 2`} {
			if !strings.Contains(body, "\nqsniff_told_"+line+"\n") {
				return false
			}
		}
		return true
	})
	if status, body := w.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, body)
	}
	var pid int
	fmt.Sscan(childOf(t, w.cmd.Process.Pid), &pid)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	timing.Await(t, "it to be unwell", func() bool {
		status, body := w.get(t, "/healthz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "the process that tells of incidents has ended")
	})
	if status := w.end(t); status != exitOK {
		t.Errorf("status %d", status)
	}
	if log := fmt.Sprint(w.logs); strings.Contains(log, "SECRET") || !strings.Contains(log, "told slack at 127.0.0.1: 0 notes, still waiting: ") {
		t.Errorf("log %s", log)
	}
}
