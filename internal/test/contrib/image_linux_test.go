package contrib

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/timing"
)

// TestLiveImage: the last stage of the Dockerfile, made with a program that was built before, for
// another image would have to be fetched: it runs as nobody, captures, and answers.
func TestLiveImage(t *testing.T) {
	timing.SkipUnlessLive(t)
	buildah, setcap := tool(t, "buildah", "buildah"), tool(t, "setcap", "libcap2-bin")
	if os.Getuid() != 0 {
		t.Skip("takes root")
	}
	dir := t.TempDir()
	stage := filepath.Join(dir, "stage")
	text, err := os.ReadFile(binary.Path(t))
	if err == nil {
		err = os.MkdirAll(filepath.Join(stage, "out"), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(stage, "out/qsniff"), text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, setcap, "cap_net_raw+ep", filepath.Join(stage, "out/qsniff"))
	_, last, found := strings.Cut(read(t, "Dockerfile"), "\nFROM scratch\n")
	if !found {
		t.Fatal("the last stage does not begin with nothing")
	}
	write(t, filepath.Join(dir, "Dockerfile"), "FROM scratch\n"+last)
	store := []string{"--root", filepath.Join(dir, "store"), "--runroot", filepath.Join(dir, "run"), "--storage-driver", "vfs"}
	do := func(args ...string) string { return run(t, buildah, append(store, args...)...) }
	do("bud", "--isolation", "chroot", "--build-context", "build="+stage, "-t", "qsniff", "-f", filepath.Join(dir, "Dockerfile"), dir)
	box := strings.TrimSpace(do("from", "--pull=never", "--cap-drop", "all", "--cap-add", "CAP_NET_RAW", "qsniff"))
	ctx, cancel := context.WithTimeout(context.Background(), timing.Patience)
	defer cancel()
	c := exec.CommandContext(ctx, buildah, append(store, "run", "--isolation", "chroot", "--cap-add", "CAP_NET_RAW", "--network", "host", box, "--",
		"/qsniff", "monitor", "-i", "lo", "--listen", imageAddr)...)
	var out strings.Builder
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timing.Await(t, "an answer from the container", func() bool {
		r, err := http.Get("http://" + imageAddr + "/readyz")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	pid := listening(t, imageAddr)
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil || !strings.Contains(string(status), "\nUid:\t65534\t65534\t") {
		t.Errorf("it is not nobody: %v\n%s", err, status)
	}
	if err := syscall.Kill(atoi(t, pid), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || !strings.Contains(out.String(), "msg=end") {
		t.Errorf("it did not end in order: %v\n%s", err, &out)
	}
}

// imageAddr is where the program in the container listens. Chosen: a port that nothing else here uses.
const imageAddr = "127.0.0.1:29477"

// listening returns the number of the process that was told to listen on an address.
func listening(t *testing.T, addr string) string {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		line, err := os.ReadFile(name)
		if err == nil && strings.HasPrefix(string(line), "/qsniff\x00") && strings.Contains(string(line), addr) {
			return filepath.Base(filepath.Dir(name))
		}
	}
	t.Fatalf("no program was told to listen on %s", addr)
	return ""
}
