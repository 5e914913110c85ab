package netns

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Tun is a network of one host beside a namespace: what the test writes, the kernel of the namespace
// receives as IP packets from an interface, and what it sends there the test reads. A kernel's own
// rules (joining, refusing, translating) are seen that way without a second kernel's.
type Tun struct {
	dev *os.File
	buf [1 << 16]byte
}

// NewTun adds such an interface, takes it up and gives it the addresses, which are prefixes. It skips t
// where the kernel has no such devices. It is closed with t.
func (ns *Namespace) NewTun(t testing.TB, name string, addresses ...netip.Prefix) *Tun {
	t.Helper()
	fd := ns.OpenTun(t, name)
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	tun := &Tun{dev: os.NewFile(uintptr(fd), name)}
	t.Cleanup(func() { tun.dev.Close() })
	ns.RunIP(t, "link set "+name+" addrgenmode none")
	for _, a := range addresses {
		line := "addr add " + a.String() + " dev " + name
		if a.Addr().Is6() {
			line += " nodad"
		}
		ns.RunIP(t, line)
	}
	ns.RunIP(t, "link set "+name+" up")
	return tun
}

// OpenTun makes a device whose packets have no link header and returns its descriptor, which the caller
// closes.
func (ns *Namespace) OpenTun(t testing.TB, name string) (fd int) {
	t.Helper()
	var err error
	ns.Do(func() {
		if fd, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
			return
		}
		var request *unix.Ifreq
		if request, err = unix.NewIfreq(name); err == nil {
			request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
			err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
		}
	})
	if err != nil {
		t.Skipf("no tun devices here: %v", err)
	}
	return fd
}

// Write gives the kernel an IP packet.
func (tun *Tun) Write(t testing.TB, packet []byte) {
	t.Helper()
	if _, err := tun.dev.Write(packet); err != nil {
		t.Fatal(err)
	}
}

// Read returns the next IP packet that the kernel sends, nil if none comes for a time. It is valid until
// the next call.
func (tun *Tun) Read(t testing.TB, wait time.Duration) []byte {
	t.Helper()
	_ = tun.dev.SetReadDeadline(time.Now().Add(wait)) // a device that cannot would fail to read
	n, err := tun.dev.Read(tun.buf[:])
	if err != nil {
		return nil
	}
	return tun.buf[:n]
}
