package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
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
