package serve

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"qsniff/internal/test/timing"
)

// startLive starts a server with a Live of documents that differ each time.
func startLive(t *testing.T, opt Options, change func(*Live)) (s *Server, l *Live, made *atomic.Int64) {
	t.Helper()
	made = new(atomic.Int64)
	l = NewLive(func(context.Context) ([]byte, error) {
		return fmt.Appendf(nil, `{"n":%d,"text":"%s"}`, made.Add(1), strings.Repeat("x", 5000)), nil
	})
	if change != nil {
		change(l)
	}
	s, _ = start(t, "127.0.0.1:0", opt)
	page, err := Page("/", "text/html", "default-src 'none'", []byte("<p>the page"))
	if err != nil {
		t.Fatal(err)
	}
	s.Handle("/", page)
	s.Handle("/events", http.HandlerFunc(l.ServeEvents))
	s.Handle("/report.json", http.HandlerFunc(l.ServeDocument))
	go l.Run(t.Context())
	return s, l, made
}

// get asks with header fields, as a browser that follows nothing.
func get(t *testing.T, s *Server, path string, header ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.Addr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	tr := &http.Transport{DisableCompression: true, DisableKeepAlives: true}
	got, err := tr.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { got.Body.Close() })
	return got
}

// TestDocument: one document for all who ask, with its version as tag, as it is or with gzip.
func TestDocument(t *testing.T) {
	s, _, made := startLive(t, Options{}, nil)
	plain := get(t, s, "/report.json")
	text, _ := io.ReadAll(plain.Body)
	small := get(t, s, "/report.json", "Accept-Encoding", "br, gzip")
	if small.Header.Get("Content-Encoding") != "gzip" || small.ContentLength > 500 {
		t.Errorf("not small: %v", small.Header)
	}
	z, err := gzip.NewReader(small.Body)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := io.ReadAll(z); err != nil || string(same) != string(text) || !strings.HasPrefix(string(text), `{"n":1,`) {
		t.Errorf("got %q, %v, want %q", same, err, text)
	}
	tag := plain.Header.Get("ETag")
	if again := get(t, s, "/report.json", "If-None-Match", tag); again.StatusCode != http.StatusNotModified || again.Header.Get("ETag") != tag {
		t.Errorf("with its tag: %d", again.StatusCode)
	}
	if other := get(t, s, "/report.json", "If-None-Match", `"1"`); other.StatusCode != http.StatusOK || other.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("with another tag: %d", other.StatusCode)
	}
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
}

// TestNoDocument: why there is none is said, and the reason is not asked for each time.
func TestNoDocument(t *testing.T) {
	tries := 0
	s, _, _ := startLive(t, Options{}, func(l *Live) {
		l.make = func(context.Context) ([]byte, error) { tries++; return nil, errors.New("it stands still") }
	})
	for range 5 {
		got := get(t, s, "/report.json")
		if text, _ := io.ReadAll(got.Body); got.StatusCode != http.StatusServiceUnavailable || !strings.Contains(string(text), "it stands still") {
			t.Errorf("got %d %q", got.StatusCode, text)
		}
	}
	if tries != 1 {
		t.Errorf("tried %d times", tries)
	}
}

// nextVersion reads events up to a version.
func nextVersion(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			return strings.TrimSpace(v)
		}
	}
}

// TestEvents: a viewer is told of the newest version at once, and of newer ones; nothing is made once
// it has left.
func TestEvents(t *testing.T) {
	s, l, made := startLive(t, Options{}, nil)
	time.Sleep(documentEvery + documentEvery/4)
	if n := made.Load(); n != 0 {
		t.Errorf("made %d times for nobody", n)
	}
	got := get(t, s, "/events")
	r := bufio.NewReader(got.Body)
	one, two := nextVersion(t, r), nextVersion(t, r)
	if one >= two || len(one) != len(two) {
		t.Errorf("versions %s and %s", one, two)
	}
	if tag := get(t, s, "/report.json").Header.Get("ETag"); tag != `"`+two+`"` {
		t.Errorf("tag %s, version %s", tag, two)
	}
	got.Body.Close()
	timing.Await(t, "the viewer's end", func() bool { return l.Stats().Viewers == 0 })
	if x := l.Stats(); x.Stalled != 0 || x.Refused != 0 {
		t.Errorf("%+v", x)
	}
}

