package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/testpcap"
	"qsniff/internal/test/timing"
)

// TestMonitorReload: SIGHUP in the middle of a flood changes what it can, and nothing is lost: no
// count, and not the incident, which is one and the same before and after.
func TestMonitorReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, limits := filepath.Join(dir, "q.toml"), filepath.Join(dir, "limits.toml")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(config, "servers = [\""+watchedServer+"\"]\nthresholds = \""+limits+"\"\n")
	write(limits, "quiet = \"80s\"\n")
	w := watchPipe(t, "--config", config)
	server, n := netip.MustParseAddrPort(watchedServer), 0
	for ; n < 600; n += 2 { // five minutes of peace
		w.poll(t, uint32(n%20), server)
		w.at += 980 * time.Millisecond
	}
	flood := func() { n = w.flood(t, server, n) }
	flood()
	const open, ended = `qsniff_incidents_open{kind="flood_spoofed",level="alert"}`, `qsniff_incidents_ended_total{kind="flood_spoofed",level="alert"}`
	if got := w.awaitPackets(t, n); got[open] != 1 {
		t.Errorf("%v open incidents before the reload: %v", got[open], w.logged("incident"))
	}
	write(config, "servers = [\""+watchedServer+"\", \""+quietServer+"\"]\nown = [\"192.0.2.9\", \"2001:db8:5::/64\"]\nthresholds = \""+limits+"\"\nlisten = \"127.0.0.1:1\"\n")
	write(limits, "quiet = \"20s\"\n")
	hangUp(t, w, 1)
	if later := w.logged("a restart is needed for what else has changed"); len(later) != 0 {
		t.Errorf("got %v: --listen of the command line counts more", later)
	}
	flood()
	got := w.awaitPackets(t, n)
	if got[open] != 1 || got[ended] != 0 || len(w.logged("incident")) != 1 {
		t.Errorf("%v open incidents, %v ended: %v", got[open], got[ended], w.logged("incident"))
	}
	if _, ok := got[`qsniff_server_packets_total{direction="in",server="`+quietServer+`"}`]; !ok {
		t.Error("the server that the reload names has no figures")
	}
	if in := got[`qsniff_server_packets_total{direction="in",server="`+watchedServer+`"}`]; in != float64(n-300) {
		t.Errorf("%v queries, want %d", in, n-300)
	}
	w.at += 25 * time.Second // longer than the new threshold, shorter than the old one
	w.poll(t, 1, server)
	w.at += time.Second
	w.poll(t, 1, server)
	if got := w.awaitPackets(t, n+4); got[open] != 0 || got[ended] != 1 {
		t.Errorf("%v open incidents, %v ended, by the new threshold", got[open], got[ended])
	}
	write(config, "serverz = 1\n")
	hangUp(t, w, 0)
	if status := w.end(t); status != exitOK || len(w.logged("end")) != 1 {
		t.Errorf("status %d, %v", status, w.logs)
	}
}

// hangUp sends SIGHUP, and waits until the log says that it has worked, or that it has not, for the
// nth time.
func hangUp(t *testing.T, w *watcher, worked int) {
	t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if worked == 0 {
		w.awaitLog(t, "nothing was reloaded", "serverz")
		return
	}
	timing.Await(t, "the reload", func() bool { return len(w.logged("reloaded")) == worked })
}

// TestMonitorServers: what a server says of itself, and nothing that nobody asked it for.
func TestMonitorServers(t *testing.T) {
	w := watchPipe(t)
	server := netip.MustParseAddrPort(watchedServer)
	w.packet(t, server, clientAt(9), strings.Replace(someReply, "a server", "forged!!", 1))
	for range 3 {
		w.poll(t, 1, server)
		w.at += 2 * time.Second
	}
	w.awaitPackets(t, 7)
	status, body := w.get(t, "/servers.json")
	var got struct {
		Servers []struct {
			Server, Name, Map string
			Players           int
			Max               int `json:"max_players"`
		}
	}
	if err := json.Unmarshal([]byte(body), &got); status != http.StatusOK || err != nil {
		t.Fatalf("%d %v: %s", status, err, body)
	}
	if len(got.Servers) != 1 || got.Servers[0].Name != "a server" || got.Servers[0].Players != 7 || got.Servers[0].Max != 32 || got.Servers[0].Map != "de_dust2" {
		t.Errorf("got %s", body)
	}
	if status, body := w.get(t, "/readyz"); status != http.StatusOK {
		t.Errorf("/readyz: %d %s", status, body)
	}
	w.in.Close() // the input is over
	<-w.over
	_ = w.cmd.Wait() // the status says it
	if status := w.cmd.ProcessState.ExitCode(); status != exitOK {
		t.Errorf("status %d, %v", status, w.logs)
	}
}

