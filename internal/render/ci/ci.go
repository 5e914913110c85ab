// Package ci renders findings for those who look at the captures of a test suite: as a log in SARIF 2.1.0, which code hosts and editors
// show beside the files, and as workflow commands of GitHub Actions, which annotate a run. It is not for reading: what a
// capture comes to, package text prints.
package ci

import (
	"net/netip"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"qsniff/dissect/finding"
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

// commands are the workflow commands of severities. A normal event is not annotated: it is seen where debugging is on.
var commands = map[finding.Severity]string{finding.Chat: "debug", finding.Note: "notice", finding.Warn: "warning", finding.Error: "error"}

// What ends a command or a property is escaped, as @actions/core does.
var (
	escapeData     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	escapeProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// AppendCommands appends the findings of a capture as workflow commands of GitHub Actions, a line each, at their first frame.
func AppendCommands(dst []byte, c *Capture) []byte {
	for i := range c.Repeats {
		r := &c.Repeats[i]
		severity := r.Expert.Severity
		dst = append(append(dst, "::"...), commands[severity]...)
		text := sentence(r)
		if severity == finding.Chat {
			text = r.Expert.Code.ID + " in " + visible([]byte(c.Name)) + ": " + text
		} else {
			dst = append(append(dst, " file="...), escapeProperty.Replace(visible([]byte(filepath.ToSlash(filepath.Clean(c.Name)))))...)
			if len(r.Frames) > 0 {
				dst = strconv.AppendUint(append(dst, ",line="...), r.Frames[0], 10)
			}
			dst = append(append(dst, ",title="...), escapeProperty.Replace(r.Expert.Code.ID+", fault: "+r.Expert.Code.Fault.String())...)
			if r.Count > 1 {
				text += ", " + strconv.FormatUint(r.Count, 10) + " times"
			}
			if len(r.Frames) > 0 {
				text = "frame " + strconv.FormatUint(r.Frames[0], 10) + ": " + text
			}
		}
		dst = append(append(append(dst, "::"...), escapeData.Replace(text)...), '\n')
	}
	return dst
}
