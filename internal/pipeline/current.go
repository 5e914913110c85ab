package pipeline

import "qsniff/internal/pipeline/filter"

// current is the item that a partition works on, the segment to which its output is
// added, and the partition's counters. The partition sets it; all of its stages read it.
type current struct {
	part  uint8 // number of the partition
	item  *item
	index int32 // of the item in its batch
	seg   *segment
	shift int64  // what to add to an age to get a time stamp
	start int64  // time stamp of the first packet of the capture
	seed  uint64 // of the hashes in sightings
	n     totals
}

// setItem makes it the item at work. An abandoned datagram does not change the shift: its
// time stamp is older than its age, because it waited for the rest.
func (c *current) setItem(index int32, it *item, seg *segment) {
	c.index, c.item, c.seg = index, it, seg
	if it.kind != kindAbandoned {
		c.shift = it.nanos - it.age
	}
}

// addSpan adds an empty span at the end of the segment's text, for something that the item
// decided and whose first frame is key. The caller fills it in before it adds another one.
func (c *current) addSpan(key uint64, nanos int64) *span {
	at := len(c.seg.buf)
	x := c.seg.newSpan()
	x.index, x.part, x.key, x.start, x.end, x.nanos, x.post, x.truth = c.index, c.part, key, at, at, nanos, -1, filter.All
	return x
}
