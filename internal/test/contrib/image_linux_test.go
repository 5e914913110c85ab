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

// image is an image that is made with a program that was built before.
type image struct {
	file    string // the Dockerfile
	program string
	caps    []string // capabilities of the container
	args    []string // of the program, without --listen
	addr    string   // where it listens. Chosen: a port that nothing else here uses
	volumes []string
}

// TestLiveImage: the last stages of the Dockerfiles, as for the others images would have to be fetched.
// The programs run as nobody, with no right but the one to capture, and answer.
func TestLiveImage(t *testing.T) {
	timing.SkipUnlessLive(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("c2VjcmV0IG9mIGEgZmxlZXQgb2YgdGVzdHM=\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(secret, 65534, 65534); err != nil {
		t.Skip(err)
	}
	for _, x := range []image{
		{file: "Dockerfile", program: "qsniff", caps: []string{"CAP_NET_RAW"}, args: []string{"monitor", "-i", "lo"}, addr: "127.0.0.1:29477"},
		{file: "hub.Dockerfile", program: "qsniff-hub", addr: "127.0.0.1:29478", volumes: []string{secret + ":/secret:ro"},
			args: []string{"run", "--secret", "/secret", "--store", "/var/lib/qsniff-hub", "--nats-listen", "127.0.0.1:29422"}},
	} {
		t.Run(x.program, func(t *testing.T) { x.check(t) })
	}
}

// build makes the image, of a program built as the Dockerfile does, and returns the words that begin commands about it, and its container.
func (x *image) build(t *testing.T, buildah string) (store []string, box string) {
	t.Helper()
	dir := t.TempDir()
	stage := filepath.Join(dir, "stage")
	program := filepath.Join(stage, "out", x.program)
	for _, folder := range []string{"out", "empty"} {
		if err := os.MkdirAll(filepath.Join(stage, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, binary.Root+"/cmd/"+x.program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // static: there is no library in the image
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range x.caps {
		run(t, tool(t, "setcap", "libcap2-bin"), strings.ToLower(c)+"+ep", program)
	}
	_, last, found := strings.Cut(read(t, x.file), "\nFROM scratch\n")
	if !found {
		t.Fatal("the last stage does not begin with nothing")
	}
	write(t, filepath.Join(dir, "Dockerfile"), "FROM scratch\n"+last)
	store = []string{"--root", filepath.Join(dir, "store"), "--runroot", filepath.Join(dir, "run"), "--storage-driver", "vfs"}
	do := func(args ...string) string { return run(t, buildah, append(store, args...)...) }
	do("bud", "--isolation", "chroot", "--build-context", "build="+stage, "-t", x.program, "-f", filepath.Join(dir, "Dockerfile"), dir)
	return store, strings.TrimSpace(do(append(append([]string{"from", "--pull=never", "--cap-drop", "all"}, x.capFlags()...), x.program)...))
}

func (x *image) capFlags() (all []string) {
	for _, c := range x.caps {
		all = append(all, "--cap-add", c)
	}
	return all
}

// check runs the image's program until it answers.
func (x *image) check(t *testing.T) {
	buildah := tool(t, "buildah", "buildah")
	if os.Getuid() != 0 {
		t.Skip("takes root")
	}
	store, box := x.build(t, buildah)
	args := append(append(store, "run", "--isolation", "chroot", "--network", "host"), x.capFlags()...)
	for _, v := range x.volumes {
		args = append(args, "-v", v)
	}
	ctx, cancel := context.WithTimeout(context.Background(), timing.Patience)
	defer cancel()
	c := exec.CommandContext(ctx, buildah, append(append(args, box, "--", "/"+x.program), append(x.args, "--listen", x.addr)...)...)
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	said := func() string { text, _ := os.ReadFile(log.Name()); return string(text) }
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if t.Failed() {
			t.Log(said())
		}
	}()
	timing.Await(t, "an answer from the container", func() bool {
		r, err := http.Get("http://" + x.addr + "/readyz")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
	pid := listening(t, x.program, x.addr)
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil || !strings.Contains(string(status), "\nUid:\t65534\t65534\t") {
		t.Errorf("it is not nobody: %v\n%s", err, status)
	}
	if err := syscall.Kill(atoi(t, pid), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil || !strings.Contains(said(), "msg=end") {
		t.Errorf("it did not end in order: %v", err)
	}
}

// listening returns the number of the process that was told to listen on an address.
func listening(t *testing.T, program, addr string) string {
	t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		line, err := os.ReadFile(name)
		if err == nil && strings.HasPrefix(string(line), "/"+program+"\x00") && strings.Contains(string(line), addr) {
			return filepath.Base(filepath.Dir(name))
		}
	}
	t.Fatalf("no program was told to listen on %s", addr)
	return ""
}
