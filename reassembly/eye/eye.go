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
	"time"

	"qsniff/internal/base/lru"
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

// key identifies a reply: the ends, by direction, and the id.
type key struct {
	src, dst netip.AddrPort
	id       uint32
}

// state is what a set is kept for.
type state uint8

const (
	unused  state = iota
	waiting       // fragments missing
	memo          // delivered; its checksums are kept to recognise late duplicates
)

// fragmentSet holds the fragments of one reply that came. Fragment number n is have[n-1].
type fragmentSet struct {
	key         key
	state       state
	isRepeat    bool // so far equal to a delivered set, fragment by fragment
	first, last int64
	n           int // fragments
	have        [wire.MaxEyeNumber]fragment
	frames      [maxFrames]uint64
	nframes     int
}

// fragment is one datagram of a set; len is 0 if it did not come.
type fragment struct {
	sum   uint64
	frame uint64
	len   uint16
	block uint8
}

// find returns the set of k in state st, or -1.
func (a *Assembler) find(k key, st state) int {
	for i := range a.sets {
		if a.sets[i].state == st && a.sets[i].key == k {
			return i
		}
	}
	return -1
}

// oldestIn returns the set in state st that was opened first, or -1.
func (a *Assembler) oldestIn(st state) int {
	best := -1
	for i := range a.sets {
		if a.sets[i].state == st && (best < 0 || a.sets[i].first < a.sets[best].first) {
			best = i
		}
	}
	return best
}

// insert adds fragment number n to set i, or to a new set if i is -1. A fragment that
// contradicts the one that set i has ends that set and opens a new one.
func (a *Assembler) insert(i int, k key, n int, f *Datagram) {
	sum := lru.MixBytes(lru.Mix(a.seed, uint64(len(f.Data))), f.Data)
	if i >= 0 {
		if h := &a.sets[i].have[n-1]; h.len > 0 {
			if h.sum == sum {
				a.Counters.Duplicates++
				return
			}
			a.finishSet(i, Replaced)
			i = -1
		}
	}
	if i < 0 {
		i = a.openSet(k)
	}
	b := a.takeBlock(i)
	s := &a.sets[i]
	copy(a.blocks[b][:], f.Data)
	s.have[n-1] = fragment{sum: sum, frame: f.Frame, len: uint16(len(f.Data)), block: b}
	s.n++
	s.last = a.now
	s.noteFrames(f)
	if m := a.find(k, memo); m < 0 || a.sets[m].have[n-1].sum != sum {
		s.isRepeat = false
	}
	if s.isWhole() {
		a.finishSet(i, Complete)
	}
}

// noteFrames adds the frames that brought f to those of the set.
func (s *fragmentSet) noteFrames(f *Datagram) {
	add := func(frame uint64) {
		if s.nframes < len(s.frames) {
			s.frames[s.nframes] = frame
			s.nframes++
		}
	}
	if len(f.Pieces) == 0 {
		add(f.Frame)
		return
	}
	for i := range f.Pieces {
		add(f.Pieces[i].Frame)
	}
}

// isWhole reports whether s has the fragments from number 1 to the first one that is
// shorter than wire.EyeFragmentLen, or to number 9, and no others.
func (s *fragmentSet) isWhole() bool {
	for n := range s.have {
		switch l := s.have[n].len; {
		case l == 0:
			return false
		case l < wire.EyeFragmentLen || n == wire.MaxEyeNumber-1:
			return s.n == n+1
		}
	}
	return false
}

// openSet returns a new set for k. If all are in use, it frees or evicts the oldest one.
func (a *Assembler) openSet(k key) int {
	i := a.find(key{}, unused)
	if i < 0 {
		i = a.oldestIn(memo)
		if i >= 0 {
			a.freeSet(i)
		} else {
			i = a.oldestIn(waiting)
			a.finishSet(i, Evicted)
		}
	}
	a.sets[i] = fragmentSet{key: k, state: waiting, isRepeat: true, first: a.now}
	a.live++
	return i
}

