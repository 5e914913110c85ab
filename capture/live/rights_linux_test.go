package live

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"qsniff/internal/test/netns"
)

// powerless in the environment makes the test program say what it may not do.
const powerless = "LIVE_TEST_BACKEND"

func TestMain(m *testing.M) {
	name := os.Getenv(powerless)
	if name == "" {
		os.Exit(m.Run())
	}
	backend, err := ParseBackend(name)
	if err == nil {
		_, err = Open(Options{Interfaces: []string{"lo"}, Backend: backend})
	}
	var e *Error
	if !errors.As(err, &e) {
		fmt.Println("no hint:", err)
		return
	}
	fmt.Printf("%v\n%v\n%v\n", err, e.Hint, errors.Is(err, fs.ErrPermission))
	list, err := Devices()
	for _, in := range list {
		fmt.Println(in.Name, in.Permitted, err)
	}
}

// TestWithoutRights: without the right to capture, the error says how to give it to
// this very program, and the list of interfaces says that it is missing.
func TestWithoutRights(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can start a program as somebody else")
	}
	ns := netns.New(t)
	ns.RunIP(t, "link set lo up")
	each(t, func(t *testing.T, backend Backend) {
		var out []byte
		var err error
		path := t.TempDir() + "/live test" // where others may read
		ns.Do(func() {
			if out, err = exec.Command("cp", programPath(), path).CombinedOutput(); err != nil {
				return
			}
			for dir := path; dir != "/tmp" && len(dir) > 5; dir = dir[:strings.LastIndex(dir, "/")] {
				os.Chmod(dir, 0o755)
			}
			c := exec.Command(path)
			c.Env = []string{powerless + "=" + backend.String()}
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
			out, err = c.CombinedOutput()
		})
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, want := range []string{
			"lo: no right to capture\n",
			"sudo setcap cap_net_raw+ep '" + path + "'; in a systemd unit: AmbientCapabilities=CAP_NET_RAW and CapabilityBoundingSet=CAP_NET_RAW",
			"\ntrue\n", "\nlo false <nil>\n",
		} {
			if !strings.Contains(string(out), want) {
				t.Errorf("output\ngot  %s\nwant %s", out, want)
			}
		}
	})
}
