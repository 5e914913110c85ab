package sketch

import "fmt"

// PackedSize is how many bytes a packed Distinct takes: six bits for each register.
const PackedSize = distinctCells * 6 / 8

// maxRank is the highest rank that a register can have.
const maxRank = 64 - distinctBits + 1

// AppendPacked appends the registers, four in three bytes, the first in the upper bits.
func (d *Distinct) AppendPacked(dst []byte) []byte {
	for i := 0; i < distinctCells; i += 4 {
		x := uint32(d.cells[i])<<18 | uint32(d.cells[i+1])<<12 | uint32(d.cells[i+2])<<6 | uint32(d.cells[i+3])
		dst = append(dst, byte(x>>16), byte(x>>8), byte(x))
	}
	return dst
}

// Unpack sets d to what AppendPacked made. It returns an error, and leaves d empty, if b cannot be that.
func (d *Distinct) Unpack(b []byte) error {
	d.Reset()
	if len(b) != PackedSize {
		return fmt.Errorf("a sketch has %d bytes in place of %d", len(b), PackedSize)
	}
	for i := 0; i < distinctCells; i += 4 {
		x := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
		b = b[3:]
		for j := range 4 {
			c := uint8(x >> (18 - 6*j) & 63)
			if c > maxRank {
				d.Reset()
				return fmt.Errorf("register %d of a sketch is %d, more than %d", i+j, c, maxRank)
			}
			d.cells[i+j] = c
		}
	}
	return nil
}
