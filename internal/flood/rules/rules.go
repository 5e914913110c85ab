// Package rules has what files of rules are made of, whatever tool they are for, and the comments that each of
// them begins with; nft, iptables and edge below it write the files. None of them imports a renderer: a
// renderer may print a file of rules within a page.
package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"qsniff/internal/flood"
	"qsniff/internal/flood/advice"
	"qsniff/internal/flood/proof"
)

// Input is what a file of rules is made of.
type Input struct {
	Asked     Invocation
	Incidents []flood.Incident // with their advice, in the order in which they were detected
	Proven    *proof.Summary   // clients that pass first; nil: not asked for
	Expiry    time.Duration    // how long rules match after they were loaded; 0: until removed
	Cut       string           // how far a run came that the user ended: "7 packets"; empty: to the end
}

// Invocation is how incidents were asked for, quoted for a shell, so that output can name the
// commands that print more about the same captures.
type Invocation struct {
	Captures string // "evening.pcap 'my capture.pcap'"
	Flags    string // those that choose incidents and rules: "--servers 198.51.100.0/24"
	Proven   bool   // --proven, which the rules for nft have alone
	// IsLive is set of a capture that goes on: no command prints the same again, and a pipe that is fed by one
	// ends with it before anything is loaded.
	IsLive  bool
	Written string // the file that the rules for nft are written to meanwhile; empty: none
}

// LoadNFT returns the command that loads the rules for nft.
func (v *Invocation) LoadNFT() string {
	if v.IsLive {
		return "sudo nft -f " + cmp.Or(v.Written, "attack.nft")
	}
	return v.Floods("nft") + " | sudo nft -f -"
}

// RunScript returns the command that runs a script that -o names, with an argument if there is one.
func (v *Invocation) RunScript(form, arg string) string {
	words := []string{v.Floods(form), "| sudo sh"}
	if v.IsLive {
		words = []string{"sudo sh attack.sh"}
	} else if arg != "" {
		words = append(words, "-s")
	}
	if arg != "" {
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// Floods returns the command that prints these incidents, or rules against them, in a form
// that -o names.
func (v *Invocation) Floods(form string) string {
	if v.Proven && form == "nft" {
		form += " --proven"
	}
	words := []string{"qsniff floods -o", form, v.Flags, v.Files()}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// Files returns the captures for a command.
func (v *Invocation) Files() string { return cmp.Or(v.Captures, "FILE") }

// AppendInterrupted appends a comment if the run did not come to the end.
func AppendInterrupted(dst []byte, f *Input) []byte {
	if f.Cut != "" {
		return fmt.Appendf(dst, "# Interrupted after %s: more may have come.\n#\n", f.Cut)
	}
	return dst
}

// AppendNone appends comments in place of rules where there are none.
func AppendNone(dst []byte, f *Input) []byte {
	dst = AppendInterrupted(dst, f)
	dst = append(dst, "# No rules: to load this changes nothing, and what is loaded stays.\n"...)
	return AppendList(dst, f)
}

// AppendExpiry appends a comment that says how long the rules match.
func AppendExpiry(dst []byte, f *Input) []byte {
	if f.Expiry == 0 {
		return append(dst, "# expiry: none; these rules match until they are removed\n"...)
	}
	return fmt.Appendf(dst, "# expiry: %s after loading the rules match nothing any more\n", advice.FormatExpiry(f.Expiry))
}

// AppendList appends a comment for each warning and alert: what its rules do, or that
// there are none.
func AppendList(dst []byte, f *Input) []byte {
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