// takeBlock returns a block for set i. If none is free, it evicts the oldest other set;
// there is one, because a set has fewer blocks than there are.
func (a *Assembler) takeBlock(i int) uint8 {
	if a.nfree == 0 {
		a.sets[i].state = unused // so that oldestIn finds another
		old := a.oldestIn(waiting)
		a.sets[i].state = waiting
		a.finishSet(old, Evicted)
	}
	if a.blocks == nil { // most captures have no such fragments
		a.blocks = new([maxBlocks + 1][wire.EyeFragmentLen]byte)
	}
	a.nfree--
	return a.free[a.nfree]
}

// finishSet delivers set i with outcome o, and frees it. Of a complete set the checksums
// stay, as a memo. An incomplete set that only repeats a delivered one is dropped.
func (a *Assembler) finishSet(i int, o Outcome) {
	s := &a.sets[i]
	if o == Evicted {
		a.Counters.Evicted++
	}
	if o != Complete && s.isRepeat {
		a.Counters.Repeats++
		a.freeSet(i)
		return
	}
	if o != Complete && s.n == 1 && s.have[0].len > 0 && wire.IsWholeEye(a.bytesOf(&s.have[0])) {
		o = Alone
	}
	a.deliver(s, o)
	if o != Complete {
		a.freeSet(i)
		return
	}
	if old := a.find(s.key, memo); old >= 0 {
		a.freeSet(old)
	}
	a.releaseBlocks(s)
	s.state, s.first = memo, s.last
}

func (a *Assembler) bytesOf(f *fragment) []byte { return a.blocks[f.block][:f.len] }

// deliver joins the fragments of s and passes them to Deliver with outcome o.
func (a *Assembler) deliver(s *fragmentSet, o Outcome) {
	out := &a.out
	*out = Set{Src: s.key.src, Dst: s.key.dst, Outcome: o, Parts: a.parts[:0], Frames: s.frames[:s.nframes], First: s.first, Last: s.last}
	joined := a.joined[:0]
	gap := false
	for n := range s.have {
		f := &s.have[n]
		if f.len == 0 {
			gap = gap || len(joined) > 0
			continue
		}
		b := a.bytesOf(f)
		off, at := len(joined), 0
		switch {
		case o == Alone:
		case off == 0:
			b = b[:len(b)-wire.EyeIDLen]
		default:
			at = wire.EyeHeaderLen
			b = b[at : len(b)-wire.EyeIDLen]
		}
		joined = append(joined, b...)
		if !gap {
			out.Run = len(joined)
		}
		out.Parts = append(out.Parts, reassembly.Piece{Frame: f.frame, Off: uint32(off), Len: uint32(len(b)), At: uint32(at)})
	}
	out.Data = joined
	a.Counters.Sets++
	if o == Complete || o == Alone {
		a.Counters.Complete++
	} else {
		a.Counters.Incomplete++
	}
	a.Deliver(out)
}

// releaseBlocks frees the blocks of s.
func (a *Assembler) releaseBlocks(s *fragmentSet) {
	for n := range s.have {
		if f := &s.have[n]; f.block != 0 {
			a.free[a.nfree] = f.block
			a.nfree++
			f.block = 0
		}
	}
}

// freeSet frees set i and its blocks.
func (a *Assembler) freeSet(i int) {
	a.releaseBlocks(&a.sets[i])
	a.sets[i] = fragmentSet{}
	a.live--
}

// limit: The limits of one Assembler. When one is reached, sets make room in this order:
// delivered sets of which checksums are kept, oldest first; then the set that has
// waited longest, which is delivered with what it has. Counters.Evicted counts the latter.
const (
	// MaxSets is how many sets wait or are kept to recognise duplicates. Chosen:
	// servers that cut their replies are rare and the fragments of one arrive within
	// milliseconds.
	MaxSets = 16

	// maxBlocks of wire.EyeFragmentLen bytes are 32 KiB: twelve whole replies of two
	// fragments, or two of the nine that the header can count.
	maxBlocks = 24

	// maxFrames is how many frames are listed for a set. Fragments fit the
	// usual MTU, so a set has nine at most; a tunnel doubles that. Those of further
	// fragments are not listed.
	maxFrames = 32

	// Wait is the packet time for which a set waits after its first fragment: as long
	// as a set of split parts waits.
	Wait = 5 * time.Second
)
