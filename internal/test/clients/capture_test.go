//go:build cgo

package clients

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/gopacket/pcap"
	"github.com/google/gopacket/pcapgo"

	"qsniff/internal/test/responder"
)

const (
	// loopbackInterface is the name that Linux gives it.
	loopbackInterface = "lo"
	// snapLen holds the longest packet of an interface whose MTU is 65,536.
	snapLen = 65536 + 256
	// buffer holds 250 packets: in immediate mode libpcap keeps snapLen bytes for each.
	buffer = 16 << 20
	// poll is how often a capture without packets looks at the clock.
	poll = 50 * time.Millisecond
	// patience bounds the wait for what has been sent already.
	patience = 20 * time.Second
)

// endMark is the payload of the datagram that ends a capture.
const endMark = "end of the capture"

// record captures what passes between the servers and whoever asks them while run
// runs, and returns the name of the file. The findings of the recording have to be those
// of the list raised.
func record(t *testing.T, run func(), servers ...*responder.Server) string {
	t.Helper()
	mark, err := responder.ListenUDP(func([]byte) [][]byte { return nil })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mark.Close() })
	handle := openLoopback(t)
	defer handle.Close()
	if err := handle.SetBPFFilter(only(append(servers, mark))); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "loopback.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	done := make(chan error, 1)
	go func() { done <- write(file, handle) }()
	run()
	// Loopback keeps the order: what was sent before the mark is captured before it.
	send(t, mark, endMark)
	select {
	case err = <-done:
	case <-time.After(patience):
		err = fmt.Errorf("the end of the capture did not come within %v", patience)
	}
	if err != nil {
		t.Fatal(err)
	}
	if stats, err := handle.Stats(); err != nil || stats.PacketsDropped > 0 {
		t.Fatalf("%d packets dropped (error: %v)", stats.PacketsDropped, err)
	}
	checkFindings(t, file.Name())
	return file.Name()
}

// needCapture skips t where the system does not let it capture.
func needCapture(t *testing.T) {
	t.Helper()
	openLoopback(t).Close()
}

// openLoopback begins to capture on the loopback interface. libpcap gives each packet
// once there: it leaves out those that go out.
func openLoopback(t *testing.T) *pcap.Handle {
	t.Helper()
	inactive, err := pcap.NewInactiveHandle(loopbackInterface)
	if err != nil {
		t.Skipf("no capture: %v", err)
	}
	defer inactive.CleanUp()
	for _, err := range []error{
		inactive.SetSnapLen(snapLen), inactive.SetBufferSize(buffer),
		inactive.SetImmediateMode(true), inactive.SetTimeout(poll),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	handle, err := inactive.Activate()
	if err != nil {
		t.Skipf("no capture on %s (it takes root or CAP_NET_RAW): %v", loopbackInterface, err)
	}
	return handle
}

// only is the filter for packets from and to the servers.
func only(servers []*responder.Server) string {
	var ports []string
	for _, s := range servers {
		ports = append(ports, fmt.Sprintf("port %d", s.Addr().Port()))
	}
	return "host 127.0.0.1 and (" + strings.Join(ports, " or ") + ")"
}

// write copies packets into file until the mark comes.
func write(file *os.File, handle *pcap.Handle) error {
	w := pcapgo.NewWriter(file)
	if err := w.WriteFileHeader(snapLen, handle.LinkType()); err != nil {
		return err
	}
	for {
		data, ci, err := handle.ReadPacketData()
		if err == pcap.NextErrorTimeoutExpired {
			continue
		}
		if err != nil {
			return err
		}
		if bytes.HasSuffix(data, []byte(endMark)) {
			return nil
		}
		if err := w.WritePacket(ci, data); err != nil {
			return err
		}
	}
}
