package ring

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"qsniff/capture"
	"qsniff/internal/sandbox"
)

// Some tests need a process of their own: the test program again, with its orders
// in the environment.
const ordersVariable = "QSNIFF_RING_TEST"

type orders struct {
	Path    string
	Time    time.Duration
	Files   int
	Sandbox bool
	Packets int
	Wait    bool // when the packets are written, for the end of the input
}

func TestMain(m *testing.M) {
	if o := os.Getenv(ordersVariable); o != "" {
		if err := child(o); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child writes packets to a ring, ten a second of packet time, says how it went,
// and waits.
func child(text string) error {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
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
		_, _ = io.Copy(io.Discard, os.Stdin)
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

// start starts a child and returns it with its first line.
func start(t *testing.T, o orders) (*exec.Cmd, string) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe)
	c.Env = append(os.Environ(), ordersVariable+"="+string(text))
	c.Stderr = os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close(); _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return c, line
}
