// Package recent keeps the last packets of the servers in a list, so that their messages can be
// decoded once somebody looks at a server. It decodes nothing but the headers up to the ports,
// and keeps packets of other servers only for a moment.
//
// A batch arrives at the Tap, and the store copies each packet from or to a server of the list
// into the memory of that server, over the oldest one. Fragments, of which most have no ports, are
// kept by address.
package recent

import (
	"bytes"
	"cmp"
	"io"
	"net/netip"
	"slices"
	"sync"
	"time"

	"qsniff/capture"
	"qsniff/capture/packet"
)

// Store keeps packets. It is safe for concurrent use.
type Store struct {
	mu    sync.Mutex
	rings map[netip.AddrPort]*ring
	all   ring // packets of anybody: a server that is new in the list gets its own of these
	// hasPort reports which ports servers have: most packets need no search of their other end.
	hasPort [1 << 16]bool
	packet  packet.Packet
	skipped int    // batches since the last one that was looked at
	gaps    uint32 // how often batches were skipped
}

// ring is the last packets of a server: a slab that is being filled, and the one before.
type ring struct {
	now, before slab
	bytes       int    // of a slab
	added       uint64 // packets so far
}

// slab holds packets with their bytes. buf never grows beyond its capacity.
type slab struct {
	buf     []byte
	packets []capture.Packet
	gaps    []uint32 // of each packet, the count of gaps before it
}

// NewStore returns a store for no server.
func NewStore() *Store {
	return &Store{rings: map[netip.AddrPort]*ring{}, all: ring{bytes: openBytes}}
}

// fragmentsOf returns where the fragments from and to the address of a server are.
func fragmentsOf(server netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(server.Addr(), 0) }

// Watch makes the store keep packets of these servers, more of open, which may be invalid.
// The packets of other servers are dropped. A server that is new to Watch gets those of the
// last packets that are its.
func (s *Store) Watch(servers []netip.AddrPort, open netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.rings
	fresh := map[*ring]bool{}
	s.rings = make(map[netip.AddrPort]*ring, len(servers)+1)
	s.hasPort = [1 << 16]bool{}
	for _, a := range append(servers[:len(servers):len(servers)], open) {
		if !a.IsValid() || s.rings[a] != nil {
			continue
		}
		for _, key := range []netip.AddrPort{a, fragmentsOf(a)} {
			r := old[key]
			if r == nil {
				r = new(ring)
				fresh[r] = true
			}
			r.bytes = slabBytes
			if a == open {
				r.bytes = openBytes
			}
			s.rings[key], s.hasPort[key.Port()] = r, true
		}
	}
	if len(fresh) == 0 {
		return
	}
	for _, x := range []*slab{&s.all.before, &s.all.now} {
		for i := range x.packets {
			if r := s.ringOf(&x.packets[i]); fresh[r] {
				r.add(&x.packets[i], x.gaps[i])
			}
		}
	}
}

// Add keeps the packets of a batch that are from or to a server of the list.
func (s *Store) Add(b *capture.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.skips(b.Packets) {
		return
	}
	for i := range b.Packets {
		p := &b.Packets[i]
		s.all.add(p, s.gaps)
		if r := s.ringOf(p); r != nil {
			r.add(p, s.gaps)
		}
	}
}

// skips reports whether a batch is one of so many that it is not looked at.
func (s *Store) skips(packets []capture.Packet) bool {
	n := len(packets)
	if n < capture.MaxPackets || s.skipped == busyShare-1 || packets[n-1].Nanos-packets[0].Nanos > int64(n)*int64(time.Second)/busyRate {
		s.skipped = 0
		return false
	}
	if s.skipped == 0 {
		s.gaps++
	}
	s.skipped++
	return true
}

// ringOf returns where a packet goes; nil: nowhere. A fragment goes to where those of all servers
// at its address are, as most of them have no port.
func (s *Store) ringOf(p *capture.Packet) *ring {
	if len(s.rings) == 0 {
		return nil
	}
	x := &s.packet
	x.Decode(p.Link, p.Data, int(p.Wire))
	switch {
	case x.Stop != packet.OK && x.Stop != packet.TCP:
		return nil
	case x.Frag.Set:
		return s.find(fragmentsOf(x.Src), fragmentsOf(x.Dst))
	}
	return s.find(x.Src, x.Dst)
}

// find returns the ring of the server that one of two ends is.
func (s *Store) find(src, dst netip.AddrPort) *ring {
	if s.hasPort[dst.Port()] {
		if r := s.rings[dst]; r != nil {
			return r
		}
	}
	if s.hasPort[src.Port()] {
		return s.rings[src]
	}
	return nil
}

