package track

// jumpDetector detects that the clock which stamps packets was set forward: then the stamps
// jump, but the time that passes on live traffic (Age) does not.
type jumpDetector struct {
	age       int64  // of the latest message
	ahead     int64  // its stamp minus its age
	jumpFrame uint64 // the first frame after the last jump
}

// observe compares the clocks at a message and sets jumpFrame if they drifted apart by more
// than maxDrift since the one before.
func (c *jumpDetector) observe(m *Message) {
	if c.age != 0 && m.Age <= c.age {
		return // the message may be out of order
	}
	ahead := m.Nanos - m.Age
	if c.age != 0 && ahead-c.ahead > int64(maxDrift) {
		c.jumpFrame = m.Frame
	}
	c.age, c.ahead = m.Age, ahead
}

// timeSince returns the nanoseconds from a packet to m; -1 if the clock was set in between.
func (m *Message) timeSince(frame uint64, nanos int64) int64 {
	if m.Nanos < nanos || frame < m.jumpFrame {
		return -1
	}
	return m.Nanos - nanos
}
