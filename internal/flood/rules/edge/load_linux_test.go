package edge

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/floodtest"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// console is a shell in a network namespace, with a file system of its own for what programs
// of the kernel leave there.
type console struct {
	in  io.Writer
	out *bufio.Reader
}

func newConsole(t *testing.T, ns *netns.Namespace) *console {
	t.Helper()
	for _, tool := range []string{"xdp-filter", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	cmd := exec.Command("unshare", "-m", "sh")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	ns.Start(t, cmd)
	c := &console{in, bufio.NewReader(out)}
	if got := c.do(t, "mount -t bpf bpf /sys/fs/bpf && echo yes"); got != "yes\n" {
		t.Skipf("no file system for BPF: %s", got)
	}
	return c
}

// do runs a command and returns what it prints, on standard error as well.
func (c *console) do(t *testing.T, command string) string {
	t.Helper()
	fmt.Fprintf(c.in, "{ %s ; } 2>&1; echo; echo END\n", command)
	var all strings.Builder
	for {
		line, err := c.out.ReadString('\n')
		if err != nil {
			t.Fatalf("%s: %v after %s", command, err, all.String())
		}
		if line == "END\n" {
			return strings.TrimSuffix(all.String(), "\n")
		}
		all.WriteString(line)
	}
}

// TestXDPFilter: the script makes xdp-filter drop what the source sends, a second time changes
// nothing, and after its time or undo the packets arrive again. Where the list is of those who
// may send, nothing is changed.
func TestXDPFilter(t *testing.T) {
	server, client := netns.NewCable(t, netns.End{Name: "server0", IP: "203.0.113.1"}, netns.End{Name: "client0", IP: floodtest.Attacker})
	c := newConsole(t, server)
	file := func(expiry time.Duration) string {
		name := filepath.Join(t.TempDir(), "rules.sh")
		if err := os.WriteFile(name, AppendXDPFilter(nil, floodtest.Report(t, expiry)), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	conn := server.Listen(t, "203.0.113.1:27015")
	arrives := func() bool {
		client.Send(t, floodtest.Attacker, "203.0.113.1:27015", floodtest.Query, 1)
		_ = conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
		_, _, err := conn.ReadFrom(make([]byte, 100))
		return err == nil
	}
	if !arrives() {
		t.Fatal("nothing arrives without rules")
	}
	if got := c.do(t, "xdp-filter load server0 && xdp-filter unload server0 && echo well"); got != "well\n" {
		t.Skipf("xdp-filter does not work here: %s", got)
	}
	run := func(name, args string) {
		t.Helper()
		if got := c.do(t, "sh "+name+" "+args+" && echo well"); got != "well\n" {
			t.Fatalf("sh %s: %s", args, got)
		}
	}
	forever, short := file(0), file(2*time.Second)
	run(forever, "server0")
	once := c.do(t, "xdp-filter status | grep -A9 IP")
	run(forever, "server0")
	if twice := c.do(t, "xdp-filter status | grep -A9 IP"); twice != once || !strings.Contains(once, floodtest.Attacker) {
		t.Errorf("loaded twice:\n%s\nonce:\n%s", twice, once)
	}
	if arrives() {
		t.Error("a packet of the source arrives")
	}
	run(forever, "server0 undo")
	if !arrives() {
		t.Error("after undo nothing arrives")
	}
	run(short, "server0")
	if arrives() {
		t.Error("with a time limit, a packet of the source arrives at once")
	}
	timing.Await(t, "the end of the rules", arrives)
	if got := c.do(t, "sh "+forever); !strings.Contains(got, "name the interface") {
		t.Errorf("without an interface: %s", got)
	}
	c.do(t, "xdp-filter unload server0; xdp-filter load -p deny -m skb server0")
	if got := c.do(t, "sh "+forever+" server0 || echo refused"); !strings.Contains(got, "policy deny") || !strings.Contains(got, "refused") {
		t.Errorf("with the policy deny: %s", got)
	}
	if got := c.do(t, "xdp-filter status"); strings.Contains(got, floodtest.Attacker) {
		t.Errorf("with the policy deny the source was let in:\n%s", got)
	}
}