// add copies a packet. One that is longer than a slab is not kept.
func (r *ring) add(p *capture.Packet, gaps uint32) {
	if len(p.Data) > r.bytes {
		return
	}
	most := r.bytes >> 10 * slabPackets
	if len(r.now.buf)+len(p.Data) > min(cap(r.now.buf), r.bytes) || len(r.now.packets) == most {
		r.now, r.before = r.before, r.now
		if cap(r.now.buf) != r.bytes {
			r.now = slab{buf: make([]byte, 0, r.bytes)}
		}
		r.now.buf, r.now.packets, r.now.gaps = r.now.buf[:0], r.now.packets[:0], r.now.gaps[:0]
	}
	from := len(r.now.buf)
	r.now.buf = append(r.now.buf, p.Data...)
	kept := *p
	kept.Data = r.now.buf[from:len(r.now.buf):len(r.now.buf)]
	r.now.packets, r.now.gaps = append(r.now.packets, kept), append(r.now.gaps, gaps)
	r.added++
}

// Added returns how many packets of a server were kept so far: where it did not change, Packets
// returns the same.
func (s *Store) Added(server netip.AddrPort) (n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range []netip.AddrPort{server, fragmentsOf(server)} {
		if r := s.rings[key]; r != nil {
			n += r.added
		}
	}
	return n
}

// Packets returns copies of the packets that are kept of a server, in their order, with the
// numbers that they have in the capture. Fragments may be of another server at its address.
func (s *Store) Packets(server netip.AddrPort) Packets {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all Packets
	for _, key := range []netip.AddrPort{server, fragmentsOf(server)} {
		if r := s.rings[key]; r != nil {
			for _, x := range []*slab{&r.before, &r.now} {
				for i := range x.packets {
					all = append(all, Packet{x.packets[i], x.gaps[i]})
				}
			}
		}
	}
	for i := range all {
		all[i].Data = bytes.Clone(all[i].Data)
	}
	slices.SortFunc(all, func(a, b Packet) int { return cmp.Compare(a.No, b.No) })
	return all
}

// Packets are what was kept of a server.
type Packets []Packet

// Packet is a packet that was kept.
type Packet struct {
	capture.Packet
	gaps uint32
}

// Begin returns when the first packet was captured, in nanoseconds, 0 for no packets.
func (p Packets) Begin() int64 {
	if len(p) == 0 {
		return 0
	}
	return p[0].Nanos
}

// Source returns a source of the packets. It has a gap between two of them if others in between
// were not kept.
func (p Packets) Source() capture.Source { return &source{rest: p} }

type source struct {
	rest  Packets
	stats capture.Stats
	gaps  uint32
}

func (s *source) Read(b *capture.Batch) error {
	b.Reset()
	n := min(len(s.rest), capture.MaxPackets)
	if n == 0 {
		return io.EOF
	}
	for i := range s.rest[:n] {
		if p := &s.rest[i]; p.gaps != s.gaps {
			b.Gaps = append(b.Gaps, capture.Gap{At: i, Reason: "too many packets at once: some were not kept"})
			s.gaps = p.gaps
		}
		b.Packets = append(b.Packets, s.rest[i].Packet)
	}
	s.rest = s.rest[n:]
	s.stats.Received += uint64(n)
	return nil
}

func (s *source) Stats() capture.Stats { return s.stats }
func (s *source) Close() error         { return nil }

// Tap is a capture.Source whose packets a store gets as they pass.
type Tap struct {
	capture.Source
	Store *Store
}

// Read fills b, and passes it to the store.
func (t *Tap) Read(b *capture.Batch) error {
	err := t.Source.Read(b)
	t.Store.Add(b)
	return err
}

// Interfaces returns those of the source, if it describes any.
func (t *Tap) Interfaces() []capture.Interface {
	if d, ok := t.Source.(capture.Describer); ok {
		return d.Interfaces()
	}
	return nil
}

const (
	// limit: slabBytes is half of what is kept of a server. Chosen: hundreds of messages of the usual
	// length, and for all servers that a list has by default 8 MiB.
	slabBytes = 16 << 10

	// limit: openBytes is half of what is kept of a server that a viewer has open. Chosen: thousands of
	// messages, decoded in milliseconds.
	openBytes = 512 << 10

	// limit: slabPackets is how many packets a slab has at most for each KiB. Chosen: queries are about
	// 70 bytes long, and a flood of shorter packets leaves none of the memory to their headers.
	slabPackets = 16

	// limit: busyRate is how many packets a second are all looked at, and of more one batch in busyShare.
	// Measured: a packet takes 100 ns more, a third of what it takes without, so that a flood is to
	// take no more for it. Chosen: more than hosts get that no flood reaches.
	busyRate  = 50_000
	busyShare = 16
)
