package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"qsniff/internal/fleet"
	"qsniff/internal/test/freeport"
	"qsniff/internal/test/timing"
)

// asProgram has the test's program be qsniff-hub.
const asProgram = "QSNIFF_HUB_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(runProgram())
	}
	os.Exit(m.Run())
}

// patience is how long a test waits for what has to happen. Chosen: a machine that does much else.
const testPatience = 45 * time.Second

// process is a qsniff-hub at work.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	page  string // its address
	token string // of the page, that get brings; empty: none
	log   lockedBuffer
}

// lockedBuffer is what a process prints.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// command returns qsniff-hub with arguments.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// start starts a hub whose page is open to all, and waits until it is ready.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	return startWithToken(t, "", args...)
}

// startWithToken starts a hub whose page wants a token, unless that is empty, and waits until it is ready.
func startWithToken(t *testing.T, token string, args ...string) *process {
	t.Helper()
	p := &process{t: t, page: freeport.Addr(t), token: token}
	p.cmd = command(append([]string{"run", "--listen", p.page}, args...)...)
	p.cmd.Stderr = &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
		if t.Failed() {
			t.Log(p.log.String())
		}
	})
	timing.Await(t, "it is ready", func() bool { return p.get("/readyz") == "ok\n" })
	return p
}

// get returns an answer of the hub, empty if there is none.
func (p *process) get(path string) string {
	q, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, "http://"+p.page+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	if p.token != "" {
		q.Header.Set("Authorization", "Bearer "+p.token)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	return string(text)
}

// writeSecret writes a file that only its owner reads.
func writeSecret(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// hooked is a service that is told.
type hooked struct {
	*httptest.Server
	mu    sync.Mutex
	lines []map[string]any
}

func newHook(t *testing.T) *hooked {
	h := &hooked{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var line map[string]any
		if err := json.NewDecoder(r.Body).Decode(&line); err != nil {
			t.Error(err)
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.lines = append(h.lines, line)
	}))
	t.Cleanup(h.Close)
	return h
}

// told returns the events of campaigns that came.
func (h *hooked) told() (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, l := range h.lines {
		if l["record"] == "campaign" {
			all = append(all, fmt.Sprint(l["event"]))
		}
	}
	return all
}

// attack publishes what the sensors of two hosts tell of an attack by one source.
func attack(t *testing.T, secret *fleet.Secret, url, creds string, sensors ...string) {
	t.Helper()
	start := time.Now().UnixNano()
	server := netip.MustParseAddrPort("198.51.100.7:27015")
	for _, name := range sensors {
		c, err := nats.Connect(url, nats.UserCredentials(filepath.Join(creds, name+".creds")), nats.CustomInboxPrefix(fleet.InboxPrefix(name)))
		if err != nil {
			t.Fatal(err)
		}
		js, err := jetstream.New(c)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range []fleet.Message{&fleet.Host{Program: "1.0", Input: "eth0", Servers: 1},
			&fleet.Incident{ID: 1, Event: "open", Category: "flood_few", Level: "alert", Protocol: "a2s", Target: server.String(), Servers: 1, Targets: []netip.AddrPort{server},
				Start: start - 5e9, Detected: start, Peak: 5000, Mean: 4000, Baseline: 10, Requests: 40000, Confidence: .9, Distinct: 1,
				Top: []fleet.Network{{Prefix: secret.SealHost(netip.MustParseAddr("203.0.113.9")), Queries: 40000}}}} {
			kind := []fleet.Kind{fleet.KindHost, fleet.KindIncident}[i]
			h := fleet.HeadOf(m)
			*h = fleet.Head{Version: fleet.Version, Kind: kind, Sensor: name, Run: "5f0c", Seq: uint64(i + 1), Time: start}
			data, err := fleet.Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := js.Publish(t.Context(), fleet.Subject("qsniff", name, kind), data, jetstream.WithMsgID(h.MessageID())); err != nil {
				t.Fatal(err)
			}
		}
		c.Close()
	}
}

// TestFleet: two hubs, one with the broker, as processes with credentials: a campaign is told once, by
// webhook. A hub that is killed is followed by the other. What is exported is what was published.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("a window takes its time: make test-all")
	}
	dir := t.TempDir()
	const text = "of all sensors and hubs"
	secretFile, creds := writeSecret(t, dir, "secret", text), filepath.Join(dir, "creds")
	secret, err := fleet.NewSecret([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if out, err := command("creds", "--dir", creds, "ams-1", "fra-1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	hook := newHook(t)
	hooks := writeSecret(t, dir, "hooks", "json "+hook.URL+"/x\n")
	address := freeport.Addr(t)
	url := "nats://" + address
	common := []string{"--secret", secretFile, "--nats-creds", filepath.Join(creds, "_hub.creds"), "--webhooks", hooks}
	// The broker has a hub of its own, which stands by once the other leads: it is started first, and waits.
	first := start(t, append(common, "--store", filepath.Join(dir, "store"), "--nats-listen", address, "--nats-config", filepath.Join(creds, "nats.conf"))...)
	second := start(t, append(common, "--nats", url)...)
	attack(t, secret, url, creds, "ams-1", "fra-1")
	timing.Await(t, "the campaign is told", func() bool { return len(hook.told()) == 1 })
	timing.Await(t, "both show it", func() bool {
		return strings.Contains(first.get("/campaigns.json"), "same_sources") && strings.Contains(second.get("/campaigns.json"), "same_sources")
	})
	if page := first.get("/"); !strings.Contains(page, "1 campaign goes on") {
		t.Errorf("the page: %s", page)
	}
	if figures := first.get("/metrics"); !strings.Contains(figures, "\nqsniff_hub_leads 1\n") || !strings.Contains(figures, `qsniff_hub_campaigns_open{how="same_sources",level="alert"} 1`) {
		t.Errorf("the metrics: %s", figures)
	}
	exportAll(t, url, creds, secretFile, dir)
	if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := first.cmd.Wait(); err != nil {
		t.Errorf("the end of the first: %v", err)
	}
	third := start(t, append(common, "--store", filepath.Join(dir, "store"), "--nats-listen", address, "--nats-config", filepath.Join(creds, "nats.conf"))...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(third.get("/campaigns.json"), third.get("/metrics"))
		}
	})
	timing.Await(t, "one leads, and shows the campaign", func() bool {
		leads := 0
		for _, p := range []*process{second, third} {
			if strings.Contains(p.get("/metrics"), "\nqsniff_hub_leads 1\n") && strings.Contains(p.get("/campaigns.json"), "same_sources") {
				leads++
			}
		}
		return leads == 1
	})
	if got := hook.told(); len(got) != 1 {
		t.Errorf("told: %q", got)
	}
	if !strings.Contains(third.get("/metrics")+second.get("/metrics"), "\nqsniff_hub_events_uncertain_total 0\n") {
		t.Error("a hub that ended in order left something uncertain")
	}
}

