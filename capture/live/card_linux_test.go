package live

import (
	"encoding/binary"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"qsniff/internal/test/netns"
)

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
