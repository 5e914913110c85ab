package nft

import (
	"fmt"
	"time"

	"qsniff/flood"
	"qsniff/internal/digits"
	"qsniff/render"
)

// AppendFloods appends the rules against the incidents in f, as one file for nft -f. Each
// incident has a table of its own, and a comment with the command that removes it. An
// incident that no rule helps against is a comment, so that nobody takes its absence for
// calm.
func AppendFloods(dst []byte, f *render.Floods) []byte {
	if run := &f.Run; run.Interrupted {
		dst = append(dst, "# Interrupted after "+digits.Extent(run.Packets, run.Read, run.Size)+": more may have come.\n\n"...)
	}
	n := 0
	for i := range f.Incidents {
		in := &f.Incidents[i]
		if in.Level < flood.Warn || isReplaced(f.Incidents[i+1:], in) {
			continue
		}
		n++
		dst = fmt.Appendf(dst, "# %s: %s at %s, detected %s\n", in.Level, in.Kind, in.Target.String(),
			time.Unix(0, in.Detected).UTC().Format(time.RFC3339))
		if in.Advice.Rules == nil {
			dst = append(dst, "# no rule helps against this; qsniff floods says what does\n\n"...)
			continue
		}
		dst = append(append(dst, in.Advice.Rules.NFTables()...), '\n')
	}
	if n == 0 {
		dst = append(dst, "# no attack and no warning in this capture: no rules\n"...)
	}
	return dst
}

// isReplaced reports whether one of the later incidents has the same kind and target, and
// so the same table, which replaces this one when the file is loaded.
func isReplaced(later []flood.Incident, in *flood.Incident) bool {
	for i := range later {
		if l := &later[i]; l.Kind == in.Kind && l.Target == in.Target && l.Advice.Rules != nil {
			return true
		}
	}
	return false
}
