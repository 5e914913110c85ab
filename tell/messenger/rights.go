package messenger

import (
	"os"
	"path/filepath"
	"slices"

	"qsniff/internal/sandbox"
	"qsniff/tell"
)

// dns is the port of servers of names, UDP and TCP; https that of services, where their address has
// none.
const dns, https = 53, 443

// readable are folders and files that are read when a name is resolved. All of /etc is among them:
// the file with the servers of names is replaced by another one when these change, to which a rule
// for the file itself would not apply.
var readable = []string{"/etc", "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager", "/run/connman"}

// enterSandbox gives up what the sinks do not need, and returns what that is in words. Programs
// that are started have the rights of who started qsniff: they load rules of firewalls.
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
	s.ports = p.Connect
	if p.User != nil { // who could not open the file again
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

// policyFor returns what the sinks still need, and other services at the usual port.
func policyFor(c *tell.Config, hooks []tell.Hook) (p sandbox.Policy, err error) {
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
	for _, path := range append(slices.Clone(readable), filepath.Dir(c.HooksFile)) {
		if _, err := os.Stat(path); err == nil {
			p.Read = append(p.Read, path)
		}
	}
	p.Connect, p.SendUDP = []uint16{dns, https}, []uint16{dns}
	for i := range hooks {
		p.Connect = append(p.Connect, hooks[i].Port())
	}
	return p, nil
}