// TestStalledViewers: two viewers that stop reading are dropped after their lease, and others are
// served meanwhile.
func TestStalledViewers(t *testing.T) {
	s, l, _ := startLive(t, Options{}, func(l *Live) { l.lease, l.leave = time.Second, 100*time.Millisecond })
	var stalled []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.WriteString(c, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		stalled = append(stalled, c)
	}
	timing.Await(t, "viewers", func() bool { return l.Stats().Viewers == 2 })
	nextVersion(t, bufio.NewReader(get(t, s, "/events").Body))
	timing.Await(t, "the end of those that stall", func() bool { return l.Stats().Stalled >= 2 })
	for _, c := range stalled {
		_ = c.SetReadDeadline(time.Now().Add(timing.Patience))
		text, err := io.ReadAll(c)
		if !strings.Contains(string(text), "event: again\n") || err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("got %q, %v", text, err)
		}
	}
}

// TestUnreadEvents: a viewer whose buffers are full holds up nobody, and its write has an end.
func TestUnreadEvents(t *testing.T) {
	a, b := net.Pipe() // without a buffer: nothing is taken
	defer a.Close()
	l := NewLive(func(context.Context) ([]byte, error) { return []byte("{}"), nil })
	ended := make(chan struct{})
	h := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.ServeEvents(w, r) }), ReadTimeout: headerWait}
	h.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			close(ended)
		}
	}
	go func() { _ = h.Serve(&oneConn{c: b, done: ended}) }()
	if _, err := io.WriteString(a, "GET /events HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(eventWait + timing.Patience):
		t.Fatal("it is written to for ever")
	}
	if x := l.Stats(); x.Stalled != 1 || x.Viewers != 0 {
		t.Errorf("%+v", x)
	}
}

// oneConn is a listener of one connection.
type oneConn struct {
	c    net.Conn
	done <-chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.c; c != nil {
		l.c = nil
		return c, nil
	}
	<-l.done
	return nil, net.ErrClosed
}
func (l *oneConn) Close() error   { return nil }
func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// TestMostViewers: further viewers are refused, and counted.
func TestMostViewers(t *testing.T) {
	s, l, _ := startLive(t, Options{}, nil)
	for range maxViewers {
		nextVersion(t, bufio.NewReader(get(t, s, "/events").Body))
	}
	if got := get(t, s, "/events"); got.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", got.StatusCode)
	}
	if got := get(t, s, "/report.json"); got.StatusCode != http.StatusOK {
		t.Errorf("the document: %d", got.StatusCode)
	}
	if x := l.Stats(); x.Viewers != maxViewers || x.Refused != 1 {
		t.Errorf("%+v", x)
	}
}

// TestCookie: a browser gets a cookie for the token, by the address of the page only, and it is not
// the token; it ends with it.
func TestCookie(t *testing.T) {
	s, _, _ := startLive(t, Options{Token: []byte(token)}, nil)
	for _, path := range []string{"/", "/?token=", "/?token=" + token + "x", "/report.json?token=" + token, "/events?token=" + token} {
		if got := get(t, s, path); got.StatusCode != http.StatusUnauthorized || got.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %v", path, got.StatusCode, got.Header)
		}
	}
	got := get(t, s, "/?token="+token)
	cookie := got.Header.Get("Set-Cookie")
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != "/" || strings.Contains(cookie, token) ||
		!strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Fatalf("%d %v", got.StatusCode, got.Header)
	}
	value, _, _ := strings.Cut(cookie, ";")
	for cookie, want := range map[string]int{value: 200, "other=1; " + value: 200, value + "0": 401, "qsniff=": 401, "qsniff=" + token: 401} {
		if got := get(t, s, "/", "Cookie", cookie); got.StatusCode != want {
			t.Errorf("%s: %d, want %d", cookie, got.StatusCode, want)
		}
	}
	s.SetToken([]byte("another-token-that-is-long"))
	if got := get(t, s, "/", "Cookie", value); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("after the token was replaced: %d", got.StatusCode)
	}
}

// TestPage: what browsers are told about the page, and that it is no other one.
func TestPage(t *testing.T) {
	s, _, _ := startLive(t, Options{}, nil)
	got := get(t, s, "/", "Accept-Encoding", "gzip")
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Content-Encoding": "gzip", "Content-Type": "text/html"} {
		if x := got.Header.Get(name); x != want {
			t.Errorf("%s: %q, want %q", name, x, want)
		}
	}
	if got := get(t, s, "/nowhere"); got.StatusCode != http.StatusNotFound {
		t.Errorf("another page: %d", got.StatusCode)
	}
}
