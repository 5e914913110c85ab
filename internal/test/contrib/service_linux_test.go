package contrib

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"qsniff/internal/test/binary"
	"qsniff/internal/test/netns"
	"qsniff/internal/test/responder"
	"qsniff/internal/test/timing"
)

// The server that a test asks, on the machine that runs the service.
const (
	gameAddr = "198.18.0.1:27015"
	answer   = "\xff\xff\xff\xffI\x11Live\x00de_dust2\x00cstrike\x00CS\x00\xf0\x00\x05\x20\x00dl\x00\x011.0\x00"
)

// TestLiveService: the service as it is shipped, run by systemd with all that its unit takes from it,
// counts what comes to a server, is reloaded, restarted when it is stuck, and ended.
func TestLiveService(t *testing.T) {
	timing.SkipUnlessLive(t)
	program := binary.Path(t)
	for _, tc := range []struct {
		name  string
		start []string
	}{
		{"alone", []string{"qsniff-monitor.service"}},
		{"with its socket", []string{"qsniff-monitor.socket", "qsniff-monitor.service"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server, clients := netns.NewCable(t, netns.End{Name: "server0", IP: "198.18.0.1"}, netns.End{Name: "client0", IP: "198.18.0.2"})
			server.RunIP(t, "link set lo up")
			m := boot(t, server, program, tc.start...)
			m.awaitActive(t)
			checkRights(t, m)
			game := responder.A2S{Info: [][]byte{[]byte(answer)}, Challenge: [4]byte{1, 2, 3, 4}}
			server.Serve(t, gameAddr, game.Answer)
			ask(t, clients)
			timing.Await(t, "the answered request in the figures", func() bool {
				text := get(t, server, "http://127.0.0.1:9477/metrics")
				return strings.Contains(text, `qsniff_server_requests_total{message="A2S_INFO",outcome="answered",protocol="a2s",server="198.18.0.1:27015"} 1`) &&
					strings.Contains(text, `qsniff_server_player_slots{server="198.18.0.1:27015"} 32`)
			})
			checkManaged(t, m)
		})
	}
}

