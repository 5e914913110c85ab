package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// TestMonitorClockSet: the clock by which packets are stamped is set forth by an hour between a query
// and its answer, and back: no other answer is lost, and the page and the figures go on.
func TestMonitorClockSet(t *testing.T) {
	t.Parallel()
	w := watchPipe(t)
	server, client := netip.MustParseAddrPort(watchedServer), uint32(0)
	for _, jump := range []time.Duration{0, time.Hour, -time.Hour, -time.Hour, time.Hour} {
		from := clientAt(client)
		w.packet(t, from, server, plainQuery)
		w.at += jump + 20*time.Millisecond
		w.packet(t, server, from, someReply)
		for range 60 {
			client++ // time may stand still after a jump back: the same packet would be a copy
			w.at += time.Second
			w.poll(t, client, server)
		}
		client++
	}
	got := w.awaitPackets(t, 2*int(client))
	count := func(outcome string) float64 {
		return got[`qsniff_server_requests_total{message="A2S_INFO",outcome="`+outcome+`",protocol="a2s",server="`+watchedServer+`"}`]
	}
	// The first answer is the others'; what is answered after the clock went forth looks unanswered.
	if count("answered") < float64(client-3) || count("answered")+count("unanswered") != float64(client-1) {
		t.Errorf("%v answered, %v unanswered, %v late of %d", count("answered"), count("unanswered"), count("late"), client)
	}
	if status, body := w.get(t, "/report.json"); status != http.StatusOK || !strings.Contains(body, watchedServer) {
		t.Errorf("/report.json: %d %.200s", status, body)
	}
	if status, body := w.get(t, "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d %s", status, body)
	}
	if status := w.end(t); status != exitOK {
		t.Errorf("status %d", status)
	}
}

// TestLiveMonitorHostile: a flood, while the disk of the files is full, one service hangs and another
// answers 500, two viewers do not read, and reloads come: the figures go on, nothing is restarted, and
// what was lost is counted.
func TestLiveMonitorHostile(t *testing.T) {
	timing.SkipUnlessLive(t)
	server, clients := cable(t)
	server.RunIP(t, "link set lo up")
	over := make(chan struct{})
	hangs := serveIn(t, server, func(http.ResponseWriter, *http.Request) { <-over })
	fails := serveIn(t, server, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write(make([]byte, 1<<20)) // whoever reads that reads long
	})
	t.Cleanup(func() { close(over) })
	server.Serve(t, gameAddr, gameServer())
	disk, hooks := fullDisk(t), filepath.Join(t.TempDir(), "hooks")
	if err := os.WriteFile(hooks, fmt.Appendf(nil, "slack %s\njson %s\n", hangs, fails), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &watcher{cmd: exec.Command("qsniff", "monitor", "-i", serverEnd, "--log-format", "json", "--webhooks", hooks,
		"--tell", filepath.Join(disk, "told"), "-w", filepath.Join(disk, "q.pcapng"), "--ring-size", "1M", "--ring-files", "3")}
	addr := w.passSocket(t)
	w.start(t, server.Start)
	timing.Await(t, "readiness", func() bool { status, _ := w.get(t, "/readyz"); return status == http.StatusOK })
	for _, path := range []string{"/events", "/report.json"} { // they do not read
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, strings.Repeat("GET %[1]s HTTP/1.1\r\nHost: %[2]s\r\n\r\n", 20), path, addr)
	}
	conn := clients.Dial(t, gameAddr)
	body := ""
	is := func(figure, sink string) bool { // above zero
		return regexp.MustCompile(`\n` + figure + `\{sink="` + sink + `[^"]*"\} [1-9]`).MatchString(body)
	}
	timing.Await(t, "counts of what was not told", func() bool {
		flow(t, conn, 2000, 0)
		if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		_, body = w.get(t, "/metrics")
		return is("qsniff_told_retries_total", "file ") && is("qsniff_told_retries_total", "json at ") && is("qsniff_told_waiting_notes", "slack at ")
	})
	got := w.metrics(t)
	if got["qsniff_kept_lost_total"] == 0 {
		t.Error("all packets were written")
	}
	if got["qsniff_capture_standing_still"] != 0 || got["qsniff_capture_packets_total"] < 4000 {
		t.Errorf("it stands still: %v packets", got["qsniff_capture_packets_total"])
	}
	if status, body := w.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d %s", status, body)
	}
	if n := len(w.logged("nothing was reloaded")); n > 0 || len(w.logged("reloaded")) == 0 {
		t.Errorf("%d reloads, %d failed: %v", len(w.logged("reloaded")), n, w.logs)
	}
	if said := fmt.Sprint(w.logged("telling")); !strings.Contains(said, "no space left on the disk") || !strings.Contains(said, "it answers 500 Internal Server Error") {
		t.Errorf("said %s", said)
	}
	var pid int
	fmt.Sscan(childOf(t, w.cmd.Process.Pid), &pid)
	time.AfterFunc(time.Second, func() { _ = syscall.Kill(pid, syscall.SIGKILL) }) // it would try on for half a minute
	if status := w.end(t); status != exitOK {
		t.Errorf("status %d: %v", status, w.logs)
	}
}

// serveIn starts a server over HTTP on the loopback of a namespace, and returns its URL.
func serveIn(t *testing.T, ns *netns.Namespace, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handle)
	s.Listener.Close()
	var err error
	if ns.Do(func() { s.Listener, err = net.Listen("tcp", "127.0.0.1:0") }); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}
