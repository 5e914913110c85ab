package ring

import (
	"fmt"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/base/sandbox"
	"qsniff/internal/test/child"
)

// orders are what a child is to write.
type orders struct {
	Path    string
	Time    time.Duration
	Files   int
	Sandbox bool
	Packets int
	Wait    bool // when the packets are written, for the end of the input
}

func TestMain(m *testing.M) { child.Main(m, obey) }

// obey writes packets to a ring, ten a second of packet time, prints how it went,
// and waits.
func obey(o orders) error {
	w, err := Open(Options{Path: o.Path, Time: o.Time, Files: o.Files})
	if err != nil {
		return err
	}
	if o.Sandbox {
		if _, err := sandbox.Enter(sandbox.Policy{Write: []string{w.Folder()}}); err != nil {
			return err
		}
	}
	for i := range o.Packets {
		p := packetAt(i)
		if err := w.Write(&p); err != nil {
			return err
		}
	}
	if o.Wait {
		fmt.Println("written")
		child.AwaitParent()
	}
	if err := w.Close(); err != nil {
		return err
	}
	s := w.Stats()
	fmt.Println("done", s.Packets, s.Files, s.Removed, s.Lost)
	return nil
}

const second = 1_000_000_000

// packetAt is the packet number i of a test: ten a second.
func packetAt(i int) capture.Packet {
	return capture.Packet{No: uint64(i + 1), Nanos: 1_700_000_000*second + int64(i)*second/10,
		Data: fmt.Appendf(nil, "packet %08d", i), Wire: 100, Link: 276}
}
