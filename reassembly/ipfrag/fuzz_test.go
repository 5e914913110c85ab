package ipfrag

import (
	"bytes"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"qsniff/capture/packet"
)

// opLen bytes of a fuzz input are one fragment.
const opLen = 7

// fragmentOf reads one. Few ids, offsets and lengths, so that fragments meet.
func fragmentOf(op []byte, data []byte) (p *packet.Packet, wait int64) {
	version := 4 + op[0]&1*2
	length := int(op[3]) * 8
	if op[4]&1 != 0 {
		length += int(op[4] >> 5)
	}
	off := int(op[1])<<8&0x700 | int(op[2])*8
	if op[4]&2 != 0 {
		off |= 0xf800 // up to the highest
	}
	p = &packet.Packet{
		Src: ends[version][0], Dst: ends[version][1], Proto: 6 + op[0]>>1&1*11, TTL: op[5],
		Payload: data[off%997:][:length], Wire: length,
		Frag: packet.Frag{Set: true, More: op[4]&4 != 0, Off: uint32(off), ID: uint32(op[0] >> 2 & 3)},
	}
	if op[4]&8 != 0 {
		p.Payload = p.Payload[:length*int(op[5])/256]
	}
	return p, int64(op[6]>>4) * second / 2
}

// script is a fuzz input of random fragments that partly belong together.
func script(r *rand.Rand) []byte {
	var b []byte
	for range 8 {
		id, units := byte(r.Uint32()), byte(1+r.IntN(40))
		pieces := 2 + r.IntN(4)
		for i := range pieces {
			if r.IntN(5) == 0 {
				continue // lost
			}
			flags := byte(4)
			if i == pieces-1 {
				flags = 0
			}
			if r.IntN(10) == 0 {
				flags = byte(r.Uint32())
			}
			b = append(b, id, 0, byte(i)*units, units, flags, byte(r.Uint32()), byte(r.IntN(20)))
		}
	}
	return b
}

var netipEqual = cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })

// FuzzAgainstModel asks that the table and the model give the same datagrams in
// the same order and count the same, as long as memory suffices.
func FuzzAgainstModel(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		f.Add(script(r))
	}
	data := pattern(3, 1<<16)
	f.Fuzz(func(t *testing.T, in []byte) {
		var want model
		var got []*Datagram
		tab := newTable(DefaultBytes)
		tab.DeliverIncomplete = func(d *Datagram) { got = append(got, clone(d)) }
		now, frame := int64(0), uint64(0)
		for ; len(in) >= opLen && frame < 300; in = in[opLen:] {
			frame++
			p, wait := fragmentOf(in[:opLen], data)
			now += wait
			want.add(p, frame, now)
			if d := tab.Add(p, frame, now); d != nil {
				got = append(got, clone(d))
			}
		}
		checkTable(t, tab)
		tab.Flush()
		want.flush()
		if tab.Counters() != want.n {
			t.Errorf("got  %+v\nwant %+v", tab.Counters(), want.n)
		}
		if diff := cmp.Diff(want.out, got, netipEqual, cmp.Comparer(bytes.Equal)); diff != "" {
			t.Errorf("datagrams, want to got:\n%s", diff)
		}
	})
}

// FuzzLittleMemory asks of the smallest table that nothing is lost from the
// books: every fragment is held, was refused, or went with a datagram or a set.
func FuzzLittleMemory(f *testing.F) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 20 {
		f.Add(script(r))
	}
	data := pattern(3, 1<<16)
	f.Fuzz(func(t *testing.T, in []byte) {
		tab := newTable(0)
		before := memory(tab)
		frame := uint64(0)
		check := func(d *Datagram) { checkDatagram(t, d, frame) }
		tab.DeliverIncomplete = check
		for round := range uint32(40) { // the same with other ids, so that memory gets short
			for op := in; len(op) >= opLen && frame < 2000; op = op[opLen:] {
				p, wait := fragmentOf(op[:opLen], data)
				p.Frag.ID |= round << 2
				frame++
				if d := tab.Add(p, frame, int64(frame)+wait); d != nil {
					check(d)
				}
			}
		}
		held := checkTable(t, tab)
		c := tab.Counters()
		if held+c.Duplicates+c.Bad+c.TooLong > c.Fragments || c.Fragments != frame {
			t.Errorf("got  %d held and %+v\nwant no more than the %d added", held, c, frame)
		}
		tab.Flush()
		if held := checkTable(t, tab); held != 0 || tab.oldest != none {
			t.Errorf("got  %d fragments after the end\nwant none", held)
		}
		if got := memory(tab); got != before {
			t.Errorf("got  %d bytes of memory\nwant %d as at the start", got, before)
		}
	})
}

func checkDatagram(t *testing.T, d *Datagram, frame uint64) {
	t.Helper()
	if len(d.Data) > d.Wire || d.Wire > maxLength || d.Complete != (d.Outcome == Joined) || d.Outcome.String() == "" {
		t.Errorf("got  %d bytes of %d, complete = %v, %v\nwant them to agree", len(d.Data), d.Wire, d.Complete, d.Outcome)
	}
	if !d.Complete && len(d.Data) == 0 {
		t.Errorf("got  an abandoned set without its start\nwant it dropped")
	}
	if len(d.Pieces) == 0 || len(d.Pieces) > maxFragments || d.Last < d.First {
		t.Errorf("got  %d pieces from %d to %d\nwant some, in time", len(d.Pieces), d.First, d.Last)
	}
	end := uint32(0)
	for _, p := range d.Pieces {
		if p.Off < end || p.Frame == 0 || p.Frame > frame || d.Complete && p.Off != end {
			t.Errorf("got  piece %+v after byte %d\nwant order, without gaps if complete (%v)", p, end, d.Complete)
		}
		end = p.Off + p.Len
	}
	if int(end) > d.Wire || d.Complete && int(end) != d.Wire {
		t.Errorf("got  pieces up to byte %d\nwant up to %d", end, d.Wire)
	}
	var p packet.Packet
	d.Decode(&p)
	if p.Frag != (packet.Frag{}) || len(p.Payload) > p.Wire || p.Wire > d.Wire {
		t.Errorf("got  %+v\nwant a whole packet within %d bytes", p, d.Wire)
	}
}
