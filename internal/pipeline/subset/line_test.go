package subset

import (
	"bytes"
	"testing"

	"qsniff/capture"
)

// leaving returns the packets that leave a line, with the first comment of each.
func leaving(l *line, all bool) (frames []uint64, comments []string) {
	_ = l.release(all, func(p *capture.Packet, about []capture.Comment) error {
		frames = append(frames, p.No)
		for _, c := range about {
			comments = append(comments, string(c.Text))
		}
		return nil
	})
	return frames, comments
}

// TestLine: packets of a stream leave in order, after lineTime or when there are too many.
func TestLine(t *testing.T) {
	l := newLine(4 * blockBytes)
	l.wait = int64(lineTime)
	add := func(no uint64, nanos int64, size int) {
		l.add(&capture.Batch{Packets: []capture.Packet{{No: no, Nanos: nanos, Data: make([]byte, size)}},
			Comments: []capture.Comment{{Text: []byte("hello")}}})
	}
	add(1, 0, 10)
	add(2, int64(lineTime)-1, 10)
	if got, _ := leaving(&l, false); got != nil {
		t.Errorf("%v left too early", got)
	}
	add(3, int64(lineTime), 10)
	if got, about := leaving(&l, false); len(got) != 1 || got[0] != 1 || about[0] != "hello" || l.released != 1 {
		t.Errorf("%v left, %q; want the first", got, about)
	}
	for no := uint64(4); no < 8; no++ {
		add(no, int64(lineTime), capture.MaxCaptured)
	}
	if got, about := leaving(&l, false); len(got) != 2 || got[0] != 2 || got[1] != 3 || len(about) != 2 {
		t.Errorf("%v left, %q; want 2 and 3, whose block has no room", got, about)
	}
	if got, _ := leaving(&l, true); len(got) != 4 || got[3] != 7 || len(l.held) != 0 || l.released != 7 {
		t.Errorf("%v left in the end", got)
	}
}

// TestLineCounts: a line that only counts releases the same packets as one that holds them.
func TestLineCounts(t *testing.T) {
	holds, counts := newLine(3*blockBytes), newLine(3*blockBytes)
	counts.counts = true
	for no := uint64(1); no < 20_000; {
		var b capture.Batch
		for range no%7 + 1 {
			b.Packets = append(b.Packets, capture.Packet{No: no, Data: make([]byte, no*no%1500)})
			no++
		}
		for _, l := range []*line{&holds, &counts} {
			l.add(&b)
			leaving(l, false)
		}
		if holds.released != counts.released {
			t.Fatalf("at %d: %d and %d left", no, holds.released, counts.released)
		}
	}
	if holds.released < 10_000 {
		t.Errorf("%d left", holds.released)
	}
}

// TestAllocations: once it has grown, nothing is allocated for packets and what is written
// about them.
func TestAllocations(t *testing.T) {
	l, r := newLine(4*blockBytes), newRecent(planBytes)
	comment, edit := []byte("qsniff: a comment\n"), appendEdit(nil, &packetEdit{frame: 1, at: 9, n: 3, old: []byte("abd"), new: []byte("xxx")})
	var e entry
	frame, left := uint64(0), 0
	b := capture.Batch{Packets: make([]capture.Packet, 10)}
	data := bytes.Repeat([]byte("data"), 200)
	write := func(p *capture.Packet, _ []capture.Comment) error {
		e.reset()
		if r.take(p.No, &e); !e.isMarked || len(e.own) != 1 || len(e.edits) != 1 || len(e.edits[0]) != 2*len(edit) || !bytes.Equal(p.Data, data) {
			t.Fatalf("packet %d is not as it was: %+v", p.No, e)
		}
		r.forget(p.No)
		left++
		return nil
	}
	add := func() {
		for i := range b.Packets {
			frame++
			b.Packets[i] = capture.Packet{No: frame, Data: data}
			if !r.mark(frame) || !r.note(frame, ownComments, comment) || !r.note(frame, editsOf, edit) || !r.note(frame, editsOf, edit) {
				t.Fatal("there is no room")
			}
		}
		l.add(&b)
		if err := l.release(false, write); err != nil {
			t.Fatal(err)
		}
	}
	for range 1000 {
		add()
	}
	rounds := func() {
		for range 100 { // several blocks
			add()
		}
	}
	if n := testing.AllocsPerRun(10, rounds); n > 0 {
		t.Errorf("%g allocations", n)
	}
	if err := l.release(true, write); err != nil || uint64(left) != frame || r.memos.size != 0 {
		t.Errorf("%v; %d of %d left, %d bytes stay", err, left, frame, r.memos.size)
	}
}

// TestRoom: where there is no room for comments and edits, comments are left out, packets
// overwritten, and both counted.
func TestRoom(t *testing.T) {
	r := newRecent(1000)
	for range 100 {
		r.note(1, ownComments, []byte("comment"))
	}
	if r.note(2, ownComments, []byte("comment")) {
		t.Error("there is room")
	}
	r.wipe(2)
	var e entry
	if r.take(1, &e); e.wipesAll || len(e.own) == 0 {
		t.Errorf("packet 1: %+v", e)
	}
	if r.take(2, &e); !e.wipesAll {
		t.Error("packet 2 is not overwritten")
	}
	if r.forget(2); !r.note(3, ownComments, []byte("comment")) {
		t.Error("there is no room again")
	}
}
