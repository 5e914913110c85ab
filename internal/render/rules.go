package render

import (
	"fmt"
	"strings"
	"time"

	"qsniff/internal/base/digits"
	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
)

// This file has the comments that files of rules for all tools begin with.

// AppendInterruptedRules appends a comment if the run did not come to the end.
func AppendInterruptedRules(dst []byte, f *Floods) []byte {
	if run := &f.Run; run.Interrupted {
		return fmt.Appendf(dst, "# Interrupted after %s: more may have come.\n#\n", digits.Extent(run.Packets, run.Read, run.Size))
	}
	return dst
}

// AppendNoRules appends comments in place of rules where there are none.
func AppendNoRules(dst []byte, f *Floods) []byte {
	dst = AppendInterruptedRules(dst, f)
	dst = append(dst, "# No rules: to load this changes nothing, and what is loaded stays.\n"...)
	return AppendRuleList(dst, f)
}

// AppendExpiry appends a comment that says how long the rules match.
func AppendExpiry(dst []byte, f *Floods) []byte {
	if f.Expiry == 0 {
		return append(dst, "# expiry: none; these rules match until they are removed\n"...)
	}
	return fmt.Appendf(dst, "# expiry: %s after loading the rules match nothing any more\n", advice.FormatExpiry(f.Expiry))
}

// AppendRuleList appends a comment for each warning and alert: what its rules do, or that
// there are none.
func AppendRuleList(dst []byte, f *Floods) []byte {
	n := 0
	for i := range f.Incidents {
		in := &f.Incidents[i]
		if in.Level < flood.Warn {
			continue
		}
		n++
		dst = fmt.Appendf(dst, "#\n# %s: %s at %s, detected %s\n", in.Level, in.Kind, in.Target.String(),
			time.Unix(0, in.Detected).UTC().Format(time.RFC3339))
		switch {
		case in.Advice.Rules == nil:
			dst = append(dst, "#   no rule helps against this; qsniff floods says what does\n"...)
		case advice.IsReplaced(f.Incidents[i+1:], in):
			dst = append(dst, "#   see the later one of this kind at this target\n"...)
		default:
			dst = appendLines(dst, in.Advice.Rules)
		}
	}
	if n == 0 {
		dst = append(dst, "#\n# There is no attack and no warning in this capture.\n"...)
	}
	return dst
}

// appendLines appends comments with what rules do.
func appendLines(dst []byte, r flood.Rules) []byte {
	dst = fmt.Appendf(dst, "#   %s:\n", r.Scope())
	for _, x := range r.Lines() {
		dst = AppendComment(dst, "#   - ", "#     ", x.Text())
	}
	return dst
}

// commentWidth is the width in columns of comments: it leaves room for a mark of a diff.
const commentWidth = 78

// AppendComment appends text as a comment in lines of at most commentWidth columns.
func AppendComment(dst []byte, first, more, text string) []byte {
	line := first
	for i, w := range strings.Fields(text) {
		switch {
		case i == 0:
			line += w
		case len(line)+1+len(w) > commentWidth:
			dst = append(append(dst, line...), '\n')
			line = more + w
		default:
			line += " " + w
		}
	}
	return append(append(dst, line...), '\n')
}
