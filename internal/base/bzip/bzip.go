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
