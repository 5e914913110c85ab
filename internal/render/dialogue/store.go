package dialogue

import (
	"slices"

	"qsniff/internal/render"
)

// store holds the turns of all dialogues that are open: for each dialogue a chain of turns,
// and for the text of each turn a chain of blocks. It grows to the most that was ever open
// at one time, and uses blocks again whatever the lengths of texts. A slice for each
// dialogue, which it replaces, left a kilobyte of garbage an exchange, and thousands of
// slices as long as the longest dialogue that each had ever held.
type store struct {
	turns  pool[turn]
	blocks pool[[blockBytes]byte]
	list   []turn // what collect returned last
	text   []byte // the texts of these
}

// turn is a render.Turn whose text is a chain of blocks.
type turn struct {
	render.Turn
	blocks     uint32
	short      [shortText]byte // a text that is no longer: without a block
	textLen    int             // length of the text
	orderFrame uint64          // frame by which it is ordered
}

// shortText is how long a text is that needs no block. Chosen: what is left of one that
// Options.MaxText cuts.
const shortText = 4

// chain is a list of turns.
type chain struct {
	first, last uint32
	count       int
	bytes       int // of text
}

// add appends a turn.
func (s *store) add(c *chain, t render.Turn) {
	i := s.turns.alloc()
	x := s.turns.value(i)
	*x = turn{Turn: t, textLen: len(t.Text)}
	x.Text = nil // it is the pipeline's
	var last uint32
	b := t.Text
	if len(b) <= shortText {
		copy(x.short[:], b)
		b = nil
	}
	for ; len(b) > 0; b = b[min(len(b), blockBytes):] {
		k := s.blocks.alloc()
		copy(s.blocks.value(k)[:], b)
		if last == 0 {
			x.blocks = k
		} else {
			s.blocks.link(last, k)
		}
		last = k
	}
	if c.first == 0 {
		c.first = i
	} else {
		s.turns.link(c.last, i)
	}
	c.last = i
	c.count++
	c.bytes += len(t.Text)
}

// collect returns the turns of c with their texts. They are valid until the next call of
// collect.
func (s *store) collect(c *chain) []turn {
	s.list, s.text = s.list[:0], slices.Grow(s.text[:0], c.bytes)
	for i := c.first; i != 0; i = s.turns.next(i) {
		t := *s.turns.value(i)
		lo := len(s.text)
		left := t.textLen
		if left <= shortText {
			s.text = append(s.text, t.short[:left]...)
		}
		for k := t.blocks; k != 0; k = s.blocks.next(k) {
			s.text = append(s.text, s.blocks.value(k)[:min(left, blockBytes)]...)
			left -= blockBytes
		}
		t.Text = s.text[lo:]
		s.list = append(s.list, t)
	}
	return s.list
}

// cut leaves the first n bytes of the text of each turn of c, at most shortText.
func (s *store) cut(c *chain, n int) {
	for i := c.first; i != 0; i = s.turns.next(i) {
		t := s.turns.value(i)
		if t.textLen <= n {
			continue
		}
		if t.textLen > shortText {
			copy(t.short[:], s.blocks.value(t.blocks)[:n])
			s.releaseBlocks(t.blocks)
			t.blocks = 0
		}
		c.bytes -= t.textLen - n
		t.textLen = n
	}
}

func (s *store) releaseBlocks(first uint32) {
	for k := first; k != 0; {
		following := s.blocks.next(k)
		s.blocks.release(k)
		k = following
	}
}

// trim frees the memory of collect where a long dialogue made it grow beyond keepBytes.
func (s *store) trim() {
	if cap(s.text) > keepBytes {
		s.text = nil
	}
	if cap(s.list) > keepBytes/turnBytes {
		s.list = nil
	}
}

// release empties c. It calls released with the frame of each turn.
func (s *store) release(c *chain, released func(frame uint64)) {
	for i := c.first; i != 0; {
		t, next := s.turns.value(i), s.turns.next(i)
		released(t.Frame)
		s.releaseBlocks(t.blocks)
		s.turns.release(i)
		i = next
	}
	*c = chain{}
}

// pool allocates nodes, which have numbers from 1 and form singly linked lists.
type pool[T any] struct {
	pages [][]node[T]
	taken uint32 // nodes that were ever allocated
	free  uint32 // first of the list of released nodes; 0: none
}

type node[T any] struct {
	value T
	next  uint32
}

// pageNodes is how many nodes a page has. Chosen: a page of blocks is 32 KiB, so that a
// run with few dialogues takes little, and one with thousands allocates rarely.
const pageNodes = 256

func (p *pool[T]) node(i uint32) *node[T] { return &p.pages[(i-1)/pageNodes][(i-1)%pageNodes] }
func (p *pool[T]) value(i uint32) *T      { return &p.node(i).value }
func (p *pool[T]) next(i uint32) uint32   { return p.node(i).next }

// link makes k the successor of i.
func (p *pool[T]) link(i, k uint32) { p.node(i).next = k }

// alloc returns a node without a successor. Its value is that of its last use.
func (p *pool[T]) alloc() uint32 {
	i := p.free
	if i == 0 {
		if p.taken%pageNodes == 0 {
			p.pages = append(p.pages, make([]node[T], pageNodes))
		}
		p.taken++
		return p.taken
	}
	p.free = p.node(i).next
	p.node(i).next = 0
	return i
}

func (p *pool[T]) release(i uint32) {
	p.node(i).next = p.free
	p.free = i
}

// list is a list of dialogues in the order in which they began.
type list struct{ first, last *dialogue }

// append adds d, which began last, at the end.
func (l *list) append(d *dialogue) { l.insertAfter(d, l.last) }

// insert puts d where it belongs by the order in which dialogues began.
func (l *list) insert(d *dialogue) {
	at := l.last
	for at != nil && at.seq > d.seq {
		at = at.prev
	}
	l.insertAfter(d, at)
}

// insertAfter puts d after at, or before all where that is nil.
func (l *list) insertAfter(d, at *dialogue) {
	d.in, d.prev = l, at
	if at == nil {
		d.next, l.first = l.first, d
	} else {
		d.next, at.next = at.next, d
	}
	if d.next == nil {
		l.last = d
	} else {
		d.next.prev = d
	}
}

// remove takes d out of the list.
func (l *list) remove(d *dialogue) {
	if d.prev == nil {
		l.first = d.next
	} else {
		d.prev.next = d.next
	}
	if d.next == nil {
		l.last = d.prev
	} else {
		d.next.prev = d.prev
	}
	d.prev, d.next = nil, nil
}

const (
	// limit: blockBytes is the unit of memory for texts: a line of a dump has 80 bytes, the
	// first line of a message 80 to 200.
	blockBytes = 128

	// limit: keepBytes is how much of the memory in which a dialogue is put together is kept
	// for the next one. Chosen: longer dialogues are rare.
	keepBytes = 64 << 10
)
