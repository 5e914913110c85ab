package capture

// The heap of a merger: the input whose packet comes next is at 0, and each
// comes before those at 2i+1 and 2i+2.

// order makes a heap of inputs in any order.
func (m *merger) order() {
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
}

// down puts input i where it belongs after its next packet has changed.
func (m *merger) down(i int) {
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

// second returns the input that comes next but for the first, nil if there is
// only one.
func (m *merger) second() *input {
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
