// Package sample chooses the exchanges of a capture that a report has room for: those with
// findings and those that a caller asks for first, then others evenly over time. It is a
// renderer of dialogues that keeps what another one makes of them. It writes nothing.
//
// An exchange is over and comes in with its turns. In a long capture messages are rendered of a
// part of the exchanges only (isRendered), and else those with something wrong, which then stand
// without the others of their exchange. What has none is counted. Where the rest needs more than its
// memory, so many of each group stay as fit: a group is the exchanges of one server, type,
// outcome and finding that began in the same interval of time.
package sample

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"

	"github.com/klauspost/compress/s2"

	"qsniff/dissect/finding"
	"qsniff/internal/base/hostset"
	"qsniff/internal/base/lru"
	"qsniff/internal/render"
)

// Entry is an exchange that was kept.
type Entry struct {
	ID       uint64 // frame of its first request
	Server   netip.AddrPort
	First    int64    // Unix nanoseconds of its first message
	Severity Severity // of its worst finding
	size     int      // bytes that it takes in a report, with a comma
	text     span     // what the renderer made of it, packed
	group    uint64
}

// Severity is that of the worst finding of an exchange, 0 if there is none.
type Severity uint8

// Has reports whether there is a finding of at least s.
func (x Severity) Has(s finding.Severity) bool { return x > Severity(s) }

type span struct{ from, to int }

// Store keeps exchanges. It is a render.DialogueRenderer.
type Store struct {
	inner   render.DialogueRenderer
	lines   render.Headline // reports what counts as an exchange
	max     int             // bytes
	text    []byte          // of all entries, packed
	entries []Entry
	quota   quota
	buf     []byte // of one
	turns   []byte // of one, unpacked
	seen    uint64 // exchanges, kept or not
}

// New returns an empty store for exchanges of ours, nil for all. size is that of its memory, as
// a multiple of the usual.
func New(inner render.DialogueRenderer, ours *hostset.Set, size float64) *Store {
	n := int(maxBytes * size)
	return &Store{inner: inner, lines: render.Headline{Ours: ours}, max: n}
}

// TurnHeader is how many bytes the text of each turn begins with. The first is 0 of a turn without
// findings, else one more than the severity of its worst finding; the second is a hash of the id
// of that finding. A message that has nothing else was not rendered, or its text was cut.
const TurnHeader = 2

// Append appends a message, if its exchange is one that is rendered.
func (s *Store) Append(dst []byte, e *render.Event) []byte {
	if e.Record != "" { // joined from messages, which are turns
		return dst
	}
	at := len(dst)
	dst = append(dst, 0, 0)
	for i := range e.Msg.Expert {
		markFinding(dst[at:], &e.Msg.Expert[i])
	}
	if !e.TCP && !Severity(dst[at]).Has(finding.Warn) && !isRendered(cmp.Or(e.Exchange.ID, e.Frame)) {
		return dst
	}
	return pack(s.inner.Append(dst, e), at+TurnHeader)
}

// AppendRecord appends a finding.
func (s *Store) AppendRecord(dst []byte, r *render.Record) []byte {
	at := len(dst)
	dst = append(dst, 0, 0)
	markFinding(dst[at:], r.Expert)
	return pack(s.inner.AppendRecord(dst, r), at+TurnHeader)
}

// markFinding notes a finding in the header of a turn.
func markFinding(header []byte, x *finding.Expert) {
	if v := byte(x.Severity) + 1; v > header[0] {
		header[0] = v
		header[1] = 0
		for _, c := range []byte(x.Code.ID) {
			header[1] = header[1]*31 + c
		}
	}
}

// isRendered reports whether the messages of an exchange, by its id, are rendered: all of the
// first ones, and of those in each doubling of frames about as many. It depends on nothing but
// the id, so that goroutines need not agree on it. A message is rendered before it is known
// what becomes of its exchange.
func isRendered(id uint64) bool {
	every := uint64(1)
	for id/every > WholeFrames {
		every *= 2
	}
	return lru.Mix(0, id)%every == 0
}

// AppendDialogue keeps an exchange. It appends nothing.
func (s *Store) AppendDialogue(dst []byte, d *render.Dialogue) []byte {
	if !s.lines.Shows(d) {
		return dst
	}
	s.seen++
	d.Omitted = 0
	d.Turns = slices.DeleteFunc(d.Turns, func(t render.Turn) bool {
		if len(t.Text) > TurnHeader {
			return false
		}
		if !t.IsRecord {
			d.Omitted++
		}
		return true
	})
	if d.Omitted > 0 && !slices.ContainsFunc(d.Turns, func(t render.Turn) bool { return !t.IsRecord }) {
		return dst
	}
	e := newEntry(d)
	if !s.quota.admits(&e) {
		return dst
	}
	s.unpackTurns(d)
	s.buf = bytes.TrimSuffix(s.inner.AppendDialogue(s.buf[:0], d), []byte("\n"))
	e.size = len(s.buf) + 1
	if e.size > s.max/4 { // one would take the place of all others
		return dst
	}
	s.buf = pack(s.buf, 0)
	if len(s.text)+len(s.buf) > s.max || len(s.entries) == maxEntries {
		s.thin(sizeOf(s.entries)/2, maxEntries/2)
		if !s.quota.admits(&e) || len(s.text)+len(s.buf) > s.max {
			return dst
		}
	}
	s.add(&e)
	return dst
}

