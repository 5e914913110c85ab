package messenger

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"qsniff/internal/monitor/notify"
	"qsniff/internal/test/timing"
)

// TestReloadHooks: a service whose address changes gets what waits for it, at its new address; one
// that is new gets what comes from then on, one that is gone nothing. A file that is wrong changes
// nothing.
func TestReloadHooks(t *testing.T) {
	got := make(chan string, 100) // path and number of the incident
	proceed := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		no := "1"
		if strings.Contains(string(b), "run-2") || strings.Contains(string(b), "Second") {
			no = "2"
		}
		got <- r.URL.Path + " " + no
		if r.URL.Path == "/old" {
			<-proceed
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	name := filepath.Join(t.TempDir(), "hooks")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(text, "URL", server.URL)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("slack URL/old\njson URL/gone\n")
	s := serve(t, &notify.Config{HooksFile: name, Every: 1}, Options{clock: patientClock{newFakeClock()}})
	<-s.reports
	reload := func() string {
		t.Helper()
		s.order(t, notify.Order{HooksFile: name})
		log := ""
		for r := range s.reports {
			if r.Reloaded {
				return fmt.Sprint(log, r.Failed, len(r.Sinks))
			}
			log += r.Log
		}
		return "it ended"
	}
	await := func(want ...string) {
		t.Helper()
		left := strings.Join(want, ",")
		timing.Await(t, left, func() bool {
			select {
			case x := <-got:
				if !strings.Contains(left, x) {
					t.Fatalf("got %s, want %s", x, left)
				}
				left = strings.Replace(left, x, "", 1)
			default:
			}
			return strings.Trim(left, ",") == ""
		})
	}
	s.order(t, notify.Order{Note: note(1, notify.Begins)})
	await("/old 1", "/gone 1")
	put("slack URL/SECRET\nslack nonsense\n")
	if said := reload(); !strings.Contains(said, "line 2: the second word is no address") || strings.Contains(said, "SECRET") {
		t.Errorf("a wrong file: %s", said)
	}
	put("slack URL/new\njson " + strings.Replace(server.URL, "127.0.0.1", "localhost", 1) + "/more\n")
	if said := reload(); said != "json at 127.0.0.1: it is told no more; 0 were not delivered2" {
		t.Errorf("a good file: %s", said)
	}
	close(proceed)
	await("/new 1")
	second := note(2, notify.Begins)
	second.Text = "Second"
	s.order(t, notify.Order{Note: second})
	await("/new 2", "/more 2")
	sinks, log := s.end()
	if len(sinks) != 2 || sinks[0].Sent != 2 || sinks[0].Retried != 1 || sinks[1].Sent != 1 {
		t.Errorf("%+v\n%s", sinks, log)
	}
}

// TestReloadNeedsRight: what the sandbox has no port for is refused, and all stays as it is.
func TestReloadNeedsRight(t *testing.T) {
	name := filepath.Join(t.TempDir(), "hooks")
	if err := os.WriteFile(name, []byte("slack https://a.example/x\njson https://b.example:8443/SECRET\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &server{opt: Options{clock: newFakeClock()}, ports: []uint16{443}}
	if err := s.loadHooks(name); err == nil || !strings.Contains(err.Error(), "port 8443 of json at b.example takes a restart") || strings.Contains(err.Error(), "SECRET") || len(s.posts) != 0 {
		t.Errorf("%v, %d posts", err, len(s.posts))
	}
}

// TestCheck: what a start would refuse is an error, and no file stays.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.jsonl")
	sinks, err := Check(&notify.Config{File: name, Hooks: []notify.Hook{{Service: "ntfy", URL: "https://ntfy.example/SECRET"}}, Exec: "/bin/sh"})
	if got, want := strings.Join(sinks, ", "), "file "+name+", ntfy at ntfy.example, program /bin/sh"; err != nil || got != want {
		t.Errorf("got %s, %v\nwant %s", got, err, want)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("files that stay: %v", left)
	}
	if _, err := Check(&notify.Config{File: name, HooksFile: filepath.Join(dir, "hooks")}); err == nil {
		t.Error("a file of services that is not there")
	}
}
