package ipfrag

import (
	"net/netip"

	"qsniff/netlayer"
	"qsniff/reassembly"
)

// abandon hands an incomplete set to the caller if its start is there.
func (t *Table) deliverIncomplete(i uint32, why Outcome) {
	f := t.sets[i].frags
	if t.DeliverIncomplete == nil || f == none || t.frags[f].off != 0 || t.frags[f].got == 0 {
		return
	}
	t.joinFragments(i, why)
	t.DeliverIncomplete(&t.out)
}

// assemble fills t.out from the set.
func (t *Table) joinFragments(i uint32, why Outcome) {
	s := &t.sets[i]
	t.resetOut(&s.key, why)
	d := &t.out
	d.Proto, d.TTL, d.First, d.Last = s.proto, s.ttl, s.first, s.last
	if s.total != 0 {
		d.Wire = int(s.total)
	}
	for n := s.frags; n != none; n = t.frags[n].next {
		f := &t.frags[n]
		d.Pieces = append(d.Pieces, reassembly.Piece{Frame: f.frame, Off: f.off, Len: f.wire})
		if int(f.off) == len(d.Data) {
			d.Data = t.appendTo(d.Data, f)
		}
	}
}

// single makes t.out of a datagram that came as one fragment.
func (t *Table) joinAtomic(p *netlayer.Packet, k *key, frame uint64, nanos int64) *Datagram {
	t.n.Joined++
	t.resetOut(k, Joined)
	d := &t.out
	d.Proto, d.TTL, d.First, d.Last = p.Proto, p.TTL, nanos, nanos
	d.Data, d.Wire = append(d.Data, p.Payload...), p.Wire
	d.Pieces = append(d.Pieces, reassembly.Piece{Frame: frame, Len: uint32(p.Wire)})
	return d
}

// begin empties t.out and fills in what the key says.
func (t *Table) resetOut(k *key, why Outcome) {
	src, dst := netip.AddrFrom16(k.src), netip.AddrFrom16(k.dst)
	if k.version == 4 {
		src, dst = src.Unmap(), dst.Unmap()
	}
	t.out = Datagram{
		Src: netip.AddrPortFrom(src, 0), Dst: netip.AddrPortFrom(dst, 0), ID: k.id,
		Outcome: why, Complete: why == Joined,
		Data: t.buf[:0], Wire: maxLength, Pieces: t.out.Pieces[:0],
	}
}

// appendTo appends the bytes of f. They fit: no fragment ends beyond maxLength.
func (t *Table) appendTo(dst []byte, f *fragment) []byte {
	left := int(f.got)
	for b := f.block; left > 0; b = t.next[b] {
		n := min(left, blockSize)
		dst = append(dst, t.block(b)[:n]...)
		left -= n
	}
	return dst
}
