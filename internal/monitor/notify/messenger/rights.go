package messenger

import (
	"fmt"
	"path/filepath"

	"qsniff/internal/base/sandbox"
	"qsniff/internal/monitor/notify"
)

// https is the port of services whose address has none.
const https = 443

// enterSandbox drops the rights that the sinks do not need, and returns in words which these are.
// Programs that are started have the rights of who started qsniff: they load rules of firewalls.
func (s *server) enterSandbox() (string, error) {
	c := &s.config
	switch {
	case c.NoSandbox:
		return "none (--no-sandbox)", nil
	case c.StartsPrograms():
		return "none: it starts programs, which have all rights of who started qsniff", nil
	}
	p, err := policyFor(c, s.hooks)
	if err != nil {
		return "", err
	}
	if s.fleet != nil {
		if err := s.fleet.addRights(&p, c.Fleet); err != nil {
			return "", err
		}
	}
	s.ports = p.Connect
	if p.User != nil { // this user could not open the file again
		for _, x := range s.posts {
			if f, ok := x.sink.(*fileSink); ok {
				if err := f.f.Chown(p.User.UID, p.User.GID); err != nil {
					return "", err
				}
			}
		}
	}
	status, err := sandbox.Enter(p)
	return status.String(), err
}

// addRights adds what it takes to reach the broker, and to read credentials again and the spool. Whoever
// replaces a file makes another one of its name, so the right is one to the folder.
func (f *fleetPost) addRights(p *sandbox.Policy, c *notify.Fleet) error {
	p.AllowNames()
	for _, b := range f.brokers {
		p.Connect = append(p.Connect, b.Port)
	}
	for _, file := range []string{c.Creds, c.CA} {
		if file != "" {
			p.Read = append(p.Read, filepath.Dir(file))
		}
	}
	if c.Spool == "" {
		return nil
	}
	p.Read, p.Write = append(p.Read, c.Spool), append(p.Write, c.Spool)
	owner, err := sandbox.OwnerOf(c.Spool)
	switch {
	case err != nil:
		return err
	case p.User == nil && len(p.Write) == 1:
		p.User = owner
	case (p.User == nil) != (owner == nil) || owner != nil && *p.User != *owner:
		return fmt.Errorf("%s and %s have different owners: without root's rights one of them could not be written", p.Write[0], c.Spool)
	}
	return nil
}

// policyFor returns what the sinks still need, and other services at the usual port.
func policyFor(c *notify.Config, hooks []notify.Hook) (p sandbox.Policy, err error) {
	if c.File != "" {
		p.Write = []string{filepath.Dir(c.File)}
		if p.User, err = sandbox.OwnerOf(p.Write[0]); err != nil {
			return p, err
		}
	}
	for _, socket := range []string{c.Syslog, c.Journal} {
		if socket == "" {
			continue
		}
		path, err := filepath.EvalSymlinks(socket)
		if err != nil {
			return p, err
		}
		p.Sockets = append(p.Sockets, filepath.Dir(path))
	}
	if len(hooks) == 0 && c.HooksFile == "" {
		return p, nil
	}
	p.AllowNames()
	if c.HooksFile != "" {
		p.Read = append(p.Read, filepath.Dir(c.HooksFile))
	}
	p.Connect = append(p.Connect, https)
	for i := range hooks {
		p.Connect = append(p.Connect, hooks[i].Port())
	}
	return p, nil
}
