package pipeline

import "qsniff/reassembly"

// arena holds joined datagrams until their batch is used again. What is in it does not
// move when it grows: full chunks stay where they are.
type arena struct {
	chunks [][]byte
	n      int // chunks in use
	pieces []reassembly.Piece
}

// arenaChunk holds any datagram: an IP payload is shorter than 64 KiB.
const arenaChunk = 64 << 10

// arenaKeep is how many chunks a batch keeps for its next use. Chosen: few batches have
// more than half a megabyte of fragments.
const arenaKeep = 8

func (a *arena) reset() {
	if len(a.chunks) > arenaKeep {
		clear(a.chunks[arenaKeep:])
		a.chunks = a.chunks[:arenaKeep]
	}
	for i := range a.chunks {
		a.chunks[i] = a.chunks[i][:0]
	}
	a.n = 0
	a.pieces = a.pieces[:0]
}

// add copies data, at most arenaChunk bytes, and returns the copy.
func (a *arena) add(data []byte) []byte {
	if a.n == 0 || cap(a.chunks[a.n-1])-len(a.chunks[a.n-1]) < len(data) {
		if a.n == len(a.chunks) {
			a.chunks = append(a.chunks, make([]byte, 0, arenaChunk))
		}
		a.n++
	}
	c := &a.chunks[a.n-1]
	start := len(*c)
	*c = append(*c, data...)
	return (*c)[start:len(*c):len(*c)]
}

// addPieces copies ps. The copy stays valid when the list grows, because it then
// keeps the old array.
func (a *arena) addPieces(ps []reassembly.Piece) []reassembly.Piece {
	start := len(a.pieces)
	a.pieces = append(a.pieces, ps...)
	return a.pieces[start:len(a.pieces):len(a.pieces)]
}
