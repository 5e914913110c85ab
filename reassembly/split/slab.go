package split

// slab is a fixed supply of nodes that are referred to by index instead of pointer, so
// that the garbage collector has nothing to scan. Index 0 is "no node". Every node has a
// link, which chains it to others of its owner.
type slab[T any] struct {
	items []T
	next  []uint32
	free  uint32
	fresh uint32 // first node never taken; memory from there on was never touched
	used  int
}

func newSlab[T any](n int) slab[T] {
	return slab[T]{items: make([]T, n+1), next: make([]uint32, n+1), fresh: 1}
}

// left returns how many nodes can still be taken.
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

// release frees node i and those chained after it.
func (s *slab[T]) release(i uint32) {
	for i != 0 {
		n := s.next[i]
		s.next[i] = s.free
		s.free = i
		s.used--
		i = n
	}
}
