package dissect

import "math/bits"

// Buffers of a Budget have the sizes smallBuffer << 0 to smallBuffer << (sizes-1):
// 1 KiB to 512 KiB.
const (
	smallBuffer = 1 << 10
	sizes       = 10
)

// Budget is memory that the sessions of one partition share: buffers that are used
// again, so that a run at its limit allocates nothing.
type Budget struct {
	Limit int // bytes, of buffers in use and of spare ones
	Used  int // bytes of buffers in use

	spare int
	free  [sizes][][]byte
}

// Grow releases b, a buffer from Grow or nil, and returns a larger one with the same
// content and room for at least want bytes. It returns b itself, and false, where
// that would exceed the limit or the largest size.
func (m *Budget) Grow(b []byte, want int) ([]byte, bool) {
	k := max(bits.Len(uint(max(want, 1)-1))-bits.Len(uint(smallBuffer-1)), 0)
	if k >= sizes || m.Used-cap(b)+smallBuffer<<k > m.Limit {
		return b, false
	}
	bigger := append(m.takeBuffer(k), b...)
	m.Release(b)
	m.trim()
	return bigger, true
}

// Release returns b, a buffer from Grow, to the budget. The caller must not use it any
// more. A nil b is ignored.
func (m *Budget) Release(b []byte) {
	if cap(b) == 0 {
		return
	}
	k := bits.Len(uint(cap(b)/smallBuffer)) - 1
	m.Used -= cap(b)
	m.spare += cap(b)
	m.free[k] = append(m.free[k], b[:0])
}

// takeBuffer returns an empty buffer of size k.
func (m *Budget) takeBuffer(k int) []byte {
	size := smallBuffer << k
	m.Used += size
	if n := len(m.free[k]); n > 0 {
		b := m.free[k][n-1]
		m.free[k] = m.free[k][:n-1]
		m.spare -= size
		return b
	}
	m.trim()
	return make([]byte, 0, size)
}

// trim frees spare buffers, the largest first, until all are within the limit.
func (m *Budget) trim() {
	for i := sizes - 1; i >= 0 && m.Used+m.spare > m.Limit; i-- {
		m.spare -= len(m.free[i]) * smallBuffer << i
		clear(m.free[i])
		m.free[i] = m.free[i][:0]
	}
}
