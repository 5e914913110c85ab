package testpcap

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Capture is what a source describes, ready to be written.
type Capture struct {
	Name    string
	Format  Format
	Link    Link
	Packets []Packet
	Whole   []Datagram // those of which every fragment is captured, in order
	// Segments are the TCP segments, in the order of their packets.
	Segments []Segment
}

// Packet is one frame before the snap length cuts it. Nanos is Unix time.
type Packet struct {
	Nanos int64
	Frame []byte
}

// ReadFile parses the source in the named file.
func ReadFile(path string) (*Capture, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// WritePcap writes c as a pcap file.
func (c *Capture) WritePcap(w io.Writer) error {
	out, err := NewWriter(w, c.Format)
	if err != nil {
		return err
	}
	for _, p := range c.Packets {
		if err := out.WritePacket(p.Nanos, p.Frame); err != nil {
			return err
		}
	}
	return nil
}

// clock is the time of capture, which advances with each packet.
type clock struct {
	now        int64 // of the packet written last
	step       time.Duration
	wait       time.Duration
	hasStarted bool
}

// startMessage advances the clock to the first packet of the next payload.
func (c *clock) startMessage() {
	if c.hasStarted {
		c.now += int64(c.step)
	}
	c.now += int64(c.wait)
	c.wait, c.hasStarted = 0, true
}

// nextPacket returns the time of packet i of the payload, which is called for each i in
// order.
func (c *clock) nextPacket(i int) int64 {
	if i > 0 {
		c.now += int64(burstGap)
	}
	return c.now
}

// pick returns the elements of list with the indices in order; all if order is nil.
func pick[T any](list []T, order []int, what string) ([]T, error) {
	if order == nil {
		return list, nil
	}
	out := make([]T, 0, len(order))
	for _, n := range order {
		if n < 0 || n >= len(list) {
			return nil, fmt.Errorf("%s %d of %d does not exist", what, n, len(list))
		}
		out = append(out, list[n])
	}
	return out, nil
}

// hasAll reports whether order has the index of each of n elements.
func hasAll(order []int, n int) bool {
	if order == nil {
		return true
	}
	seen := make(map[int]bool, n)
	for _, i := range order {
		seen[i] = true
	}
	return len(seen) == n
}

// limit: burstGap separates the packets that one message becomes: a server sends
// them in a row, and a packet never shares its time with another.
const burstGap = 200 * time.Microsecond
