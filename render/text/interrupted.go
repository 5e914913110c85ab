package text

import (
	"qsniff/finding"
	"qsniff/internal/digits"
	"qsniff/render/tally"
)

// writeInterrupted is the first line where somebody ended the run: nothing below it is about
// the rest of the input.
func (p *statsPage) writeInterrupted() { p.dst = AppendInterrupted(p.dst, &p.s.Run, p.opt) }

// AppendInterrupted appends a line that says how far a run came that somebody ended, and
// nothing after any other.
func AppendInterrupted(dst []byte, run *tally.Run, opt Options) []byte {
	if !run.Interrupted {
		return dst
	}
	o := opt.withDefaults()
	s := o.Palette.severity[finding.Warn]
	dst = append(dst, s.on...)
	dst = appendWrapped(dst, []byte("Interrupted after "+digits.Extent(run.Packets, run.Read, run.Size)), 0, o.Width)
	return append(append(dst, s.off...), '\n')
}
