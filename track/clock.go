package track

// clock notices that the clock was set forward which stamps packets: stamps jump
// then, and on live traffic the time that passes does not.
type clock struct {
	age   int64 // at the last message that was later than all before
	ahead int64 // how far its stamp was ahead of that
	set   uint64
}

// see takes a message. Afterwards set is the first frame after the last jump.
func (c *clock) see(m *Message) {
	if c.age != 0 && m.Age <= c.age {
		return // perhaps it is out of order
	}
	ahead := m.Nanos - m.Age
	if c.age != 0 && ahead-c.ahead > int64(jump) {
		c.set = m.Frame
	}
	c.age, c.ahead = m.Age, ahead
}

// since is the time from a packet to m; -1 where the clock was set in between.
func (m *Message) since(frame uint64, nanos int64) int64 {
	if m.Nanos < nanos || frame < m.set {
		return -1
	}
	return m.Nanos - nanos
}
