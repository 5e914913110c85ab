package bzip

// coding is the codes of a block, and which of them each group of symbols has.
type coding struct {
	lengths   [][]uint8 // of each code, by symbol
	selectors []uint8
	bits      int // that it takes with all symbols
}

// fit returns a coding of symbols, out of an alphabet of the given size, with n codes. It
// begins with codes that each suit a part of the alphabet, gives each group the one that
// suits it best, makes the codes anew of their groups, and does so again.
func fit(symbols []uint16, alphabet, n int) *coding {
	c := &coding{lengths: make([][]uint8, n)}
	total := make([]int, alphabet)
	for _, s := range symbols {
		total[s]++
	}
	left, at := len(symbols), 0
	for i := range c.lengths {
		c.lengths[i] = make([]uint8, alphabet)
		for s := range alphabet {
			c.lengths[i][s] = 15
		}
		share := 0
		for ; at < alphabet && share < max(left/(n-i), 1); at++ {
			c.lengths[i][at] = 0
			share += total[at]
		}
		left -= share
	}
	for range rounds {
		counts := make([][]int, n)
		for i := range counts {
			counts[i] = make([]int, alphabet)
		}
		c.selectors = c.selectors[:0]
		eachGroup(symbols, func(group []uint16) {
			k := c.cheapest(group)
			c.selectors = append(c.selectors, k)
			for _, s := range group {
				counts[k][s]++
			}
		})
		for i := range counts {
			c.lengths[i] = codeLengths(counts[i])
		}
	}
	c.bits = c.count(symbols)
	return c
}

// eachGroup calls f with the groups of symbols.
func eachGroup(symbols []uint16, f func([]uint16)) {
	for len(symbols) > 0 {
		n := min(groupLen, len(symbols))
		f(symbols[:n])
		symbols = symbols[n:]
	}
}

// cheapest returns the code in which a group takes the fewest bits.
func (c *coding) cheapest(group []uint16) (best uint8) {
	least := -1
	for i, lengths := range c.lengths {
		cost := 0
		for _, s := range group {
			cost += int(lengths[s])
		}
		if least < 0 || cost < least {
			best, least = uint8(i), cost
		}
	}
	return best
}

// count returns how many bits the coding takes with all symbols.
func (c *coding) count(symbols []uint16) int {
	var w writer
	w.writeCoding(c, symbols, 0)
	return len(w.b)*8 + w.n
}

// codeLengths returns the lengths of a Huffman code by how often symbols occur. Where one
// would be too long, the counts are made more alike.
func codeLengths(counts []int) []uint8 {
	lengths := make([]uint8, len(counts))
	for flat := 0; ; flat++ {
		var nodes, parents []int // weights; parents of nodes, 0 for none yet
		for _, n := range counts {
			nodes, parents = append(nodes, max(n>>flat, 1)), append(parents, 0)
		}
		for range len(counts) - 1 {
			a := lightest(nodes, parents)
			parents[a] = len(nodes)
			b := lightest(nodes, parents)
			parents[b] = len(nodes)
			nodes, parents = append(nodes, nodes[a]+nodes[b]), append(parents, 0)
		}
		longest := 0
		for s := range counts {
			n := 0
			for at := s; parents[at] > 0; at = parents[at] {
				n++
			}
			lengths[s], longest = uint8(n), max(longest, n)
		}
		if longest <= maxCodeLen {
			return lengths
		}
	}
}

// lightest returns the node with the least weight of those without a parent.
func lightest(nodes, parents []int) int {
	best := -1
	for i, w := range nodes {
		if parents[i] == 0 && (best < 0 || w < nodes[best]) {
			best = i
		}
	}
	return best
}

// writer writes bits, the highest first.
type writer struct {
	b   []byte
	acc uint64
	n   int // bits in acc, at most 7 between writes
}

func (w *writer) write(v uint64, n int) {
	w.acc = w.acc<<n | v
	for w.n += n; w.n >= 8; w.n -= 8 {
		w.b = append(w.b, byte(w.acc>>(w.n-8)))
	}
}

// writeMap writes which bytes occur.
func (w *writer) writeMap(used []byte) {
	var all uint64
	var rows [16]uint64
	for _, x := range used {
		all |= 1 << (15 - x>>4)
		rows[x>>4] |= 1 << (15 - x&15)
	}
	w.write(all, 16)
	for _, row := range rows {
		if row != 0 {
			w.write(row, 16)
		}
	}
}

// writeCoding writes codes, which group has which, so many selectors more than there are
// groups, and the symbols.
func (w *writer) writeCoding(c *coding, symbols []uint16, more int) {
	w.write(uint64(len(c.lengths)), 3)
	w.write(uint64(len(c.selectors)+more), 15)
	list := []uint8{0, 1, 2, 3, 4, 5}
	for _, k := range c.selectors {
		at := 0
		for list[at] != k {
			at++
		}
		copy(list[1:], list[:at])
		list[0] = k
		w.write(1<<(at+1)-2, at+1)
	}
	for range more {
		w.write(0, 1) // the same again
	}
	codes := make([][]uint32, len(c.lengths))
	for i, lengths := range c.lengths {
		w.writeLengths(lengths)
		codes[i] = codesOf(lengths)
	}
	at := 0
	eachGroup(symbols, func(group []uint16) {
		k := c.selectors[at]
		for _, s := range group {
			w.write(uint64(codes[k][s]), int(c.lengths[k][s]))
		}
		at++
	})
}

// writeLengths writes the lengths of a code: each as steps from the one before.
func (w *writer) writeLengths(lengths []uint8) {
	at := lengths[0]
	w.write(uint64(at), 5)
	for _, n := range lengths {
		for ; at < n; at++ {
			w.write(0b10, 2)
		}
		for ; at > n; at-- {
			w.write(0b11, 2)
		}
		w.write(0, 1)
	}
}

// codesOf returns the canonical code with these lengths.
func codesOf(lengths []uint8) []uint32 {
	codes := make([]uint32, len(lengths))
	next := uint32(0)
	for n := uint8(1); n <= maxCodeLen; n++ {
		for s := range lengths {
			if lengths[s] == n {
				codes[s] = next
				next++
			}
		}
		next <<= 1
	}
	return codes
}