// TestMonitorDay: twelve hours of packets, with -short four, with pauses, from ever new clients and to more servers than
// have figures: memory stays as it is after the first hour, and so does the number of figures.
func TestMonitorDay(t *testing.T) {
	w := watchPipe(t, "--max-servers", "64")
	n := 0
	var early, figures float64
	hours := 12
	if testing.Short() {
		hours = 4
	}
	for hour := range hours {
		for i := range 20_000 {
			server := netip.AddrPortFrom(netip.AddrFrom4([4]byte{198, 51, 100, byte(i % 100)}), 27015)
			n++
			if i%3 == 0 {
				w.poll(t, uint32(n)*2654435761, server)
				n++
			} else {
				w.packet(t, clientAt(uint32(n)*2246822519), server, []string{plainQuery, "\xff\xff\xff\xffjunk"}[i%2])
			}
			w.at += 150 * time.Millisecond
		}
		w.at = time.Duration(hour+1) * time.Hour // ten minutes of nothing
		got := w.awaitPackets(t, n)
		resident, count := residentBytes(t, w.cmd.Process.Pid), float64(len(got))
		switch {
		case hour == 1:
			early, figures = resident, count
		case hour > 1 && (resident > early*1.15 || count != figures):
			t.Fatalf("after hour %d: %.1f MiB and %v figures, after the second %.1f and %v", hour+1, resident/(1<<20), count, early/(1<<20), figures)
		}
		t.Logf("hour %d: %d packets, %.1f MiB, %v figures", hour+1, n, resident/(1<<20), count)
	}
}

// TestMonitorActivation: a socket and a place for reports that a manager like systemd passes on.
func TestMonitorActivation(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "notify")
	reports, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer reports.Close()
	capture := filepath.Join(t.TempDir(), "q.pcap")
	var empty bytes.Buffer
	if _, err := testpcap.NewWriter(&empty, testpcap.Format{Link: 101, SnapLen: 65535}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(capture, empty.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &watcher{cmd: exec.Command("qsniff", "monitor", capture, "--log-format", "json")}
	addr := w.passSocket(t)
	w.cmd.Env = append(w.cmd.Env, "NOTIFY_SOCKET="+name, "WATCHDOG_USEC=200000")
	w.start(t, startHere)
	if want := "http://" + addr; w.url != want {
		t.Errorf("it listens on %s, want %s", w.url, want)
	}
	report := func() string {
		t.Helper()
		b := make([]byte, 500)
		_ = reports.SetReadDeadline(time.Now().Add(timing.Patience))
		n, err := reports.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		return string(b[:n])
	}
	await := func(want string) {
		t.Helper()
		for range 1000 {
			if strings.HasPrefix(report(), want) {
				return
			}
		}
		t.Fatalf("no %s", want)
	}
	await("READY=1")
	await("WATCHDOG=1")
	if status, _ := w.get(t, "/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d", status)
	}
	if err := w.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	await("RELOADING=1\nMONOTONIC_USEC=")
	await("READY=1")
	if status := w.end(t); status != exitOK {
		t.Errorf("status %d, %v", status, w.logs)
	}
	await("STOPPING=1")
}

