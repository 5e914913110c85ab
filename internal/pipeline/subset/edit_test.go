package subset

import (
	"bytes"
	"compress/bzip2"
	"io"
	"math/rand/v2"
	"testing"

	"qsniff/capture"
	"qsniff/capture/packet"
	"qsniff/dissect"
	"qsniff/internal/base/bzip"
	"qsniff/internal/render"
)

// datagram returns a packet of raw IPv4 with a UDP datagram that carries b.
func datagram(b []byte) []byte {
	n := 28 + len(b)
	head := []byte{0x45, 0, byte(n >> 8), byte(n), 0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
		0x9c, 0x41, 0x69, 0x87, byte((n - 20) >> 8), byte(n - 20), 0, 0}
	return append(head, b...)
}

// FuzzEdits: a message is cut into packets, stretches of it are overwritten, and what the
// packets then hold is the message with these stretches overwritten.
func FuzzEdits(f *testing.F) {
	f.Add([]byte("a message with a secret in it"), []byte{3, 9, 40}, uint16(17), uint16(6), false)
	f.Add([]byte("xyz"), []byte{1}, uint16(0), uint16(3), true)
	f.Fuzz(func(t *testing.T, data, cuts []byte, off, n uint16, hasLost bool) {
		if len(data) == 0 || len(data) > 1000 || len(cuts) > 20 {
			return
		}
		lo := int(off) % len(data)
		hi := lo + int(n)%(len(data)-lo+1)
		var pieces []render.Piece
		var frames []uint64
		var packets [][]byte
		for at := 0; at < len(data); {
			size := len(data) - at
			if len(cuts) > 0 {
				size = min(size, int(cuts[0])+1)
				cuts = cuts[1:]
			}
			frame := uint64(len(packets) + 1)
			head := len(packets) % 5 // of the part, before the bytes of the message
			pieces = append(pieces, render.Piece{Frame: frame, Off: uint32(at), Len: uint32(size), At: uint32(head)})
			frames = append(frames, frame)
			packets = append(packets, datagram(append(bytes.Repeat([]byte{'h'}, head), data[at:at+size]...)))
			at += size
		}
		if hasLost { // nobody knows what brought the last bytes
			pieces = pieces[:len(pieces)-1]
		}
		e := render.Event{Frame: frames[len(frames)-1], Frames: frames, Msg: &dissect.Message{Data: data}}
		e.Origin.Pieces = pieces
		want := append([]byte(nil), data...)
		with := bytes.Repeat([]byte{'*'}, hi-lo)
		copy(want[lo:], with)
		var edits []Edit
		if hi > lo {
			edits = append(edits, Edit{Off: uint32(lo), New: with})
		}
		encoded, _ := appendPacketEdits(nil, &e, edits)
		got := applied(t, encoded, packets)
		for i, p := range pieces {
			b := got[i][28+p.At:][:p.Len]
			isWiped := bytes.Count(b, []byte{filler}) == len(b)
			if !bytes.Equal(b, want[p.Off:p.Off+p.Len]) && !(hasLost && isWiped) {
				t.Errorf("packet %d has %q, want %q", i+1, b, want[p.Off:p.Off+p.Len])
			}
		}
		if last := got[len(got)-1][28:]; hasLost && hi > lo && bytes.Count(last, []byte{filler}) != len(last) {
			t.Errorf("the packet of which nothing is known has %q", last)
		}
	})
}

// applied applies encoded edits to packets, whose numbers are from 1.
func applied(t *testing.T, edits []byte, packets [][]byte) [][]byte {
	t.Helper()
	own := map[uint64][]byte{}
	for len(edits) > 0 {
		x, b, rest := cutEdit(edits)
		if x.frame == 0 || x.frame > uint64(len(packets)) {
			t.Fatalf("an edit of packet %d", x.frame)
		}
		own[x.frame] = append(own[x.frame], b...)
		edits = rest
	}
	var a editor
	for i, b := range packets {
		a.apply(&capture.Packet{Link: packet.LinkRaw, Wire: uint32(len(b))}, b, [][]byte{own[uint64(i+1)]}, false)
	}
	return packets
}

// TestMismatch: where other bytes are in a packet than in its message, all that it carries is
// overwritten, and counted.
func TestMismatch(t *testing.T) {
	var a editor
	b := datagram([]byte("password=abc"))
	a.apply(&capture.Packet{Link: packet.LinkRaw, Wire: uint32(len(b))}, b,
		[][]byte{appendEdit(nil, &packetEdit{frame: 1, at: 9, n: 3, old: []byte("abd"), new: []byte("xxx")})}, false)
	if string(b[28:]) != "xxxxxxxxxxxx" || a.wiped != 1 {
		t.Errorf("%q, %d overwritten", b[28:], a.wiped)
	}
}

// TestBitmap: marks are found once, and pages are used again.
func TestBitmap(t *testing.T) {
	var b bitmap
	for _, n := range []uint64{1, 63, 64, pageBits, 5 * pageBits} {
		if !b.set(n) || !b.clear(n) || b.clear(n) || len(b.pages) != 0 {
			t.Errorf("%d: not there, or there twice", n)
		}
	}
	if n := testing.AllocsPerRun(100, func() { b.set(9); b.clear(9) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}

// TestPackSimpler: a text that varies more than the one in its place is packed into as many
// bytes with fewer letters, none of which stays; where even that is too much, it is not.
func TestPackSimpler(t *testing.T) {
	old := bytes.Repeat([]byte("name\x00Player 1\x00sv_x\x000\x00"), 40)
	r := rand.New(rand.NewPCG(1, 2))
	replace := func() []byte {
		text := bytes.Clone(old)
		for i, c := range text {
			if first, n := firstOf(c); n > 1 && i%21 < 12 {
				text[i] = first + (c-first+1+byte(r.UintN(uint(n)-1)))%n
			}
		}
		return text
	}
	text, size := replace(), 0
	for size = 1; bzip.Pack(old, size) == nil; size++ {
	}
	if bzip.Pack(text, size+50) != nil {
		t.Fatal("it is no test: the text fits")
	}
	b := packSimpler(text, old, size+50)
	got, err := io.ReadAll(bzip2.NewReader(bytes.NewReader(b)))
	if err != nil || len(b) != size+50 || !bytes.Equal(got, text) {
		t.Fatalf("%d bytes with %q, %v; want %d", len(b), got, err, size+50)
	}
	for i, c := range got {
		if _, n := firstOf(c); n > 1 && i%21 < 12 && c == old[i] {
			t.Errorf("byte %d is %q as before", i, c)
		}
	}
	if packSimpler(replace(), old, 30) != nil {
		t.Error("packed into 30 bytes")
	}
}
