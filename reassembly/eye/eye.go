// Package eye joins the fragments of long replies in the All-Seeing Eye protocol:
// datagrams headed EYE1, EYE2 and so on that end with an id of four bytes. See
// package wire for their form, and for how MTA's short replies with the same
// heads are kept apart.
//
// It is not a dissector: what a joined reply says is for others. It is not fit
// for concurrent use: one Assembler serves one partition. It has no clock: time
// is packet time.
package eye

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"qsniff/reassembly"
	"qsniff/wire"
)

// Fragment is one datagram that may be a fragment. The Assembler copies what it
// keeps.
type Datagram struct {
	Src, Dst netip.AddrPort
	Data     []byte
	Wire     int // length as sent
	Frame    uint64
	Pieces   []reassembly.Piece // fragments of IP that it came in; nil if that is Frame
	Nanos    int64
	// Short says that the client asked for short replies and never for the long
	// one, so that "EYE2" and "EYE3" are replies of their own.
	WantsShort bool
}

// Outcome is what became of a set.
type Outcome uint8

// The outcomes.
const (
	Complete Outcome = iota
	Alone            // one EYE1 of a fragment's length that reads to its end, and nothing came after it
	Expired          // fragments did not come in time
	Evicted          // given up to make room
	Ended            // the capture ended first
	Replaced         // another fragment with its number and id began a new set
)

// Set is a reply, whole or given up. All of it is valid during Deliver only.
type Set struct {
	Src, Dst netip.AddrPort
	Outcome  Outcome
	// Data starts with the head of the first fragment that is there; the others
	// follow without theirs, and all without id. The reply's own head is missing
	// if Data does not start with EYE1. Alone: the datagram as it came.
	Data   []byte
	Run    int                // bytes of Data before the first gap
	Parts  []reassembly.Piece // what each fragment brought, in the order of Data
	Frames []uint64           // in order of arrival
	First  int64              // packet time of the first fragment that came
	Last   int64              // and of the last one
}

// Assembler joins the fragments of any number of flows within fixed memory. Set
// Deliver before the first call.
type Assembler struct {
	// Deliver receives every set once, when it is whole or given up. It must not
	// call the Assembler.
	Deliver func(*Set)

	Counters reassembly.JoinCounters

	seed   uint64 // of the sums by which repeated fragments are recognised
	now    int64
	live   int // sets that are not unused
	sets   [MaxSets]fragmentSet
	blocks [maxBlocks + 1][wire.EyeFragmentLen]byte // 0 is "no block"
	free   [maxBlocks]uint8
	nfree  int

	out    Set
	joined [wire.MaxEyeNumber * wire.EyeFragmentLen]byte
	parts  [wire.MaxEyeNumber]reassembly.Piece
}

// New returns an Assembler.
func New() *Assembler {
	a := &Assembler{seed: rand.Uint64(), nfree: maxBlocks}
	for i := range a.free {
		a.free[i] = uint8(maxBlocks - i)
	}
	return a
}

// Add takes one datagram and reports whether it was a fragment. If it was not, it
// is a message of its own and nothing was kept. Sets that it completes, pushes
// out or outlives are delivered before Add returns.
func (a *Assembler) Add(f *Datagram) bool {
	a.Tick(f.Nanos)
	n := wire.EyeNumber(f.Data)
	if n == 0 || f.Wire > len(f.Data) || !isPossibleLen(n, len(f.Data)) {
		return false
	}
	k := key{f.Src, f.Dst, binary.LittleEndian.Uint32(f.Data[len(f.Data)-wire.EyeIDLen:])}
	i := a.find(k, waiting)
	if i < 0 && !mayBegin(f, n) {
		return false
	}
	a.Counters.Fragments++
	a.insert(i, k, n, f)
	return true
}

// possible reports whether fragment n can have length l: the first one is full,
// because a reply that fits one datagram is not cut.
func isPossibleLen(n, l int) bool {
	if n == 1 {
		return l == wire.EyeFragmentLen
	}
	return l > wire.EyeHeaderLen+wire.EyeIDLen && l <= wire.EyeFragmentLen
}

// begins reports whether a datagram that no waiting set expects is a fragment.
func mayBegin(f *Datagram, n int) bool {
	return !wire.IsMTA(f.Data) && (n == 1 || !f.WantsShort)
}

// Tick says that packet time has come to nanos, and gives up the sets that have
// waited long enough, oldest first. Time that goes backwards stands still instead.
func (a *Assembler) Tick(nanos int64) {
	a.now = max(a.now, nanos)
	for a.live > 0 {
		i := a.oldestIn(waiting)
		if i < 0 || a.now-a.sets[i].first < int64(Wait) {
			break
		}
		a.finishSet(i, Expired)
	}
	for a.live > 0 {
		i := a.oldestIn(memo)
		if i < 0 || a.now-a.sets[i].last < int64(Wait) {
			break
		}
		a.freeSet(i)
	}
}

// Flush says that the capture ends at nanos: sets that wait are delivered as
// Ended. The Assembler is empty afterwards and can be used again.
func (a *Assembler) Flush(nanos int64) {
	a.Tick(nanos)
	for i := a.oldestIn(waiting); i >= 0; i = a.oldestIn(waiting) {
		a.finishSet(i, Ended)
	}
	for i := a.oldestIn(memo); i >= 0; i = a.oldestIn(memo) {
		a.freeSet(i)
	}
	a.now = 0
}
