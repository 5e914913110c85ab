// Package bzip packs short texts with bzip2 into a given number of bytes: so that a text
// can be replaced in the compressed reply that it came in, and all packets stay as long.
// It is no general compressor: a text is one block, and package
// github.com/dsnet/compress/bzip2 packs a tenth worse than what servers send, because it
// does not fit its codes to the text.
package bzip

import (
	"bytes"
	"cmp"
	"hash/crc32"
	"math/bits"
	"slices"
)

const (
	// maxText is how long a text may be: it fits one block at level 1, also where all of
	// its runs grow by a quarter.
	maxText = 64 << 10
	// maxSelectors is how many selectors decoders accept: those of the longest block.
	// https://sourceware.org/git/?p=bzip2.git;a=blob;f=bzlib_private.h
	maxSelectors = 2 + 900000/groupLen
	groupLen     = 50 // symbols that share a code
	maxGroups    = 6
	minGroups    = 2
	maxCodeLen   = 17 // that encoders use; decoders take 20
	maxAlphabet  = 258
	hopeless     = 16 // other numbers of codes save less than this part of a stream: of 400 random lists of rules at most 6.2 %
	rounds       = 4  // of fitting codes to groups, as in the reference encoder
)

// Pack returns a stream of exactly size bytes that text comes out of, or nil if there is
// none. What is left of size goes into selectors of codes that no symbol uses: decoders
// read and ignore them.
func Pack(text []byte, size int) []byte {
	if len(text) == 0 || len(text) > maxText {
		return nil
	}
	s := newStream(text, size)
	spare := size - s.least()
	if spare < 0 || len(s.best.selectors)+8*spare > maxSelectors {
		return nil
	}
	w := &s.writer
	w.writeCoding(s.best, s.symbols, 8*spare)
	w.write(0x177245385090, 48)
	w.write(s.sum, 32)
	w.write(0, -w.n&7)
	return w.b
}

// stream is a stream that is written up to the codes of its block.
type stream struct {
	writer
	sum     uint64
	symbols []uint16
	best    *coding
}

// newStream returns the stream of text with the first coding that fits into size bytes, or else the shortest.
func newStream(text []byte, size int) *stream {
	last, origin := transform(encodeRuns(text))
	symbols, used := moveToFront(last)
	s := &stream{sum: uint64(checksum(text)), symbols: symbols}
	s.write(0x425a6831, 32) // BZh1
	s.write(0x314159265359, 48)
	s.write(s.sum, 32)
	s.write(0, 1)
	s.write(uint64(origin), 24)
	s.writeMap(used)
	for _, n := range codesToTry(len(symbols)) {
		if c := fit(symbols, len(used)+2, n); s.best == nil || c.bits < s.best.bits {
			s.best = c
		}
		if n := s.least(); n <= size || n-n/hopeless > size {
			break
		}
	}
	return s
}

// codesToTry lists the numbers of codes that a block can have: first the one that the reference encoder takes for so
// many symbols, which is the best or nearly so.
func codesToTry(symbols int) []int {
	first := minGroups
	for _, most := range [...]int{200, 600, 1200, 2400} {
		if symbols >= most {
			first++
		}
	}
	all := []int{first}
	for n := maxGroups; n >= minGroups; n-- {
		if n != first {
			all = append(all, n)
		}
	}
	return all
}

// least returns how many bytes the whole stream takes at least.
func (s *stream) least() int { return (len(s.b)*8 + s.n + s.best.bits + 48 + 32 + 7) / 8 }

// checksum returns the CRC-32 of bzip2, which goes through bits from the highest on.
func checksum(text []byte) uint32 {
	mirrored := make([]byte, len(text))
	for i, x := range text {
		mirrored[i] = bits.Reverse8(x)
	}
	return bits.Reverse32(crc32.ChecksumIEEE(mirrored))
}

// encodeRuns writes a run of 4 to 255 equal bytes as four of them and how many follow.
func encodeRuns(text []byte) (block []byte) {
	block = make([]byte, 0, len(text)+len(text)/4)
	for len(text) > 0 {
		n := 1
		for n < len(text) && n < 255 && text[n] == text[0] {
			n++
		}
		block = append(block, text[:min(n, 4)]...)
		if n >= 4 {
			block = append(block, byte(n-4))
		}
		text = text[n:]
	}
	return block
}