// TestReload: SIGHUP reads the token and the services again, or neither.
func TestReload(t *testing.T) {
	t.Parallel()
	const before, after = "0123456789abcdef-before", "0123456789abcdef-after"
	dir := t.TempDir()
	secretFile, token := writeSecret(t, dir, "secret", "of all sensors and hubs"), writeSecret(t, dir, "token", before)
	hooks := writeSecret(t, dir, "hooks", "json http://127.0.0.1:9/first\n")
	p := startWithToken(t, before, "--secret", secretFile, "--store", filepath.Join(dir, "store"), "--nats-listen", freeport.Addr(t),
		"--webhooks", hooks, "--web-token-file", token)
	one := p.sinks()
	reload := func(text, result string) {
		t.Helper()
		writeSecret(t, dir, "token", text)
		n := strings.Count(p.log.String(), result)
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		timing.Await(t, result, func() bool { return strings.Count(p.log.String(), result) > n })
	}
	writeSecret(t, dir, "hooks", "json http://127.0.0.1:9/first\njson http://127.0.0.2:9/second\n")
	reload("short", `msg="nothing was reloaded"`)
	if got := p.sinks(); got == 0 || got != one {
		t.Errorf("with a bad token\ngot  %d sinks\nwant the %d of before, and more than none", got, one)
	}
	reload(after, "msg=reloaded")
	if got := p.sinks(); got != 0 {
		t.Errorf("the token of before still shows %d sinks", got)
	}
	p.token = after
	timing.Await(t, "the second service is there", func() bool { return p.sinks() == one+1 })
}

// sinks returns how many sinks of notes the metrics name.
func (p *process) sinks() int {
	return strings.Count(p.get("/metrics"), "\nqsniff_told_retries_total{")
}

// exportAll exports what is there.
func exportAll(t *testing.T, url, creds, secretFile, dir string) {
	t.Helper()
	for kind, want := range map[string]int{"campaign": 1, "incident": 2, "host": 2, "server": 0} {
		cmd := command("export", "--kind", kind, "--nats", url, "--nats-creds", filepath.Join(creds, "_hub.creds"), "--secret", secretFile, "-")
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		if got := bytes.Count(out, []byte("\n")); err != nil || got != want {
			t.Errorf("%s: %d rows: %v: %s", kind, got, err, said.String())
		}
		file := filepath.Join(dir, kind+".parquet")
		keep := filepath.Join(dir, kind+".txt")
		if err := errors.Join(os.WriteFile(keep, []byte("kept"), 0o644), os.Symlink(keep, file)); err != nil {
			t.Fatal(err)
		}
		if out, err := command("export", "--kind", kind, "-o", "parquet", "--nats", url, "--nats-creds", filepath.Join(creds, "_hub.creds"), file).CombinedOutput(); err == nil {
			t.Errorf("%s: it replaced a link: %s", kind, out)
		}
		if out, err := command("export", "--force", "--kind", kind, "-o", "parquet", "--nats", url, "--nats-creds", filepath.Join(creds, "_hub.creds"), file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", kind, err, out)
		}
		if text, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(text, []byte("PAR1")) {
			t.Errorf("%s: no Parquet: %v", kind, err)
		}
		if text, err := os.ReadFile(keep); err != nil || string(text) != "kept" {
			t.Errorf("%s: it wrote where a link leads: %v", kind, err)
		}
		if info, err := os.Lstat(file); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", kind, info.Mode(), err)
		}
	}
}

