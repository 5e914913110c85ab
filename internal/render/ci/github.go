package ci

import (
	"path/filepath"
	"strconv"
	"strings"

	"qsniff/dissect/finding"
)

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
