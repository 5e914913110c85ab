package live

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"qsniff/internal/test/netns"
)

func TestInterfaces(t *testing.T) {
	here, _ := cable(t)
	here.OpenTun(t, "tun0")
	var got []string
	here.Do(func() {
		all, err := Devices()
		if err != nil {
			t.Error(err)
		}
		for _, in := range all {
			if in.Name == hereName || in.Name == "lo" || in.Name == "tun0" || in.Name == Any {
				got = append(got, fmt.Sprintf("%s %v mtu %d link %d up %v loopback %v permitted %v",
					in.Name, in.Addresses, in.MTU, in.Link, in.Up, in.Loopback, in.Permitted))
			}
		}
	})
	want := []string{
		"lo [] mtu 65536 link 1 up false loopback true permitted true",
		"here0 [198.18.0.1/24] mtu 1500 link 1 up true loopback false permitted true",
		"tun0 [] mtu 1500 link 101 up false loopback false permitted true",
		"any [] mtu 0 link 276 up true loopback false permitted true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("interfaces (-want +got):\n%s", diff)
	}
}

// powerless in the environment makes the test program say what it may not do.
const powerless = "LIVE_TEST_BACKEND"

func TestMain(m *testing.M) {
	name := os.Getenv(powerless)
	if name == "" {
		os.Exit(m.Run())
	}
	backend, err := ParseBackend(name)
	if err == nil {
		_, err = Open(Options{Interfaces: []string{"lo"}, Backend: backend})
	}
	var e *Error
	if !errors.As(err, &e) {
		fmt.Println("no hint:", err)
		return
	}
	fmt.Printf("%v\n%v\n%v\n", err, e.Hint, errors.Is(err, fs.ErrPermission))
	list, err := Devices()
	for _, in := range list {
		fmt.Println(in.Name, in.Permitted, err)
	}
}

// TestWithoutRights: without the right to capture, the error says how to give it to
// this very program, and the list of interfaces says that it is missing.
func TestWithoutRights(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start a program as another user")
	}
	ns := netns.New(t)
	ns.RunIP(t, "link set lo up")
	each(t, func(t *testing.T, backend Backend) {
		var out []byte
		var err error
		path := t.TempDir() + "/live test" // where others may read
		ns.Do(func() {
			if out, err = exec.Command("cp", programPath(), path).CombinedOutput(); err != nil {
				return
			}
			for dir := path; dir != "/tmp" && len(dir) > 5; dir = dir[:strings.LastIndex(dir, "/")] {
				os.Chmod(dir, 0o755)
			}
			c := exec.Command(path)
			c.Env = []string{powerless + "=" + backend.String()}
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			out, err = c.CombinedOutput()
		})
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, want := range []string{
			"lo: no right to capture\n",
			"sudo setcap cap_net_raw+ep '" + path + "'; in a systemd unit: AmbientCapabilities=CAP_NET_RAW and CapabilityBoundingSet=CAP_NET_RAW",
			"\ntrue\n", "\nlo false <nil>\n",
		} {
			if !strings.Contains(string(out), want) {
				t.Errorf("output\ngot  %s\nwant %s", out, want)
			}
		}
	})
}

// link builds an answer of the kernel about an interface.
func link(kind uint16, attributes ...[]byte) []byte {
	b := make([]byte, netlinkHeader+linkMessage)
	binary.NativeEndian.PutUint16(b[4:], kind)
	for _, a := range attributes {
		b = append(b, a...)
		b = append(b, make([]byte, -len(a)&3)...)
	}
	return b
}

func attributeOf(kind uint16, body []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(attribute+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(b, body...)
}

func TestLosses(t *testing.T) {
	counters := make([]byte, 24*counterBytes)
	for i := range 24 {
		binary.NativeEndian.PutUint64(counters[i*counterBytes:], 1<<i)
	}
	const want = 1<<14 + 1<<15 // rx_fifo_errors and rx_missed_errors, the 15th and 16th
	name := attributeOf(unix.IFLA_IFNAME, []byte("eth0\x00"))
	for _, tc := range []struct {
		name string
		in   []byte
		want uint64
	}{
		{"counters", link(unix.RTM_NEWLINK, name, attributeOf(unix.IFLA_STATS64, counters)), want},
		{"no counters", link(unix.RTM_NEWLINK, name), 0},
		{"few counters", link(unix.RTM_NEWLINK, attributeOf(unix.IFLA_STATS64, counters[:100])), 0},
		{"an error", link(unix.NLMSG_ERROR, attributeOf(unix.IFLA_STATS64, counters)), 0},
		{"an attribute of no length", link(unix.RTM_NEWLINK, []byte{0, 0, 0, 0}), 0},
		{"nothing", nil, 0},
	} {
		if got, ok := parseCounters(tc.in); got != tc.want || ok != (tc.want != 0) {
			t.Errorf("%s\ngot  %d, %t\nwant %d", tc.name, got, ok, tc.want)
		}
	}
}

// TestLateCounters: a card counts since the system started, so the first count that is read
// is the base, and not the losses of the capture.
func TestLateCounters(t *testing.T) {
	var c card
	for _, x := range []struct {
		lost uint64
		ok   bool
		want uint64
	}{{0, false, 0}, {1000, true, 0}, {0, false, 0}, {1007, true, 7}, {3, true, 7}} {
		if c.recordCount(x.lost, x.ok); c.countMissed() != x.want {
			t.Errorf("after a count of %d\ngot  %d missed\nwant %d", x.lost, c.countMissed(), x.want)
		}
	}
}

// TestCardAnswers: the kernel answers for an interface that is there.
func TestCardAnswers(t *testing.T) {
	ns := netns.New(t)
	ns.Do(func() {
		var c card
		f, err := net.InterfaceByName("lo")
		if err != nil {
			t.Error(err)
			return
		}
		c.open(targetOf(f))
		defer c.close()
		if c.fd == 0 || c.countMissed() != 0 {
			t.Errorf("descriptor %d, %d packets missed", c.fd, c.countMissed())
		}
		if _, err := unix.Write(c.fd, c.request[:]); err != nil {
			t.Error(err)
		}
		n, err := unix.Read(c.fd, c.answer)
		if err != nil || binary.NativeEndian.Uint16(c.answer[4:]) != unix.RTM_NEWLINK {
			t.Errorf("answer of %d bytes, error %v", n, err)
		}
	})
}
