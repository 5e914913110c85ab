//go:build !js

package main

import (
	"cmp"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"qsniff/capture/file"
	"qsniff/capture/live"
	"qsniff/internal/monitor/notify/messenger"
)

// printCheck prints what would run, or returns why it would not. The port is not opened, nor are
// interfaces, as a monitor that is at work may have the one and its user the right to the other.
func (o *monitorOptions) printCheck(w io.Writer, args []string) error {
	sinks, err := o.checkPlaces(args)
	if err != nil {
		return err
	}
	what := "capture on " + strings.Join(o.interfaces, ", ")
	if !o.isLive() {
		what = "read " + args[0]
	}
	token, tls := "no token", "no encryption"
	if len(o.token) > 0 {
		token = "a token"
	}
	if o.web.Cert != "" {
		tls = "encrypted"
	}
	servers := cmp.Or(o.servers, "those that answer")
	_, err = fmt.Fprintf(w, "monitor would %s\nlisten:  %s, %s, %s\nservers: %s, at most %d that are not named\ntell:    %s\nfleet:   %s\n",
		what, o.web.Listen, token, tls, servers, o.maxServers, cmp.Or(strings.Join(sinks, ", "), "nobody"), o.fleet.describe())
	return err
}

// checkPlaces returns an error if a start would fail at what the options name: addresses,
// interfaces, files to read and to write, services. It returns the names of the sinks that would
// get notes of incidents.
func (o *monitorOptions) checkPlaces(args []string) (sinks []string, err error) {
	reg, err := newRegistry()
	if err != nil {
		return nil, err
	}
	if _, err = parseDecodeAs(o.as, reg); err != nil {
		return nil, err
	}
	for _, name := range o.interfaces {
		if err := live.CheckInterface(name); err != nil {
			return nil, err
		}
	}
	if !o.isLive() && !slices.Contains(args, stdin) {
		if err := checkReadable(args[0]); err != nil {
			return nil, err
		}
	}
	at, err := net.ResolveTCPAddr("tcp", o.web.Listen)
	if err != nil {
		return nil, &hintedError{fmt.Errorf("--listen %s: %w", o.web.Listen, err), "as in 127.0.0.1:9477, or :9477 for all addresses"}
	}
	if !at.IP.IsLoopback() && len(o.token) == 0 {
		return nil, o.web.NoToken()
	}
	if err := o.web.CheckTLS(at.IP.IsLoopback()); err != nil {
		return nil, err
	}
	switch {
	case o.keepOptions.write == "":
	case o.keepOptions.options().HasSeveralFiles():
		err = file.CheckFolder(filepath.Dir(o.keepOptions.write))
	default:
		err = file.CheckCreate(o.keepOptions.write, o.force)
	}
	if err != nil {
		return nil, err
	}
	c, err := o.Config()
	if err != nil {
		return nil, err
	}
	c.Fleet = o.fleet.config()
	return messenger.Check(c)
}

// checkReadable returns an error for a file or a folder that cannot be opened.
func checkReadable(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return &hintedError{err, "name a capture, or a folder that others write captures to"}
	}
	return f.Close()
}
