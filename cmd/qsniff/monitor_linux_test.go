package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"qsniff/internal/test/testpcap"
	"qsniff/internal/test/timing"
)

// What the monitor in tests is told of.
const (
	watchedServer = "198.51.100.7:27015"
	quietServer   = "198.51.100.8:27015"
)

// watcher is qsniff monitor at work on a capture that the test writes.
type watcher struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	buf  *bufio.Writer
	out  *testpcap.Writer
	at   time.Duration // since testpcap.Start
	url  string
	mu   sync.Mutex
	logs []map[string]any
	over chan struct{} // standard error is at its end
}

// watchPipe starts qsniff monitor on its standard input.
func watchPipe(t *testing.T, args ...string) *watcher {
	t.Helper()
	w := &watcher{cmd: exec.Command("qsniff", append([]string{"monitor", "-", "--listen", "127.0.0.1:0", "--log-format", "json"}, args...)...)}
	var err error
	if w.in, err = w.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	w.buf = bufio.NewWriterSize(w.in, 1<<16)
	if w.out, err = testpcap.NewWriter(w.buf, testpcap.Format{Link: 101, SnapLen: 65535, Nano: true}); err != nil {
		t.Fatal(err)
	}
	w.flush(t) // it is opened once its header is there
	w.start(t)
	return w
}

// start starts the program, and waits until it says where it listens.
func (w *watcher) start(t *testing.T) {
	t.Helper()
	errs, err := w.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.over = make(chan struct{})
	go w.readLog(errs)
	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // it has ended, unless the test failed
		<-w.over
		_ = w.cmd.Wait()
	})
	w.awaitLog(t, "begin", "")
	w.url = "http://" + fmt.Sprint(w.logged("begin")[0]["listen"])
}

func (w *watcher) readLog(errs io.Reader) {
	defer close(w.over)
	for in := bufio.NewScanner(errs); in.Scan(); {
		line := map[string]any{}
		if json.Unmarshal(in.Bytes(), &line) != nil {
			line["msg"] = in.Text()
		}
		w.mu.Lock()
		w.logs = append(w.logs, line)
		w.mu.Unlock()
	}
}

// logged returns the lines of the log with a message.
func (w *watcher) logged(msg string) (found []map[string]any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, l := range w.logs {
		if l["msg"] == msg {
			found = append(found, l)
		}
	}
	return found
}

// awaitLog waits for a line of the log with a word in it.
func (w *watcher) awaitLog(t *testing.T, msg, word string) {
	t.Helper()
	timing.Await(t, msg, func() bool {
		for _, l := range w.logged(msg) {
			if strings.Contains(fmt.Sprint(l), word) {
				return true
			}
		}
		select {
		case <-w.over:
			t.Fatalf("it ended: %v", w.logs)
		default:
		}
		return false
	})
}

// packet writes a datagram.
func (w *watcher) packet(t *testing.T, from, to netip.AddrPort, payload string) {
	t.Helper()
	b := make([]byte, 28, 28+len(payload))
	b[0], b[8], b[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(b[2:], uint16(28+len(payload)))
	copy(b[12:], from.Addr().AsSlice())
	copy(b[16:], to.Addr().AsSlice())
	binary.BigEndian.PutUint16(b[20:], from.Port())
	binary.BigEndian.PutUint16(b[22:], to.Port())
	binary.BigEndian.PutUint16(b[24:], uint16(8+len(payload)))
	if err := w.out.WritePacket(testpcap.Start+int64(w.at), append(b, payload...)); err != nil {
		t.Fatal(err)
	}
}

func (w *watcher) flush(t *testing.T) {
	t.Helper()
	if err := w.buf.Flush(); err != nil {
		t.Fatal(err)
	}
}

// The messages of the tests.
const (
	plainQuery = "\xff\xff\xff\xffTSource Engine Query\x00"
	someReply  = "\xff\xff\xff\xffI\x11a server\x00de_dust2\x00cstrike\x00a game\x00\x0a\x00\x07\x20\x00dl\x00\x011.0\x00"
)

// poll writes a query and its answer after 20 ms.
func (w *watcher) poll(t *testing.T, client uint32, server netip.AddrPort) {
	t.Helper()
	from := clientAt(client)
	w.packet(t, from, server, plainQuery)
	w.at += 20 * time.Millisecond
	w.packet(t, server, from, someReply)
}

// clientAt returns the nth client.
func clientAt(n uint32) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}), 40000+uint16(n%1000))
}

// get asks for a page.
func (w *watcher) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	return fetch(t, w.url+path)
}

// metrics returns the figures by name and labels.
func (w *watcher) metrics(t *testing.T) map[string]float64 {
	t.Helper()
	status, body := w.get(t, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("/metrics: %d %s", status, body)
	}
	all := map[string]float64{}
	for line := range strings.Lines(body) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			n, err := strconv.ParseFloat(value[strings.LastIndexByte(value, ' ')+1:], 64)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			all[name] = n
		}
	}
	return all
}

// awaitPackets waits until so many packets are counted.
func (w *watcher) awaitPackets(t *testing.T, want int) (all map[string]float64) {
	t.Helper()
	w.flush(t)
	timing.Await(t, "packets", func() bool {
		all = w.metrics(t)
		return all["qsniff_capture_packets_total"] >= float64(want)
	})
	return all
}

// end sends SIGTERM, and returns the exit status.
func (w *watcher) end(t *testing.T) int {
	t.Helper()
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-w.over
	_ = w.cmd.Wait() // the status says it
	return w.cmd.ProcessState.ExitCode()
}

// TestMonitorReload: SIGHUP in the middle of a flood changes what it can, and nothing is lost: no
// count, and not the incident, which is one and the same before and after.
func TestMonitorReload(t *testing.T) {
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
	flood := func() {
		for range 20_000 { // 2,000 a second
			n++
			w.packet(t, clientAt(uint32(n)*2654435761), server, plainQuery)
			w.at += 500 * time.Microsecond
		}
	}
	flood()
	const open, ended = `qsniff_incidents_open{kind="flood_spoofed",level="alert"}`, `qsniff_incidents_ended_total{kind="flood_spoofed",level="alert"}`
	if got := w.awaitPackets(t, n); got[open] != 1 {
		t.Errorf("%v open incidents before the reload: %v", got[open], w.logged("incident"))
	}
	write(config, "servers = [\""+watchedServer+"\", \""+quietServer+"\"]\nthresholds = \""+limits+"\"\nlisten = \"127.0.0.1:1\"\n")
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

// TestMonitorDay: twelve hours of packets, with pauses, from ever new clients and to more servers than
// have figures: memory stays as it is after the first hour, and so does the number of figures.
func TestMonitorDay(t *testing.T) {
	w := watchPipe(t, "--max-servers", "64")
	n := 0
	var early, figures float64
	for hour := range 12 {
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

// residentBytes returns how much memory a process has.
func residentBytes(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmRSS:"))
	n, err := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * 1024
}

// TestMonitorActivation: a socket and a place for reports that a manager like systemd passes on.
func TestMonitorActivation(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
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
	w := &watcher{cmd: exec.Command("sh", "-c", `LISTEN_PID=$$ WATCHDOG_PID=$$ exec qsniff monitor "$0" --log-format json`, capture)}
	w.cmd.ExtraFiles = []*os.File{socket}
	w.cmd.Env = append(os.Environ(), "LISTEN_FDS=1", "NOTIFY_SOCKET="+name, "WATCHDOG_USEC=200000")
	w.start(t)
	if want := "http://" + l.Addr().String(); w.url != want {
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