// newEntry returns the entry of d, without its text.
func newEntry(d *render.Dialogue) Entry {
	e := Entry{ID: d.ID, Server: d.Server, First: d.First}
	code := byte(0)
	for i := range d.Turns {
		t := d.Turns[i].Text
		if v := Severity(t[0]); v > e.Severity {
			e.Severity, code = v, t[1]
		}
	}
	e.group = groupOf(d, e.Severity, code)
	return e
}

// unpackTurns sets the texts of d to what the renderer made.
func (s *Store) unpackTurns(d *render.Dialogue) {
	s.turns = s.turns[:0]
	for i := range d.Turns {
		t := &d.Turns[i]
		from := len(s.turns)
		s.turns = unpack(s.turns, t.Text[TurnHeader:])
		t.Text = s.turns[from:]
	}
}

func (s *Store) add(e *Entry) {
	if s.entries == nil { // as long as they become: memory that is not used yet is none
		s.entries, s.text = make([]Entry, 0, maxEntries), make([]byte, 0, s.max)
	}
	from := len(s.text)
	s.text = append(s.text, s.buf...)
	e.text = span{from, len(s.text)}
	s.quota.count(e)
	s.entries = append(s.entries, *e)
}

// groupOf returns a hash of the group of an exchange, but for its time. code is of its worst
// finding.
func groupOf(d *render.Dialogue, worst Severity, code byte) uint64 {
	h := lru.Mix(uint64(d.Outcome), uint64(worst)<<8|uint64(code))
	a := d.Server.Addr().As16()
	h = lru.Mix(lru.MixBytes(h, a[:]), uint64(d.Server.Port()))
	if d.Proto != nil {
		h = lru.MixBytes(h, []byte(d.Proto.Name))
	}
	if d.Type != nil {
		h = lru.MixBytes(h, []byte(d.Type.Name))
	}
	return h
}

// thin drops entries until they take at most that many bytes, and sets the quota by which
// others are admitted from now on.
func (s *Store) thin(most, count int) {
	kept, q := choose(s.entries, most, count)
	s.quota = q
	s.keep(kept)
}

// keep drops the entries that are not in kept, in order of their text.
func (s *Store) keep(kept []Entry) {
	slices.SortFunc(kept, func(a, b Entry) int { return cmp.Compare(a.text.from, b.text.from) })
	n := 0
	for i := range kept {
		x := &kept[i].text
		size := copy(s.text[n:], s.text[x.from:x.to])
		x.from, x.to = n, n+size
		n += size
	}
	s.text = s.text[:n]
	s.entries = s.entries[:copy(s.entries, kept)]
}

// Choose keeps the entries that take at most so many bytes in all: of those that isFirst
// reports and those with findings of note, as many as fit into three quarters, then others. It
// returns them in the order of their ids, and how many exchanges of the run it has not.
func (s *Store) Choose(most int, isFirst func(*Entry) bool) (all []Entry, left uint64) {
	var first, others []Entry
	for i := range s.entries {
		if e := &s.entries[i]; e.Severity.Has(finding.Note) || isFirst(e) {
			first = append(first, *e)
		} else {
			others = append(others, *e)
		}
	}
	share := most - min(sizeOf(others), most/4)
	first, _ = choose(first, share, maxEntries)
	others, _ = choose(others, most-sizeOf(first), maxEntries)
	all = slices.Concat(first, others)
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.text.from, b.text.from)) })
	return all, s.seen - uint64(len(all))
}

// AppendText appends what the renderer made of an entry.
func (s *Store) AppendText(dst []byte, e *Entry) []byte {
	return unpack(dst, s.text[e.text.from:e.text.to])
}

func sizeOf(all []Entry) (n int) {
	for i := range all {
		n += all[i].size
	}
	return n
}

// pack compresses what follows from in dst: a rendered message takes a fifth of its length
// then. It uses memory after dst, so that goroutines can call it.
func pack(dst []byte, from int) []byte {
	text := dst[from:]
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(text)))
	packed := s2.Encode(dst[len(dst):cap(dst)], dst[from:])
	return append(dst[:from], packed...)
}

// unpack appends what pack compressed.
func unpack(dst, packed []byte) []byte {
	n, err := s2.DecodedLen(packed)
	if err != nil {
		panic("sample: " + err.Error()) // pack made it
	}
	dst = slices.Grow(dst, n)
	if _, err = s2.Decode(dst[len(dst):len(dst)+n], packed); err != nil {
		panic("sample: " + err.Error())
	}
	return dst[:len(dst)+n]
}

const (
	// limit: maxBytes is the packed text of the exchanges that are kept until the end of the run, when
	// it is known how much room a report has, and what the incidents were: unpacked, several
	// times as much as a report holds.
	maxBytes = 3 << 19

	// limit: MaxOpen is the packed text of exchanges that are not over. Chosen: a thousand of usual
	// length.
	MaxOpen = 3 << 19

	// limit: maxEntries is how many they are, 0.2 MiB. Chosen: those with the shortest texts fill
	// maxBytes.
	maxEntries = 1 << 11

	// limit: WholeFrames is up to which frame all exchanges are rendered, and how many frames of each
	// doubling after that: a rendered message takes ten times as long as a counted one, and a
	// report shows a thousand of a million.
	WholeFrames = 1 << 13
)
