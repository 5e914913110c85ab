package dissect

import (
	"encoding/binary"
	"math"
)

// Readers of numbers. All are little-endian unless their names say otherwise.

// U8 reads one byte.
func (c *Cursor) U8(d *Def) uint8 {
	b := c.next(d, 1)
	if b == nil {
		return 0
	}
	c.add(d, 1, uint64(b[0]))
	return b[0]
}

// U16 reads a 16-bit number.
func (c *Cursor) U16(d *Def) uint16 {
	b := c.next(d, 2)
	if b == nil {
		return 0
	}
	v := binary.LittleEndian.Uint16(b)
	c.add(d, 2, uint64(v))
	return v
}

// U24 reads a 24-bit number.
func (c *Cursor) U24(d *Def) uint32 {
	b := c.next(d, 3)
	if b == nil {
		return 0
	}
	v := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
	c.add(d, 3, uint64(v))
	return v
}

// U32 reads a 32-bit number.
func (c *Cursor) U32(d *Def) uint32 {
	b := c.next(d, 4)
	if b == nil {
		return 0
	}
	v := binary.LittleEndian.Uint32(b)
	c.add(d, 4, uint64(v))
	return v
}

// I32 reads a signed 32-bit number; Num holds it sign-extended.
func (c *Cursor) I32(d *Def) int32 {
	b := c.next(d, 4)
	if b == nil {
		return 0
	}
	v := int32(binary.LittleEndian.Uint32(b))
	c.add(d, 4, uint64(int64(v)))
	return v
}

// U64 reads a 64-bit number.
func (c *Cursor) U64(d *Def) uint64 {
	b := c.next(d, 8)
	if b == nil {
		return 0
	}
	v := binary.LittleEndian.Uint64(b)
	c.add(d, 8, v)
	return v
}

// F32 reads a 32-bit float; Num holds its bits.
func (c *Cursor) F32(d *Def) float32 {
	return math.Float32frombits(c.U32(d))
}
