package testpcap

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Capture is what a source says, ready to be written.
type Capture struct {
	Name    string
	Format  Format
	Link    Link
	Packets []Packet
	Whole   []Datagram // those of which every fragment is captured, in order
	// Segments are those of TCP, in the order of their packets.
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
		if err := out.Packet(p.Nanos, p.Frame); err != nil {
			return err
		}
	}
	return nil
}

// clock gives packets their times.
type clock struct {
	now  int64 // of the packet written last
	step time.Duration
	wait time.Duration
	any  bool
}

// message advances to the first packet of the next payload.
func (c *clock) message() {
	if c.any {
		c.now += int64(c.step)
	}
	c.now += int64(c.wait)
	c.wait, c.any = 0, true
}

// packet is the time of packet i of the payload.
func (c *clock) packet(i int) int64 {
	if i > 0 {
		c.now += int64(burstGap)
	}
	return c.now
}

// inOrder picks the elements of list that order names; a nil order keeps all.
func inOrder[T any](list []T, order []int, what string) ([]T, error) {
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

// covers reports whether order names each of n elements.
func covers(order []int, n int) bool {
	if order == nil {
		return true
	}
	seen := make(map[int]bool, n)
	for _, i := range order {
		seen[i] = true
	}
	return len(seen) == n
}
