package pipeline

import (
	"qsniff/dissect"
	"qsniff/internal/base/console"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

// maxHidden is how many stretches of unread parts are hidden one by one; after
// that the rest is hidden whole.
const maxHidden = 64

// stretch is a range of a message's bytes.
type stretch struct{ lo, hi uint32 }

// partFields adds parts that are shown and not dissected to a message, as fields.
type partFields struct {
	m      *dissect.Message
	hidden []stretch // of the run at work, in order
}

// addParts adds the parts of a set from offset from on, each with the note. If proto, the
// protocol of the split format, has a console, secrets in the parts are hidden, also those
// that reach across the border of two parts; said are the passwords of the flow. What
// follows a missing part, or one whose end the capture cut off, may begin within a secret.
// In the form without a size field, which may be a wrong guess, two bytes of each part may
// belong to its header: then each part is searched for secrets alone.
func (f *partFields) addParts(set *split.Set, proto *dissect.Proto, said *console.Passwords, from uint32, note string) {
	for i := 0; i < len(set.Parts); {
		j := i + 1
		for j < len(set.Parts) && set.Engine != wire.SourceOld && set.Parts[j].Number == set.Parts[j-1].Number+1 && !set.Parts[j-1].IsCut {
			j++
		}
		run := set.Parts[i:j]
		lo, hi := max(run[0].Off, from), run[len(run)-1].Off+run[len(run)-1].Len
		if lo < hi {
			f.hidden = f.hidden[:0]
			if proto.Console {
				f.hide(stretch{lo, hi}, said, run[0].Number > 0 && !set.Compressed, set.Disputed)
			}
			for k := range run {
				f.addPart(stretch{max(run[k].Off, from), run[k].Off + run[k].Len}, note)
			}
		}
		i = j
	}
}

// hide collects the stretches of a run of parts that must not be shown, in order.
// followsGap is set if bytes before the run are missing; isDisputed is dissect.Context's.
func (f *partFields) hide(run stretch, said *console.Passwords, followsGap, isDisputed bool) {
	text := f.m.Data[run.lo:run.hi]
	k := console.Finder{Passwords: said, IsCut: true}
	switch {
	case isDisputed:
		k.First.Hi = len(text)
	case followsGap:
		k.First = console.FindTorn(text)
	}
	for at := 0; at < len(text); {
		lo, hi := k.Next(text[at:])
		if lo < 0 {
			return
		}
		if len(f.hidden) >= maxHidden {
			f.hidden = append(f.hidden, stretch{run.lo + uint32(at+lo), run.hi})
			return
		}
		f.hidden = append(f.hidden, stretch{run.lo + uint32(at+lo), run.lo + uint32(at+hi)})
		at += hi
	}
}

// addPart adds one part as fields: shown, hidden, shown.
func (f *partFields) addPart(part stretch, note string) {
	m, at := f.m, part.lo
	for _, h := range f.hidden {
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
