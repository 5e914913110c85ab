package messenger

import (
	"crypto/x509"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"qsniff/internal/monitor/notify"
	"qsniff/internal/test/timing"
)

// hostedAt returns the post of a service at a test server, with secrets in the URL and a token.
func hostedAt(server *httptest.Server, c clock, log func(string)) *post {
	h := notify.Hook{Service: "json", URL: server.URL + "/hooks/SECRET-PATH?key=SECRET-KEY", Token: "SECRET-TOKEN"}
	roots := x509.NewCertPool()
	if server.Certificate() != nil {
		roots.AddCert(server.Certificate())
	}
	return newPost(newHook(h, roots, c.now), c, log, 1)
}

// checkNoSecrets wants nothing of a URL but its host in a log.
func checkNoSecrets(t *testing.T, log *notebook) {
	t.Helper()
	if text := log.String(); strings.Contains(text, "SECRET") || strings.Contains(text, "/hooks") {
		t.Errorf("secrets in the log: %s", text)
	}
}

// TestHook: a note arrives as it is, once, with the token, over TLS that is checked.
func TestHook(t *testing.T) {
	var got []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = append(got, fmt.Sprint(r.Method, " ", r.URL, " ", r.Header.Get("Authorization"), " ", r.Header.Get("Content-Type"), " ", string(b)))
	}))
	server.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	var log notebook
	c := newFakeClock()
	tellAll(t, hostedAt(server, c, log.add), note(1, notify.Begins))
	want := "POST /hooks/SECRET-PATH?key=SECRET-KEY Bearer SECRET-TOKEN application/json " + string(note(1, notify.Begins).Line)
	if len(got) != 1 || got[0] != want || log.String() != "" {
		t.Errorf("got  %q\nwant %q\nlog %s", got, want, &log)
	}
	p := hostedAt(server, c, log.add)
	p.sink = newHook(*p.sink.(*hookSink).hook.Load(), x509.NewCertPool(), c.now) // whose authority is unknown
	tellAll(t, p, note(2, notify.Begins))
	if len(got) != 1 || !strings.Contains(log.String(), "json at 127.0.0.1: tls: failed to verify certificate") {
		t.Errorf("with a certificate of nobody: %d requests, log %s", len(got), &log)
	}
	checkNoSecrets(t, &log)
}

// TestHookTrouble: what a service answers decides whether it is asked again, and when.
func TestHookTrouble(t *testing.T) {
	for _, tc := range []struct {
		name       string
		answer     func(w http.ResponseWriter, attempt int)
		sent       uint64
		attempts   int
		log        string
		first      time.Duration // the least time before the second attempt
		atMost     time.Duration // the most
		totalAbove time.Duration
	}{
		{"a moment of 500s", func(w http.ResponseWriter, n int) {
			if n <= 3 {
				w.WriteHeader(500)
			}
		}, 1, 4, "json at 127.0.0.1: it answers 500 Internal Server Error", time.Second / 2, time.Second, 0},
		{"500s forever", func(w http.ResponseWriter, int int) { w.WriteHeader(500) }, 0, 0,
			"json at 127.0.0.1: it answers 500 Internal Server Error", time.Second / 2, time.Second, keepTrying},
		{"too many requests", func(w http.ResponseWriter, n int) {
			if n == 1 {
				w.Header().Set("Retry-After", "7.5")
				w.WriteHeader(429)
			}
		}, 1, 2, "json at 127.0.0.1: it answers 429 Too Many Requests", 7500 * time.Millisecond, 7500 * time.Millisecond, 0},
		{"away until a date", func(w http.ResponseWriter, n int) {
			if n == 1 {
				w.Header().Set("Retry-After", time.Unix(1_700_000_090, 0).UTC().Format(http.TimeFormat))
				w.WriteHeader(503)
			}
		}, 1, 2, "json at 127.0.0.1: it answers 503 Service Unavailable", 90 * time.Second, 90 * time.Second, 0},
		{"away for a year", func(w http.ResponseWriter, n int) {
			if n == 1 {
				w.Header().Set("Retry-After", "31536000")
				w.WriteHeader(503)
			}
		}, 1, 2, "json at 127.0.0.1: it answers 503 Service Unavailable", longestAsked, longestAsked, 0},
		{"nonsense", func(w http.ResponseWriter, n int) {
			if n == 1 {
				w.Header().Set("Retry-After", "-NaN soon")
				w.WriteHeader(503)
			}
		}, 1, 2, "json at 127.0.0.1: it answers 503 Service Unavailable", time.Second / 2, time.Second, 0},
		{"not here", func(w http.ResponseWriter, n int) { http.Error(w, "SECRET-PATH is unknown", 404) }, 0, 1, "json at 127.0.0.1: it answers 404 Not Found", 0, 0, 0},
	} {
		var attempts atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { tc.answer(w, int(attempts.Add(1))) }))
		var log notebook
		c := newFakeClock()
		p := hostedAt(server, c, log.add)
		tellAll(t, p, note(1, notify.Begins))
		server.Close()
		n := p.sinkCounts()
		if n.Sent != tc.sent || n.Refused != 1-tc.sent || tc.attempts > 0 && int(attempts.Load()) != tc.attempts || int(n.Retried) != len(c.slept) {
			t.Errorf("%s: %+v after %d attempts and %d waits", tc.name, n, attempts.Load(), len(c.slept))
		}
		if log.String() != tc.log {
			t.Errorf("%s: log\ngot  %s\nwant %s, once", tc.name, &log, tc.log)
		}
		if tc.atMost > 0 && (len(c.slept) == 0 || c.slept[0] < tc.first || c.slept[0] > tc.atMost) {
			t.Errorf("%s: first wait %v, want %v to %v", tc.name, c.slept, tc.first, tc.atMost)
		}
		if total := c.at.Sub(time.Unix(1_700_000_000, 0)); total < tc.totalAbove || tc.totalAbove > 0 && total > tc.totalAbove+longestWait {
			t.Errorf("%s: tried for %v, want %v", tc.name, total, tc.totalAbove)
		}
	}
}

