package messenger

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"qsniff/internal/monitor/notify"
)

// hookSink sends notes to a service. What may be shown of its URL is the host.
type hookSink struct {
	hook   atomic.Pointer[notify.Hook] // a reload changes it
	client *http.Client
	now    func() time.Time
}

// newHook returns the sink of a hook. roots are the authorities that servers' certificates are
// checked by.
func newHook(h notify.Hook, roots *x509.CertPool, now func() time.Time) *hookSink {
	dialer := &net.Dialer{Timeout: requestTime, Resolver: &net.Resolver{PreferGo: true}} // the C library's loads more of itself when it is asked
	s := &hookSink{now: now, client: &http.Client{
		Timeout: requestTime,
		// A redirect is an answer like any other: the body, and a token, are for this host only.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			MaxResponseHeaderBytes: longestAnswer, DisableKeepAlives: true, DisableCompression: true,
		},
	}}
	s.hook.Store(&h)
	return s
}

func (s *hookSink) name() string { h := s.hook.Load(); return h.Service + " at " + h.Host() }

func (s *hookSink) close() error { return nil }

// send sends a note once.
func (s *hookSink) send(ctx context.Context, n *notify.Note, lost uint64) error {
	req, err := makeRequest(s.hook.Load(), n, lost)
	if err != nil {
		return &failure{err: withoutURL(err), isFinal: true}
	}
	answer, err := s.client.Do(req.WithContext(ctx))
	if err != nil {
		return withoutURL(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, longestAnswer) // so that the service is not cut off while it answers
	return s.judge(answer)
}

// judge returns the error that an answer means, if any. Of its text nothing is shown.
func (s *hookSink) judge(answer *http.Response) error {
	code := answer.StatusCode
	err := fmt.Errorf("it answers %d %s", code, http.StatusText(code))
	switch {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return &failure{err: fmt.Errorf("%w, and redirects are not followed", err), isFinal: true}
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		return &failure{err: err, wait: s.retryAfter(answer.Header.Get("Retry-After"))}
	}
	return &failure{err: err, isFinal: true}
}

// retryAfter returns the time that a header names, in seconds or as a date; 0 if it names none.
func (s *hookSink) retryAfter(value string) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil { // Discord has fractions
		return time.Duration(min(max(seconds, 0), longestAsked.Seconds()) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(s.now()))
	}
	return 0
}

// withoutURL returns an error of package http without the URL, which is a secret.
func withoutURL(err error) error {
	var e *url.Error
	if errors.As(err, &e) {
		if e.Timeout() {
			return errors.New("no answer in time")
		}
		return e.Err
	}
	return err
}

// makeRequest returns the request that brings a note to a service.
func makeRequest(h *notify.Hook, n *notify.Note, lost uint64) (*http.Request, error) {
	x, err := render(h, n, lost)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(x.method, x.url, bytes.NewReader(x.body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "qsniff")
	if h.Token != "" {
		req.Header.Set("Authorization", "Bearer "+h.Token)
	}
	return req, nil
}

// loadHooks reads the file of services, if one is named. From then on the services in the
// configuration and in the file get notes. One that got notes before keeps those that wait for it, and
// the record of those that it got; with a new address at the same host, or a new token, it is still
// the same one. An error leaves all as it was.
func (s *server) loadHooks(name string) error {
	next := slices.Clone(s.config.Hooks)
	if name != "" {
		hooks, err := notify.LoadHooks(name)
		if err != nil {
			return err
		}
		next = append(next, hooks...)
	}
	for i := range next {
		if h := &next[i]; s.ports != nil && !slices.Contains(s.ports, h.Port()) {
			return fmt.Errorf("%s: port %d of %s at %s takes a restart: the process has given up the right to it", name, h.Port(), h.Service, h.Host())
		}
	}
	roots, err := x509.SystemCertPool()
	if err != nil && len(next) > 0 {
		return err
	}
	s.hooks = next
	left := slices.DeleteFunc(s.list(), func(p *post) bool { _, is := p.sink.(*hookSink); return !is })
	claim := func(h notify.Hook, isSame func(a, b *notify.Hook) bool) bool {
		i := slices.IndexFunc(left, func(p *post) bool { return isSame(p.sink.(*hookSink).hook.Load(), &h) })
		if i >= 0 {
			left[i].sink.(*hookSink).hook.Store(&h)
			left = slices.Delete(left, i, i+1)
		}
		return i >= 0
	}
	next = slices.DeleteFunc(slices.Clone(next), func(h notify.Hook) bool {
		return claim(h, func(a, b *notify.Hook) bool { return *a == *b })
	})
	next = slices.DeleteFunc(next, func(h notify.Hook) bool {
		return claim(h, func(a, b *notify.Hook) bool { return a.Service == b.Service && a.Host() == b.Host() })
	})
	for _, p := range left {
		s.remove(p)
	}
	for _, h := range next {
		p := s.add(newHook(h, roots, s.opt.clock.now), 1)
		p.every = s.config.Every
		p.pace.every, p.pace.burst = sendEvery, sendBurst
		if s.start != nil {
			s.start(p)
		}
	}
	return nil
}

// remove ends a post. What waits for it is not delivered.
func (s *server) remove(p *post) {
	p.queue.Close()
	p.queue.Drop()
	p.stop()
	s.mu.Lock()
	s.posts = slices.DeleteFunc(s.posts, func(x *post) bool { return x == p })
	s.mu.Unlock()
	c := p.sinkCounts()
	s.log(fmt.Sprintf("%s: it is told no more; %d were not delivered", p.name, c.Lost+c.Refused+uint64(c.Waiting)))
}