// TestErrors: what is wrong is said with a way out, and without secrets.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	secret := writeSecret(t, dir, "secret", "of all sensors and hubs")
	token := writeSecret(t, dir, "token", "0123456789abcdef")
	open := filepath.Join(dir, "open")
	if err := os.WriteFile(open, []byte("of all sensors and hubs"), 0o644); err != nil {
		t.Fatal(err)
	}
	short := writeSecret(t, dir, "short", "TOPSECRET")
	for _, tc := range []struct {
		args   string
		status int
		want   string
	}{
		{"run", exitUsage, "neither --store nor --nats"},
		{"run --store " + dir, exitUsage, "--secret is missing"},
		{"--store " + dir + " --secret " + open, exitFailed, "everybody may read it"},
		{"run --store " + dir + " --secret " + short, exitFailed, "9 bytes, and needs 16"},
		{"run --store " + dir + " --secret " + dir + "/none", exitFailed, "no such file"},
		{"run --nats nats://u:TOPSECRET@127.0.0.1:1 --listen 127.0.0.1:0 --secret " + secret, exitFailed, "the broker at nats://127.0.0.1:1"},
		{"run --nats x --store y", exitUsage, "leave one of them out"},
		{"check --store " + dir + "/s --nats-listen :4222 --secret " + secret, exitUsage, "asks nobody for credentials"},
		{"check --store " + dir + "/s --listen :9478 --secret " + secret, exitUsage, "there is no token"},
		{"check --store " + dir + "/s --listen :9478 --web-token-file " + token + " --secret " + secret, exitUsage, "would pass in clear"},
		{"check --store " + dir + "/s --listen :9478 --web-token-file " + token + " --insecure --secret " + secret, exitOK, "page: :9478"},
		{"check --nats nats://hub.example --secret " + secret, exitUsage, "--nats: what passes to hub.example could be read"},
		{"export --kind host --nats tls://a.example,nats://198.51.100.7:4222 -", exitUsage, "what passes to 198.51.100.7 could be read"},
		{"check --store " + dir + "/s --nats-listen :4222 --nats-config " + open + " --secret " + secret, exitUsage, "--nats-cert and --nats-key encrypt"},
		{"check --store " + dir + "/s --secret " + secret, exitOK, "broker: within the process, at 127.0.0.1:4222"},
		{"check --web-cert x --store s --secret " + secret, exitUsage, "--web-cert and --web-key go together"},
		{"check --retention-age 1s --store s", exitUsage, "at least 1h0m0s"},
		{"check --retention-size 3X --store s", exitUsage, "a size like 64M"},
		{"export --kind packet -", exitUsage, "campaign, finding"},
		{"export -", exitUsage, "--kind is missing"},
		{"export --kind host --since yesterday -", exitUsage, `"yesterday" is no time`},
		{"export --kind host --store " + dir + "/none -", exitFailed, "no such file"},
		{"creds a", exitUsage, "--dir is missing"},
		{"creds --dir " + dir + "/c a.b", exitUsage, "the name of a sensor"},
		{"creds --dir " + dir + "/c _hub", exitUsage, "not _hub"},
		{"creds --dir " + dir + "/c --revoke none", exitFailed, "none"},
		{"run --help", exitOK, "Telling flags:"},
		{"--help", exitOK, "Commands:"},
		{"--version", exitOK, "qsniff-hub version"},
		{"frobnicate", exitFailed, "frobnicate"},
	} {
		var out bytes.Buffer
		ctx, cancel := context.WithTimeout(t.Context(), testPatience)
		status := run(ctx, strings.Fields(tc.args), streams{&out, &out})
		cancel()
		if text := out.String(); status != tc.status || !strings.Contains(text, tc.want) || strings.Contains(text, "TOPSECRET") {
			t.Errorf("%s: status %d\n%s", tc.args, status, text)
		}
	}
}

func TestRoom(t *testing.T) {
	dir := t.TempDir()
	if n := usedBytes(dir); n != 0 {
		t.Errorf("an empty folder has %d bytes", n)
	}
	for _, name := range []string{"a", "b/c"} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, make([]byte, 1000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if n := usedBytes(dir); n != 2000 {
		t.Errorf("got %d bytes, want 2000", n)
	}
	if runtime.GOOS != "linux" {
		t.Skip("the room on a disk is looked up where brokers run: Linux, macOS, FreeBSD")
	}
	here, err := freeBytes(dir)
	below, errBelow := freeBytes(filepath.Join(dir, "not", "there", "yet"))
	if err != nil || errBelow != nil || here == 0 || below == 0 {
		t.Errorf("got %d, %v and %d, %v", here, err, below, errBelow)
	}
}
