package live

import (
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// TestIdle: Read returns without packets, soon enough for whoever waits for time to pass.
func TestIdle(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		ns := netns.New(t)
		ns.RunIP(t, "link set lo up")
		s := open(t, ns, Options{Interfaces: []string{"lo"}, Backend: backend})
		var b capture.Batch
		for range 3 {
			start := time.Now()
			err := s.Read(&b)
			if err != nil || len(b.Packets) != 0 {
				t.Errorf("%d packets (error: %v)", len(b.Packets), err)
			}
			timing.CheckLimit(t, "Read without packets", time.Since(start), 3*pollTimeout)
		}
	})
}

// TestClose unblocks a Read in another goroutine, which would wait 80 ms more.
func TestClose(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		ns := netns.New(t)
		ns.RunIP(t, "link set lo up")
		const tries = 3 // a busy machine may be late
		best := time.Duration(math.MaxInt64)
		for range tries {
			s := open(t, ns, Options{Interfaces: []string{"lo"}, Backend: backend})
			ended := make(chan time.Time)
			go func() {
				if _, err := readAll(s); err != io.EOF {
					t.Errorf("error\ngot  %v\nwant %v", err, io.EOF)
				}
				ended <- time.Now()
			}()
			time.Sleep(20 * time.Millisecond) // for Read to wait
			start := time.Now()
			go s.Close()
			best = min(best, (<-ended).Sub(start))
			for range 2 { // once more, and once more again
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}
			s.Stop()
			s.Stats()
		}
		timing.CheckLimit(t, "Read when closed", best, 40*time.Millisecond)
	})
}

// TestInterfaceGoes: an interface that goes down or vanishes ends the capture with
// its name, after what was captured before.
func TestInterfaceGoes(t *testing.T) {
	for _, tc := range []struct {
		name, command string
		want          error
	}{
		{"down", "link set " + hereName + " down", ErrDown},
		{"vanished", "link del " + hereName, ErrVanished},
	} {
		t.Run(tc.name, func(t *testing.T) {
			each(t, func(t *testing.T, backend Backend) {
				here, there := cable(t)
				here.Listen(t, hereIP+":27015")
				s := open(t, here, Options{Interfaces: []string{hereName}, Backend: backend})
				numbered(t, there.Dial(t, hereIP+":27015"), 10)
				here.RunIP(t, tc.command)
				all, err := readAll(s)
				inOrder(t, all, 10)
				var e *Error
				if !errors.Is(err, tc.want) || !errors.As(err, &e) || e.Interface != hereName {
					t.Errorf("error\ngot  %v\nwant %s: %v", err, hereName, tc.want)
				}
			})
		})
	}
}

// TestDrops: what the kernel has no room for is counted. On loopback libpcap's ring takes
// each packet twice, so it is tried on a cable.
func TestDrops(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		const n = 20_000
		here, there := cable(t)
		o := Options{Interfaces: []string{hereName}, Backend: backend, Buffer: 1}
		to := hereIP + ":27015"
		if backend == Libpcap {
			o.Filter = "udp dst port 27015"
		} else {
			here.RunIP(t, "link set lo up")
			o.Interfaces, to, there = []string{"lo"}, "127.0.0.1:27015", here
		}
		here.Listen(t, to)
		s := open(t, here, o)
		numbered(t, there.Dial(t, to), n)
		s.Stop()
		all, _ := readAll(s)
		kernel, card := s.Drops()
		if kernel == 0 || card != 0 {
			t.Errorf("dropped by the kernel and the card\ngot  %d, %d\nwant more than 0, 0", kernel, card)
		}
		count := 0
		for i := range all {
			if len(payload(&all[i].Packet)) == 13 {
				count++
			}
		}
		if uint64(count)+kernel != n {
			t.Errorf("captured and dropped\ngot  %d + %d\nwant %d", count, kernel, n)
		}
		if st := s.Stats(); st.Dropped != kernel || s.Interfaces()[0].Dropped != kernel {
			t.Errorf("Stats say %+v, Interfaces %+v", st, s.Interfaces())
		}
	})
}

// TestLatency: a single packet is delivered within 100 ms.
func TestLatency(t *testing.T) {
	each(t, func(t *testing.T, backend Backend) {
		ns := netns.New(t)
		ns.RunIP(t, "link set lo up")
		ns.Listen(t, "127.0.0.1:27015")
		s := open(t, ns, Options{Interfaces: []string{"lo"}, Backend: backend})
		conn := ns.Dial(t, "127.0.0.1:27015")
		ended := make(chan []taken)
		go func() {
			all, _ := readAll(s)
			ended <- all
		}()
		for range 10 {
			numbered(t, conn, 1)
			time.Sleep(37 * time.Millisecond)
		}
		s.Stop()
		worst := time.Duration(0)
		for _, p := range <-ended {
			worst = max(worst, p.got.Sub(time.Unix(0, p.Nanos)))
		}
		timing.CheckLimit(t, "from the wire to Read", worst, 100*time.Millisecond)
	})
}

// TestErrors: what is wrong, and what to do about it.
func TestErrors(t *testing.T) {
	ns := netns.New(t)
	ns.RunIP(t, "link set lo up")
	ns.RunIP(t, "link add d0 type veth peer name d1")
	for _, tc := range []struct {
		name string
		in   Options
		want error
		text string
		hint string
	}{
		{"no such interface", Options{Interfaces: []string{"eth7"}}, ErrNoInterface, "eth7: no such interface", "there are lo, any"},
		{"down", Options{Interfaces: []string{"d0"}}, ErrDown, "d0: interface is down", "sudo ip link set d0 up"},
		{"twice", Options{Interfaces: []string{"lo", "lo"}}, nil, "lo: given beside lo: its packets would come twice", "name each interface once, or any alone"},
		{"beside any", Options{Interfaces: []string{"lo", "any"}}, nil, "any: given beside lo: its packets would come twice", "name each interface once, or any alone"},
		{"rare word on the ring", Options{Interfaces: []string{"lo"}, Filter: "udp and mpls", Backend: AFPacket}, ErrFilter, `filter "udp and mpls": "mpls" is a word of tcpdump that only libpcap compiles`, "libpcap"},
		{"filter of a mirror", Options{Interfaces: []string{"tzsp:127.0.0.1:37008"}, Filter: "udp"}, ErrFilter, `filter "udp": it would see the datagrams of the mirror, not the packets in them`, "-Y"},
	} {
		_, err := try(ns, tc.in)
		var e *Error
		if !errors.As(err, &e) || e.Error() != tc.text || !strings.Contains(e.Hint, tc.hint) || tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s\ngot  %v, %+v\nwant %s, %s", tc.name, err, e, tc.text, tc.hint)
		}
	}
}
