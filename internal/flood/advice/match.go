package advice

import (
	"slices"

	"qsniff/dissect"
)

// This file turns patterns into tests that both tools can write: nft's raw payload
// expressions and iptables' u32 compare words at fixed offsets with numbers.

// match is a test of a payload: of its length, and of words at offsets. A packet that passes
// two tests of a line is charged twice; that can happen where patterns overlap, but not where
// one covers another, because those are merged before.
type match struct {
	min, max int // bytes of payload; a max of 0 is no bound
	words    []word
}

// word is a test of up to 8 bytes of a payload: the bits of the mask have one of the values.
type word struct {
	off, size int // in bytes
	mask      uint64
	values    []uint64 // in order
}

// span is the values from lo to hi, both included.
type span struct{ lo, hi uint64 }

// spans returns the values of a word as spans: three or more in a row are one.
func (w *word) spans() (list []span) {
	for i := 0; i < len(w.values); {
		j := i + 1
		for j < len(w.values) && w.values[j] == w.values[j-1]+1 {
			j++
		}
		if j-i < 3 {
			j = i + 1
		}
		list = append(list, span{w.values[i], w.values[j-1]})
		i = j
	}
	return list
}

// isWhole reports whether the mask has all bits of the word.
func (w *word) isWhole() bool { return w.mask == ^uint64(0)>>(64-8*w.size) }

// lengthTest returns the bounds of the length that have to be tested, 0 for none. A packet
// that ends before the last word fails anyway.
func (m *match) lengthTest() (lo, hi int) {
	end := 0
	if n := len(m.words); n > 0 {
		end = m.words[n-1].off + m.words[n-1].size
	}
	lo, hi = m.min, m.max
	if lo <= end {
		lo = 0
	}
	if hi > 0 {
		lo = m.min
	}
	return lo, hi
}

// matchesOf makes the tests for patterns, with words of at most so many bytes. Those
// that differ in the values of one word become one.
func matchesOf(patterns []dissect.Pattern, maxLen int) (list []match) {
	for i := range patterns {
		p := &patterns[i]
		list = append(list, match{min: max(p.MinLen, p.Offset+len(p.Value)), max: p.MaxLen,
			words: wordsOf(p, sharedLen(p, patterns), maxLen)})
	}
	for merged := true; merged; {
		merged = false
		for i := range list {
			rest := list[i+1:]
			if j := slices.IndexFunc(rest, list[i].merge); j >= 0 {
				list = slices.Delete(list, i+1+j, i+2+j)
				merged = true
				break
			}
		}
	}
	return list
}

// sharedLen returns the length of the shortest beginning that a pattern shares with another
// one, at least a byte; its whole length if it shares none. Words are cut there, so that the
// tests of what follows can be merged.
func sharedLen(p *dissect.Pattern, all []dissect.Pattern) int {
	shared := len(p.Value)
	for i := range all {
		q, n := &all[i], 0
		for n < min(len(p.Value), len(q.Value)) && q.Offset == p.Offset {
			a, am := p.BitsAt(p.Offset + n)
			if b, bm := q.BitsAt(q.Offset + n); a != b || am != bm {
				break
			}
			n++
		}
		if n > 0 {
			shared = min(shared, n)
		}
	}
	return shared
}

// wordsOf cuts a pattern into words: the first bytes from their start, the rest from the
// end of the pattern.
func wordsOf(p *dissect.Pattern, shared, maxLen int) (words []word) {
	var sizes []int
	for n := shared; n > 0; n -= maxLen {
		sizes = append(sizes, min(n, maxLen))
	}
	at := len(sizes)
	for n := len(p.Value) - shared; n > 0; n -= maxLen {
		sizes = slices.Insert(sizes, at, min(n, maxLen))
	}
	off := p.Offset
	for _, size := range sizes {
		w := word{off: off, size: size, values: []uint64{0}}
		for range size {
			value, mask := p.BitsAt(off)
			w.values[0], w.mask = w.values[0]<<8|uint64(value), w.mask<<8|uint64(mask)
			off++
		}
		if w.mask != 0 {
			words = append(words, w)
		}
	}
	return words
}

// merge makes m match what n matches as well, and reports whether it could: where the two
// differ in the values of one word only, or in ranges of lengths that adjoin.
func (m *match) merge(n match) bool {
	if len(m.words) != len(n.words) {
		return false
	}
	differ := -1
	for i := range m.words {
		a, b := &m.words[i], &n.words[i]
		switch {
		case a.off != b.off || a.size != b.size || a.mask != b.mask:
			return false
		case slices.Equal(a.values, b.values):
		case differ >= 0:
			return false
		default:
			differ = i
		}
	}
	switch {
	case differ < 0 && m.max > 0 && m.max+1 == n.min:
		m.max = n.max
	case differ < 0 && n.max > 0 && n.max+1 == m.min:
		m.min = n.min
	case differ < 0 || m.min != n.min || m.max != n.max:
		return false
	default:
		w := &m.words[differ]
		w.values = slices.Concat(w.values, n.words[differ].values)
		slices.Sort(w.values)
		w.values = slices.Compact(w.values)
	}
	return true
}
