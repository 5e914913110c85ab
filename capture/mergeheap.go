package capture

// The heap of a merger: the input whose packet comes next is at 0, and the one at
// i comes before those at 2i+1 and 2i+2.

// buildHeap makes a heap of the inputs, which are in any order.
func (m *merger) buildHeap() {
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.siftDown(i)
	}
}

// siftDown moves the input at i to its place after its next packet has changed.
func (m *merger) siftDown(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.heap[child].before(m.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

// secondInput returns the input that comes next after the first, or nil if there
// is none.
func (m *merger) secondInput() *input {
	switch len(m.heap) {
	case 0, 1:
		return nil
	case 2:
		return m.heap[1]
	}
	if m.heap[2].before(m.heap[1]) {
		return m.heap[2]
	}
	return m.heap[1]
}