// TestLiveMonitor: on an interface, in the sandbox, with a socket from outside.
func TestLiveMonitor(t *testing.T) {
	timing.SkipUnlessLive(t)
	for _, b := range backends() {
		t.Run(b, func(t *testing.T) {
			server, clients := cable(t)
			server.Serve(t, gameAddr, gameServer())
			w := &watcher{cmd: exec.Command("qsniff", "monitor", "-i", serverEnd, "--backend", b, "--log-format", "json", "-w", filepath.Join(t.TempDir(), "q.pcapng"), "--ring-size", "2K", "--ring-files", "3")}
			w.passSocket(t)
			w.start(t, server.Start)
			timing.Await(t, "readiness", func() bool { status, _ := w.get(t, "/readyz"); return status == http.StatusOK })
			for range 10 {
				poll(t, clients.Dial(t, gameAddr))
			}
			var got map[string]float64
			name := `{server="` + gameAddr + `"`
			timing.Await(t, "answers", func() bool {
				got = w.metrics(t)
				return got["qsniff_server_response_seconds_count"+name+"}"] >= 29 // the first exchange is among the others'
			})
			for _, kind := range []string{"A2S_INFO", "A2S_PLAYER", "A2S_RULES"} {
				if n := got[`qsniff_server_requests_total{message="`+kind+`",outcome="answered",protocol="a2s",server="`+gameAddr+`"}`]; n < 9 || n > 10 {
					t.Errorf("%v answers to %s", n, kind)
				}
			}
			if got["process_cpu_seconds_total"] == 0 || got["process_resident_memory_bytes"] == 0 || got["qsniff_capture_dropped_by_kernel_total"] != 0 {
				t.Errorf("CPU %v, memory %v, %v dropped", got["process_cpu_seconds_total"], got["process_resident_memory_bytes"], got["qsniff_capture_dropped_by_kernel_total"])
			}
			if got["qsniff_kept_written_total"] < 120 || got["qsniff_kept_present_files"] < 2 || got["qsniff_kept_present_files"] > 3 || got["qsniff_kept_present_bytes"] > 3*2048 ||
				got["qsniff_kept_files_removed_total"] == 0 {
				t.Errorf("packets in files: %v", got)
			}
			if box := fmt.Sprint(w.logged("sandbox")); !strings.Contains(box, "capabilities dropped") || !strings.Contains(box, "tcp: none") {
				t.Errorf("sandbox: %s", box)
			}
			if status := w.end(t); status != exitOK {
				t.Errorf("status %d, %v", status, w.logs)
			}
		})
	}
}

// TestLiveMonitorReturns: in the sandbox an interface that goes down, and one that is deleted and made anew, is captured
// again, told and counted. libpcap has no right for a new one: the run fails once it is there, for a manager.
func TestLiveMonitorReturns(t *testing.T) {
	timing.SkipUnlessLive(t)
	const here, peer = "here0", "peer0"
	add := func(ns *netns.Namespace) {
		ns.RunIP(t, "link add "+here+" type veth peer name "+peer)
		ns.RunIP(t, "link set "+peer+" up")
		ns.RunIP(t, "link set "+here+" up")
	}
	for _, b := range backends() {
		t.Run(b, func(t *testing.T) {
			ns := netns.New(t)
			add(ns)
			w := &watcher{cmd: exec.Command("qsniff", "monitor", "-i", here, "--backend", b, "--log-format", "json")}
			w.passSocket(t)
			w.start(t, ns.Start)
			timing.Await(t, "readiness", func() bool { status, _ := w.get(t, "/readyz"); return status == http.StatusOK })
			await := func(away, interruptions float64) {
				t.Helper()
				timing.Await(t, fmt.Sprintf("%v away, %v interruptions", away, interruptions), func() bool {
					got := w.metrics(t)
					return got["qsniff_capture_interfaces_away"] == away && got["qsniff_capture_interruptions_total"] == interruptions
				})
			}
			ns.RunIP(t, "link set "+here+" down")
			await(1, 1)
			if status, _ := w.get(t, "/healthz"); status != http.StatusOK {
				t.Errorf("/healthz: %d", status)
			}
			ns.RunIP(t, "link set "+here+" up")
			await(0, 1)
			before := w.metrics(t)["qsniff_capture_packets_total"]
			ns.SendFrames(t, peer, bytes.Repeat([]byte{0xff}, 60))
			timing.Await(t, "packets", func() bool { return w.metrics(t)["qsniff_capture_packets_total"] > before })
			ns.RunIP(t, "link del "+here)
			await(1, 2)
			add(ns)
			if b == "libpcap" {
				<-w.over
				_ = w.cmd.Wait() // the status says it
				if status := w.cmd.ProcessState.ExitCode(); status != exitFailed {
					t.Errorf("status %d, %v", status, w.logs)
				}
				return
			}
			await(0, 2)
			before = w.metrics(t)["qsniff_capture_packets_total"]
			ns.SendFrames(t, peer, bytes.Repeat([]byte{0xff}, 60))
			timing.Await(t, "packets of the new one", func() bool { return w.metrics(t)["qsniff_capture_packets_total"] > before })
			if status := w.end(t); status != exitOK {
				t.Errorf("status %d, %v", status, w.logs)
			}
			if lines := fmt.Sprint(w.logged("interface")); strings.Count(lines, "captured again once") != 2 || strings.Count(lines, "captured again") != 4 {
				t.Errorf("the log: %s", lines)
			}
		})
	}
}
