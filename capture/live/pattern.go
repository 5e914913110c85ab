package live

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"golang.org/x/net/bpf"
)

// How patterns become loads and comparisons. Nearly all packets have none of the
// patterns, so that loads decide the cost: patterns whose first comparison is of the
// same bytes, in payloads of the same lengths, are a group, which loads them once.

// word is a comparison of 1, 2 or 4 bytes at an offset of the payload, in the bits that
// are set in mask.
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

// isValid reports whether p can be looked for: it has bytes to look for, in payloads that
// have room for them.
func (p *PayloadPattern) isValid() bool {
	end := p.Offset + len(p.Value)
	switch {
	case p.Offset < 0 || end > maxPatternEnd || p.Mask != nil && len(p.Mask) != len(p.Value):
		return false
	case p.MaxLen > 0 && (p.MaxLen < end || p.MaxLen < p.MinLen), p.MaxLen < 0, p.MaxLen > maxPayload, p.MinLen > maxPayload:
		return false
	}
	return len(p.words()) > 0
}

// byteAt returns byte i of the pattern and the mask for it.
func (p *PayloadPattern) byteAt(i int) (value, mask byte) {
	mask = 0xff
	if p.Mask != nil {
		mask = p.Mask[i]
	}
	return p.Value[i] & mask, mask
}

// words divides the pattern into comparisons: each is as long as possible without
// reading beyond the shortest payload, and bytes that do not matter are not compared.
func (p *PayloadPattern) words() (all []word) {
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
				value, mask = p.byteAt(i)
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

// groupOf is what p, of which first is the first comparison, may share with others.
func groupOf(p *PayloadPattern, first word) group {
	return group{max(p.MinLen, p.Offset+len(p.Value)), p.MaxLen, first.off, first.size, first.mask}
}

// passPayloads adds code that passes UDP datagrams whose payload has one of the
// patterns, and drops the others. A load beyond the end of a packet would drop it, so
// the UDP length is compared first. It is 0 before the network card divides a datagram
// (segmentation offload), which is long enough for every pattern.
func (p *assembly) passPayloads(patterns []PayloadPattern) {
	groups := map[group][][]word{}
	for _, x := range patterns {
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
		p.checkLength(&g, next)
		p.loadPayload(g.off, g.size, g.mask)
		for j, words := range groups[g] {
			p.passWords(words, fmt.Sprint(next, ", ", j), &g)
		}
		p.label(next)
	}
	p.drop()
}

// checkLength jumps to next if the length of the payload is not that of g.
func (p *assembly) checkLength(g *group, next string) {
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

// loadPayload loads bytes of the payload and clears the bits that mask does not have.
func (p *assembly) loadPayload(off, size int, mask uint32) {
	p.add(bpf.LoadIndirect{Off: uint32(udpLen + off), Size: size})
	if mask != 1<<(8*size)-1 {
		p.add(bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: mask})
	}
}

// passWords passes the packet if all comparisons of a pattern hold. Before it and after
// it, A has the bytes of the first comparison, which all patterns of g share.
func (p *assembly) passWords(passWords []word, fails string, g *group) {
	if len(passWords) == 1 {
		p.passIf(passWords[0].value)
		return
	}
	p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: passWords[0].value, SkipTrue: 1})
	p.jumpAlways(fails + ", first")
	for _, w := range passWords[1:] {
		p.loadPayload(w.off, w.size, w.mask)
		p.add(bpf.JumpIf{Cond: bpf.JumpEqual, Val: w.value, SkipTrue: 1})
		p.jumpAlways(fails)
	}
	p.pass()
	p.label(fails)
	p.loadPayload(g.off, g.size, g.mask)
	p.label(fails + ", first")
}
