package dissect

import (
	"bytes"
	"net/netip"

	"qsniff/dissect/finding"
	"qsniff/reassembly/wire"
)

// Hosts hand several UDP datagrams of a flow to the network stack as one (segmentation offload,
// UDP_SEGMENT) and join those that arrive (receive offload, UDP_GRO): all of them are of one size but
// the last, which may be shorter. A capture on such a host has one frame with one UDP header for all.
// The kernel knows the size; a file does not, and shows it only where the payload is no message as a
// whole but some at equal distances.

// maxMerged is the most datagrams in one frame: UDP_MAX_SEGMENTS of Linux since 6.9, 64 before.
const maxMerged = 128

// minMerged is the length of the shortest datagram that is looked for in files: an opening and a
// number of four bytes.
const minMerged = 9

// Offload finds datagrams that were merged into one captured frame. It allocates nothing. Of the zero
// value only frames whose size is known are divided.
type Offload struct {
	reg *Registry
	ctx Context
	msg *Message
}

// NewOffload returns an Offload that recognises messages of a registry.
func NewOffload(reg *Registry) Offload { return Offload{reg: reg, msg: new(Message)} }

// SegmentSize returns the size of the datagrams that the payload b, of which wireLen bytes were sent, was
// merged from, the last of which may be shorter; 0 if it was sent as it is. known is the size that the
// kernel reports; 0: it reports none.
func (o *Offload) SegmentSize(src, dst netip.AddrPort, b []byte, wireLen int, known uint16) int {
	if known != 0 {
		if n := int(known); n < wireLen && n < len(b) {
			return n
		}
		return 0
	}
	if !MayBeMerged(b) || o.reg == nil {
		return 0
	}
	isSplit := wire.IsSplit(b)
	if !isSplit && !wire.IsSingle(b) {
		return 0
	}
	o.ctx.Src, o.ctx.Dst = src, dst
	if isSplit {
		return findParts(b, wireLen)
	}
	return o.findMessages(b, wireLen)
}

// MayBeMerged reports whether b is long enough for two datagrams and its first byte comes again. It is
// for callers to ask first: of a flood that is all that SegmentSize costs.
func MayBeMerged(b []byte) bool {
	return len(b) >= 2*minMerged && bytes.IndexByte(b[minMerged:], b[0]) >= 0
}

// strideOf returns the distance of the first repetition of the first n bytes of b, if it has them at
// each multiple of that distance; else 0.
func strideOf(b []byte, wireLen, n int) int {
	first := bytes.Index(b[minMerged:], b[:n])
	if first < 0 {
		return 0
	}
	stride := first + minMerged
	if (wireLen+stride-1)/stride > maxMerged {
		return 0
	}
	for at := stride; at < len(b); at += stride {
		if isCut := len(b) < wireLen; !bytes.HasPrefix(b[at:], b[:n]) && !(isCut && len(b)-at < n) {
			return 0
		}
	}
	return stride
}

// findMessages returns the size of the messages that follow each other in b: all are of the type of
// the first one, and the whole is no message that a sender that keeps to the protocol may have sent.
func (o *Offload) findMessages(b []byte, wireLen int) int {
	const opening = 5 // header and opcode
	stride := strideOf(b, wireLen, opening)
	if stride == 0 {
		return 0
	}
	isSound, first := o.read(b[:stride])
	if !isSound {
		return 0
	}
	for at := stride; at < len(b); at += stride {
		seg, n := b[at:min(at+stride, len(b))], min(stride, wireLen-at)
		if bytes.Equal(seg, b[:stride]) || len(seg) < n { // equal, or cut by the capture
			continue
		}
		if isSound, t := o.read(seg); !isSound || t != first {
			return 0
		}
	}
	if isSound, _ = o.read(b); isSound {
		return 0
	}
	return stride
}

// read returns the type of the message in b, and whether it is one for certain and nothing in it
// contradicts its protocol.
func (o *Offload) read(b []byte) (isSound bool, t *Type) {
	o.ctx.Wire = len(b)
	v := o.reg.Pick(&o.ctx, b)
	if v.Conf < Likely {
		return false, nil
	}
	m := o.msg
	m.Reset(v.Dissector.Proto(), b)
	v.Dissector.Dissect(&o.ctx, v.Type, b, m)
	isSound = m.Status != Malformed
	for i := range m.Expert {
		isSound = isSound && m.Expert[i].Severity < finding.Error
	}
	return isSound, v.Type
}

// findParts returns the size of the parts of one split message that follow each other in b.
func findParts(b []byte, wireLen int) int {
	const opening = 8 // header and the number that all parts share
	stride := strideOf(b, wireLen, opening)
	if stride < wire.MinSplitLen {
		return 0
	}
	form := wire.ProveSplitForm(b)
	if form == wire.None {
		form = wire.GuessSplitForm(b[:stride], stride)
	}
	first, ok := wire.ParseSplit(b, form)
	if !ok {
		return 0
	}
	next := first.Number + 1
	for at := stride; at+wire.MinSplitLen < len(b); at += stride {
		h, ok := wire.ParseSplit(b[at:], form)
		if !ok || h.Total != first.Total || h.Number != next {
			return 0
		}
		next++
	}
	return stride
}
