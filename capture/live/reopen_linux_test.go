package live

import (
	"sync"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// TestInterfaceReturns: with Reopen a capture goes on after its interface was down, renamed, or deleted and made anew.
func TestInterfaceReturns(t *testing.T) {
	const peer = "peer0"
	for _, tc := range []struct {
		name         string
		leave, again []string
		now          string
	}{
		{"down", []string{"link set " + hereName + " down"}, []string{"link set " + hereName + " up"}, ""},
		{"renamed", []string{"link set " + hereName + " down", "link set " + hereName + " name other0"}, []string{"link set other0 up"}, "other0"},
		{"renamed and back", []string{"link set " + hereName + " down", "link set " + hereName + " name other0"}, []string{"link set other0 name " + hereName, "link set " + hereName + " up"}, ""},
		{"deleted", []string{"link del " + hereName}, []string{"link add " + hereName + " type veth peer name " + peer, "link set " + peer + " up", "link set " + hereName + " up"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			each(t, func(t *testing.T, backend Backend) {
				ns := netns.New(t)
				ns.RunIP(t, "link add "+hereName+" type veth peer name "+peer)
				ns.RunIP(t, "link set "+peer+" up")
				ns.RunIP(t, "link set "+hereName+" up")
				var mu sync.Mutex
				var changes []Change
				start := time.Now()
				s := open(t, ns, Options{Interfaces: []string{hereName}, Backend: backend, Promiscuous: true, Reopen: &Reopen{
					Clock:  func() int64 { return int64(time.Since(start)) },
					Report: func(c Change) { mu.Lock(); defer mu.Unlock(); changes = append(changes, c) },
				}})
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					var b capture.Batch
					for err := error(nil); err == nil; { // in the namespace, which others use between two reads
						ns.Do(func() { err = s.Read(&b) })
					}
				}()
				reported := func() []Change { mu.Lock(); defer mu.Unlock(); return changes }
				frame := make([]byte, 60)
				frame[5] = 7 // to another host
				seen := func(more string) {
					t.Helper()
					before := s.Stats().Received
					timing.Await(t, more, func() bool { ns.SendFrames(t, peer, frame); return s.Stats().Received > before+2 })
				}
				seen("packets")
				for _, line := range tc.leave {
					ns.RunIP(t, line)
				}
				timing.Await(t, "that it went", func() bool { return len(reported()) == 1 })
				for _, line := range tc.again {
					ns.RunIP(t, line)
				}
				timing.Await(t, "that it is back", func() bool { return len(reported()) == 2 })
				seen("packets after that")
				if got := reported(); got[0].Err == nil || got[1] != (Change{Interface: hereName, Now: tc.now}) {
					t.Errorf("reported %+v", got)
				}
				if away, all := s.Interruptions(); away != 0 || all != 1 {
					t.Errorf("%d away, %d interruptions", away, all)
				}
				s.Stop()
				<-ended
			})
		})
	}
}
