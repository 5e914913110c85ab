// Package ci renders findings for those who look at the captures of a test suite: as a log in SARIF 2.1.0, which code hosts and editors
// show beside the files, and as workflow commands of GitHub Actions, which annotate a run. It is not for reading: what a
// capture comes to, package text prints.
package ci

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"qsniff/internal/base/display"
	"qsniff/internal/render"
	"qsniff/internal/track/stats"
)

// Capture is a capture with its findings.
type Capture struct {
	Name string // path of the file
	*render.Findings
}

// uri returns the path of a file as a reference in a URI: relative to the folder that qsniff ran in, or absolute.
func uri(name string) string {
	u := url.URL{Path: filepath.ToSlash(filepath.Clean(name))}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return u.String()
}

// visible returns text that can have parts from the network: nothing in it turns or hides text where it is shown.
func visible(b []byte) string { return string(display.AppendVisible(nil, b)) }

// sentence returns a finding in words, with the ends that it is about.
func sentence(r *stats.Repeats) string {
	var b strings.Builder
	b.WriteString(visible(r.AppendText(nil)))
	if s := end(r.Server); s != "" {
		b.WriteString("; server " + s)
	}
	if s := end(r.Client); s != "" {
		b.WriteString("; client " + s)
	}
	return b.String()
}

// end returns an end of a flow, without a port where it has several, or "".
func end(a netip.AddrPort) string {
	switch {
	case !a.IsValid():
		return ""
	case a.Port() == 0:
		return a.Addr().String()
	}
	return a.String()
}
