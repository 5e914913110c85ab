package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace with a thread in it that runs what it is given.
// It goes when the thread ends.
type namespace struct {
	work chan func()
	tid  int
}

// newNamespace makes a network namespace, or skips t.
func newNamespace(t *testing.T) *namespace {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("the command ip (iproute2) is not there")
	}
	ns := &namespace{work: make(chan func())}
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		err := unix.Unshare(unix.CLONE_NEWNET)
		ns.tid = unix.Gettid()
		ready <- err
		if err != nil {
			return
		}
		for f := range ns.work {
			f()
		}
	}()
	if err := <-ready; err != nil {
		t.Skipf("no network namespace (it takes root): %v", err)
	}
	t.Cleanup(func() { close(ns.work) })
	return ns
}

// do runs f in the namespace. What it starts and opens stays there.
func (ns *namespace) do(f func()) {
	done := make(chan struct{})
	ns.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// ip runs the command ip in the namespace, with a line of arguments.
func (ns *namespace) ip(t *testing.T, line string) {
	t.Helper()
	ns.do(func() {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Errorf("ip %s: %v: %s", line, err, out)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// The server's end of the cable between two namespaces.
const (
	serverEnd = "server0"
	gameAddr  = "198.18.0.1:27015"
)

// cable makes two namespaces joined by veth, that of a server and that of its clients.
func cable(t *testing.T) (server, clients *namespace) {
	t.Helper()
	server, clients = newNamespace(t), newNamespace(t)
	server.ip(t, "link add "+serverEnd+" type veth peer name client0")
	server.ip(t, "link set client0 netns "+strconv.Itoa(clients.tid))
	for _, end := range []struct {
		ns       *namespace
		name, at string
	}{{server, serverEnd, "198.18.0.1/24"}, {clients, "client0", "198.18.0.2/24"}} {
		end.ns.ip(t, "link set "+end.name+" addrgenmode none") // no messages of IPv6
		end.ns.ip(t, "addr add "+end.at+" dev "+end.name)
		end.ns.ip(t, "link set "+end.name+" up")
	}
	// nor of ARP
	server.ip(t, "neigh replace 198.18.0.2 lladdr "+clients.mac(t, "client0")+" dev "+serverEnd)
	clients.ip(t, "neigh replace 198.18.0.1 lladdr "+server.mac(t, serverEnd)+" dev client0")
	return server, clients
}

func (ns *namespace) mac(t *testing.T, name string) (mac string) {
	t.Helper()
	ns.do(func() {
		f, err := net.InterfaceByName(name)
		if err != nil {
			t.Error(err)
			return
		}
		mac = f.HardwareAddr.String()
	})
	return mac
}

// serve answers datagrams at gameAddr.
func (ns *namespace) serve(t *testing.T, answer func([]byte) [][]byte) {
	t.Helper()
	var conn net.PacketConn
	var err error
	ns.do(func() { conn, err = net.ListenPacket("udp4", gameAddr) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	go func() {
		buf := make([]byte, 2048)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			for _, b := range answer(buf[:n]) {
				_, _ = conn.WriteTo(b, from) // a client that has gone wants nothing
			}
		}
	}()
}

// dial connects a client to the server.
func (ns *namespace) dial(t *testing.T) (conn net.Conn) {
	t.Helper()
	var err error
	ns.do(func() { conn, err = net.Dial("udp4", gameAddr) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// sniffer is qsniff live at work.
type sniffer struct {
	cmd    *exec.Cmd
	out    io.ReadCloser
	mu     sync.Mutex
	errs   bytes.Buffer
	ready  chan struct{}
	told   chan struct{} // standard error is at its end
	output chan []line   // what collect made of the output
}

// line is a line of output, and when it came.
type line struct {
	text string
	at   time.Time
}

// sniff starts qsniff live in the namespace, and waits until it captures.
func (ns *namespace) sniff(t *testing.T, args ...string) *sniffer {
	t.Helper()
	s := &sniffer{cmd: exec.Command("qsniff", append([]string{"live", "-i", serverEnd}, args...)...),
		ready: make(chan struct{}), told: make(chan struct{}), output: make(chan []line, 1)}
	var err error
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	ns.do(func() { err = s.cmd.Start() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	go s.listen(errs)
	select {
	case <-s.ready:
	case <-s.told:
	case <-time.After(10 * time.Second):
		t.Fatalf("not ready: %s", s.said())
	}
	return s
}

func (s *sniffer) listen(errs io.Reader) {
	defer close(s.told)
	for in := bufio.NewScanner(errs); in.Scan(); {
		s.mu.Lock()
		s.errs.WriteString(in.Text() + "\n")
		s.mu.Unlock()
		if strings.HasPrefix(in.Text(), "qsniff: sandbox: ") {
			close(s.ready)
		}
	}
}

// said is what came on standard error.
func (s *sniffer) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.errs.String()
}

// collect reads the output to its end, beside the test.
func (s *sniffer) collect() *sniffer {
	go func() {
		var all []line
		in := bufio.NewScanner(s.out)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			all = append(all, line{in.Text(), time.Now()})
		}
		s.output <- all
	}()
	return s
}

// end sends a signal, and returns the exit status and how long that took.
func (s *sniffer) end(t *testing.T, sig os.Signal) (status int, took time.Duration) {
	t.Helper()
	start := time.Now()
	if sig != nil {
		if err := s.cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	late := time.AfterFunc(20*time.Second, func() { _ = s.cmd.Process.Signal(syscall.SIGKILL) })
	defer late.Stop()
	<-s.told
	_ = s.cmd.Wait() // the status says it
	return s.cmd.ProcessState.ExitCode(), time.Since(start)
}

// seen is what a test wants of a line of JSON.
type seen struct {
	Record    string
	Frame     int
	Time      time.Time
	Src, Dst  string
	Message   *string
	Direction string
	Status    string
	Length    int
	Exchange  *struct {
		ID  int
		RTT float64 `json:"rtt_ms"`
	}
	Fields map[string]any
}

func parse(t *testing.T, lines []line) (all []seen) {
	t.Helper()
	for _, l := range lines {
		var s seen
		if err := json.Unmarshal([]byte(l.text), &s); err != nil {
			t.Fatalf("%v: %s", err, l.text)
		}
		all = append(all, s)
	}
	return all
}
