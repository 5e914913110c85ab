package subset

// bitmap is a set of frame numbers, in pages that are allocated when they are needed and
// given back when they are empty.
type bitmap struct {
	pages map[uint64]*page
	spare *page // empty, for use again
}

type page struct {
	bits [pageBits / 64]uint64
	n    int // that are set
}

// set adds a frame. It returns false if there is no room for another page.
func (b *bitmap) set(frame uint64) bool {
	p := b.pages[frame/pageBits]
	if p == nil {
		if len(b.pages) >= maxPages {
			return false
		}
		if b.pages == nil {
			b.pages = make(map[uint64]*page)
		}
		if p, b.spare = b.spare, nil; p == nil {
			p = new(page)
		}
		b.pages[frame/pageBits] = p
	}
	word, bit := frame%pageBits/64, uint64(1)<<(frame%64)
	if p.bits[word]&bit == 0 {
		p.bits[word] |= bit
		p.n++
	}
	return true
}

// clear removes a frame and reports whether it was there.
func (b *bitmap) clear(frame uint64) bool {
	p := b.pages[frame/pageBits]
	if p == nil {
		return false
	}
	word, bit := frame%pageBits/64, uint64(1)<<(frame%64)
	if p.bits[word]&bit == 0 {
		return false
	}
	p.bits[word] &^= bit
	if p.n--; p.n == 0 {
		delete(b.pages, frame/pageBits)
		b.spare = p
	}
	return true
}
