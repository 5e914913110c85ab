package sandbox

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// place makes a folder to write in, with an old file, and a foreign file beside.
func place(t *testing.T) orders {
	t.Helper()
	top := t.TempDir()
	o := orders{Folder: filepath.Join(top, "ring"), Foreign: filepath.Join(top, "foreign")}
	if err := os.Mkdir(o.Folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{o.Foreign, filepath.Join(o.Folder, "old")} {
		if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o.Policy.Write = []string{o.Folder}
	return o
}

func abi(t *testing.T, atLeast int) {
	t.Helper()
	if v, err := landlock.LandlockGetABIVersion(); err != nil || v < atLeast {
		t.Skipf("the kernel has no Landlock %d: %d, %v", atLeast, v, err)
	}
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

const (
	refused = "permission denied"       // by Landlock
	noRight = "operation not permitted" // for lack of a capability
)

// TestPrograms: where a policy has programs and the right to read the firewall, programs run and that right
// stays, on all threads, and nothing else: no file can be written or read, and no other right comes back.
func TestPrograms(t *testing.T) {
	abi(t, 1)
	if !HasNetAdmin() {
		t.Skip("needs the right to administer the network")
	}
	o := place(t)
	o.Policy.Programs, o.Policy.NetAdmin = []string{"/usr", "/bin", "/lib"}, true
	if _, err := os.Stat("/lib64"); err == nil {
		o.Policy.Programs = append(o.Policy.Programs, "/lib64")
	}
	const netAdmin = "0000000000001000"
	f := run(t, o, func(pid int) {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"} {
			check(t, set, field(string(text), set), netAdmin)
		}
		check(t, "NoNewPrivs", field(string(text), "NoNewPrivs"), "1")
	})
	check(t, "enter", f.Enter, "")
	check(t, "start a program", f.Exec, "")
	check(t, "read a foreign file", f.ReadForeign, refused)
	check(t, "write a foreign file", f.WriteForeign, refused)
	check(t, "connect", f.Connect, refused)
}

// TestThreads: every thread, also those that wait in the kernel and those of the
// runtime itself, has no capability left and gets no new one.
func TestThreads(t *testing.T) {
	o := place(t)
	f := run(t, o, func(pid int) {
		all, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/status")
		if err != nil || len(all) < 8 {
			t.Fatalf("%d threads, %v", len(all), err)
		}
		for _, path := range all {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			sets := []string{"CapInh", "CapPrm", "CapEff", "CapAmb"}
			if os.Geteuid() == 0 {
				sets = append(sets, "CapBnd")
			}
			for _, set := range sets {
				check(t, path+" "+set, field(string(text), set), "0000000000000000")
			}
			check(t, path+" NoNewPrivs", field(string(text), "NoNewPrivs"), "1")
		}
	})
	check(t, "enter", f.Enter, "")
	if s := f.Status; !s.Capabilities || !s.NoNewPrivs || !s.NoDump || s.Bounding != (os.Geteuid() == 0) || s.User != nil {
		t.Errorf("got %+v", s)
	}
	if f.Dumpable != 0 || f.Core != 0 {
		t.Errorf("dumpable %d, core limit %d", f.Dumpable, f.Core)
	}
}

// field returns a line's value in /proc/*/status.
func field(text, name string) string {
	_, rest, _ := strings.Cut("\n"+text, "\n"+name+":")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(value)
}

func TestPacketSocket(t *testing.T) {
	if s, err := packetSocket(); err != nil {
		t.Skip("needs the right to open a packet socket:", err)
	} else {
		unix.Close(s)
	}
	o := place(t)
	o.Packets = true
	f := run(t, o, nil)
	check(t, "enter", f.Enter, "")
	check(t, "a new packet socket", f.Socket, noRight)
	check(t, "a new packet socket on another thread", f.SocketElsewhere, noRight)
	check(t, "a packet on the old socket", f.Captured, "")
}

func TestFiles(t *testing.T) {
	abi(t, versionTruncate)
	o := place(t)
	f := run(t, o, nil)
	check(t, "enter", f.Enter, "")
	check(t, "read a foreign file", f.ReadForeign, refused)
	check(t, "write a foreign file", f.WriteForeign, refused)
	check(t, "remove a foreign file", f.RemoveForeign, refused)
	check(t, "make a file", f.Make, "")
	check(t, "cut a file", f.Truncate, "")
	check(t, "rename a file", f.Rename, "")
	check(t, "remove an old file", f.Remove, "")
	check(t, "read what was written", f.ReadOwn, refused)
	check(t, "make a folder", f.MakeFolder, refused)
	check(t, "make a link", f.MakeLink, refused)
	check(t, "start a program", f.Exec, refused)
	if s := f.Status; !s.Files || s.Folders != 1 || s.Landlock < versionTruncate {
		t.Errorf("got %+v", s)
	}
	if text, err := os.ReadFile(filepath.Join(o.Folder, "a")); err != nil || string(text) != "pack" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(o.Folder, "old")); err == nil {
		t.Error("the old file is still there")
	}
}

// TestRead: what the policy names can be read, and not written.
func TestRead(t *testing.T) {
	abi(t, 1)
	o := place(t)
	o.Policy.Read = []string{o.Foreign, o.Folder}
	f := run(t, o, nil)
	check(t, "enter", f.Enter, "")
	check(t, "read a named file", f.ReadForeign, "")
	check(t, "read in a named folder", f.ReadOwn, "")
	check(t, "write a named file", f.WriteForeign, refused)
	check(t, "remove a named file", f.RemoveForeign, refused)
}

// TestTree: the store of a database can be read and written, with folders in it, and nothing beside it.
func TestTree(t *testing.T) {
	abi(t, versionTruncate)
	o := place(t)
	o.Policy.Write, o.Policy.Trees = nil, []string{o.Folder}
	f := run(t, o, nil)
	check(t, "enter", f.Enter, "")
	check(t, "make a file", f.Make, "")
	check(t, "cut a file", f.Truncate, "")
	check(t, "rename a file", f.Rename, "")
	check(t, "remove an old file", f.Remove, "")
	check(t, "read what was written", f.ReadOwn, "")
	check(t, "make a folder", f.MakeFolder, "")
	check(t, "make a link", f.MakeLink, refused)
	check(t, "read a foreign file", f.ReadForeign, refused)
	check(t, "write a foreign file", f.WriteForeign, refused)
	check(t, "start a program", f.Exec, refused)
}

// TestReadStatistics: the counters of interfaces are after symbolic links.
func TestReadStatistics(t *testing.T) {
	abi(t, 1)
	const counters = "/sys/class/net/lo/statistics"
	o := place(t)
	o.Foreign = counters + "/rx_missed_errors"
	if _, err := os.ReadFile(o.Foreign); err != nil {
		t.Skip(err)
	}
	check(t, "without", run(t, o, nil).ReadForeign, refused)
	o.Policy.Read = []string{counters}
	check(t, "with", run(t, o, nil).ReadForeign, "")
}

func TestPorts(t *testing.T) {
	abi(t, versionTCP)
	f := run(t, place(t), nil)
	check(t, "connect", f.Connect, refused)
	check(t, "connect to an allowed port", f.ConnectAllowed, "")
	check(t, "bind", f.Bind, refused)
	if s := f.Status; !s.TCP || s.Ports != 1 {
		t.Errorf("got %+v", s)
	}
	o := place(t)
	o.Policy.Bind = []uint16{0} // any free port
	check(t, "bind an allowed port", run(t, o, nil).Bind, "")
}

func TestSignals(t *testing.T) {
	abi(t, versionScope)
	f := run(t, place(t), nil)
	if !f.Status.Signals {
		t.Skip("the kernel would keep threads from signalling each other")
	}
	check(t, "signal the parent", f.Signal, noRight)
}

// TestUser: root becomes the owner of the folder that is written to, without
// which it could not write there.
func TestUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const nobody = 65534
	o := place(t)
	if err := os.Chown(o.Folder, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	f := run(t, o, nil)
	if want := "sandbox: " + o.Folder + ": permission denied"; f.Enter != want {
		t.Errorf("as root: got %q, want %q", f.Enter, want)
	}
	u, err := OwnerOf(o.Folder)
	if err != nil || u == nil || *u != (User{nobody, nobody}) {
		t.Fatalf("the owner is %v, %v", u, err)
	}
	// The folder above has to be open to the user, as a home is to its owner.
	if err := os.Chmod(filepath.Dir(filepath.Dir(o.Folder)), 0o755); err != nil {
		t.Fatal(err)
	}
	o.Policy.User = u
	f = run(t, o, nil)
	check(t, "enter", f.Enter, "")
	check(t, "make a file", f.Make, "")
	check(t, "rename a file", f.Rename, "")
	check(t, "remove a file", f.Remove, "")
	if f.UID != nobody || f.Dumpable != 0 || f.Status.User == nil {
		t.Errorf("got %+v", f)
	}
}

// TestTimeZone: the local zone is read from a file when it is first needed, which
// must not be too late.
func TestTimeZone(t *testing.T) {
	zone := "/usr/share/zoneinfo/Europe/Berlin"
	if _, err := os.Stat(zone); err != nil {
		t.Skip(err)
	}
	f := run(t, place(t), nil, "TZ=:"+zone)
	check(t, "time zone", f.Zone, "CET")
}

func TestMissingPath(t *testing.T) {
	abi(t, 1)
	o := place(t)
	o.Policy.Read = []string{"/nowhere"}
	f := run(t, o, nil)
	check(t, "enter", f.Enter, "sandbox: /nowhere: no such file or directory")
	if f.Status.Capabilities {
		t.Error("rights were dropped although the paths are wrong")
	}
}

// packetSocket opens a socket for packets of all kinds, as a capture does.
func packetSocket() (int, error) {
	const allTypes = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // network byte order
	return unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, allTypes)
}

// captures connects to address and reports whether the socket sees it.
func captures(socket int, address string) string {
	unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 5})
	if c, err := net.DialTimeout("tcp", address, 5*time.Second); err == nil {
		c.Close()
	}
	_, _, err := unix.Recvfrom(socket, make([]byte, 2048), 0)
	return textOf(err)
}

// listen opens a listener that is left alone: the kernel completes connections.
// Landlock does not know multipath TCP, which Go prefers.
func listen() net.Listener {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	return l
}

func dial(l net.Listener) string {
	c, err := net.DialTimeout("tcp", l.Addr().String(), 5*time.Second)
	if err == nil {
		c.Close()
	}
	return textOf(err)
}

// bind opens one more listener.
func bind() string {
	var lc net.ListenConfig
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err == nil {
		l.Close()
	}
	return textOf(err)
}
