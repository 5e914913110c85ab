package clients

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/netns"
)

// TestScanners: programs that make their packets themselves are recognised by these, and programs that ask
// through their system are none of them. A question that a challenge answers ends there: it shows nothing.
func TestScanners(t *testing.T) {
	here, there := netns.NewCable(t, serverEnd, clientEnd)
	qsniff := binary.Path(t)
	closed := challenging(t)
	open := openInfo(closed)
	payloads := filepath.Join(t.TempDir(), "payloads.conf")
	if err := os.WriteFile(payloads, []byte("udp 27015\n  \"\\xff\\xff\\xff\\xffTSource Engine Query\\x00\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	there.RunIP(t, "route add default via "+serverEnd.IP) // both look for the way that packets take
	router := here.MAC(t, serverEnd.Name)
	masscan := func(t *testing.T, at netip.AddrPort) []string {
		return []string{program(t, "masscan"), "-pU:" + port(at), at.Addr().String(), "--rate", "100", "--wait", "1", "--nmap-payloads", payloads,
			"--interface", clientEnd.Name, "--source-ip", clientEnd.IP, "--router-mac", strings.ReplaceAll(router, ":", "-")}
	}
	zmap := func(t *testing.T, at netip.AddrPort) []string {
		return []string{program(t, "zmap"), "-M", "udp", "-p", port(at), "--probe-args=hex:ffffffff54536f7572636520456e67696e6520517565727900", "-i", clientEnd.Name,
			"-S", clientEnd.IP, "-G", router, "-c", "1", "-r", "100", "--blacklist-file=/dev/null", at.Addr().String()}
	}
	quakestat := func(t *testing.T, at netip.AddrPort) []string {
		return []string{program(t, "quakestat"), "-noportoffset", "-a2s", at.String()}
	}
	for _, tt := range []struct {
		name   string
		server answerFunc
		ip     string // of the server: ports are those that payloads are for
		args   func(*testing.T, netip.AddrPort) []string
		want   string
	}{
		{"masscan", open, "198.18.0.11", masscan, "masscan or zmap"},
		{"zmap", open, "198.18.0.12", zmap, "zmap"},
		{"masscan, challenge for all", closed, "198.18.0.13", masscan, ""},
		{"zmap, challenge for all", closed, "198.18.0.14", zmap, ""},
		{"quakestat, information alone", open, "198.18.0.15", quakestat, "unknown-19e3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := netip.AddrPortFrom(netip.MustParseAddr(tt.ip), 27015)
			args := tt.args(t, at)
			here.RunIP(t, "address add "+tt.ip+"/24 dev "+serverEnd.Name)
			here.Serve(t, at.String(), tt.server)
			capture := filepath.Join(t.TempDir(), "scan.pcapng")
			s := sniff(t, here, qsniff, "-i", serverEnd.Name, "-w", capture)
			runScanner(t, here, there, args)
			s.end(t)
			if got := clientName(t, output(t, qsniff, "stats", "-o", "json", capture)); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

const (
	wakePause = 50 * time.Millisecond
	scanEnds  = 60 * time.Second // bounds the wait for the end of a scan
)

// runScanner runs a program until it ends. masscan does that once a packet comes after its wait: without one its
// receiver waits for good.
func runScanner(t *testing.T, here, there *netns.Namespace, args []string) {
	t.Helper()
	conn := here.Dial(t, clientEnd.IP+":9")
	defer conn.Close()
	cmd := exec.Command(args[0], args[1:]...)
	there.Start(t, cmd)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for range scanEnds / wakePause {
		_, _ = conn.Write([]byte("wake")) // nobody listens there
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%s: %v", cmd, err)
			}
			return
		case <-time.After(wakePause):
		}
	}
	_ = cmd.Process.Kill()
	t.Fatalf("%s did not end within %v", cmd, scanEnds)
}

func port(a netip.AddrPort) string { return hostPort(a)[1] }
