package dissect

import "slices"

// BitsAt returns byte i of a payload with the pattern, and which of its bits are known.
func (p *Pattern) BitsAt(i int) (value, mask byte) {
	if i -= p.Offset; i < 0 || i >= len(p.Value) {
		return 0, 0
	}
	mask = 0xff
	if p.Mask != nil {
		mask = p.Mask[i]
	}
	return p.Value[i] & mask, mask
}

// shortest returns the length of the shortest payload with the pattern.
func (p *Pattern) shortest() int { return max(p.MinLen, p.Offset+len(p.Value)) }

// HasBytesOf reports whether every payload with p has the bytes of q.
func (p *Pattern) HasBytesOf(q *Pattern) bool {
	for i := q.Offset; i < q.Offset+len(q.Value); i++ {
		want, mask := q.BitsAt(i)
		if have, known := p.BitsAt(i); mask&^known != 0 || have&mask != want {
			return false
		}
	}
	return true
}

// Covers reports whether every payload with q has p.
func (p *Pattern) Covers(q *Pattern) bool {
	return q.HasBytesOf(p) && p.shortest() <= q.shortest() && (p.MaxLen == 0 || q.MaxLen > 0 && q.MaxLen <= p.MaxLen)
}

// Needed lists the patterns that no other one covers: what one of all has, one of them
// has.
func Needed(all []Pattern) (kept []Pattern) {
	for i := range all {
		p := &all[i]
		if slices.ContainsFunc(kept, func(q Pattern) bool { return q.Covers(p) }) {
			continue
		}
		kept = slices.DeleteFunc(kept, func(q Pattern) bool { return p.Covers(&q) })
		kept = append(kept, *p)
	}
	return kept
}
