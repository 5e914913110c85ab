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
	w.start(t, startHere)
	return w
}

func startHere(t testing.TB, c *exec.Cmd) {
	t.Helper()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
}

// start starts the program, and waits until it says where it listens.
func (w *watcher) start(t *testing.T, begin func(testing.TB, *exec.Cmd)) {
	t.Helper()
	errs, err := w.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin(t, w.cmd)
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
	return fetch(t, w.url+path, "")
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

// residentBytes returns how much memory of its own a process has: without pages of the program's file,
// which come and go (mem.ReturnProgram) by megabytes.
func residentBytes(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("RssAnon:"))
	n, err := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * 1024
}

// flood has 20,000 clients ask a server within ten seconds, each once. n is how many packets there were before; it returns how many there are then.
func (w *watcher) flood(t *testing.T, server netip.AddrPort, n int) int {
	t.Helper()
	for range 20_000 {
		n++
		w.packet(t, clientAt(uint32(n)*2654435761), server, plainQuery)
		w.at += 500 * time.Microsecond
	}
	return n
}

// passSocket makes a socket that w is given as a manager like systemd does it, and returns where it is.
func (w *watcher) passSocket(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	w.cmd.Path, w.cmd.Args = "/bin/sh", append([]string{"sh", "-c", `LISTEN_PID=$$ WATCHDOG_PID=$$ exec qsniff "$@"`}, w.cmd.Args...)
	w.cmd.ExtraFiles = []*os.File{socket}
	w.cmd.Env = append(os.Environ(), "LISTEN_FDS=1")
	return l.Addr().String()
}
