package serve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"qsniff/internal/test/timing"
)

const token = "0123456789abcdef-secret"

// start starts a server with a page at /page, on loopback unless addr says otherwise.
func start(t *testing.T, addr string, opt Options) (s *Server, log *bytes.Buffer) {
	t.Helper()
	l, err := Listen(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	log = new(bytes.Buffer)
	opt.Log = slog.New(slog.NewTextHandler(&lockedWriter{w: log}, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if opt.Health == nil {
		opt.Health = func() error { return nil }
	}
	if s, err = New(l, opt); err != nil {
		t.Fatal(err)
	}
	s.Handle("/page", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a page") }))
	ended := make(chan error)
	go func() { ended <- s.Serve() }()
	t.Cleanup(func() {
		s.Close()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, log
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

// ask sends a request, and returns status and body.
func ask(t *testing.T, s *Server, method, path, host, auth string) (int, string) {
	t.Helper()
	port := s.Addr().(*net.TCPAddr).Port
	r, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Host = host; auth != "" {
		r.Header.Set("Authorization", auth)
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.StatusCode, string(b)
}

// TestHost: only those who know the server by a name of its own are answered.
func TestHost(t *testing.T) {
	s, _ := start(t, "127.0.0.1:0", Options{Hosts: []string{"Monitor.example"}})
	for host, want := range map[string]int{
		"127.0.0.1": 200, "127.0.0.1:9477": 200, "localhost": 200, "LOCALHOST:1": 200, "localhost.": 200, "monitor.example:80": 200, "[::ffff:127.0.0.1]": 200,
		"evil.example": 421, "evil.example:9477": 421, "127.0.0.1.evil.example": 421, "127.0.0.2": 421, "[::1]": 421, "monitor.example.evil.example": 421, "x@localhost": 421, "198.51.100.7": 421,
	} {
		if got, body := ask(t, s, "GET", "/page", host, ""); got != want || (got == 200) != (body == "a page") {
			t.Errorf("%q: got %d %q, want %d", host, got, body, want)
		}
	}
	if n := s.Stats().BadHost; n != 8 {
		t.Errorf("%d counted, want 8", n)
	}
}

// TestWide: a listener on all addresses has all of them as names, and takes a token.
func TestWide(t *testing.T) {
	l, err := Listen(t.Context(), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(l, Options{Log: slog.Default()}); !errors.Is(err, ErrNoToken) {
		t.Errorf("without a token: %v", err)
	}
	l.Close()
	s, _ := start(t, "0.0.0.0:0", Options{Token: []byte(token)})
	if got, _ := ask(t, s, "GET", "/page", "127.0.0.1", "Bearer "+token); got != 200 {
		t.Errorf("got %d", got)
	}
	if got, _ := ask(t, s, "GET", "/page", "evil.example", "Bearer "+token); got != 421 {
		t.Errorf("got %d", got)
	}
}

// TestToken: nothing is shown without it, not even how the program is, and it is never logged.
func TestToken(t *testing.T) {
	s, log := start(t, "127.0.0.1:0", Options{Token: []byte(token)})
	for auth, want := range map[string]int{
		"Bearer " + token: 200, "bearer " + token: 200, "Bearer  " + token + " ": 200,
		"": 401, "Bearer": 401, "Bearer ": 401, "Basic " + token: 401, token: 401, "Bearer " + token + "x": 401, "Bearer " + token[1:]: 401,
	} {
		for _, path := range []string{"/page", "/healthz", "/nowhere"} {
			want := want
			if want == 200 && path == "/nowhere" {
				want = 404
			}
			if got, body := ask(t, s, "GET", path, "localhost", auth); got != want || strings.Contains(body, token) {
				t.Errorf("%q, %s: got %d %q, want %d", auth, path, got, body, want)
			}
		}
	}
	s.SetToken(nil)
	s.SetToken([]byte("another-token-that-is-long"))
	if got, _ := ask(t, s, "GET", "/page", "localhost", "Bearer "+token); got != 401 {
		t.Errorf("the old token: got %d", got)
	}
	if got, _ := ask(t, s, "GET", "/page", "localhost", "Bearer another-token-that-is-long"); got != 200 {
		t.Errorf("the new token: got %d", got)
	}
	if strings.Contains(log.String(), token) {
		t.Errorf("logged: %s", log)
	}
}

func TestParseToken(t *testing.T) {
	for text, want := range map[string]string{
		token: token, token + "\n": token, "  " + token + "\r\n# a comment\n": token,
		"": "", "short": "", strings.Repeat("x", 1025): "", "two words in one token": "", "ünicode-is-no-token-here": "",
	} {
		if got, err := ParseToken([]byte(text)); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

// TestReadOnly: nothing can be done.
func TestReadOnly(t *testing.T) {
	s, _ := start(t, "127.0.0.1:0", Options{})
	for method, want := range map[string]int{"GET": 200, "HEAD": 200, "POST": 405, "PUT": 405, "DELETE": 405, "PATCH": 405, "OPTIONS": 405} {
		if got, _ := ask(t, s, method, "/page", "localhost", ""); got != want {
			t.Errorf("%s: got %d, want %d", method, got, want)
		}
	}
}

// TestHealth: the two reports, and why.
func TestHealth(t *testing.T) {
	var wrong error
	s, _ := start(t, "127.0.0.1:0", Options{Health: func() error { return wrong }})
	check := func(path string, want int, word string) {
		t.Helper()
		if got, body := ask(t, s, "GET", path, "localhost", ""); got != want || !strings.Contains(body, word) {
			t.Errorf("%s: got %d %q, want %d %q", path, got, body, want, word)
		}
	}
	check("/healthz", 200, "ok")
	check("/readyz", 503, "not yet")
	s.SetReady(true)
	check("/readyz", 200, "ok")
	wrong = errors.New("it stands still")
	check("/healthz", 503, "it stands still")
	check("/readyz", 503, "it stands still")
}

// TestStalledReaders: connections that send nothing, or half a request, or never read, are bounded
// and closed, and others are served meanwhile.
func TestStalledReaders(t *testing.T) {
	s, _ := start(t, "127.0.0.1:0", Options{})
	var conns []net.Conn
	for i := range MaxConns - 1 {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
		if i%2 == 0 {
			_, _ = io.WriteString(c, "GET /page HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
		}
	}
	timing.Await(t, "connections", func() bool { return s.Stats().Open == int64(len(conns)) })
	if got, _ := ask(t, s, "GET", "/page", "localhost", ""); got != 200 {
		t.Errorf("while others stall: got %d", got)
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	timing.Await(t, "the reader's end", func() bool { return s.Stats().Open == int64(len(conns)) })
	for range 10 { // one fits, the others are closed at once
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	timing.Await(t, "refusals", func() bool { return s.Stats().Refused >= 9 })
	for _, c := range conns[:4] { // each is closed after headerWait
		_ = c.SetReadDeadline(time.Now().Add(headerWait + timing.Patience))
		if _, err := bufio.NewReader(c).ReadString(0); err != io.EOF && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
			t.Errorf("a connection that stalls: %v", err)
		}
	}
	timing.Await(t, "the end of those that stall", func() bool { return s.Stats().Open <= 1 })
}

// TestLargeHead: a head that does not end is cut off.
func TestLargeHead(t *testing.T) {
	s, _ := start(t, "127.0.0.1:0", Options{})
	c, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go func() {
		_, _ = io.WriteString(c, "GET /page HTTP/1.1\r\nHost: localhost\r\nX: "+strings.Repeat("x", 1<<20)+"\r\n\r\n") // it may not be read
	}()
	_ = c.SetReadDeadline(time.Now().Add(timing.Patience))
	if line, err := bufio.NewReader(c).ReadString('\n'); err == nil && !strings.Contains(line, "431") {
		t.Errorf("got %q", line)
	}
}

// TestLimits: what the limits are for is asked of the server of net/http.
func TestLimits(t *testing.T) {
	s, _ := start(t, "127.0.0.1:0", Options{})
	if h := &s.http; h.ReadHeaderTimeout == 0 || h.ReadTimeout == 0 || h.WriteTimeout == 0 || h.IdleTimeout == 0 || h.MaxHeaderBytes == 0 {
		t.Errorf("no limit: %+v", h)
	}
}
