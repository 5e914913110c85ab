package split

// slab is a fixed supply of nodes that are named by index, so that neither the
// collector nor an append ever moves or scans them. Index 0 is "no node". Every
// node has a link, which chains it to others of its owner.
type slab[T any] struct {
	items []T
	next  []uint32
	free  uint32
	fresh uint32 // first node never taken: untouched memory stays untouched
	used  int
}

func newSlab[T any](n int) slab[T] {
	return slab[T]{items: make([]T, n+1), next: make([]uint32, n+1), fresh: 1}
}

// left is how many nodes can still be taken.
func (s *slab[T]) left() int { return len(s.items) - 1 - s.used }

// take returns a node with its old contents and no link; 0 if none is left.
func (s *slab[T]) take() uint32 {
	i := s.free
	switch {
	case i != 0:
		s.free = s.next[i]
	case int(s.fresh) < len(s.items):
		i = s.fresh
		s.fresh++
	default:
		return 0
	}
	s.next[i] = 0
	s.used++
	return i
}

// release gives a whole chain back.
func (s *slab[T]) release(i uint32) {
	for i != 0 {
		n := s.next[i]
		s.next[i] = s.free
		s.free = i
		s.used--
		i = n
	}
}