// TestHookFlood: a service that answers 500 is asked less and less often: not more than once a
// minute in the end.
func TestHookFlood(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }))
	defer server.Close()
	var log notebook
	c := newFakeClock()
	p := hostedAt(server, c, log.add)
	tellAll(t, p, note(1, notify.Begins))
	if len(c.slept) > 200 {
		t.Errorf("%d attempts in an hour", len(c.slept))
	}
	for i, d := range c.slept[8:] {
		if d < longestWait/2 || d > longestWait {
			t.Errorf("wait %d: %v", i+8, d)
		}
	}
}

// TestHookHangs: a service that accepts and never answers costs one attempt after the other.
func TestHookHangs(t *testing.T) {
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-over }))
	defer server.Close()
	defer close(over)
	var log notebook
	c := newFakeClock()
	p := hostedAt(server, c, log.add)
	p.sink.(*hookSink).client.Timeout = time.Millisecond // it never answers, however long one waits
	tellAll(t, p, note(1, notify.Begins))
	if n := p.sinkCounts(); n.Refused != 1 || n.Retried < 60 {
		t.Errorf("%+v", n)
	}
	if want := "json at 127.0.0.1: no answer in time"; log.String() != want {
		t.Errorf("log\ngot  %s\nwant %s, once", &log, want)
	}
}

// TestHookRedirects: nobody else gets the note or the token.
func TestHookRedirects(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, code) }))
		var log notebook
		p := hostedAt(server, newFakeClock(), log.add)
		tellAll(t, p, note(1, notify.Begins))
		server.Close()
		if n := p.sinkCounts(); n.Refused != 1 || n.Retried != 0 || elsewhere.Load() != 0 || !strings.Contains(log.String(), "redirects are not followed") {
			t.Errorf("%d: %+v, %d requests elsewhere, log %s", code, n, elsewhere.Load(), &log)
		}
		checkNoSecrets(t, &log)
	}
}

// TestHookEndless: of an answer without an end a little is read; endless headers are an error.
func TestHookEndless(t *testing.T) {
	var written atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		block := make([]byte, 1<<16)
		for {
			n, err := w.Write(block)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	}))
	var log notebook
	p := hostedAt(server, newFakeClock(), log.add)
	tellAll(t, p, note(1, notify.Begins))
	server.Close()                                                   // waits for the handler, which ends when its client has gone
	if n := p.sinkCounts(); n.Sent != 1 || written.Load() > 64<<20 { // what the buffers of the kernel take
		t.Errorf("%+v, %d bytes read", n, written.Load())
	}
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X", strings.Repeat("x", 1<<20))
	}))
	defer server.Close()
	p = hostedAt(server, newFakeClock(), log.add)
	tellAll(t, p, note(1, notify.Begins))
	if n := p.sinkCounts(); n.Sent != 0 || !strings.Contains(log.String(), "headers exceeded") {
		t.Errorf("headers of a megabyte: %+v, log %s", n, &log)
	}
	checkNoSecrets(t, &log)
}

// TestHookAway: nobody listens.
func TestHookAway(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	var log notebook
	p := hostedAt(server, newFakeClock(), log.add)
	tellAll(t, p, note(1, notify.Begins))
	if n := p.sinkCounts(); n.Refused != 1 || !strings.Contains(log.String(), "connection refused") {
		t.Errorf("%+v, log %s", n, &log)
	}
	checkNoSecrets(t, &log)
}

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
