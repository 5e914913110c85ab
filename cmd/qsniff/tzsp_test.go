package main

import (
	"bytes"
	"encoding/hex"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"qsniff/internal/test/timing"
)

// sharedOutput is output that is read while it is written.
type sharedOutput struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *sharedOutput) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *sharedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

var _ io.Writer = (*sharedOutput)(nil)

// TestTZSP: messages in datagrams of a mirror are printed as those of an interface, what is no TZSP is counted, and the
// end says how much came.
func TestTZSP(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("live captures are tested on Linux")
	}
	free, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.LocalAddr().String()
	free.Close()
	// An A2S_INFO of 198.51.100.1 to 192.0.2.7, in Ethernet, in TZSP.
	frame, err := hex.DecodeString("0100000101" + strings.Repeat("00", 12) + "0800" +
		"450000350001000040110000c6336401c0000207" + "7530698700210000" + "ffffffff54536f7572636520456e67696e6520517565727900")
	if err != nil {
		t.Fatal(err)
	}
	var out, errs sharedOutput
	cmd := exec.Command("qsniff", "live", "--tzsp", at)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	timing.Await(t, "it listens", func() bool { return strings.Contains(errs.String(), "capturing on tzsp:"+at) })
	c, err := net.Dial("udp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, b := range [][]byte{frame, []byte("this is no TZSP"), frame} {
		if _, err := c.Write(b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	timing.Await(t, "two messages", func() bool {
		return strings.Count(out.String(), "198.51.100.1:30000 > 192.0.2.7:27015     a2s A2S_INFO") == 2
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	for _, want := range []string{"3 packets captured", "2 messages in 3 packets", "1 UDP of other protocols"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%v: %q is not in\n%s", err, want, errs.String())
		}
	}
}
