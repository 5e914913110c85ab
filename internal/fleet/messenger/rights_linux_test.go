package messenger

import (
	"bytes"
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
	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"qsniff/internal/fleet/outbox"
	"qsniff/internal/monitor/notify"
	"qsniff/internal/test/child"
	"qsniff/internal/test/natstest"
	"qsniff/internal/test/timing"
)

// orders are what a child is to open before it gives up its rights, and to try then.
type orders struct {
	Config  notify.Config
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
	Fleet                outbox.Counts
	FleetLog             []string
}

func TestMain(m *testing.M) { child.Main(m, obey) }

func obey(o orders) error {
	var said bytes.Buffer
	s := &server{opt: Options{clock: systemClock{}}, config: o.Config, out: json.NewEncoder(&said)}
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
			if err = p.sink.send(context.Background(), note(no, notify.Begins), 0); err != nil {
				break
			}
		}
		f.Sinks = append(f.Sinks, "")
		if err != nil {
			f.Sinks[i] = err.Error()
		}
	}
	if s.fleet != nil {
		for no := range 100 {
			s.fleet.put(fleetMessage(no + 1))
		}
		s.fleet.box.Close()
		s.fleet.run(context.Background())
		f.Fleet, f.FleetLog = s.fleet.box.Counts(), strings.Split(said.String(), "\n")
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
	o.Config = notify.Config{File: filepath.Join(dir, "out", "a.jsonl"), FileSize: 500, FileCount: 1, Syslog: log.path, HooksFile: hooks,
		Hooks: []notify.Hook{{Service: "json", URL: strings.Replace(server.URL, "127.0.0.1", "localhost", 1)}}}
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

// TestFleetRights: in its sandbox the process finds its broker, reads credentials that were replaced, and
// writes its spool, and nothing else.
func TestFleetRights(t *testing.T) {
	if v, err := landlock.LandlockGetABIVersion(); err != nil || v < 4 {
		t.Skipf("the kernel has no rules for ports: %d, %v", v, err)
	}
	closed := httptest.NewServer(nil)
	defer closed.Close()
	pair, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	public, errKey := pair.PublicKey()
	seed, errSeed := pair.Seed()
	b := natstest.Start(t, func(o *natsserver.Options) {
		o.Nkeys = []*natsserver.NkeyUser{{Nkey: public}}
	})
	dir := t.TempDir()
	creds := filepath.Join(dir, "etc", "creds")
	o := orders{Foreign: filepath.Join(dir, "foreign"), Closed: closed.Listener.Addr().String()}
	if err := errors.Join(errKey, errSeed, os.WriteFile(o.Foreign, nil, 0o600), os.Mkdir(filepath.Dir(creds), 0o700), os.WriteFile(creds, seed, 0o600)); err != nil {
		t.Fatal(err)
	}
	o.Config = notify.Config{Fleet: &notify.Fleet{URL: strings.Replace(b.URL(), "127.0.0.1", "localhost", 1), Name: "web-1", Prefix: "qsniff", Creds: creds,
		Spool: filepath.Join(dir, "spool")}}
	f := runChild(t, o)
	if log := strings.Join(f.FleetLog, ""); f.Open != "" || !strings.Contains(log, "the broker has no stream") || strings.Contains(log, "denied") || f.Fleet.Waiting != 100 {
		t.Errorf("without a stream: %+v", f)
	}
	const refused = "permission denied"
	if f.Read != refused || f.Write != refused || f.Connect != refused || f.Exec != refused {
		t.Errorf("%+v", f)
	}
	natstest.MakeStream(t, b.Connect(nats.Nkey(public, pair.Sign)), "FLEET", "qsniff.*.*")
	f = runChild(t, o)
	if f.Fleet != (outbox.Counts{Sent: 200}) {
		t.Errorf("%+v", f)
	}
	if got := natstest.Messages(t, b.Connect(nats.Nkey(public, pair.Sign)), "FLEET"); len(got) != 100 {
		t.Errorf("%d messages", len(got))
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