// transform returns the last bytes of all rotations of a block in their order, and the
// place of the block itself among them (Burrows-Wheeler). It sorts by the first eight bytes, the
// first 16, 32 and so on.
func transform(block []byte) (last []byte, origin int) {
	n := len(block)
	type rotation struct {
		key uint64 // the first eight bytes; later the ranks of both halves
		at  int32
	}
	all, rank := make([]rotation, n), make([]int32, n)
	key := uint64(0)
	for i := range 8 {
		key = key<<8 | uint64(block[i%n])
	}
	for i := range all {
		all[i] = rotation{key, int32(i)}
		key = key<<8 | uint64(block[(i+8)%n])
	}
	for k := 8; ; k *= 2 { // all have the first k bytes, or what stands for them, as keys
		slices.SortFunc(all, func(a, b rotation) int { return cmp.Compare(a.key, b.key) })
		isDistinct := true
		at := int32(0)
		for i := range all {
			if i > 0 && all[i].key == all[i-1].key {
				isDistinct = false
			} else {
				at = int32(i)
			}
			rank[all[i].at] = at
		}
		if isDistinct || k >= n {
			break
		}
		for i := range all {
			x := &all[i]
			x.key = uint64(rank[x.at])<<32 | uint64(rank[(int(x.at)+k)%n])
		}
	}
	last = make([]byte, n)
	for i := range all {
		at := int(all[i].at)
		last[i] = block[(at+n-1)%n]
		if at == 0 {
			origin = i
		}
	}
	return last, origin
}

// moveToFront returns the symbols of a block: how many other bytes came since the same one,
// runs of none as numbers in the digits 0 and 1, worth 1 and 2; and the end. used are the
// bytes that occur.
func moveToFront(b []byte) (symbols []uint16, used []byte) {
	var occurs [256]bool
	for _, x := range b {
		occurs[x] = true
	}
	for x, ok := range occurs {
		if ok {
			used = append(used, byte(x))
		}
	}
	symbols = make([]uint16, 0, len(b)+1)
	list := slices.Clone(used)
	run := 0
	endRun := func() {
		for ; run > 0; run = (run - 1) / 2 {
			symbols = append(symbols, uint16((run-1)&1))
		}
	}
	for _, x := range b {
		at := bytes.IndexByte(list, x)
		if at == 0 {
			run++
			continue
		}
		endRun()
		symbols = append(symbols, uint16(at+1))
		copy(list[1:], list[:at])
		list[0] = x
	}
	endRun()
	return append(symbols, uint16(len(used)+1)), used
}

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
	counts := make([][]int, n)
	for i := range counts {
		counts[i] = make([]int, alphabet)
	}
	for range rounds {
		for i := range counts {
			clear(counts[i])
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
			codeLengths(c.lengths[i], counts[i])
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
	w.writeCoding(c, nil, 0)
	n, at := len(w.b)*8+w.n, 0
	eachGroup(symbols, func(group []uint16) {
		lengths := c.lengths[c.selectors[at]]
		for _, s := range group {
			n += int(lengths[s])
		}
		at++
	})
	return n
}

// codeLengths sets the lengths of a Huffman code by how often symbols occur. Where one would be too long, the counts
// are made more alike.
func codeLengths(lengths []uint8, counts []int) {
	type node struct {
		weight int
		parent int32
	}
	var memory [2 * maxAlphabet]node
	var sorted [maxAlphabet]uint32 // weight of a symbol that fits, and the symbol
	n := len(counts)
	for flat := 0; ; flat++ {
		for s, count := range counts {
			weight := max(count>>flat, 1)
			memory[s] = node{weight: weight}
			sorted[s] = uint32(weight)<<9 | uint32(s)
		}
		slices.Sort(sorted[:n])
		// Leaves and the nodes made of them both come in the order of their weights: the lightest is the first of either.
		leaf, inner := 0, n
		next := n
		lightest := func() int32 {
			if leaf < n {
				if s := sorted[leaf] & (1<<9 - 1); inner == next || memory[s].weight <= memory[inner].weight {
					leaf++
					return int32(s)
				}
			}
			inner++
			return int32(inner - 1)
		}
		for next < 2*n-1 {
			a, b := lightest(), lightest()
			memory[a].parent, memory[b].parent = int32(next), int32(next)
			memory[next] = node{weight: memory[a].weight + memory[b].weight}
			next++
		}
		longest := 0
		for s := range counts {
			depth := 0
			for at := int32(s); memory[at].parent > 0; at = memory[at].parent {
				depth++
			}
			lengths[s], longest = uint8(depth), max(longest, depth)
		}
		if longest <= maxCodeLen {
			return
		}
	}
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
