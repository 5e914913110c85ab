package pipeline

import (
	"qsniff/dissect"
	"qsniff/internal/console"
	"qsniff/reassembly/split"
	"qsniff/wire"
)

// maxHidden is how many stretches of unread parts are hidden one by one; behind
// that the rest is hidden whole.
const maxHidden = 64

// stretch is a range of a message's bytes.
type stretch struct{ lo, hi uint32 }

// parts adds the parts of a set from offset from on as fields that are shown and
// not read. The protocol of the split format finds the secrets in them, across the
// borders of parts. Where the form of the parts is a guess, as that without a size field
// is, two bytes of each may be its header: each begins anew then.
func (p *partition) parts(set *split.Set, from uint32, note string) {
	for i := 0; i < len(set.Parts); {
		j := i + 1
		for j < len(set.Parts) && set.Engine != wire.SourceOld && set.Parts[j].Number == set.Parts[j-1].Number+1 {
			j++
		}
		run := set.Parts[i:j]
		lo, hi := max(run[0].Off, from), run[len(run)-1].Off+run[len(run)-1].Len
		if lo < hi {
			p.hidden = p.secrets(p.hidden[:0], p.reg.SplitProto(set.Engine), stretch{lo, hi}, run[0].Number > 0 && !set.Compressed)
			for k := range run {
				p.bytesOfPart(stretch{max(run[k].Off, from), run[k].Off + run[k].Len}, note)
			}
		}
		i = j
	}
}

// secrets lists the stretches of a run of parts that must not be shown, in order. torn
// says that parts before the run are missing.
func (p *partition) secrets(dst []stretch, proto *dissect.Proto, run stretch, torn bool) []stretch {
	if !proto.Console {
		return dst
	}
	text := p.msg.Data[run.lo:run.hi]
	k := console.Finder{Said: p.ctx.Said, Cut: true}
	if torn {
		k.First = console.Torn(text)
	}
	for at := 0; at < len(text); {
		lo, hi := k.Next(text[at:])
		if lo < 0 {
			break
		}
		if len(dst) >= maxHidden {
			return append(dst, stretch{run.lo + uint32(at+lo), run.hi})
		}
		dst = append(dst, stretch{run.lo + uint32(at+lo), run.lo + uint32(at+hi)})
		at += hi
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
