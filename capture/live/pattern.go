package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/net/bpf"
)

// What is looked for in payloads becomes loads and comparisons. Nearly all packets
// have none of the patterns, so patterns that are told by one load of the same bytes,
// in payloads of the same lengths, share it.

// word is a comparison of up to four bytes: those at an offset of the payload, in the
// bits of a mask.
type word struct {
	off, size   int
	mask, value uint32
}

// group is what patterns have in common that share a load.
type group struct {
	min, max  int // length of the payload; a max of 0 is no bound
	off, size int
	mask      uint32
}

// valid reports whether p can be looked for: it has bytes to look for, in payloads that
// have room for them.
func (p *Pattern) valid() bool {
	end := p.Offset + len(p.Value)
	switch {
	case p.Offset < 0 || end > maxPatternEnd || p.Mask != nil && len(p.Mask) != len(p.Value):
		return false
	case p.MaxLen > 0 && (p.MaxLen < end || p.MaxLen < p.MinLen), p.MaxLen < 0, p.MaxLen > maxPayload, p.MinLen > maxPayload:
		return false
	}
	return len(p.words()) > 0
}

// bits is byte i of the pattern and the mask for it.
func (p *Pattern) bits(i int) (value, mask byte) {
	mask = 0xff
	if p.Mask != nil {
		mask = p.Mask[i]
	}
	return p.Value[i] & mask, mask
}

// words cuts the pattern into comparisons: each is as long as can be without looking
// beyond the shortest payload, and none is of bytes that do not matter.
func (p *Pattern) words() (all []word) {
	end := max(p.MinLen, p.Offset+len(p.Value))
	for at := 0; at < len(p.Value); {
		size := 4
		for p.Offset+at+size > end {
			size /= 2
		}
		w := word{off: p.Offset + at, size: size}
		for i := at; i < at+size; i++ {
			value, mask := byte(0), byte(0)
			if i < len(p.Value) {
				value, mask = p.bits(i)
			}
			w.value, w.mask = w.value<<8|uint32(value), w.mask<<8|uint32(mask)
		}
		if w.mask != 0 {
			all = append(all, w)
		}
		at += size
	}
	return all
}

// covers reports whether every payload that has q has p, too.
func (p *Pattern) covers(q *Pattern) bool {
	shortest := max(q.MinLen, q.Offset+len(q.Value))
	if max(p.MinLen, p.Offset+len(p.Value)) > shortest || p.MaxLen > 0 && (q.MaxLen == 0 || q.MaxLen > p.MaxLen) {
		return false
	}
	for i := range p.Value {
		want, mask := p.bits(i)
		at := p.Offset + i - q.Offset
		if mask == 0 {
			continue
		}
		if at < 0 || at >= len(q.Value) {
			return false
		}
		if have, known := q.bits(at); mask&^known != 0 || have&mask != want {
			return false
		}
	}
	return true
}

// needed are the patterns that no other one covers.
func needed(all []Pattern) (kept []Pattern) {
	for i := range all {
		p := &all[i]
		if slices.ContainsFunc(kept, func(q Pattern) bool { return q.covers(p) }) {
			continue
		}
		kept = slices.DeleteFunc(kept, func(q Pattern) bool { return p.covers(&q) })
		kept = append(kept, *p)
	}
	return kept
}

// groupOf is what p, of which first is the first comparison, may share with others.
func groupOf(p *Pattern, first word) group {
	return group{max(p.MinLen, p.Offset+len(p.Value)), p.MaxLen, first.off, first.size, first.mask}
}

// payload passes UDP by what patterns say. A load beyond the end of a packet drops it,
// so the length is looked at first; 0 is that of a segment that the network card cuts,
// which is long enough for all.
func (p *assembly) payload(patterns []Pattern) {
	groups := map[group][][]word{}
	for _, x := range needed(patterns) {
		words := x.words()
		g := groupOf(&x, words[0])
		groups[g] = append(groups[g], words)
	}
	order := slices.SortedFunc(maps.Keys(groups), func(a, b group) int { // the shortest first
		return cmp.Or(cmp.Compare(a.min, b.min), cmp.Compare(a.max, b.max), cmp.Compare(a.off, b.off),
			cmp.Compare(a.size, b.size), cmp.Compare(a.mask, b.mask))
	})
	for i, g := range order {
		next := fmt.Sprint("payload ", i+1)
		p.bounds(&g, next)
		p.load(g.off, g.size, g.mask)
		for j, words := range groups[g] {
			p.words(words, fmt.Sprint(next, ", ", j), &g)
		}
		p.label(next)
	}
	p.drop()
}

// bounds goes to next if the payload has another length.
func (p *assembly) bounds(g *group, next string) {
	p.add(bpf.LoadIndirect{Off: udpLengthAt, Size: 2})
	fits := fmt.Sprint(next, ", fits")
	if g.max == 0 {
		p.jump(fits, 0)
	}
	p.add(bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: uint32(udpLen + g.min), SkipTrue: 1})
	p.jumpAlways(next)
	if g.max > 0 {
		p.add(bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: uint32(udpLen + g.max), SkipFalse: 1})
		p.jumpAlways(next)
	}
	p.label(fits)
}

// load takes the bits of a mask of bytes of the payload.
func (p *assembly) load(off, size int, mask uint32) {
	p.add(bpf.LoadIndirect{Off: uint32(udpLen + off), Size: size})
	if mask != 1<<(8*size)-1 {
		p.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask})
	}
}

// words passes what fits all comparisons. The bytes of the first are loaded, and are
// again where one fails.
func (p *assembly) words(words []word, fails string, g *group) {
	if len(words) == 1 {
		p.passIf(words[0].value)
		return
	}
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: words[0].value, SkipTrue: 1})
	p.jumpAlways(fails + ", first")
	for _, w := range words[1:] {
		p.load(w.off, w.size, w.mask)
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: w.value, SkipTrue: 1})
		p.jumpAlways(fails)
	}
	p.pass()
	p.label(fails)
	p.load(g.off, g.size, g.mask)
	p.label(fails + ", first")
}
