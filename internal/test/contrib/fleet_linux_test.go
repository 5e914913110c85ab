package contrib

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/freeport"
)

// fleetRun runs what the Compose file runs, with folders and addresses of the test in place of those of containers.
type fleetRun struct {
	dir    string
	change *strings.Replacer
	page   string // of the hub
}

// TestFleetRuns: what the Compose file runs makes a fleet: credentials, captures, three sensors that get in with
// these, and a hub that has counts of all three and finds the campaign at all of them.
func TestFleetRuns(t *testing.T) {
	t.Parallel()
	f := &fleetRun{dir: t.TempDir(), page: freeport.Addr(t)}
	for _, name := range []string{"captures", "creds", "spool-ams-1", "spool-ams-2", "spool-fra-1"} {
		if err := os.Mkdir(filepath.Join(f.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(f.dir, "secret"), []byte("a secret of a fleet for tests\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.change = strings.NewReplacer("/captures", f.dir+"/captures", "/creds", f.dir+"/creds", "/run/secrets/fleet", f.dir+"/secret",
		"/var/lib/qsniff-hub", f.dir+"/streams", "127.0.0.1:4222", freeport.Addr(t), "127.0.0.1:9478", f.page,
		"127.0.0.1:9481", "127.0.0.1:0", "127.0.0.1:9482", "127.0.0.1:0", "127.0.0.1:9483", "127.0.0.1:0")
	commands := map[string]fleetCommand{}
	for _, c := range composeFleet(t) {
		commands[strings.TrimPrefix(c.where, "compose.yaml: ")] = c
	}
	f.command(t, commands["creds"]).run(t)
	f.command(t, commands["traffic"]).start(t)
	hosts := []string{"ams-1", "ams-2", "fra-1"}
	for _, h := range hosts {
		await(t, "captures of "+h, func() bool { all, _ := filepath.Glob(f.dir + "/captures/" + h + "/*"); return len(all) > 0 })
	}
	f.command(t, commands["hub"]).start(t)
	await(t, "the hub", func() bool { return f.get(t, "/readyz", nil) })
	for _, h := range hosts {
		f.command(t, commands[h]).start(t)
	}
	f.awaitCampaign(t, len(hosts))
}

// awaitCampaign waits until the hub shows so many sensors, and a campaign at all of them.
func (f *fleetRun) awaitCampaign(t *testing.T, hosts int) {
	t.Helper()
	await(t, "sensors", func() bool {
		var x struct {
			Sensors []struct {
				Name    string `json:"sensor"`
				Servers int
				Silent  bool
			}
			Totals struct{ Refused uint64 }
		}
		if !f.get(t, "/sensors.json", &x) || len(x.Sensors) != hosts {
			return false
		}
		if x.Totals.Refused > 0 {
			t.Fatalf("the hub refused %d messages", x.Totals.Refused)
		}
		for _, s := range x.Sensors {
			if s.Servers != 8 {
				return false
			}
		}
		return true
	})
	await(t, "a campaign at all hosts", func() bool {
		type campaign struct {
			Category, Level string
			Sensors         int
			Requests        uint64
		}
		var x struct{ Open, Closed []campaign }
		if !f.get(t, "/campaigns.json", &x) {
			return false
		}
		for _, c := range append(x.Open, x.Closed...) {
			if c.Sensors == hosts && c.Category == "flood_spoofed" && c.Level == "alert" && c.Requests > 10_000 {
				return true
			}
		}
		return false
	})
}

// get reports whether the hub answers, with an object unless into is nil.
func (f *fleetRun) get(t *testing.T, path string, into any) bool {
	t.Helper()
	r, err := http.Get("http://" + f.page + path)
	if err != nil {
		return false
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		return false
	}
	if into == nil {
		return true
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return true
}

// process is a command of the Compose file as a process.
type process struct {
	*exec.Cmd
	where string
	log   string // the file of what it prints
}

func (f *fleetRun) command(t *testing.T, c fleetCommand) *process {
	t.Helper()
	name := strings.TrimPrefix(c.where, "compose.yaml: ")
	var args []string
	for _, a := range c.args {
		args = append(args, strings.Replace(f.change.Replace(a), "=/spool", "="+f.dir+"/spool-"+name, 1))
	}
	p := &process{exec.Command(binary.Program(t, c.program), args...), c.where, filepath.Join(f.dir, name+".log")}
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	p.Stdout, p.Stderr = log, log
	return p
}

func (p *process) run(t *testing.T) {
	t.Helper()
	if err := p.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", p.where, err, p.said())
	}
}

// start starts the process, which runs until t ends.
func (p *process) start(t *testing.T) {
	t.Helper()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait() // it was killed
		if t.Failed() {
			t.Logf("%s:\n%s", p.where, p.said())
		}
	})
}

func (p *process) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// await waits for something for fleetPatience at most.
func await(t *testing.T, what string, isThere func() bool) {
	t.Helper()
	for end := time.Now().Add(fleetPatience); !isThere(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no %s", what)
		}
	}
}
