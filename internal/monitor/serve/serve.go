// Package serve answers over HTTP, for readers only: it has no way to change anything, and nothing
// in it depends on what it serves. Handlers of others are added before it begins.
//
// A client may be hostile. There are limits on connections, on headers and on time; a
// reader that stalls costs itself and no one else. Requests must name the server in Host by one of
// its names, so that no page in a browser can read it by a name of its own (DNS rebinding). Bound
// to anything but loopback it wants a token.
package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"
)

// Options are how a Server is reached.
type Options struct {
	// Hosts are names of the server besides its address and localhost, without a port.
	Hosts []string
	// Token, if not empty, is what requests must bring: Authorization: Bearer TOKEN, or the
	// cookie that GET /?token=TOKEN sets. It is not logged.
	Token []byte
	// TLS, if not nil, encrypts.
	TLS *tls.Config
	// Health reports why the program is not well; nil: it is.
	Health func() error
	// Log gets what goes wrong.
	Log *slog.Logger
}

// Server answers requests on one listener.
type Server struct {
	opt   Options
	mux   *http.ServeMux
	lis   *limitedListener
	http  http.Server
	ready atomic.Bool
	hosts map[string]bool
	token tokenSum
	stats struct{ requests, host, token, method atomic.Uint64 }
}

// Stats counts what came.
type Stats struct {
	Open      int64  // connections
	Refused   uint64 // connections beyond MaxConns
	Displaced uint64 // connections that were closed for newer ones, before a request on them was let in
	Requests  uint64 // all of them
	// Requests that were refused, because their Host is not the server's, their token is missing
	// or wrong, or their method is neither GET nor HEAD.
	BadHost, BadToken, BadMethod uint64
}

// New returns a server on a listener, which it owns. It refuses one that others than this
// machine reach without a token.
func New(l net.Listener, opt Options) (*Server, error) {
	if !IsLoopback(l) && len(opt.Token) == 0 {
		return nil, ErrNoToken
	}
	s := &Server{opt: opt, mux: http.NewServeMux(), lis: newLimitedListener(l), hosts: hostsOf(l, opt.Hosts)}
	s.token.store(opt.Token)
	s.http = http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: headerWait, ReadTimeout: headerWait, WriteTimeout: writeWait,
		IdleTimeout: idleWait, MaxHeaderBytes: maxHeader, ErrorLog: slog.NewLogLogger(opt.Log.Handler(), slog.LevelDebug), TLSConfig: opt.TLS,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }}
	s.mux.HandleFunc("/healthz", s.serveHealth)
	s.mux.HandleFunc("/readyz", s.serveReady)
	return s, nil
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// ErrNoToken is the error of New for a listener that others reach, and no token.
var ErrNoToken = errors.New("others than this machine can reach it, and there is no token")

// Handle adds a handler for a path, as http.ServeMux has it. It gets GET and HEAD only, from
// those who may ask. It is called before Serve.
func (s *Server) Handle(path string, h http.Handler) { s.mux.Handle(path, h) }

// Serve answers until Close. It returns nil then, else why it ended.
func (s *Server) Serve() error {
	var err error
	if s.opt.TLS != nil {
		err = s.http.ServeTLS(s.lis, "", "")
	} else {
		err = s.http.Serve(s.lis)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// SetReady sets whether /readyz reports that the program does what it is for.
func (s *Server) SetReady(is bool) { s.ready.Store(is) }

// WantsToken reports whether requests must bring a token.
func (s *Server) WantsToken() bool { return s.token.sum.Load() != nil }

// SetToken replaces the token of Options, where there is one, by another. Requests that are under
// way keep the right they had.
func (s *Server) SetToken(token []byte) {
	if s.WantsToken() && len(token) > 0 {
		s.token.store(token)
	}
}

// Close ends the server: answers under way have closeWait.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
}

// Stats returns what came so far.
func (s *Server) Stats() Stats {
	n := &s.stats
	s.lis.mu.Lock()
	defer s.lis.mu.Unlock()
	return Stats{Open: int64(s.lis.open), Refused: s.lis.refused, Displaced: s.lis.displaced, Requests: n.requests.Load(),
		BadHost: n.host.Load(), BadToken: n.token.Load(), BadMethod: n.method.Load()}
}

// Addr returns where the server is reached.
func (s *Server) Addr() net.Addr { return s.lis.Addr() }

// serve checks a request, and passes it on.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.stats.requests.Add(1)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	switch {
	case !s.isNamed(r.Host):
		s.stats.host.Add(1)
		http.Error(w, "this server has no such name: ask by its address, or name it with --host", http.StatusMisdirectedRequest)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		s.stats.method.Add(1)
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "nothing can be changed here", http.StatusMethodNotAllowed)
	case s.token.enter(w, r):
	case r.URL.Path == "/healthz" && isLocal(r):
		s.serveHealth(w, r)
	case !s.token.allows(r):
		s.stats.token.Add(1)
		h.Set("Connection", "close") // it takes no place of those that bring one
		h.Set("WWW-Authenticate", `Bearer realm="qsniff"`)
		http.Error(w, "a token is wanted: Authorization: Bearer TOKEN; in a browser: /?token=TOKEN", http.StatusUnauthorized)
	default:
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			admit(c)
		}
		s.mux.ServeHTTP(w, r)
	}
}

// isLocal reports whether this machine sent a request: from a loopback address, from the address that it
// asks, or over a Unix socket. Units and containers ask for health where they have no token.
func isLocal(r *http.Request) bool {
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		_, isUnix := r.Context().Value(http.LocalAddrContextKey).(*net.UnixAddr)
		return isUnix
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	ip := remote.Addr().Unmap()
	return ip.IsLoopback() || local != nil && ip.WithZone("") == local.AddrPort().Addr().Unmap().WithZone("")
}

