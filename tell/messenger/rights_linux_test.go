package messenger

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	landlock "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"qsniff/internal/test/child"
	"qsniff/internal/test/timing"
	"qsniff/tell"
)

// orders are what a child is to open before it gives up its rights, and to try then.
type orders struct {
	Config  tell.Config
	Foreign string // a file
	Closed  string // an address that is no service's
}

// findings are what came of it: error texts, "" where something worked.
type findings struct {
	Open, Status         string
	Sinks                []string
	Read, Write, Resolve string
	Connect, Exec        string
	Reload               string
}

func TestMain(m *testing.M) { child.Main(m, obey) }

func obey(o orders) error {
	s := &server{opt: Options{clock: systemClock{}}, config: o.Config, out: json.NewEncoder(os.Stderr)}
	var f findings
	var err error
	if err = s.open(); err == nil {
		f.Status, err = s.enterSandbox()
	}
	if err != nil {
		f.Open = err.Error()
	}
	for i, p := range s.posts {
		for no := range 20 { // the file is rotated meanwhile
			if err = p.sink.send(context.Background(), note(no, tell.Begins), 0); err != nil {
				break
			}
		}
		f.Sinks = append(f.Sinks, "")
		if err != nil {
			f.Sinks[i] = err.Error()
		}
	}
	f.Reload = textOf(s.loadHooks(o.Config.HooksFile))
	_, err = os.ReadFile(o.Foreign)
	f.Read = textOf(err)
	_, err = os.OpenFile(o.Foreign, os.O_WRONLY, 0)
	f.Write = textOf(err)
	_, err = os.ReadFile("/etc/hosts")
	f.Resolve = textOf(err)
	c, err := net.DialTimeout("tcp", o.Closed, 5*time.Second)
	if err == nil {
		c.Close()
	}
	f.Connect, f.Exec = textOf(err), textOf(exec.Command("/bin/true").Run())
	return json.NewEncoder(os.Stdout).Encode(f)
}

func textOf(err error) string {
	if no := syscall.Errno(0); errors.As(err, &no) {
		return no.Error()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// TestRights: in its sandbox the process reaches its services by name and by address, its file and
// its sockets, also after these were made anew, and nothing else.
func TestRights(t *testing.T) {
	if v, err := landlock.LandlockGetABIVersion(); err != nil || v < 4 {
		t.Skipf("the kernel has no rules for ports: %d, %v", v, err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	closed := httptest.NewServer(nil)
	defer closed.Close()
	dir := t.TempDir()
	o := orders{Foreign: filepath.Join(dir, "foreign"), Closed: closed.Listener.Addr().String()}
	if err := errors.Join(os.WriteFile(o.Foreign, nil, 0o600), os.Mkdir(filepath.Join(dir, "out"), 0o700)); err != nil {
		t.Fatal(err)
	}
	log := listenLog(t, filepath.Join(dir, "log"))
	go func() { // or the socket's queue is full
		for b := make([]byte, 1<<16); ; {
			if _, err := log.Read(b); err != nil {
				return
			}
		}
	}()
	hooks := filepath.Join(dir, "etc", "hooks")
	if err := errors.Join(os.Mkdir(filepath.Dir(hooks), 0o700), os.WriteFile(hooks, []byte("slack "+server.URL+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	o.Config = tell.Config{File: filepath.Join(dir, "out", "a.jsonl"), FileSize: 500, FileCount: 1, Syslog: log.path, HooksFile: hooks,
		Hooks: []tell.Hook{{Service: "json", URL: strings.Replace(server.URL, "127.0.0.1", "localhost", 1)}}}
	f := runChild(t, o)
	if f.Open != "" || strings.Join(f.Sinks, "") != "" || len(f.Sinks) != 4 {
		t.Errorf("%+v", f)
	}
	const refused = "permission denied"
	if f.Read != refused || f.Write != refused || f.Connect != refused || f.Exec != refused || f.Resolve != "" || f.Reload != "" {
		t.Errorf("%+v", f)
	}
	o.Config.Exec, o.Config.ExecTimeout = "/bin/true", timing.Patience
	f = runChild(t, o)
	if f.Read != "" || f.Exec != "" || !strings.HasPrefix(f.Status, "none: it starts programs") || len(f.Sinks) != 5 || strings.Join(f.Sinks, "") != "" {
		t.Errorf("with a program: %+v", f)
	}
}

func runChild(t *testing.T, o orders) (f findings) {
	t.Helper()
	c, line := child.Start(t, o)
	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(line), &f); err != nil {
		t.Fatal(err)
	}
	return f
}
