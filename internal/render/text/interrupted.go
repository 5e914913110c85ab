package text

import (
	"qsniff/dissect/finding"
	"qsniff/internal/base/digits"
	"qsniff/internal/render/tally"
)

// writeInterrupted writes the first line of a page if the user ended the run: nothing below
// it is about the rest of the input.
func (p *statsPage) writeInterrupted() { p.dst = AppendInterrupted(p.dst, &p.s.Run, p.opt) }

// AppendInterrupted appends a line with how far a run came that the user ended. It appends
// nothing after a run that came to its end.
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
