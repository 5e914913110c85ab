// Package eye joins the fragments of long replies in the All-Seeing Eye protocol:
// datagrams that begin with EYE1, EYE2 and so on and end with an id of four bytes. See
// package wire for their form, and for MTA's short replies with the same headers.
//
// It is not a dissector: it does not read the joined reply. It is not fit
// for concurrent use: one Assembler serves one partition. It has no clock: time
// is packet time.
//
// A datagram arrives. If it can be a fragment, it goes to the set with its ends and id,
// or opens one. A set is delivered when it is whole, when it has waited too long, when
// its memory is needed, or when the capture ends. Checksums of a whole set stay for a
// while, so that late duplicates of its fragments are not delivered again.
package eye

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"

	"qsniff/reassembly"
	"qsniff/reassembly/wire"
)

// Datagram is a datagram that may be a fragment of a reply. The Assembler copies what
// it keeps.
type Datagram struct {
	Src, Dst netip.AddrPort
	Data     []byte
	Wire     int // length as sent
	Frame    uint64
	Pieces   []reassembly.Piece // fragments of IP that it came in; nil if that is Frame
	Nanos    int64
	// WantsShort is set if the client asked for short replies and never for the long
	// one, so that "EYE2" and "EYE3" are whole replies, not fragments.
	WantsShort bool
}

// Outcome is what became of a set.
type Outcome uint8

// The outcomes.
const (
	Complete Outcome = iota
	Alone            // one EYE1 datagram of a fragment's length that reads to its end; no fragment followed it
	Expired          // fragments were missing when Wait was over
	Evicted          // others needed the memory
	Ended            // the capture ended first
	Replaced         // a different fragment with a number and an id that it had opened a new set
)

// Set is a reply, whole or with fragments missing. All of it is valid during Deliver only.
type Set struct {
	Src, Dst netip.AddrPort
	Outcome  Outcome
	// Data starts with the header of the first fragment that came; the others
	// follow without theirs, and all without id. If Data does not start with EYE1,
	// the start of the reply is missing. Of a set that is Alone it is the datagram as
	// it came.
	Data   []byte
	Run    int                // bytes of Data before the first gap
	Parts  []reassembly.Piece // the bytes that each fragment brought, in the order of Data
	Frames []uint64           // in order of arrival, at most maxFrames
	First  int64              // packet time of the first fragment that came
	Last   int64              // and of the last one
}

// Assembler joins the fragments of any number of flows within fixed memory. Set
// Deliver before the first call.
type Assembler struct {
	// Deliver receives every set once, when it is whole or waits no longer. It must not
	// call the Assembler.
	Deliver func(*Set)

	Counters reassembly.JoinCounters

	seed   uint64 // of the checksums by which repeated fragments are recognised
	now    int64
	live   int // sets that are not unused
	sets   [MaxSets]fragmentSet
	blocks *[maxBlocks + 1][wire.EyeFragmentLen]byte // number 0 is "no block"; nil before the first fragment
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

// Add adds one datagram and reports whether it was a fragment. If it was not, it
// is a whole message and nothing of it was kept. Sets that it completes, that it evicts
// or that have expired are delivered before Add returns.
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

// isPossibleLen reports whether fragment n can be l bytes long. The first one has full
// length, because a reply that fits one datagram is not cut.
func isPossibleLen(n, l int) bool {
	if n == 1 {
		return l == wire.EyeFragmentLen
	}
	return l > wire.EyeHeaderLen+wire.EyeIDLen && l <= wire.EyeFragmentLen
}

// mayBegin reports whether datagram f, number n of a reply of which no set waits, is
// taken as the fragment that opens one.
func mayBegin(f *Datagram, n int) bool {
	return !wire.IsMTA(f.Data) && (n == 1 || !f.WantsShort)
}

// Tick advances packet time to nanos and delivers the sets that have waited for Wait,
// oldest first, as Expired. Time that goes backwards stands still instead.
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

// Flush ends the capture at nanos: it delivers the sets that wait as Ended. The
// Assembler is empty afterwards and can be used again.
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
