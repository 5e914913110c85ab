package messenger

import (
	"crypto/x509"
	"fmt"
	"slices"

	"qsniff/internal/monitor/notify"
)

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
