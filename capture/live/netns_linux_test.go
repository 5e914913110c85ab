package live

import (
	"net"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// namespace is a network namespace with a thread in it that runs what it is given.
// It goes when the thread ends.
type namespace struct {
	work chan func()
	tid  int
}

// newNamespace makes a network namespace, or skips t.
func newNamespace(t testing.TB) *namespace {
	t.Helper()
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

// do runs f in the namespace.
func (ns *namespace) do(f func()) {
	done := make(chan struct{})
	ns.work <- func() {
		defer close(done)
		f()
	}
	<-done
}

// ip runs the command ip in the namespace, with a line of arguments.
func (ns *namespace) ip(t testing.TB, line string) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("the command ip (iproute2) is not there")
	}
	ns.do(func() {
		if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
			t.Errorf("ip %s: %v: %s", line, err, out)
		}
	})
	if t.Failed() {
		t.FailNow()
	}
}

// The ends of the cable between two namespaces.
const (
	hereName, thereName = "here0", "there0"
	hereIP, thereIP     = "198.18.0.1", "198.18.0.2"
)

// cable makes two namespaces joined by veth.
func cable(t testing.TB) (here, there *namespace) {
	t.Helper()
	here, there = newNamespace(t), newNamespace(t)
	here.ip(t, "link add "+hereName+" type veth peer name "+thereName)
	here.ip(t, "link set "+thereName+" netns "+strconv.Itoa(there.tid))
	for _, end := range []struct {
		ns       *namespace
		name, at string
	}{{here, hereName, hereIP}, {there, thereName, thereIP}} {
		end.ns.quiet(t, end.name)
		end.ns.ip(t, "addr add "+end.at+"/24 dev "+end.name)
		end.ns.ip(t, "link set "+end.name+" up")
	}
	mac := there.mac(t, thereName)
	here.ip(t, "neigh replace "+thereIP+" lladdr "+mac+" dev "+hereName)
	there.ip(t, "neigh replace "+hereIP+" lladdr "+here.mac(t, hereName)+" dev "+thereName)
	return here, there
}

// quiet keeps the kernel from sending IPv6 messages of its own.
func (ns *namespace) quiet(t testing.TB, name string) { ns.ip(t, "link set "+name+" addrgenmode none") }

func (ns *namespace) mac(t testing.TB, name string) (mac string) {
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

// dial connects a UDP socket in the namespace.
func (ns *namespace) dial(t testing.TB, to string) (conn net.Conn) {
	t.Helper()
	ns.do(func() {
		var err error
		if conn, err = net.Dial("udp", to); err != nil {
			t.Error(err)
		}
	})
	if conn == nil {
		t.FailNow()
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// listen opens a UDP socket in the namespace, so that what is sent there is not
// answered with errors.
func (ns *namespace) listen(t testing.TB, at string) {
	t.Helper()
	ns.do(func() {
		conn, err := net.ListenPacket("udp", at)
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { conn.Close() })
	})
}

// open begins a capture in the namespace. It is closed with t.
func (ns *namespace) open(t testing.TB, o Options) *Source {
	t.Helper()
	s, err := ns.try(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func (ns *namespace) try(o Options) (s *Source, err error) {
	ns.do(func() { s, err = Open(o) })
	return s, err
}

// backends are those that this build has.
func backends() (all []Backend) {
	if HasAFPacket {
		all = append(all, AFPacket)
	}
	if HasLibpcap {
		all = append(all, Libpcap)
	}
	return all
}

// tun makes a device whose packets have no link header.
func (ns *namespace) tun(t testing.TB, name string) (fd int) {
	t.Helper()
	ns.do(func() {
		var err error
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		request, err := unix.NewIfreq(name)
		if err != nil {
			t.Error(err)
			return
		}
		request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
			t.Error(err)
		}
	})
	if fd < 0 {
		t.Skip("no tun devices here")
	}
	return fd
}

// send sends frames as they are.
func (ns *namespace) send(t testing.TB, name string, frames ...[]byte) {
	t.Helper()
	ns.do(func() {
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
