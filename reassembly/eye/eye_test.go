package eye

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/reassembly"
	"qsniff/reassembly/wire"
)

var (
	server = netip.MustParseAddrPort("198.18.0.1:23123")
	client = netip.MustParseAddrPort("10.64.0.1:40001")
)

const (
	second = int64(1e9)
	room   = wire.EyeFragmentLen - wire.EyeHeaderLen - wire.EyeIDLen
)

// reply is an EYE1 of n bytes of a game that is not MTA.
func reply(n int) []byte {
	b := []byte("EYE1\x07bf1942\x0614690\x05name\x02t\x02m\x041.6\x020\x022\x0364\x01")
	for i := 0; len(b) < n; i++ {
		b = append(b, "\x01\x08Player"...)
		b = append(b, 'a'+byte(i%26))
	}
	return b[:n]
}

// cut makes the fragments of msg as servers do.
func cut(msg []byte, id uint32) [][]byte {
	var out [][]byte
	for body, n := msg[wire.EyeHeaderLen:], byte('1'); len(body) > 0; n++ {
		l := min(len(body), room)
		f := append([]byte("EYE"), n)
		f = binary.LittleEndian.AppendUint32(append(f, body[:l]...), id)
		out = append(out, f)
		body = body[l:]
	}
	return out
}

// got is a delivered set that may be kept.
type got struct {
	Outcome Outcome
	Data    string
	Run     int
	Parts   []reassembly.Piece
	Frames  []uint64
}

type bench struct {
	*Assembler
	sets  []got
	frame uint64
	nanos int64
}

func newBench() *bench {
	b := &bench{Assembler: New(), nanos: 1000 * second}
	b.Deliver = func(s *Set) {
		b.sets = append(b.sets, got{s.Outcome, string(s.Data), s.Run, slices.Clone(s.Parts), slices.Clone(s.Frames)})
	}
	return b
}

// add sends a datagram a millisecond after the last.
func (b *bench) add(data []byte) bool {
	b.frame++
	b.nanos += second / 1000
	return b.Add(&Datagram{Src: server, Dst: client, Data: data, Wire: len(data), Frame: b.frame, Nanos: b.nanos})
}

// TestOrders sends the fragments of two replies, of 3,000 and 1,800 bytes, in an order.
func TestOrders(t *testing.T) {
	long, short := reply(3000), reply(1800)
	l, s := cut(long, 0x1111), cut(short, 0x2222)
	tight := cut(long, 0x1111) // the id of l, other bytes
	tight[1][100] ^= 1
	for _, tc := range []struct {
		name string
		in   [][]byte
		want string // outcome and run of each set; at the end the capture ends
	}{
		{"in order", l, "complete 3000"},
		{"reversed", [][]byte{l[2], l[1], l[0]}, "complete 3000"},
		{"two replies taking turns", [][]byte{l[0], s[0], l[1], s[1], l[2]}, "complete 1800, complete 3000"},
		{"a duplicate", [][]byte{l[0], l[0], l[1], l[2]}, "complete 3000"},
		{"late duplicates", [][]byte{s[0], s[1], s[1], s[0][:10]}, "complete 1800"},
		{"the same reply again", [][]byte{s[0], s[1], s[0], s[1]}, "complete 1800, complete 1800"},
		{"the id again, with other bytes", [][]byte{l[0], l[1], l[2], tight[1]}, "complete 3000, ended 1360"},
		{"another fragment with the number", [][]byte{l[0], l[1], tight[1], l[2]}, "replaced 2716, ended 1644"},
		{"first missing", l[1:], "ended 1644"},
		{"middle missing", [][]byte{l[0], l[2]}, "ended 1360"},
		{"last missing", l[:2], "ended 2716"},
		{"first alone", l[:1], "ended 1360"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := newBench()
			for _, f := range tc.in {
				b.add(f)
			}
			b.Flush(b.nanos)
			var words []string
			for _, g := range b.sets {
				words = append(words, outcomeName(g.Outcome)+" "+itoa(g.Run))
				if g.Outcome == Complete && g.Data != string(long) && g.Data != string(short) {
					t.Errorf("joined wrongly: %d bytes", len(g.Data))
				}
			}
			if got := strings.Join(words, ", "); got != tc.want {
				t.Errorf("\ngot  %s\nwant %s", got, tc.want)
			}
			if b.Buffered() != 0 || b.live != 0 {
				t.Errorf("%d bytes and %d sets are kept", b.Buffered(), b.live)
			}
		})
	}
}

