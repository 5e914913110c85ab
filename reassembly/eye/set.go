package eye

import (
	"net/netip"

	"qsniff/internal/lru"
	"qsniff/reassembly"
	"qsniff/wire"
)

// key names a reply: a directed pair of ends, and the id.
type key struct {
	src, dst netip.AddrPort
	id       uint32
}

// state is what a set is there for.
type state uint8

const (
	unused  state = iota
	waiting       // fragments missing
	memo          // delivered; remembered to recognise late duplicates
)

// set is a reply on its way. The arrays are indexed by a fragment's number - 1.
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

// fragment is one datagram of a set; len is 0 if it is not there.
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

// oldest returns the set in state st that began first, or -1.
func (a *Assembler) oldestIn(st state) int {
	best := -1
	for i := range a.sets {
		if a.sets[i].state == st && (best < 0 || a.sets[i].first < a.sets[best].first) {
			best = i
		}
	}
	return best
}

// insert adds fragment number n to set i, or to a new one where that is -1.
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

// note remembers the frames of a fragment.
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

// whole reports whether the fragments are 1 to the first one that is shorter than
// FragmentLen, or to 9.
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

// open returns a new set of k, for which an older one may have to go.
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

// block takes a block for set i; when there is none, the oldest other set goes.
// There is one, because a set has fewer blocks than there are.
func (a *Assembler) takeBlock(i int) uint8 {
	if a.nfree == 0 {
		a.sets[i].state = unused // out of the way of oldest
		old := a.oldestIn(waiting)
		a.sets[i].state = waiting
		a.finishSet(old, Evicted)
	}
	a.nfree--
	return a.free[a.nfree]
}

// finish delivers set i. A whole one leaves a memory of its fragments.
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

// deliver joins what set s has.
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
		off := len(joined)
		switch {
		case o == Alone:
		case off == 0:
			b = b[:len(b)-wire.EyeIDLen]
		default:
			b = b[wire.EyeHeaderLen : len(b)-wire.EyeIDLen]
		}
		joined = append(joined, b...)
		if !gap {
			out.Run = len(joined)
		}
		out.Parts = append(out.Parts, reassembly.Piece{Frame: f.frame, Off: uint32(off), Len: uint32(len(b))})
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

// release gives back the blocks of s.
func (a *Assembler) releaseBlocks(s *fragmentSet) {
	for n := range s.have {
		if f := &s.have[n]; f.block != 0 {
			a.free[a.nfree] = f.block
			a.nfree++
			f.block = 0
		}
	}
}

// drop forgets set i.
func (a *Assembler) freeSet(i int) {
	a.releaseBlocks(&a.sets[i])
	a.sets[i] = fragmentSet{}
	a.live--
}