// awaitActive waits until the service has reported that it is ready.
func (m *machine) awaitActive(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(timing.Patience)
	for m.systemctl("is-active", "qsniff-monitor.service") != "active" {
		if time.Now().After(deadline) || m.property("ActiveState") == "failed" {
			t.Fatalf("not active: %s\n%s\n%s", m.property("Result"), m.said(), m.out.String())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// checkRights looks at what the kernel says of the service.
func checkRights(t *testing.T, m *machine) {
	t.Helper()
	pid := m.outerPID(t)
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`CapPrm:\t0+\n`, `CapEff:\t0+\n`, `CapAmb:\t0+\n`, // given up after it was used
		`NoNewPrivs:\t1\n`, `Seccomp:\t2\n`, `Uid:\t6[1-5]\d{3}\t`, // a filter of system calls; a dynamic user
	} {
		if !regexp.MustCompile(want).Match(status) {
			t.Errorf("status of the service: no %s in\n%s", want, status)
		}
	}
	mounts, err := os.ReadFile("/proc/" + pid + "/mounts")
	if err != nil {
		t.Fatal(err)
	}
	isReadOnly := map[string]bool{}
	for line := range strings.Lines(string(mounts)) {
		f := strings.Fields(line)
		isReadOnly[f[1]] = strings.HasPrefix(f[3]+",", "ro,")
	}
	if !isReadOnly["/"] || !isReadOnly["/etc"] || isReadOnly["/var/lib/private/qsniff-monitor"] {
		t.Errorf("not read-only, but for its own folder:\n%s", mounts)
	}
	// With this flag the call returns the version of Landlock, where the kernel has it.
	const askVersion = 1
	if _, _, e := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, askVersion); e == 0 && !strings.Contains(m.said(), "(landlock ") {
		t.Errorf("the kernel has Landlock, and the service does not:\n%s", m.said())
	}
	if info, err := os.Stat(m.path("/var/lib/private/qsniff-monitor")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of the service: %v, %v", info, err)
	}
}

// TestLiveServiceTells: under its unit, the service tells a service of a flood, at the address that a
// reload gives it, and the process that does so has no rights either.
func TestLiveServiceTells(t *testing.T) {
	timing.SkipUnlessLive(t)
	server, clients := netns.NewCable(t, netns.End{Name: "server0", IP: "198.18.0.1"}, netns.End{Name: "client0", IP: "198.18.0.2"})
	server.RunIP(t, "link set lo up")
	var got atomic.Pointer[string]
	var l net.Listener
	var err error
	if server.Do(func() { l, err = net.Listen("tcp", "127.0.0.1:0") }); err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		text := r.URL.Path + " " + string(b)
		got.Store(&text)
	}))
	hook.Listener.Close()
	hook.Listener = l
	hook.Start()
	defer hook.Close()
	m := boot(t, server, binary.Path(t), "qsniff-monitor.service")
	m.awaitActive(t)
	put := func(path string) {
		t.Helper()
		name := m.path("/etc/qsniff/hooks")
		write(t, name, "json "+hook.URL+path+"\n")
		const adm = 4
		if err := errors.Join(os.Chown(name, 0, adm), os.Chmod(name, 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	put("/first")
	write(t, m.path("/etc/systemd/system/qsniff-monitor.service.d/secrets.conf"), "[Service]\nSupplementaryGroups=adm\n")
	m.systemctl("daemon-reload")
	write(t, m.path("/etc/qsniff/monitor.toml"), read(t, "monitor.toml")+"\nwebhooks = \"/etc/qsniff/hooks\"\n")
	m.systemctl("restart", "qsniff-monitor.service")
	m.awaitActive(t)
	put("/second")
	m.systemctl("reload", "qsniff-monitor.service")
	timing.Await(t, "a reload", func() bool { return strings.Contains(m.said(), "msg=reloaded") })
	server.Serve(t, gameAddr, func([]byte) [][]byte { return nil })
	conn := clients.Dial(t, gameAddr)
	timing.Await(t, "the message", func() bool {
		for range 200 {
			if _, err := conn.Write([]byte(question)); err != nil {
				t.Fatal(err)
			}
		}
		return got.Load() != nil
	})
	if text := *got.Load(); !strings.HasPrefix(text, "/second ") || !strings.Contains(text, `"event":"open"`) {
		t.Errorf("got %s", text)
	}
}

// checkManaged reloads the service, stops it from working, so that the watchdog restarts it, and
// ends it.
func checkManaged(t *testing.T, m *machine) {
	t.Helper()
	if out := m.systemctl("reload", "qsniff-monitor.service"); out != "" {
		t.Errorf("reload: %s", out)
	}
	timing.Await(t, "a reload", func() bool { return strings.Contains(m.said(), "msg=reloaded") })
	time.Sleep(4 * time.Second) // longer than its watchdog waits
	if n := m.property("NRestarts"); n != "0" {
		t.Errorf("restarted %s times while it was well:\n%s", n, m.said())
	}
	stuck := m.outerPID(t)
	p, err := os.FindProcess(atoi(t, stuck))
	if err == nil {
		err = p.Signal(syscall.SIGSTOP)
	}
	if err != nil {
		t.Fatal(err)
	}
	timing.Await(t, "a restart by the watchdog", func() bool { return m.property("NRestarts") == "1" })
	m.awaitActive(t)
	m.systemctl("stop", "qsniff-monitor.service") // it warns that the socket is still there
	if state, result := m.property("ActiveState"), m.property("Result"); state != "inactive" || result != "success" {
		t.Errorf("ended: %s, %s\n%s", state, result, m.said())
	}
	if !strings.HasSuffix(strings.TrimSpace(m.said()), "dropped=0") {
		t.Errorf("the log does not end with its sums:\n%s", m.said())
	}
}

// outerPID returns the number of the service's process outside of the machine.
func (m *machine) outerPID(t *testing.T) string {
	t.Helper()
	inner := m.property("MainPID")
	all, _ := os.ReadDir("/proc")
	for _, e := range all {
		status, err := os.ReadFile("/proc/" + e.Name() + "/status")
		if err == nil && strings.HasPrefix(string(status), "Name:\tqsniff\n") && strings.Contains(string(status), "NSpid:\t"+e.Name()+"\t"+inner+"\n") {
			return e.Name()
		}
	}
	t.Fatalf("no process qsniff that is %s there:\n%s", inner, m.said())
	return ""
}

// ask asks the server once, with the challenge that it demands.
func ask(t *testing.T, clients *netns.Namespace) {
	t.Helper()
	conn := clients.Dial(t, gameAddr)
	buf := make([]byte, 2000)
	for _, token := range []string{"", "\x01\x02\x03\x04"} {
		if err := conn.SetDeadline(time.Now().Add(timing.Patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(question + token)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(buf); err != nil {
			t.Fatal(err)
		}
	}
}

// get returns what is at a URL in a namespace; nothing if that fails.
func get(t *testing.T, ns *netns.Namespace, url string) string {
	t.Helper()
	dial := func(_ context.Context, network, addr string) (conn net.Conn, err error) {
		ns.Do(func() { conn, err = net.Dial(network, addr) })
		return conn, err
	}
	c := http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}, Timeout: timing.Patience}
	r, err := c.Get(url)
	if err != nil {
		return ""
	}
	defer r.Body.Close()
	text, _ := io.ReadAll(r.Body) // half of it lacks what is looked for
	return string(text)
}