func outcomeName(o Outcome) string {
	return [...]string{"complete", "alone", "expired", "evicted", "ended", "replaced"}[o]
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// What is no fragment is left to others, and nothing of it is kept.
func TestRefused(t *testing.T) {
	mta := append([]byte("EYE1\x04mta"), bytes.Repeat([]byte{5}, wire.EyeFragmentLen-8)...)
	for _, tc := range []struct {
		name  string
		data  []byte
		short bool
		wire  int
		want  bool
	}{
		{"first fragment", cut(reply(3000), 1)[0], false, 0, true},
		{"one byte shorter", cut(reply(3000), 1)[0][:wire.EyeFragmentLen-1], false, 0, false},
		{"MTA's reply of that length", mta, false, 0, false},
		{"cut by the capture", cut(reply(3000), 1)[0], false, wire.EyeFragmentLen + 1, false},
		{"second fragment", []byte("EYE2\x01\x01\x01\x01abcd"), false, 0, true},
		{"short reply of another game", []byte("EYE2\x07game42\x01\x01abcd"), true, 0, false},
		{"MTA's short reply", []byte("EYE2\x04mta\x0622003\x02n"), false, 0, false},
		{"nothing between head and id", []byte("EYE2abcd"), false, 0, false},
		{"no number", []byte("EYE0abcdefgh"), false, 0, false},
		{"longer than a fragment", append([]byte("EYE2"), make([]byte, wire.EyeFragmentLen)...), false, 0, false},
		{"empty", nil, false, 0, false},
	} {
		b := newBench()
		f := Datagram{Src: server, Dst: client, Data: tc.data, Wire: max(tc.wire, len(tc.data)), Frame: 1, Nanos: 1, WantsShort: tc.short}
		if got := b.Add(&f); got != tc.want || b.Buffered() > 0 != tc.want {
			t.Errorf("%s\ngot  %v, %d bytes kept\nwant %v", tc.name, got, b.Buffered(), tc.want)
		}
	}
}

// A whole EYE1 that happens to have a fragment's length is not cut short.
func TestAlone(t *testing.T) {
	b := newBench()
	msg := []byte("EYE1\x07bf1942\x0614690\x05name\x02t\x02m\x041.6\x020\x022\x0364\x01")
	for len(msg) < wire.EyeFragmentLen-255 {
		msg = append(msg, "\x01\x08Playera"...)
	}
	last := wire.EyeFragmentLen - len(msg) - 1 // the last player's name fills what is left
	msg = append(append(msg, 1, byte(last)), strings.Repeat("z", last-1)...)
	b.add(msg)
	b.Tick(b.nanos + int64(Wait))
	want := []got{{Alone, string(msg), len(msg), []reassembly.Piece{{Frame: 1, Len: uint32(len(msg))}}, []uint64{1}}}
	if diff := cmp.Diff(want, b.sets); diff != "" {
		t.Error(diff)
	}
}

// Parts, frames and gaps of a set that expires, with IP fragments.
func TestExpired(t *testing.T) {
	b := newBench()
	fs := cut(reply(3000), 9)
	b.add(fs[2])
	b.Add(&Datagram{Src: server, Dst: client, Data: fs[0], Wire: len(fs[0]), Frame: 8, Nanos: b.nanos,
		Pieces: []reassembly.Piece{{Frame: 7}, {Frame: 8, Off: 800}}})
	b.Tick(b.nanos + int64(Wait) - 1)
	if len(b.sets) != 0 {
		t.Fatalf("given up early: %+v", b.sets)
	}
	b.Tick(b.nanos + int64(Wait))
	tail := len(fs[2]) - wire.EyeHeaderLen - wire.EyeIDLen
	want := []got{{Expired, string(reply(3000)[:1360]) + string(fs[2][4:4+tail]), 1360,
		[]reassembly.Piece{{Frame: 8, Len: 1360}, {Frame: 1, Off: 1360, Len: uint32(tail), At: wire.EyeHeaderLen}}, []uint64{1, 7, 8}}}
	if diff := cmp.Diff(want, b.sets); diff != "" {
		t.Error(diff)
	}
}

// Buffered is the memory that waiting fragments take, in bytes.
func (a *Assembler) Buffered() int { return (maxBlocks - a.nfree) * wire.EyeFragmentLen }
