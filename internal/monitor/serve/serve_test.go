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

// TestToken: nothing is shown without it but, on the machine itself, how the program is, and it is never logged.
func TestToken(t *testing.T) {
	s, log := start(t, "127.0.0.1:0", Options{Token: []byte(token)})
	for auth, want := range map[string]int{
		"Bearer " + token: 200, "bearer " + token: 200, "Bearer  " + token + " ": 200,
		"": 401, "Bearer": 401, "Bearer ": 401, "Basic " + token: 401, token: 401, "Bearer " + token + "x": 401, "Bearer " + token[1:]: 401,
	} {
		for _, path := range []string{"/page", "/healthz", "/nowhere"} {
			want := want
			switch {
			case want == 200 && path == "/nowhere":
				want = 404
			case path == "/healthz":
				want = 200
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

// dialFrom opens a connection from an address of the loopback interface.
func dialFrom(t *testing.T, s *Server, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// TestStalledReaders: connections that send nothing or half a request are bounded, in all and for an
// address, and closed after a time; for a newer one the oldest is closed; those that were let in stay.
func TestStalledReaders(t *testing.T) {
	s, _ := start(t, "127.0.0.1:0", Options{Token: []byte(token)})
	ask(t, s, "GET", "/page", "localhost", "Bearer "+token) // its connection stays open
	var conns []net.Conn
	stall := func(n int, from string) {
		for i := range n {
			c := dialFrom(t, s, from)
			if conns = append(conns, c); i%2 == 0 {
				_, _ = io.WriteString(c, "GET /page HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
			}
		}
	}
	stall(maxStrangersOf+3, "127.0.0.2")
	timing.Await(t, "the places of an address", func() bool { n := s.Stats(); return n.Open == maxStrangersOf+1 && n.Displaced == 3 })
	for i := range 9 {
		stall(maxStrangersOf, fmt.Sprintf("127.0.0.%d", 3+i))
	}
	const opened = 10*maxStrangersOf + 3
	timing.Await(t, "all places", func() bool {
		n := s.Stats()
		return n.Open == maxStrangers+1 && n.Displaced == opened-maxStrangers && n.Refused == 0
	})
	for range 3 {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		if got, _ := ask(t, s, "GET", "/page", "localhost", "Bearer "+token); got != 200 {
			t.Errorf("while others stall: got %d", got)
		}
	}
	for _, c := range conns[opened-3:] { // each is closed after headerWait
		_ = c.SetReadDeadline(time.Now().Add(headerWait + timing.Patience))
		if _, err := bufio.NewReader(c).ReadString(0); err != io.EOF && !errors.Is(err, net.ErrClosed) && !strings.Contains(err.Error(), "reset") {
			t.Errorf("a connection that stalls: %v", err)
		}
	}
	timing.Await(t, "the end of those that stall", func() bool { return s.Stats().Open <= 1 })
}

// TestPlacesTaken: connections that were let in take all places but those that nobody displaces them from; the next is refused.
func TestPlacesTaken(t *testing.T) {
	s, _ := start(t, "127.0.0.1:0", Options{Token: []byte(token)})
	for range MaxConns {
		c := dialFrom(t, s, "127.0.0.1")
		if _, err := io.WriteString(c, "GET /page HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+token+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, "200") {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	c := dialFrom(t, s, "127.0.0.2")
	_ = c.SetReadDeadline(time.Now().Add(timing.Patience))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("one more was served")
	}
	if n := s.Stats(); n.Open != MaxConns || n.Refused != 1 || n.Displaced != 0 {
		t.Errorf("got %+v", n)
	}
}

// TestHostOf: a /64 of IPv6 is one address.
func TestHostOf(t *testing.T) {
	at := func(ip string) string { return hostOf(&net.TCPAddr{IP: net.ParseIP(ip), Port: 1}).String() }
	if at("2001:db8:0:1::1") != at("2001:db8:0:1:ffff::2") || at("2001:db8:0:1::1") == at("2001:db8:0:2::1") ||
		at("192.0.2.1") == at("192.0.2.2") || at("::ffff:192.0.2.1") != "192.0.2.1/32" {
		t.Errorf("got %s, %s", at("2001:db8:0:1::1"), at("::ffff:192.0.2.1"))
	}
}

// TestConnectionFlood: readers with the token are served while others open connections as fast as they can, from
// their own address too.
func TestConnectionFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a processor for two seconds")
	}
	s, _ := start(t, "127.0.0.1:0", Options{Token: []byte(token)})
	stop, opened := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for ; ; n++ {
			select {
			case <-stop:
				opened <- n
				return
			default:
			}
			if c, err := net.Dial("tcp", s.Addr().String()); err == nil {
				_ = c.(*net.TCPConn).SetLinger(0) // no port waits after it
				time.AfterFunc(20*time.Millisecond, func() { c.Close() })
			}
		}
	}()
	served := 0
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: timing.Patience}
	for range 100 {
		r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.Addr().String()+"/page", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		if got, err := client.Do(r); err == nil {
			got.Body.Close()
			if got.StatusCode == 200 {
				served++
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	close(stop)
	n := <-opened
	t.Logf("%d of 100 served beside %d connections without a token: %+v", served, n, s.Stats())
	if served < 95 {
		t.Errorf("%d of 100 scrapes were served", served)
	}
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
