package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var setClock = flag.Bool("set-clock", false, "TestLiveClockSet sets the clock of this machine for a moment")

// TestLiveClockSet sets the system's clock an hour forth, and back, between requests
// and their answers: each exchange is told as ever, none has waited for an hour, and
// all packets are in the files.
func TestLiveClockSet(t *testing.T) {
	if !*setClock {
		t.Skip("no -set-clock given: everything on this machine would notice")
	}
	server, clients := cable(t)
	began, wall := time.Now(), time.Now().UnixNano()
	ahead := time.Duration(0)
	set := func(to time.Duration) {
		ahead = to
		now := unix.NsecToTimespec(wall + int64(time.Since(began)+ahead))
		if err := unix.ClockSettime(unix.CLOCK_REALTIME, &now); err != nil {
			t.Errorf("no right to set the clock: %v", err)
		}
	}
	t.Cleanup(func() { set(0) })
	answer, asked := gameServer(), 0
	server.Serve(t, gameAddr, func(request []byte) [][]byte {
		switch asked++; asked {
		case 27: // of 60, in the middle of an exchange
			set(time.Hour)
		case 45:
			set(0)
		}
		return answer(request)
	})
	dir := t.TempDir()
	all := map[string]*sniffer{}
	for _, b := range backends() {
		all[b] = sniff(t, server, "--backend", b, "-o", "json", "-w", filepath.Join(dir, b+".pcapng"), "--ring-time", "10m").collect()
	}
	want := map[string]int{}
	for range 10 {
		conn := clients.Dial(t, gameAddr)
		want[conn.LocalAddr().String()] = poll(t, conn)
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond)
	for b, s := range all {
		status, took := s.end(t, os.Interrupt)
		messages := parse(t, <-s.output)
		checkExchanges(t, messages, want)
		for _, m := range messages {
			if m.Exchange != nil && m.Exchange.RTT > 1000 {
				t.Errorf("%s: frame %d answers after %v ms", b, m.Frame, m.Exchange.RTT)
			}
		}
		packets, files := packetsIn(t, dir, b+"_*.pcapng")
		if status != exitOK || took > patience || packets != 130 || files != 2 {
			t.Errorf("%s: status %d after %v, %d packets in %d files, want 130 in 2\n%s", b, status, took, packets, files, s.said())
		}
		t.Logf("%s: %s", b, s.said())
	}
}
