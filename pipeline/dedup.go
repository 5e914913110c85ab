package pipeline

import (
	"time"

	"qsniff/capture"
	"qsniff/internal/lru"
	"qsniff/netlayer"
)

// Dedup is whether a packet that was captured twice counts once.
type Dedup uint8

// The choices.
const (
	DedupAuto Dedup = iota // where packets of several interfaces come together
	DedupOn
	DedupOff
)

// A copy of a packet comes within dedupWindow: a mirror port or a bridge delays it
// by microseconds, a loaded host by milliseconds; clients repeat a question
// after 100 ms at the earliest. dedupPlaces is room for what a full gigabit of
// small packets (1.5 million a second) brings in that time.
const (
	dedupWindow = 5 * time.Millisecond
	dedupPlaces = 1 << 13 // a power of two; a newer packet takes the place of an older one
)

// dedup recognises packets that were captured before.
type dedup struct {
	mode   Dedup
	places []capturedPacket // nil until the first packet that is looked up
}

// capturedPacket identifies a packet that was captured.
type capturedPacket struct {
	sum   uint64 // of its ends, its number and its content
	where uint64 // it was captured
	age   int64
}

// isCopy reports whether a packet was captured before, and records it. A packet with
// an identification in its IP header is a copy if all of it is the same; one without
// must come from another place, since senders repeat themselves. severalPlaces is set if
// an input has more than one interface.
func (d *dedup) isCopy(it *item, p *capture.Packet, seed uint64, severalPlaces bool) bool {
	if d.mode == DedupOff || d.mode == DedupAuto && !severalPlaces && !isOfSeveral(p) || !it.Src.IsValid() {
		return false
	}
	if d.places == nil {
		d.places = make([]capturedPacket, dedupPlaces)
	}
	x := capturedPacket{sum: sumOf(seed, &it.Packet), where: whereOf(seed, p), age: it.age}
	old := &d.places[x.sum%dedupPlaces]
	same := old.sum == x.sum && x.age-old.age <= int64(dedupWindow) && (it.IPID != 0 || old.where != x.where)
	*old = x
	return same
}

// isOfSeveral reports whether a packet shows that packets of several interfaces come.
func isOfSeveral(p *capture.Packet) bool {
	return p.File > 0 || p.Link == netlayer.LinkLinuxSLL || p.Link == netlayer.LinkLinuxSLL2
}

// sumOf returns a hash of what copies of a packet have in common; the time to live is
// not part of it, because routers count it down.
func sumOf(seed uint64, p *netlayer.Packet) uint64 {
	src, dst := p.Src.Addr().As16(), p.Dst.Addr().As16()
	h := lru.MixBytes(lru.MixBytes(seed, src[:]), dst[:])
	h = lru.Mix(h, uint64(p.Src.Port())<<48|uint64(p.Dst.Port())<<32|uint64(p.IPID)<<16|uint64(p.Proto)<<8|1)
	h = lru.Mix(h, uint64(p.Frag.Off)<<32|uint64(p.Wire))
	h = lru.Mix(h, uint64(p.TCP.Seq)<<32|uint64(p.TCP.Ack))
	h = lru.Mix(h, uint64(p.TCP.Flags)<<32|uint64(p.Frag.ID))
	return lru.MixBytes(h, p.Payload)
}

// whereOf returns a hash of the place where a packet was captured: its file and interface,
// and for the "any" device the header with the interface and the direction.
func whereOf(seed uint64, p *capture.Packet) uint64 {
	h := lru.Mix(seed, uint64(p.File)<<16|uint64(p.Iface))
	const sll, sll2 = 16, 20 // bytes
	switch p.Link {
	case netlayer.LinkLinuxSLL:
		return lru.MixBytes(h, p.Data[:min(len(p.Data), sll)])
	case netlayer.LinkLinuxSLL2:
		return lru.MixBytes(h, p.Data[:min(len(p.Data), sll2)])
	}
	return h
}
