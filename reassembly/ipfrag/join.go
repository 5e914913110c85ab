package ipfrag

import (
	"net/netip"

	"qsniff/capture/packet"
	"qsniff/reassembly"
)

// deliverIncomplete passes set i, which ends incomplete, to DeliverIncomplete if its
// first bytes were captured.
func (t *Table) deliverIncomplete(i uint32, outcome Outcome) {
	f := t.sets[i].frags
	if t.DeliverIncomplete == nil || f == none || t.frags[f].off != 0 || t.frags[f].got == 0 {
		return
	}
	t.joinFragments(i, outcome)
	t.DeliverIncomplete(&t.out)
}

// joinFragments makes t.out of what set i has.
func (t *Table) joinFragments(i uint32, outcome Outcome) {
	s := &t.sets[i]
	t.resetOut(&s.key, outcome)
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

// joinAtomic makes t.out of an atomic fragment, which is a whole datagram.
func (t *Table) joinAtomic(p *packet.Packet, k *key, frame uint64, nanos int64) *Datagram {
	t.n.Joined++
	t.resetOut(k, Joined)
	d := &t.out
	d.Proto, d.TTL, d.First, d.Last = p.Proto, p.TTL, nanos, nanos
	d.Data, d.Wire = append(d.Data, p.Payload...), p.Wire
	d.Pieces = append(d.Pieces, reassembly.Piece{Frame: frame, Len: uint32(p.Wire)})
	return d
}

// resetOut empties t.out and fills in its ends, id and outcome.
func (t *Table) resetOut(k *key, outcome Outcome) {
	src, dst := netip.AddrFrom16(k.src), netip.AddrFrom16(k.dst)
	if k.version == 4 {
		src, dst = src.Unmap(), dst.Unmap()
	}
	t.out = Datagram{
		Src: netip.AddrPortFrom(src, 0), Dst: netip.AddrPortFrom(dst, 0), ID: k.id,
		Outcome: outcome, Complete: outcome == Joined,
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
