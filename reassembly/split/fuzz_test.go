package split_test

import (
	"hash/fnv"
	"slices"
	"testing"

	"qsniff/dissect/finding"
	"qsniff/reassembly"
	"qsniff/reassembly/split"
	"qsniff/reassembly/wire"
)

func isInferred(e finding.Expert) bool { return e.Code == split.FormInferred }
func isConflict(e finding.Expert) bool { return e.Code == split.ConflictingPart }

// fuzzStep is one datagram of the fuzz input: control, length, id, then bytes
// after the id. Control: 2 bits flow, 2 bits time step, cut, pieces, 2 bits hint.
func fuzzSteps(in []byte, do func(f *split.Datagram)) {
	now, frame := 1000*second, uint64(0)
	steps := [4]int64{0, second / 1000, second, 6 * second}
	for len(in) >= 3 {
		ctl, n, id := in[0], int(in[1]), in[2]
		in = in[3:]
		n = min(n, len(in))
		data := []byte{0xfe, 0xff, 0xff, 0xff, id & 0x0f, 0, 0, id & 0x80}
		data = append(data, in[:n]...)
		in = in[n:]
		if id&0x40 != 0 { // so long that few of them fill the memory
			data = append(data, make([]byte, 20_000)...)
		}
		now += steps[ctl>>2&3]
		frame++
		f := &split.Datagram{
			Src: addrPort([4]byte{198, 18, 0, ctl & 3}, 27015), Dst: client,
			Data: data, Wire: len(data), Frame: frame, Nanos: now, Hint: wire.Engine(ctl >> 6),
		}
		if ctl&0x10 != 0 {
			f.Wire += int(id)
		}
		if ctl&0x20 != 0 && n > 2 {
			f.Pieces = []reassembly.Piece{
				{Frame: frame, Off: uint32(data[8]), Len: uint32(data[9])},
				{Frame: frame + 100, Off: 4, Len: ^uint32(0)},
				{Frame: 1, Off: uint32(n), Len: uint32(data[10])},
			}
		}
		do(f)
	}
}

func FuzzAdd(f *testing.F) {
	step := func(ctl, id byte, datagram []byte) []byte {
		body := datagram[8:]
		return append([]byte{ctl, byte(len(body)), id}, body...)
	}
	for _, e := range modelForms {
		var in []byte
		for n, p := range slices.Backward(cut(e, 7, three, 20)) {
			in = append(in, step(byte(n)<<4|0x05, 7, p)...)
		}
		f.Add(append(in, in...))
	}
	f.Add(step(0x0c, 0x81, packed(1, prefixOf(three), pack(f, three, 9))))
	f.Fuzz(func(t *testing.T, in []byte) {
		lim := split.Limits{Sets: 6, FlowSets: 3, Pieces: 8, Inflated: 4096}
		first := runFuzz(t, in, lim)
		if second := runFuzz(t, in, lim); first != second {
			t.Fatalf("second run\n got %x\nwant %x", second, first)
		}
	})
}

// runFuzz checks the invariants and returns a digest of all that was delivered.
func runFuzz(t *testing.T, in []byte, lim split.Limits) uint64 {
	h := fnv.New64a()
	a := split.New(lim)
	var text []byte
	delivered := uint64(0)
	a.Deliver = func(s *split.Set) {
		delivered++
		verify(t, s, split.Limits{SetBytes: split.DefaultSetBytes, Inflated: lim.Inflated})
		h.Write(s.Data)
		h.Write([]byte{byte(s.Outcome), byte(s.Engine), byte(s.ID), byte(s.Total), byte(s.Received), byte(s.Run)})
		for i := range s.Expert {
			text = s.Expert[i].AppendText(text[:0])
			h.Write(text)
		}
	}
	added, last := uint64(0), int64(0)
	fuzzSteps(in, func(f *split.Datagram) {
		added++
		last = f.Nanos
		a.Add(f)
		if a.Buffered() > split.DefaultBytes {
			t.Fatalf("bytes kept\n got %d\nwant at most %d", a.Buffered(), split.DefaultBytes)
		}
	})
	a.Flush(last)
	c := &a.Counters
	if a.Buffered() != 0 || c.Parts != added {
		t.Fatalf("bytes kept after Flush, parts counted\n got %d, %d\nwant 0, %d", a.Buffered(), c.Parts, added)
	}
	over := c.Complete + c.Incomplete + c.Truncated + c.BadBzip2 + c.TooLarge + c.Refused + c.Unsupported
	if c.Sets != over+c.Repeats || delivered != over+c.Malformed+c.Short {
		t.Fatalf("counters do not add up: %d delivered\n got %+v", delivered, *c)
	}
	return h.Sum64()
}
