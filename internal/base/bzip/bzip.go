// Package bzip packs short texts with bzip2 into a given number of bytes: so that a text
// can be replaced in the compressed reply that it came in, and all packets stay as long.
// It is no general compressor: a text is one block, and package
// github.com/dsnet/compress/bzip2 packs a tenth worse than what servers send, because it
// does not fit its codes to the text.
package bzip

import (
	"bytes"
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
	rounds       = 4  // of fitting codes to groups, as in the reference encoder
)

// Pack returns a stream of exactly size bytes that text comes out of, or nil if there is
// none. What is left of size goes into selectors of codes that no symbol uses: decoders
// read and ignore them.
func Pack(text []byte, size int) []byte {
	if len(text) == 0 || len(text) > maxText {
		return nil
	}
	s := newStream(text)
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

func newStream(text []byte) *stream {
	last, origin := transform(encodeRuns(text))
	symbols, used := moveToFront(last)
	s := &stream{sum: uint64(checksum(text)), symbols: symbols}
	for n := minGroups; n <= maxGroups; n++ {
		if c := fit(symbols, len(used)+2, n); s.best == nil || c.bits < s.best.bits {
			s.best = c
		}
	}
	s.write(0x425a6831, 32) // BZh1
	s.write(0x314159265359, 48)
	s.write(s.sum, 32)
	s.write(0, 1)
	s.write(uint64(origin), 24)
	s.writeMap(used)
	return s
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
	for len(text) > 0 {
		n := 1
		for n < len(text) && n < 255 && text[n] == text[0] {
			n++
		}
		block = append(block, bytes.Repeat(text[:1], min(n, 4))...)
		if n >= 4 {
			block = append(block, byte(n-4))
		}
		text = text[n:]
	}
	return block
}

// transform returns the last bytes of all rotations of a block in their order, and the
// place of the block itself among them (Burrows-Wheeler). It sorts by the first byte, the
// first two, four and so on.
func transform(block []byte) (last []byte, origin int) {
	n := len(block)
	order, rank, next := make([]int, n), make([]int, n), make([]int, n)
	for i, x := range block {
		order[i], rank[i] = i, int(x)
	}
	for k := 0; ; k = max(1, 2*k) { // rank is by the first k bytes
		compare := func(a, b int) int {
			if rank[a] != rank[b] || k == 0 {
				return rank[a] - rank[b]
			}
			return rank[(a+k)%n] - rank[(b+k)%n]
		}
		slices.SortFunc(order, compare)
		next[order[0]] = 0
		for i := 1; i < n; i++ {
			next[order[i]] = next[order[i-1]]
			if compare(order[i-1], order[i]) != 0 {
				next[order[i]] = i
			}
		}
		rank, next = next, rank
		if k >= n || rank[order[n-1]] == n-1 && isDistinct(rank, order) {
			break
		}
	}
	for i, at := range order {
		last = append(last, block[(at+n-1)%n])
		if at == 0 {
			origin = i
		}
	}
	return last, origin
}

func isDistinct(rank, order []int) bool {
	for i, at := range order {
		if rank[at] != i {
			return false
		}
	}
	return true
}

// moveToFront returns the symbols of a block: how many other bytes came since the same one,
// runs of none as numbers in the digits 0 and 1, worth 1 and 2; and the end. used are the
// bytes that occur.
func moveToFront(b []byte) (symbols []uint16, used []byte) {
	used = slices.Clone(b)
	slices.Sort(used)
	used = slices.Compact(used)
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
