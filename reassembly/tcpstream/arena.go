package tcpstream

// arena is the memory for bytes that wait. It is cut into buffers of 1, 2, 4 ...
// 1,024 units by halving, and halves that are free again are joined (the buddy
// system), so that no mixture of sizes leaves it fragmented for good. A buffer is
// identified by its first unit. Each unit has room for piecesPerUnit pieces.
//
// Memory is allocated in blocks of the largest buffer. A block grows to what is needed of
// it, and stays: the usual capture has a few commands under way, and never needs the second
// half of the first block.
type arena struct {
	blocks []block
	free   [maxOrder + 1]uint32 // first free buffer of each order; unit + 1, 0 is none
	next   []uint32             // of a free buffer, likewise
	prev   []uint32
	order  []uint8 // of the free buffer that starts at this unit, + 1; 0 if none does
	used   int     // bytes in buffers
	// largest is the order of the largest buffer, at most maxOrder.
	largest uint8
}

// unitInBlock returns the number of a unit in its block.
func (a *arena) unitInBlock(unit uint32) int { return int(unit & (1<<a.largest - 1)) }

// block is the memory of the first units of a largest buffer, as many as were needed so far.
type block struct {
	data   []byte
	pieces []TimedPiece
}

// newArena returns an arena of so many bytes whose largest buffer has an order.
func newArena(bytes int, largest uint8) arena {
	unitsPerBlock := 1 << largest
	blocks := bytes / (minBuffer << largest)
	units := blocks * unitsPerBlock
	a := arena{
		largest: largest,
		blocks:  make([]block, blocks),
		next:    make([]uint32, units),
		prev:    make([]uint32, units),
		order:   make([]uint8, units),
	}
	for u := units - unitsPerBlock; u >= 0; u -= unitsPerBlock {
		a.link(uint32(u), largest)
	}
	return a
}

// orderFor returns the order of the smallest buffer for n bytes, at most maxBuffer: it
// has 1<<order units.
func orderFor(n int) uint8 {
	o := uint8(0)
	for n > minBuffer<<o {
		o++
	}
	return o
}

// takeBuffer returns a buffer of the order, if one is free.
func (a *arena) takeBuffer(order uint8) (unit uint32, ok bool) {
	o := order
	for o <= a.largest && a.free[o] == 0 {
		o++
	}
	if o > a.largest {
		return 0, false
	}
	unit = a.free[o] - 1
	a.unlink(unit)
	for o > order {
		o--
		a.link(unit+1<<o, o)
	}
	a.used += minBuffer << order
	a.blocks[unit>>a.largest].cover(a.unitInBlock(unit) + 1<<order)
	return unit, true
}

// cover makes sure that the block has memory for its first units. It at least doubles, from
// firstUnits on. What is in it moves: nobody keeps a part of it while a buffer is taken.
func (b *block) cover(units int) {
	const firstUnits = 8 // chosen: two packets of a console as long as they usually get
	n := max(firstUnits, len(b.data)/minBuffer)
	for n < units {
		n *= 2
	}
	if n*minBuffer == len(b.data) {
		return
	}
	data, pieces := make([]byte, n*minBuffer), make([]TimedPiece, n*piecesPerUnit)
	copy(data, b.data)
	copy(pieces, b.pieces)
	b.data, b.pieces = data, pieces
}

// dataAt returns the memory of a block from a unit on.
func (a *arena) dataAt(unit uint32) []byte {
	return a.blocks[unit>>a.largest].data[a.unitInBlock(unit)*minBuffer:]
}

// piecesAt returns the room for pieces from a unit on.
func (a *arena) piecesAt(unit uint32) []TimedPiece {
	return a.blocks[unit>>a.largest].pieces[a.unitInBlock(unit)*piecesPerUnit:]
}

// returnBuffer frees a buffer and joins it with its free buddies.
func (a *arena) returnBuffer(unit uint32, order uint8) {
	a.used -= minBuffer << order
	for order < a.largest {
		buddy := unit ^ 1<<order
		if a.order[buddy] != order+1 {
			break
		}
		a.unlink(buddy)
		unit &= buddy
		order++
	}
	a.link(unit, order)
}

// returnUpperHalf frees the upper half of a buffer.
func (a *arena) returnUpperHalf(unit uint32, order uint8) { a.returnBuffer(unit+1<<(order-1), order-1) }

func (a *arena) link(unit uint32, order uint8) {
	first := a.free[order]
	a.next[unit], a.prev[unit], a.order[unit] = first, 0, order+1
	if first != 0 {
		a.prev[first-1] = unit + 1
	}
	a.free[order] = unit + 1
}

func (a *arena) unlink(unit uint32) {
	next, prev := a.next[unit], a.prev[unit]
	if prev != 0 {
		a.next[prev-1] = next
	} else {
		a.free[a.order[unit]-1] = next
	}
	if next != 0 {
		a.prev[next-1] = prev
	}
	a.order[unit] = 0
}
