package pipeline

import (
	"bytes"

	"qsniff/dissect"
	"qsniff/internal/console"
	"qsniff/internal/splithdr"
	"qsniff/reassembly/split"
)

// maxHidden is how many stretches of unread parts are hidden one by one; behind
// that the rest is hidden whole.
const maxHidden = 64

// cutLine is how much of a part is hidden at most because its line began in a part
// that is missing: no password is longer. GoldSource alone sends console output
// over UDP.
const cutLine = 256

// stretch is a range of a message's bytes.
type stretch struct{ lo, hi uint32 }

// parts adds the parts of a set from offset from on as fields that are shown and
// not read. Output of a server's console is split too, and nobody looks for the
// passwords in what is not read: they are looked for here, across the borders of
// parts, and where a line began in a missing part the rest of it is hidden.
func (p *partition) parts(set *split.Set, from uint32, note string) {
	for i := 0; i < len(set.Parts); {
		j := i + 1
		for j < len(set.Parts) && set.Parts[j].Number == set.Parts[j-1].Number+1 {
			j++
		}
		run := set.Parts[i:j]
		lo, hi := max(run[0].Off, from), run[len(run)-1].Off+run[len(run)-1].Len
		if lo < hi {
			p.hidden = p.secrets(p.hidden[:0], stretch{lo, hi}, run[0].Number > 0 && set.Engine == splithdr.GoldSource)
			for k := range run {
				p.bytesOfPart(stretch{max(run[k].Off, from), run[k].Off + run[k].Len}, note)
			}
		}
		i = j
	}
}

// secrets lists the stretches of a run of parts that must not be shown, in order.
func (p *partition) secrets(dst []stretch, run stretch, cut bool) []stretch {
	at := run.lo
	if cut {
		head := p.msg.Data[run.lo:min(run.hi, run.lo+cutLine)]
		n := len(head)
		if i := bytes.IndexAny(head, "\n\x00"); i >= 0 {
			n = i
		}
		if n > 0 {
			at += uint32(n)
			dst = append(dst, stretch{run.lo, at})
		}
	}
	for at < run.hi {
		lo, hi := console.Secret(p.msg.Data[at:run.hi])
		if lo < 0 {
			break
		}
		if len(dst) >= maxHidden {
			return append(dst, stretch{at + uint32(lo), run.hi})
		}
		dst = append(dst, stretch{at + uint32(lo), at + uint32(hi)})
		at += uint32(hi)
	}
	return dst
}

// bytesOfPart adds one part as fields: shown, hidden, shown.
func (p *partition) bytesOfPart(part stretch, note string) {
	m, at := &p.msg, part.lo
	for _, h := range p.hidden {
		lo, hi := max(h.lo, at), min(h.hi, part.hi)
		if lo >= hi {
			continue
		}
		if at < lo {
			m.Append(&dissect.Part, at, lo-at, note)
		}
		m.Append(&dissect.HiddenPart, lo, hi-lo, note)
		at = hi
	}
	if at < part.hi {
		m.Append(&dissect.Part, at, part.hi-at, note)
	}
}
