package file

import (
	"encoding/binary"
	"math/rand/v2"
)

// ngWriter builds pcapng by hand.
type ngWriter struct {
	order binary.AppendByteOrder
	b     []byte
}

// opt is an option of a block.
type opt struct {
	code  uint16
	value []byte
}

func (w *ngWriter) u16(b []byte, n uint16) []byte { return w.order.AppendUint16(b, n) }
func (w *ngWriter) u32(b []byte, n uint32) []byte { return w.order.AppendUint32(b, n) }
func (w *ngWriter) u64(b []byte, n uint64) []byte { return w.order.AppendUint64(b, n) }

func pad4(b []byte) []byte {
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// block appends a block with that body, a multiple of four bytes, and options.
func (w *ngWriter) block(kind uint32, body []byte, opts ...opt) {
	body = append([]byte(nil), body...)
	for _, o := range opts {
		body = w.u16(body, o.code)
		body = w.u16(body, uint16(len(o.value)))
		body = pad4(append(body, o.value...))
	}
	if len(opts) > 0 {
		body = append(body, 0, 0, 0, 0)
	}
	length := uint32(len(body) + minBlock)
	w.b = w.u32(w.b, kind)
	w.b = w.u32(w.b, length)
	w.b = append(w.b, body...)
	w.b = w.u32(w.b, length)
}

func (w *ngWriter) section(opts ...opt) {
	body := w.u32(nil, byteOrderMagic)
	body = w.u16(w.u16(body, 1), 0)
	w.block(blockSection, w.u64(body, 1<<64-1), opts...)
}

func (w *ngWriter) iface(link uint16, snapLen uint32, opts ...opt) {
	w.block(blockInterface, w.u32(w.u16(w.u16(nil, link), 0), snapLen), opts...)
}

func (w *ngWriter) enhanced(iface uint32, stamp uint64, wire uint32, data string, opts ...opt) {
	body := w.u32(nil, iface)
	body = w.u32(w.u32(body, uint32(stamp>>32)), uint32(stamp))
	body = w.u32(w.u32(body, uint32(len(data))), wire)
	w.block(blockEnhanced, pad4(append(body, data...)), opts...)
}

func (w *ngWriter) simple(wire uint32, data string) {
	w.block(blockSimple, pad4(append(w.u32(nil, wire), data...)))
}

func (w *ngWriter) obsolete(iface, lost uint16, stamp uint64, wire uint32, data string, opts ...opt) {
	body := w.u16(w.u16(nil, iface), lost)
	body = w.u32(w.u32(body, uint32(stamp>>32)), uint32(stamp))
	body = w.u32(w.u32(body, uint32(len(data))), wire)
	w.block(blockObsolete, pad4(append(body, data...)), opts...)
}

func (w *ngWriter) statistics(iface uint32, opts ...opt) {
	w.block(blockStatistics, w.u64(w.u32(nil, iface), 0), opts...)
}

func (w *ngWriter) option64(code uint16, n uint64) opt { return opt{code, w.u64(nil, n)} }

func text8(code uint16, s string) opt { return opt{code, []byte(s)} }

// orders are the byte orders a section may have.
var orders = []struct {
	name  string
	order binary.AppendByteOrder
}{{"little", binary.LittleEndian}, {"big", binary.BigEndian}}

// start returns a writer with a section of one Ethernet interface that counts
// nanoseconds.
func startNg(order binary.AppendByteOrder) *ngWriter {
	w := &ngWriter{order: order}
	w.section()
	w.iface(1, 0, opt{optTsresol, []byte{9}})
	return w
}

// randomNg makes a capture of n packets of up to maxLen bytes in several
// sections, with blocks of other kinds between, and the packets in it.
func randomNg(rng *rand.Rand, n, maxLen int) (file []byte, want []packet) {
	w := startNg(orders[rng.IntN(2)].order)
	for i := range n {
		switch rng.IntN(200) {
		case 0:
			w.order = orders[rng.IntN(2)].order
			w.section(text8(optApplication, "test"))
			w.iface(1, 0, opt{optTsresol, []byte{9}})
		case 1:
			w.block(blockNames, make([]byte, 4*rng.IntN(50)))
		case 2:
			w.statistics(0, w.option64(optDropped, uint64(i)))
		}
		data := make([]byte, rng.IntN(maxLen+1))
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		nanos := 1_700_000_000_000_000_000 + int64(i)*1_000_000 + rng.Int64N(1000)
		var opts []opt
		if rng.IntN(10) == 0 {
			opts = append(opts, text8(optComment, "a comment"))
		}
		wire := uint32(len(data)) + rng.Uint32()%3
		w.enhanced(0, uint64(nanos), wire, string(data), opts...)
		want = append(want, packet{uint64(i + 1), nanos, string(data), wire, 1})
	}
	return w.b, want
}
