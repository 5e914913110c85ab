package contrib

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"qsniff/internal/test/netns"
	"qsniff/internal/test/timing"
)

// machine is a systemd that runs as the first process of namespaces of its own, with the units of
// the folder and nothing else. What its units write is lost with it.
type machine struct {
	pid string // of systemd
	out bytes.Buffer
}

// bootScript enters a control group, whose path is the first argument, makes namespaces, and starts
// systemd in them. The second argument is a folder with what is to be in /etc, the third the
// program, the fourth the unit to start.
const bootScript = `
echo $$ > "$1/cgroup.procs"
exec unshare --mount --pid --fork --cgroup --ipc --uts --propagation private --kill-child sh -ec '
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
for d in /run /var/lib /usr/local; do mount -t tmpfs -o mode=755 tmpfs $d; done
mkdir /usr/local/bin
cp "$2" /usr/local/bin/
mount --bind "$1" /etc
mount --make-rshared / # as a systemd that is in no container does: what it mounts of credentials gets to services
export container=test SYSTEMD_UNIT_PATH=/etc/systemd/system
exec /lib/systemd/systemd --system --unit="$3" --log-target=console --show-status=no
' sh "$2" "$3" "$4"
`

// stubs are units that those of the folder are ordered by.
var stubs = []string{"sysinit.target", "basic.target", "sockets.target", "shutdown.target", "network-online.target", "-.slice", "system.slice"}

// boot starts a systemd in a network namespace, and it the given units. It skips t where that
// cannot be done.
func boot(t *testing.T, ns *netns.Namespace, program string, start ...string) *machine {
	t.Helper()
	for _, name := range []string{"/lib/systemd/systemd", "/usr/bin/unshare", "/usr/bin/nsenter"} {
		if _, err := os.Stat(name); err != nil {
			t.Skipf("%v (on Debian: apt-get install systemd util-linux)", err)
		}
	}
	etc := t.TempDir()
	for _, name := range []string{"passwd", "group", "nsswitch.conf", "ld.so.cache"} {
		copyFile(t, "/etc/"+name, filepath.Join(etc, name))
	}
	for _, name := range []string{"monitor.toml", "hub.toml"} {
		copyFile(t, filepath.Join(folder, name), filepath.Join(etc, "qsniff", name))
	}
	writeSecret(t, filepath.Join(etc, "qsniff/fleet.secret"))
	units := filepath.Join(etc, "systemd/system")
	for _, name := range []string{"qsniff-monitor.service", "qsniff-monitor.socket", "qsniff-hub.service"} {
		copyFile(t, filepath.Join(folder, "systemd", name), filepath.Join(units, name))
	}
	for _, name := range stubs {
		write(t, filepath.Join(units, name), "[Unit]\nDefaultDependencies=no\n")
	}
	write(t, filepath.Join(units, "test.target"), "[Unit]\nDefaultDependencies=no\nWants="+strings.Join(start, " ")+"\n")
	// No journal runs there; and a test does not wait for 30 s.
	for _, name := range []string{"qsniff-monitor", "qsniff-hub"} {
		write(t, filepath.Join(units, name+".service.d/test.conf"), "[Service]\nStandardError=append:/run/qsniff.log\nWatchdogSec=3\nRestartSec=0\n")
	}
	m := new(machine)
	c := exec.Command("sh", "-ec", bootScript, "sh", newGroup(t), etc, program, "test.target")
	c.Stdout, c.Stderr = &m.out, &m.out
	ns.Start(t, c)
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() }) // the namespaces end with it
	timing.Await(t, "systemd", func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", c.Process.Pid, c.Process.Pid))
		m.pid = strings.TrimSpace(string(children))
		name, _ := os.ReadFile("/proc/" + m.pid + "/comm")
		return string(name) == "systemd\n"
	})
	return m
}

// writeSecret writes the secret of a fleet that nobody but its owner may read.
func writeSecret(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, []byte("c2VjcmV0IG9mIGEgZmxlZXQgb2YgdGVzdHM=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newGroup makes a control group, which is removed with all below it when t ends. It skips t where
// there is none to be made.
func newGroup(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Skip(err)
	}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		if len(f) < 3 || f[2] != "cgroup2" {
			continue
		}
		group := filepath.Join(f[1], "qsniff-test-"+strconv.Itoa(os.Getpid()))
		if err := os.Mkdir(group, 0o755); err != nil {
			t.Skipf("no control group: %v", err)
		}
		t.Cleanup(func() { timing.Await(t, "the end of "+group, func() bool { return removeGroup(group) }) })
		return group
	}
	t.Skip("there is no file system of control groups, version 2")
	return ""
}

// removeGroup removes a control group with those below it, unless there still are processes in it.
func removeGroup(group string) bool {
	below, _ := filepath.Glob(filepath.Join(group, "*/"))
	for _, b := range slices.Backward(below) {
		if info, err := os.Stat(b); err == nil && info.IsDir() {
			removeGroup(b)
		}
	}
	err := os.Remove(group)
	return err == nil || os.IsNotExist(err)
}

// systemctl runs a command of systemctl on the machine, and returns its output.
func (m *machine) systemctl(args ...string) string {
	out, _ := exec.Command("nsenter", append([]string{"-t", m.pid, "-m", "-p", "systemctl"}, args...)...).CombinedOutput() // is-active fails for no
	return strings.TrimSpace(string(out))
}

// property returns a property of the service.
func (m *machine) property(name string) string {
	return m.systemctl("show", "qsniff-monitor.service", "--value", "-p", name)
}

// path returns the path of a file of the machine, as it is seen from outside of it.
func (m *machine) path(name string) string { return "/proc/" + m.pid + "/root" + name }

// said is what the service wrote on standard error.
func (m *machine) said() string {
	text, _ := os.ReadFile(m.path("/run/qsniff.log"))
	return string(text)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Skip(err)
	}
	write(t, to, string(text))
}
