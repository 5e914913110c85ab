package netns

import (
	"net"
	"net/netip"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// maxDatagram is a buffer for any UDP datagram: its length field has 16 bits.
const maxDatagram = 1 << 16

// Namespace is a network namespace with a thread in it that runs what it is given.
// It belongs to the test that made it. Its thread ends with that test, the namespace
// itself when nothing that was opened or started in it is left.
type Namespace struct {
	work chan func()
	tid  int // of the thread, by which commands find the namespace
}

// New makes a namespace that has a loopback interface, which is down, and nothing
// else. It skips t where root or the command ip is missing.
func New(t testing.TB) *Namespace {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("the command ip (iproute2) is not there")
	}
	ns := &Namespace{work: make(chan func())}
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

// ID returns what the command ip takes as this namespace in "netns ID".
func (ns *Namespace) ID() string { return strconv.Itoa(ns.tid) }

// Do runs f in the namespace and waits for it. Sockets that f opens and programs that
// it starts stay there; goroutines that it starts, and so the look-up of a name, are
// not there. f does not run on the caller's goroutine, and one runs at a time: f must
// not call t.Fatal, and no method of the namespace.
func (ns *Namespace) Do(f func()) {
	done := make(chan struct{})
	ns.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// Start starts c in the namespace. The caller waits for it; what is still running
// when t ends is killed.
func (ns *Namespace) Start(t testing.TB, c *exec.Cmd) {
	t.Helper()
	var err error
	ns.Do(func() { err = c.Start() })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // an error is a program that has ended
}

// RunIP runs the command ip with a line of arguments. An error of it ends t.
func (ns *Namespace) RunIP(t testing.TB, line string) {
	t.Helper()
	var out []byte
	var err error
	ns.Do(func() { out, err = exec.Command("ip", strings.Fields(line)...).CombinedOutput() })
	if err != nil {
		t.Fatalf("ip %s: %v: %s", line, err, out)
	}
}

// Run runs a program with a text on its standard input and returns what it prints. An error
// of it ends t, and t is skipped where the program is not installed.
func (ns *Namespace) Run(t testing.TB, stdin, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	cmd := exec.Command(path, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var out []byte
	ns.Do(func() { out, err = cmd.CombinedOutput() })
	if err != nil {
		t.Fatalf("%s %s: %v: %s\n%s", name, strings.Join(args, " "), err, out, stdin)
	}
	return string(out)
}

// Send sends a datagram so many times from a local address to another address and port. What a
// firewall refuses to send is no error.
func (ns *Namespace) Send(t testing.TB, from, to, data string, times int) {
	t.Helper()
	end := net.UDPAddrFromAddrPort(netip.MustParseAddrPort(to))
	var err error
	ns.Do(func() {
		var conn *net.UDPConn // not connected: answers that nobody listens are no errors
		if conn, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.ParseIP(from)}); err != nil {
			return
		}
		defer conn.Close()
		for range times {
			_, _ = conn.WriteToUDP([]byte(data), end)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// SendFrames sends frames as they are on an interface of the namespace.
func (ns *Namespace) SendFrames(t testing.TB, name string, frames ...[]byte) {
	t.Helper()
	ns.Do(func() {
		f, err := net.InterfaceByName(name)
		if err != nil {
			t.Error(err)
			return
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Error(err)
			return
		}
		defer unix.Close(fd)
		for _, frame := range frames {
			if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: f.Index}); err != nil {
				t.Error(err)
				return
			}
		}
	})
}

// MAC returns the hardware address of an interface.
func (ns *Namespace) MAC(t testing.TB, name string) string {
	t.Helper()
	var f *net.Interface
	var err error
	ns.Do(func() { f, err = net.InterfaceByName(name) })
	if err != nil {
		t.Fatal(err)
	}
	return f.HardwareAddr.String()
}

// Dial connects a UDP socket to an address and port. It is closed with t.
func (ns *Namespace) Dial(t testing.TB, to string) net.Conn {
	t.Helper()
	var conn net.Conn
	var err error
	ns.Do(func() { conn, err = net.Dial("udp", to) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Listen opens a UDP socket at an address and port; the kernel answers what is sent
// to none with errors. Nothing reads it unless the caller does. It is closed with t.
func (ns *Namespace) Listen(t testing.TB, at string) net.PacketConn {
	t.Helper()
	var conn net.PacketConn
	var err error
	ns.Do(func() { conn, err = net.ListenPacket("udp", at) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// Serve answers each datagram to an address and port with those that answer returns
// for it, until t ends. answer is called for one datagram at a time, on a goroutine of
// its own, and must not keep the request.
func (ns *Namespace) Serve(t testing.TB, at string, answer func(request []byte) [][]byte) {
	t.Helper()
	var busy sync.WaitGroup
	t.Cleanup(busy.Wait) // which comes after the socket is closed
	conn := ns.Listen(t, at)
	busy.Go(func() {
		buf := make([]byte, maxDatagram)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return // closed
			}
			for _, b := range answer(buf[:n]) {
				_, _ = conn.WriteTo(b, from) // a client that has gone wants nothing
			}
		}
	})
}