// serveHealth reports whether the program is well.
func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	if err := s.opt.Health(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ok\n")) // who does not read it does not want it
}

// serveReady reports whether the program is well and does what it is for.
func (s *Server) serveReady(w http.ResponseWriter, r *http.Request) {
	if !s.ready.Load() {
		http.Error(w, "not yet", http.StatusServiceUnavailable)
		return
	}
	s.serveHealth(w, r)
}

// Page returns a handler of text that stays the same, of a type. policy is the content security policy
// that browsers hold it to. Only the path itself is answered, not what is below it.
func Page(path, contentType, policy string, text []byte) (http.Handler, error) {
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		h := w.Header()
		h.Set("Content-Type", contentType)
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Frame-Options", "DENY")
		h.Set("Vary", "Accept-Encoding")
		writeSmall(w, r, text, small.Bytes())
	}), nil
}

// hostsOf returns the names of a server: those that were given, its address, or every address of
// the machine if it listens on all, and localhost where that leads to it.
func hostsOf(l net.Listener, given []string) map[string]bool {
	names := map[string]bool{}
	for _, g := range given {
		names[strings.ToLower(strings.Trim(g, "[]"))] = true
	}
	a, ok := l.Addr().(*net.TCPAddr)
	switch {
	case !ok: // a Unix socket: no page in a browser reaches it
		names["localhost"] = true
	case a.IP.IsUnspecified():
		names["localhost"] = true
		all, _ := net.InterfaceAddrs() // without them, --host names them
		for _, x := range all {
			if p, err := netip.ParsePrefix(x.String()); err == nil {
				names[p.Addr().Unmap().WithZone("").String()] = true
			}
		}
	default:
		names["localhost"] = a.IP.IsLoopback()
		if ip, ok := netip.AddrFromSlice(a.IP); ok {
			names[ip.Unmap().String()] = true
		}
	}
	return names
}

// isNamed reports whether the Host of a request is a name of the server, with any port: a port
// may be forwarded.
func (s *Server) isNamed(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if ip, err := netip.ParseAddr(name); err == nil {
		name = ip.Unmap().WithZone("").String()
	}
	return s.hosts[name]
}

// ParseToken returns the token in a file: its first line, without blanks around.
func ParseToken(text []byte) ([]byte, error) {
	line, _, _ := bytes.Cut(bytes.TrimSpace(text), []byte("\n"))
	line = bytes.TrimSpace(line)
	switch n := len(line); {
	case n < leastToken || n > mostToken:
		return nil, fmt.Errorf("a token has %d to %d characters, not %d", leastToken, mostToken, n)
	case bytes.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, fmt.Errorf("a token has no blanks, and nothing that is not ASCII")
	}
	return line, nil
}

// tokenSum is a hash of the token: its comparison takes as long for any other token, of any
// length.
type tokenSum struct {
	sum atomic.Pointer[[sha256.Size]byte] // nil: no token is wanted
}

// cookieName is the name of the cookie that a browser brings in place of the token.
const cookieName = "qsniff"

// cookieOf returns the value of the cookie, by the hash of the token: other ports of the host get it,
// too, and must not learn the token from it.
func cookieOf(sum *[sha256.Size]byte) string {
	twice := sha256.Sum256(sum[:])
	return hex.EncodeToString(twice[:])
}

// enter answers a request for a page with ?token=TOKEN, and reports whether it was one: who brings the
// token gets the cookie, and the address of the page without it. No page of another site can have
// it sent (SameSite), no script reads it (HttpOnly).
func (t *tokenSum) enter(w http.ResponseWriter, r *http.Request) bool {
	want := t.sum.Load()
	if want == nil || r.URL.Path != "/" || !isToken(r.URL.Query().Get("token"), want) {
		return false
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: cookieOf(want), Path: "/", HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteStrictMode})
	w.Header().Set("Location", "/")
	w.WriteHeader(http.StatusSeeOther)
	return true
}

// isToken compares a token with the hash of the one that is wanted.
func isToken(token string, want *[sha256.Size]byte) bool {
	got := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// store replaces the token; an empty one lets everybody in.
func (t *tokenSum) store(token []byte) {
	if len(token) == 0 {
		t.sum.Store(nil)
		return
	}
	sum := sha256.Sum256(token)
	t.sum.Store(&sum)
}

// allows reports whether a request brings the token, or its cookie, if one is wanted.
func (t *tokenSum) allows(r *http.Request) bool {
	want := t.sum.Load()
	if want == nil {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if isToken(strings.TrimSpace(token), want) && strings.EqualFold(scheme, "Bearer") {
		return true
	}
	cookie, err := r.Cookie(cookieName)
	return err == nil && subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(cookieOf(want))) == 1
}

const (
	// limit: maxHeader is how long the head of a request may be, in bytes. Chosen: what browsers send,
	// with cookies of other ports of the host.
	maxHeader = 16 << 10

	// limit: headerWait is how long it may take to come. Chosen: a slow line, and no more.
	headerWait = 5 * time.Second

	// limit: writeWait is how long an answer may take to be read, from the end of the head on. A handler
	// that streams sets its own deadlines.
	writeWait = 20 * time.Second

	// limit: idleWait is how long a connection may wait for the next request. Chosen: longer than a
	// minute, which is how often many scrape.
	idleWait = 90 * time.Second

	// limit: closeWait is how long the end waits for answers that are being written. Chosen: less than
	// systemd and people wait.
	closeWait = time.Second

	// limit: leastToken and mostToken are how long a token may be, in bytes. Chosen: 16 characters
	// cannot be guessed over a network; a key of 4096 bits in hexadecimal fits.
	leastToken = 16
	mostToken  = 1024
)
