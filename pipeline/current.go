package pipeline

// current is the item that a partition works on, and the segment that takes what
// becomes of it. The partition sets it; all of its parts read it, and count in it.
type current struct {
	part  uint8 // number of the partition
	item  *item
	index int32 // of the item in its batch
	seg   *segment
	shift int64  // from the time that tables age by to time stamps
	start int64  // time stamp of the first packet of the capture
	seed  uint64 // of the hashes of sightings
	n     totals
}

// setItem makes it the one at work. An abandoned datagram does not move the shift: its time
// stamp is older than its age, because it waited for the rest.
func (c *current) setItem(index int32, it *item, seg *segment) {
	c.index, c.item, c.seg = index, it, seg
	if it.kind != kindAbandoned {
		c.shift = it.nanos - it.age
	}
}

// newSpan returns what one thing at the item becomes, whose text follows what the segment
// has and whose first frame is key.
func (c *current) newSpan(key uint64, nanos int64) span {
	at := len(c.seg.buf)
	return span{index: c.index, part: c.part, key: key, start: at, end: at, nanos: nanos, post: -1}
}
