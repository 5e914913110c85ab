package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
)

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
